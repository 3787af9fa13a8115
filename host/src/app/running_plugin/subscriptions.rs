//! The subscriptions of a plugin, and the caches that it may read.

mod claims;

use std::{collections::BTreeSet, sync::Arc};

use futures::future::join_all;
use informer_cache::{InformerFactory, Registration, ResourceVersion, SharedInformer, Subscription};
use informer_dispatch::{DeadLetter, FilterStats, ObjectRef, Queue};
use informer_types::{Change, Gvr, Object, ObjectKey, ReadGrants, Tracer};
use parking_lot::Mutex;

use super::letters::NotReplayed;
use crate::{config, wiring::CacheLister};
use claims::Claims;
pub use claims::SubscribeError;
pub(super) use claims::Target;
pub(in crate::app) use claims::{Interest, Watches};

/// The subscriptions and reads of one plugin. An informer runs while some plugin has a claim on it (D-12).
pub(super) struct Subscriptions {
    plugin: Arc<str>,
    factory: Arc<InformerFactory>,
    queue: Queue,
    tracer: Tracer,
    /// The caches that the plugin may read.
    lister: Arc<CacheLister>,
    claims: Mutex<Claims>,
    /// Resources that the plugin may read now, while their informer holds only what the plugins before needed: they
    /// are incomplete until a wider informer replaces it.
    narrow: Mutex<BTreeSet<Gvr>>,
}

// === impl Subscriptions ===

impl Subscriptions {
    /// Subscribes: the queue receives notifications from now on.
    pub(super) fn new(
        config: &config::Plugin,
        watches: &Watches,
        factory: &Arc<InformerFactory>,
        target: Target<'_>,
    ) -> Result<Self, SubscribeError> {
        let subscriptions = Self {
            plugin: config.name.as_str().into(),
            factory: Arc::clone(factory),
            queue: target.queue.clone(),
            tracer: target.tracer.clone(),
            lister: Arc::default(),
            claims: Mutex::default(),
            narrow: Mutex::default(),
        };
        subscriptions.set(config, watches)?;
        Ok(subscriptions)
    }

    /// The caches that the plugin may read.
    pub(super) fn lister(&self) -> &Arc<CacheLister> {
        &self.lister
    }

    /// Makes the subscriptions those of another configuration. Returns true if a cache that the plugin reads may be
    /// incomplete now. Informers that are to be replaced must be superseded before.
    ///
    /// # Blocking
    /// It blocks as [`SharedInformer::add_listener`] does.
    pub(super) fn change(
        &self,
        old: &config::Plugin,
        new: &config::Plugin,
        watches: &Watches,
    ) -> Result<bool, SubscribeError> {
        let narrow = self.reads_too_early(old, new);
        Ok(self.set(new, watches)? || narrow)
    }

    fn set(&self, config: &config::Plugin, watches: &Watches) -> Result<bool, SubscribeError> {
        let mut claims = self.claims.lock();
        let target = Target { queue: &self.queue, tracer: &self.tracer };
        let added = claims.set(config, watches, &self.factory, target)?;
        self.lister.set(claims.informers());
        Ok(added)
    }

    /// Tracks the resources that the plugin may read only since this change, if their informer is about to be replaced by a
    /// wider one. Returns true if there are any, or if there are fewer than before.
    fn reads_too_early(&self, old: &config::Plugin, new: &config::Plugin) -> bool {
        let reads = |config: &config::Plugin, gvr: &Gvr| {
            config.grants.read.iter().flat_map(ReadGrants::gvrs).any(|read| read == gvr)
        };
        let superseded = self.factory.superseded();
        // A plugin without a claim, or with a claim on the successor, gets no other informer later.
        let is_superseded = |informer: &SharedInformer| superseded.iter().any(|one| one.is(informer));
        let claimed = self.claims.lock().informers();
        let mut narrow = self.narrow.lock();
        let before = narrow.len();
        narrow.retain(|gvr| reads(new, gvr));
        let fewer = narrow.len() < before;
        let early = claimed
            .into_iter()
            .filter(|(gvr, informer)| is_superseded(informer) && !reads(old, gvr) && reads(new, gvr));
        narrow.extend(early.map(|(gvr, _)| gvr));
        fewer || !narrow.is_empty()
    }

    /// Releases every claim: the queue receives nothing any more.
    pub(super) fn release(&self) {
        *self.claims.lock() = Claims::default();
    }

    /// Takes the caches from the plugin.
    pub(super) fn close_lister(&self) {
        self.lister.set([]);
    }

    /// Replaces the informer of a watch; the informer before has ended.
    ///
    /// # Errors
    /// [`SubscribeError`], only while the host stops.
    ///
    /// # Blocking
    /// It blocks as [`SharedInformer::add_listener`] does.
    pub(super) fn succeed(&self, subscription: Subscription) -> Result<(), SubscribeError> {
        let gvr = subscription.informer().key().gvr.clone();
        let mut claims = self.claims.lock();
        claims.succeed(&self.plugin, subscription, &self.tracer)?;
        self.lister.set(claims.informers());
        drop(claims);
        self.narrow.lock().remove(&gvr);
        Ok(())
    }

    /// The informer that replaced another one has seen everything that the one before had seen.
    ///
    /// # Blocking
    /// It blocks as [`SharedInformer::retarget_listener`] does.
    pub(super) fn caught_up(&self, informer: &SharedInformer) {
        self.claims.lock().caught_up(&self.plugin, informer);
    }

    /// The version that an informer must reach before [`caught_up`](Self::caught_up) may be called.
    pub(super) fn awaits(&self, informer: &SharedInformer) -> Option<ResourceVersion> {
        self.claims.lock().awaits(informer)
    }

    /// Returns the informer that the plugin uses for the resource of this one, if it is another one.
    pub(super) fn other_than(&self, informer: &SharedInformer) -> Option<SharedInformer> {
        self.claims.lock().other_than(informer)
    }

    /// Returns true if the plugin subscribes to this resource or may read it.
    pub(super) fn contains(&self, gvr: &Gvr) -> bool {
        self.claims.lock().contains(gvr)
    }

    pub(super) fn interest(&self, gvr: &Gvr, key: &ObjectKey) -> Interest {
        self.claims.lock().interest(gvr, key)
    }

    /// The statistics of each filter, by resource.
    pub(super) fn filters(&self) -> Vec<(Gvr, FilterStats)> {
        self.claims.lock().filters()
    }

    /// Waits until every initial notification is settled.
    pub(super) async fn synced(&self) {
        let registrations = self.claims.lock().registrations();
        join_all(registrations.iter().map(Registration::wait_synced)).await;
    }

    /// Waits until the caches that the plugin reads are complete. A resource that the server does not serve is complete.
    /// Returns false if an informer that was waited for is to be replaced.
    pub(super) async fn complete(&self) -> bool {
        if !self.narrow.lock().is_empty() {
            return false;
        }
        let informers = self.claims.lock().informers();
        let synced = informers.iter().map(|(_, informer)| informer.wait_synced_or_unserved());
        join_all(synced).await;
        informers.iter().all(|(_, informer)| informer.has_synced() || !informer.has_ended())
    }

    /// Delivers every object that the plugin subscribes to again, with the cause `replay`.
    ///
    /// # Blocking
    /// It visits every cached object under the lock of its informer.
    pub(super) fn replay_all(&self) {
        self.claims.lock().replay();
    }

    /// Delivers the object of a dead letter again, with the cause `replay`: as an addition or an update in its present
    /// state, or as a deletion if it is gone. Returns the verb.
    pub(super) fn replay(&self, letter: &DeadLetter) -> Result<&'static str, NotReplayed> {
        let ObjectRef { source, key } = &letter.object;
        let gvr = source.gvr();
        let (registered, behind) = {
            let claims = self.claims.lock();
            (claims.registration(gvr), claims.is_behind(gvr, key))
        };
        let Some((informer, registration)) = registered else { return Err(NotReplayed::NotSubscribed) };
        // An object that is not in an incomplete cache may exist all the same.
        if behind || !informer.has_synced() {
            return Err(NotReplayed::NotSynced);
        }
        let mut verb = None;
        let offered = informer.replay_object(&registration, key, |cached| {
            let change = again(letter, cached)?;
            verb = Some(change.verb());
            Some(change)
        });
        verb.filter(|_| offered).ok_or(NotReplayed::Stopping)
    }
}

fn again(letter: &DeadLetter, cached: Option<Arc<Object>>) -> Option<Change> {
    Some(match cached {
        Some(object) if letter.verb == "update" => Change::Updated { old: Arc::clone(&object), new: object },
        Some(object) => Change::Added { object },
        None => Change::Deleted { object: letter.last_known()?, final_state_known: false },
    })
}

#[cfg(test)]
mod tests;
