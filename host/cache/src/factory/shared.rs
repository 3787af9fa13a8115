//! The state that a factory shares with its subscriptions.

use std::sync::{Arc, atomic::Ordering};

use parking_lot::Mutex;
use tokio_util::{sync::CancellationToken, task::TaskTracker};

use super::informers::{Held, Informers};
use crate::{
    FactoryConfig, InformerKey, Phase, SharedInformer, WatchConfig, shared_informer, threads::Threads,
    transport::Transport,
};

/// The state that the factory shares with its subscriptions.
pub(crate) struct Shared {
    pub(super) transport: Transport,
    pub(super) config: Arc<FactoryConfig>,
    pub(super) informers: Mutex<Informers>,
    pub(super) tasks: TaskTracker,
    pub(super) threads: Threads,
    pub(super) stop: CancellationToken,
}

// === impl Shared ===

impl Shared {
    /// Returns the informer of this configuration, which is made if there is none, after `claim` has registered the
    /// claim.
    pub(super) fn hold(&self, mut config: WatchConfig, claim: impl FnOnce(&mut Held)) -> SharedInformer {
        config.resync = config.resync.or(self.config.resync);
        let key = InformerKey::from(&config);
        let indexes = config.indexes.clone();
        let mut informers = self.informers.lock();
        // An informer that ended because of a bug is replaced.
        if informers.current.get(&key).is_some_and(|held| held.informer.inner.ended.is_cancelled()) {
            informers.current.remove(&key);
        }
        let held = informers.current.entry(key.clone()).or_insert_with(|| {
            Held::new(SharedInformer::new(key, config, &self.config.tracer, self.stop.child_token()))
        });
        held.informer.add_indexes(&indexes);
        claim(held);
        held.informer.clone()
    }

    /// Starts the informer if it has not been started. The caller holds the lock of the informers.
    pub(super) fn run(&self, informer: &SharedInformer) {
        if !self.stop.is_cancelled() && informer.claim_start() {
            let inner = Arc::clone(&informer.inner);
            let run = shared_informer::run(inner, self.transport.clone(), Arc::clone(&self.config));
            self.threads.spawn(&self.tasks, run);
        }
    }

    /// Ends one subscription. With the last one the informer stops, unless it belongs to the factory. The next
    /// subscription gets a new informer even if the tasks of this one have not ended yet.
    pub(crate) fn release(&self, informer: &SharedInformer) {
        let mut informers = self.informers.lock();
        // Otherwise the informer was stopped explicitly.
        let Some(held) = informers.find(informer) else { return };
        held.subscriptions = held.subscriptions.saturating_sub(1);
        // After a shutdown the cache stays readable for the deliveries that are still in flight.
        if held.subscriptions == 0 && !held.owned && !self.stop.is_cancelled() {
            informers.remove(informer);
            informer.inner.abandoned.store(true, Ordering::Release);
            informer.inner.stop.cancel();
        }
    }
}

/// Waits for the end of an informer. An informer that was never started ends here.
pub(crate) async fn end(informer: &SharedInformer) {
    if informer.claim_start() {
        informer.inner.processor.close();
        informer.inner.enter(Phase::Stopped);
        informer.inner.ended.cancel();
    }
    informer.inner.ended.cancelled().await;
}
