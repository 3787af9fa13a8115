//! Tests of plugins move the time of a host and wait until it has come to rest.

use std::time::Duration;

use futures::future::try_join_all;
use informer_cache::SharedInformer;
use informer_dispatch::workqueue::RateLimitingQueue;
use informer_runtime::capabilities::{KeyValueSource, Place};
use informer_types::{Gvr, Workqueue};
use tokio::time::timeout;

use super::App;
use crate::state::KeyValues;

/// Time for the caches to follow the API server of the test, which is in this process.
const FOLLOWED_WITHIN: Duration = Duration::from_secs(60);

/// The most keys of a bucket that a test looks at.
const KEYS: usize = 10_000;

/// The most bytes of values that a test looks at.
const VALUE_BYTES: usize = 64 << 20;

// === impl App ===

impl App {
    /// Time until something happens by itself: a retry, the end of a delay, a resync. `None` means never.
    pub fn next_due(&self) -> Option<Duration> {
        let plugins = self.applier.plugins().all();
        let queues = plugins.iter().flat_map(|one| {
            let keys = [one.workqueue(), one.signals().queue(), one.repeats()];
            [one.queue().next_due()].into_iter().chain(keys.map(RateLimitingQueue::next_due))
        });
        let resyncs = self.factory.informers().into_iter().map(|informer| informer.next_resync());
        queues.chain(resyncs).flatten().min()
    }

    /// Moves the clocks of all queues, and brings each resync nearer. It does nothing to clocks that run.
    pub fn advance(&self, by: Duration) {
        for plugin in self.applier.plugins().all().iter() {
            plugin.queue().advance(by);
            plugin.workqueue().advance(by);
            plugin.signals().queue().advance(by);
            plugin.repeats().advance(by);
        }
        for informer in self.factory.informers() {
            informer.hasten_resyncs(by);
        }
    }

    /// Holds the calls of all plugins back, or lets them begin. A host with [`Staging`](super::Staging) starts with its calls held
    /// back. Calls in flight go on.
    pub fn hold_calls(&self, is_held: bool) {
        self.applier.plugins().all().iter().for_each(|plugin| plugin.hold_calls(is_held));
    }

    /// Returns true if the queues have everything that follows from the caches, from resyncs that are due, from other calls for an
    /// object that are due, and from the versions put into service.
    pub fn is_settled(&self) -> bool {
        let is_due = |informer: &SharedInformer| informer.next_resync() == Some(Duration::ZERO);
        let plugins = self.applier.plugins().all();
        !self.factory.informers().iter().any(is_due)
            && plugins.iter().all(|plugin| plugin.is_settled() && is_at_rest(plugin.repeats()))
    }

    /// Waits until each cache is at least at this version, and the queues have everything that the caches have. Returns false if a
    /// cache does not follow.
    ///
    /// # Cancel safety
    /// A dropped future changes nothing.
    pub async fn caught_up(&self, version: &str) -> bool {
        let mut informers = self.factory.informers();
        // A resource that is not served has no version.
        informers.retain(SharedInformer::has_synced);
        let waits = informers.iter().map(|informer| informer.wait_for_version(version, None));
        let followed =
            timeout(FOLLOWED_WITHIN, try_join_all(waits)).await.is_ok_and(|reached| reached.is_ok());
        informers.iter().for_each(SharedInformer::wait_offered);
        followed
    }

    /// Returns true if no call is in flight, and none begins before something changes or the time moves.
    pub fn is_quiet(&self) -> bool {
        self.applier.plugins().all().iter().all(|plugin| {
            plugin.queue().stats().in_flight == 0
                && plugin.queue().next_due() != Some(Duration::ZERO)
                && is_at_rest(plugin.workqueue())
                && !plugin.subscriptions().announces()
                && is_at_rest(plugin.signals().queue())
        }) && self.is_settled()
    }

    /// The key-values of one bucket of a plugin.
    ///
    /// # Errors
    /// Why they cannot be read.
    pub async fn key_values(&self, plugin: &str, bucket: &str) -> anyhow::Result<Vec<(String, Vec<u8>)>> {
        let store = KeyValues::new(self.state.clone());
        let place = Place { plugin: plugin.into(), bucket: bucket.into() };
        let keys = store.keys(place.clone(), None, KEYS).await?;
        let values = store.get(place, keys.clone(), VALUE_BYTES).await?;
        Ok(keys.into_iter().zip(values).filter_map(|(key, value)| Some((key, value?))).collect())
    }

    /// Lets a plugin notice now that its `config-files` changed.
    pub async fn look_at_config_files(&self, plugin: &str) {
        if let Some(plugin) = self.applier.plugins().find(plugin) {
            plugin.look_at_config_files().await;
        }
    }

    /// Delivers each object of this resource again, with the cause `resync`, as at the end of a resync period. Returns false if no
    /// listener has a period.
    pub fn resync(&self, gvr: &Gvr) -> bool {
        let mut informers = self.factory.informers();
        informers.retain(|informer| informer.key().gvr == *gvr && informer.next_resync().is_some());
        for informer in &informers {
            informer.hasten_resyncs(informer.next_resync().unwrap_or_default());
        }
        !informers.is_empty()
    }

    /// The keys of one plugin; `None` if there is no such plugin.
    pub fn workqueue(&self, plugin: &str) -> Option<impl Workqueue + use<>> {
        self.applier.plugins().find(plugin).map(|plugin| plugin.workqueue().clone())
    }
}

/// Returns true if no worker has a key of this queue, and none gets one before something changes or the time moves.
fn is_at_rest(queue: &RateLimitingQueue) -> bool {
    let keys = queue.stats();
    let is_held_back = keys.paused || keys.quarantine.is_some();
    keys.in_flight == 0 && (keys.ready == 0 || is_held_back) && queue.next_due() != Some(Duration::ZERO)
}
