//! The claims of a plugin on informers.

use std::{collections::BTreeMap, sync::Arc};

use informer_cache::{
    FactoryStopped, InformerFactory, InformerStopped, Registration, ResourceVersion, SharedInformer,
    Subscription, WatchConfig,
};
use informer_dispatch::{Filter, FilterStats, Queue};
use informer_types::{Gvr, NotificationSink, Object, ObjectKey, ReadGrants, Source, Tracer};

use crate::{
    app::{
        settings,
        successor::{Received, Successor},
    },
    config,
};

/// Every `[[watch]]`, as the cache takes it.
pub(in crate::app) type Watches = BTreeMap<Gvr, WatchConfig>;

/// Why a plugin cannot subscribe to its watches.
#[derive(Debug, thiserror::Error)]
pub enum SubscribeError {
    /// The host is stopping.
    #[error(transparent)]
    Factory(#[from] FactoryStopped),
    /// A bug of the host ended the informer.
    #[error(transparent)]
    Informer(#[from] InformerStopped),
}

/// What an object is to a plugin.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(in crate::app) enum Interest {
    /// The plugin does not subscribe to the resource.
    None,
    /// This condition of the subscription, a key of `[[plugin.on]]`, excludes the object as it is in the cache.
    Excluded(&'static str),
    /// The subscription selects the object, or the object is not in the cache.
    Selected,
}

/// One claim on each informer that the plugin subscribes to or may read.
#[derive(Default)]
pub(super) struct Claims(BTreeMap<Gvr, Claim>);

struct Claim {
    subscription: Subscription,
    listening: Option<Listening>,
}

/// The queue that receives the notifications of a plugin, and the trace of what its filters decide.
#[derive(Clone, Copy)]
pub(in crate::app::running_plugin) struct Target<'a> {
    pub(in crate::app::running_plugin) queue: &'a Queue,
    pub(in crate::app::running_plugin) tracer: &'a Tracer,
}

/// One `[[plugin.on]]`.
struct Listening {
    on: config::Subscription,
    registration: Registration,
    /// Tracks which objects the plugin has seen.
    filter: Arc<Filter<Queue>>,
    /// Stands before the filter until the informer has caught up with the informer that it replaced.
    successor: Option<Arc<Successor>>,
}

// === impl Claims ===

impl Claims {
    /// Makes the claims those of this configuration. Claims that are there already stay as they are, and nothing is
    /// delivered again. A subscription that changed delivers only the difference. Returns true if an informer was added.
    pub(super) fn set(
        &mut self,
        config: &config::Plugin,
        watches: &Watches,
        factory: &InformerFactory,
        target: Target<'_>,
    ) -> Result<bool, SubscribeError> {
        let subscribed = config.subscriptions.iter().map(|on| &on.watch);
        let wanted: Vec<&Gvr> =
            subscribed.chain(config.grants.read.iter().flat_map(ReadGrants::gvrs)).collect();
        let mut added = false;
        for &gvr in &wanted {
            if let Some(watch) = watches.get(gvr).filter(|_| !self.0.contains_key(gvr)) {
                let claim = Claim { subscription: factory.subscribe(watch.clone())?, listening: None };
                self.0.insert(gvr.clone(), claim);
                added = true;
            }
        }
        for on in &config.subscriptions {
            if let Some(claim) = self.0.get_mut(&on.watch) {
                claim.listen(&config.name, on, target)?;
            }
        }
        for (gvr, claim) in &mut self.0 {
            if config.subscriptions.iter().all(|on| on.watch != *gvr) {
                claim.listening.take().inspect(|listening| listening.registration.remove());
            }
        }
        self.0.retain(|gvr, _| wanted.contains(&gvr));
        Ok(added)
    }

    /// Replaces the informer of a watch. The informer before has ended; its cache is still there. The new informer may be
    /// behind it until [`caught_up`](Self::caught_up) is called.
    pub(super) fn succeed(
        &mut self,
        plugin: &str,
        subscription: Subscription,
        tracer: &Tracer,
    ) -> Result<(), SubscribeError> {
        let Some(claim) = self.0.get_mut(&subscription.informer().key().gvr) else { return Ok(()) };
        if let Some(listening) = &mut claim.listening {
            listening.succeed(plugin, claim.subscription.informer(), &subscription, tracer)?;
        }
        claim.subscription = subscription;
        Ok(())
    }

    /// The informer has seen everything that the informer before it had seen: an object that it does not have is gone.
    pub(super) fn caught_up(&mut self, plugin: &str, informer: &SharedInformer) {
        let claim = self.0.get_mut(&informer.key().gvr);
        if let Some(claim) = claim.filter(|claim| claim.subscription.informer().is(informer))
            && let Some(listening) = &mut claim.listening
        {
            listening.caught_up(plugin, informer);
        }
    }

    /// Returns the version that this informer must reach before [`caught_up`](Self::caught_up) may be called.
    pub(super) fn awaits(&self, informer: &SharedInformer) -> Option<ResourceVersion> {
        let claim = self.0.get(&informer.key().gvr)?;
        let listening = claim.listening.as_ref().filter(|_| claim.subscription.informer().is(informer))?;
        listening.successor.as_ref()?.awaits()
    }

    /// Returns true if there is a claim on this resource.
    pub(super) fn contains(&self, gvr: &Gvr) -> bool {
        self.0.contains_key(gvr)
    }

    /// Returns the claimed informer of this resource if it is another one than this.
    pub(super) fn other_than(&self, informer: &SharedInformer) -> Option<SharedInformer> {
        let own = self.0.get(&informer.key().gvr)?.subscription.informer();
        (!own.is(informer)).then(|| own.clone())
    }

    pub(super) fn informers(&self) -> Vec<(Gvr, SharedInformer)> {
        self.0.iter().map(|(gvr, claim)| (gvr.clone(), claim.subscription.informer().clone())).collect()
    }

    pub(super) fn registrations(&self) -> Vec<Registration> {
        let listening = self.0.values().filter_map(|claim| claim.listening.as_ref());
        listening.map(|listening| listening.registration.clone()).collect()
    }

    /// Returns the informer and the registration of the subscription to this resource.
    pub(super) fn registration(&self, gvr: &Gvr) -> Option<(SharedInformer, Registration)> {
        let claim = self.0.get(gvr)?;
        let registration = claim.listening.as_ref()?.registration.clone();
        Some((claim.subscription.informer().clone(), registration))
    }

    /// Returns true if the informer of this resource has not reached the state of the object that the plugin has already
    /// received from the informer before.
    pub(super) fn is_behind(&self, gvr: &Gvr, key: &ObjectKey) -> bool {
        let listening = self.0.get(gvr).and_then(|claim| claim.listening.as_ref());
        let successor = listening.and_then(|listening| listening.successor.as_ref());
        successor.is_some_and(|successor| successor.knows(key))
    }

    pub(super) fn interest(&self, gvr: &Gvr, key: &ObjectKey) -> Interest {
        let Some(claim) = self.0.get(gvr) else { return Interest::None };
        let Some(listening) = &claim.listening else { return Interest::None };
        let cached = claim.subscription.informer().lister().get(key);
        let by_name = listening.filter.excludes_key(key);
        let excluded = by_name.or_else(|| cached.and_then(|object| listening.filter.excludes(&object)));
        excluded.map_or(Interest::Selected, Interest::Excluded)
    }

    /// The statistics of each filter, by resource.
    pub(super) fn filters(&self) -> Vec<(Gvr, FilterStats)> {
        let filter = |claim: &Claim| claim.listening.as_ref().map(|listening| listening.filter.stats());
        self.0.iter().filter_map(|(gvr, claim)| Some((gvr.clone(), filter(claim)?))).collect()
    }

    /// Delivers everything that the plugin subscribes to again, with the cause `replay`.
    pub(super) fn replay(&self) {
        for claim in self.0.values() {
            if let Some(listening) = &claim.listening {
                claim.subscription.informer().replay(&listening.registration);
            }
        }
    }
}

#[cfg(test)]
impl Claims {
    /// Puts a successor before the filter of a subscription.
    pub(super) fn insert_successor(
        &mut self,
        gvr: &Gvr,
        successor: impl FnOnce(Arc<dyn NotificationSink>) -> Arc<Successor>,
    ) {
        let listening = self.0.get_mut(gvr).and_then(|claim| claim.listening.as_mut());
        if let Some(listening) = listening {
            listening.successor = Some(successor(Arc::clone(&listening.filter) as _));
        }
    }
}

// === impl Claim ===

impl Claim {
    fn listen(
        &mut self,
        plugin: &str,
        on: &config::Subscription,
        target: Target<'_>,
    ) -> Result<(), SubscribeError> {
        let config = settings::listener(plugin, on);
        let Target { queue, tracer } = target;
        let filter = || Arc::new(Filter::traced(settings::filter(on), queue.clone(), tracer.clone()));
        match &mut self.listening {
            Some(listening) if listening.on == *on => {}
            Some(listening) => {
                let informer = self.subscription.informer();
                let (before, filter) = (Arc::clone(&listening.filter), filter());
                let difference = |object: &Arc<Object>| filter.succeed(&before, object);
                let sink = || -> Arc<dyn NotificationSink> {
                    match &listening.successor {
                        Some(successor) => {
                            // The objects that it still holds back are in no cache any more.
                            successor.retarget(Arc::clone(&filter) as _, difference);
                            Arc::clone(successor) as _
                        }
                        None => Arc::clone(&filter) as _,
                    }
                };
                informer.retarget_listener(&listening.registration, config, sink, difference);
                (listening.on, listening.filter) = (on.clone(), filter);
            }
            None => {
                let filter = filter();
                let registration = self.subscription.add_listener(config, Arc::clone(&filter) as _)?;
                self.listening = Some(Listening { on: on.clone(), registration, filter, successor: None });
            }
        }
        Ok(())
    }
}

// === impl Listening ===

impl Listening {
    fn succeed(
        &mut self,
        plugin: &str,
        old: &SharedInformer,
        subscription: &Subscription,
        tracer: &Tracer,
    ) -> Result<(), SubscribeError> {
        let new = subscription.informer();
        // If the informer before had not caught up either, its successor tracks more than its cache.
        let (newer, before) = self.successor.take().map(|successor| successor.take()).unwrap_or_default();
        // The filter stays: it tracks which objects the plugin has seen.
        let sink = Arc::clone(&self.filter) as _;
        let until = old.last_synced_version().unwrap_or_else(|_| Some(String::new())).or(before);
        let received = Received { cached: old.cached(), newer, until, alike: old.keeps_as(new) };
        let source = Source::new(new.key().gvr.clone());
        let successor = Arc::new(Successor::new(source, received, sink, tracer.clone()));
        // Read first: the cache has reached at least this version once the listener receives it.
        let reached = new.last_synced_version().ok().flatten();
        let config = settings::listener(plugin, &self.on);
        let registration = subscription.add_listener(config, Arc::clone(&successor) as _);
        if registration.is_ok() {
            successor.reached(reached.as_deref());
        }
        // Kept on failure too: the next informer continues with what was not delivered.
        self.successor = Some(successor);
        self.registration = registration?;
        Ok(())
    }

    fn caught_up(&mut self, plugin: &str, informer: &SharedInformer) {
        let Some(successor) = self.successor.take() else { return };
        let config = settings::listener(plugin, &self.on);
        let sink = || -> Arc<dyn NotificationSink> {
            // Every notification of the listener was offered before.
            successor.finish();
            Arc::clone(&self.filter) as _
        };
        if !informer.retarget_listener(&self.registration, config, sink, |_| None) {
            // The informer has ended meanwhile: the next one continues with what was not delivered.
            self.successor = Some(successor);
        }
    }
}
