//! What a plugin hears of, and what it may read.

use std::{collections::BTreeMap, sync::Arc};

use informer_cache::{InformerFactory, Registration, ResourceVersion, SharedInformer, Subscription};
use informer_dispatch::{Filter, FilterStats, Queue};
use informer_types::{Gvr, NotificationSink, Object, ObjectKey, ReadGrants, Source, Tracer};

use super::{SubscribeError, Watches};
use crate::{
    app::{
        settings,
        successor::{Successor, Told},
    },
    config,
};

/// One claim on each informer that the plugin hears of or may read.
#[derive(Default)]
pub(super) struct Claims(BTreeMap<Gvr, Claim>);

struct Claim {
    subscription: Subscription,
    listening: Option<Listening>,
}

/// Where a plugin takes in what it hears, and where its filters write what they decide.
#[derive(Clone, Copy)]
pub(super) struct Target<'a> {
    pub(super) queue: &'a Queue,
    pub(super) tracer: &'a Tracer,
}

/// One `[[plugin.on]]`.
struct Listening {
    on: config::Subscription,
    registration: Registration,
    /// It remembers which objects the plugin was told of.
    filter: Arc<Filter<Queue>>,
    /// Stands before the filter until the informer has seen what the one before it told.
    successor: Option<Arc<Successor>>,
}

// === impl Claims ===

impl Claims {
    /// Makes the claims those of this configuration. What is claimed already stays as it is: nothing is told again. A
    /// subscription that changed is another one from now on; what its listener was told it was told. True where an
    /// informer was added.
    pub(super) fn set(
        &mut self,
        config: &config::Plugin,
        watches: &Watches,
        factory: &InformerFactory,
        target: Target<'_>,
    ) -> Result<bool, SubscribeError> {
        let heard = config.subscriptions.iter().map(|on| &on.watch);
        let wanted: Vec<&Gvr> = heard.chain(config.grants.read.iter().flat_map(ReadGrants::gvrs)).collect();
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

    /// Another informer takes over a watch; the one before has ended, its cache is still there. It may be behind what the
    /// one before told: [`caught_up`](Self::caught_up) says when it is not any more.
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

    /// The informer has seen whatever the one before it had seen: what it does not have is gone.
    pub(super) fn caught_up(&mut self, plugin: &str, informer: &SharedInformer) {
        let claim = self.0.get_mut(&informer.key().gvr);
        if let Some(claim) = claim.filter(|claim| claim.subscription.informer().is(informer))
            && let Some(listening) = &mut claim.listening
        {
            listening.caught_up(plugin, informer);
        }
    }

    /// The newest version that this informer has to come to before [`caught_up`](Self::caught_up) can be said of it.
    pub(super) fn awaits(&self, informer: &SharedInformer) -> Option<ResourceVersion> {
        let claim = self.0.get(&informer.key().gvr)?;
        let listening = claim.listening.as_ref().filter(|_| claim.subscription.informer().is(informer))?;
        listening.successor.as_ref()?.awaits()
    }

    /// Has a claim on this resource.
    pub(super) fn contains(&self, gvr: &Gvr) -> bool {
        self.0.contains_key(gvr)
    }

    /// Has a claim on this resource, and on another informer than this one.
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

    /// Where it hears of this resource, if it does.
    pub(super) fn heard(&self, gvr: &Gvr) -> Option<(SharedInformer, Registration)> {
        let claim = self.0.get(gvr)?;
        let registration = claim.listening.as_ref()?.registration.clone();
        Some((claim.subscription.informer().clone(), registration))
    }

    /// The informer of this resource has not come yet to what the plugin knows of the object by the one before.
    pub(super) fn is_behind(&self, gvr: &Gvr, key: &ObjectKey) -> bool {
        let listening = self.0.get(gvr).and_then(|claim| claim.listening.as_ref());
        let successor = listening.and_then(|listening| listening.successor.as_ref());
        successor.is_some_and(|successor| successor.knows(key))
    }

    /// Whether it hears of this resource, and the condition that excludes the object as it is in the cache.
    pub(super) fn hears(&self, gvr: &Gvr, key: &ObjectKey) -> Option<Option<&'static str>> {
        let claim = self.0.get(gvr)?;
        let listening = claim.listening.as_ref()?;
        let cached = claim.subscription.informer().lister().get(key);
        let by_name = listening.filter.excludes_key(key);
        Some(by_name.or_else(|| cached.and_then(|object| listening.filter.excludes(&object))))
    }

    /// By the resource that each is about.
    pub(super) fn filters(&self) -> Vec<(Gvr, FilterStats)> {
        let filter = |claim: &Claim| claim.listening.as_ref().map(|listening| listening.filter.stats());
        self.0.iter().filter_map(|(gvr, claim)| Some((gvr.clone(), filter(claim)?))).collect()
    }

    /// Everything the plugin subscribes to is told again, with cause `replay`.
    pub(super) fn replay(&self) {
        for claim in self.0.values() {
            if let Some(listening) = &claim.listening {
                claim.subscription.informer().replay(&listening.registration);
            }
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
                            // What it still holds back is in no cache any more.
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
        // One that had not caught up itself knows better than its cache what the plugin was told.
        let (untold, before) = self.successor.take().map(|successor| successor.take()).unwrap_or_default();
        // The same filter: it is the same story that goes on.
        let sink = Arc::clone(&self.filter) as _;
        let until = old.last_synced_version().unwrap_or_else(|_| Some(String::new())).or(before);
        let told = Told { cached: old.cached(), untold, until, alike: old.keeps_as(new) };
        let source = Source::new(new.key().gvr.clone());
        let successor = Arc::new(Successor::new(source, told, sink, tracer.clone()));
        // Asked first: the cache holds at least this when it is told of.
        let reached = new.last_synced_version().ok().flatten();
        let config = settings::listener(plugin, &self.on);
        let registration = subscription.add_listener(config, Arc::clone(&successor) as _);
        if registration.is_ok() {
            successor.reached(reached.as_deref());
        }
        // Else whoever takes over next goes on with what it was not told.
        self.successor = Some(successor);
        self.registration = registration?;
        Ok(())
    }

    fn caught_up(&mut self, plugin: &str, informer: &SharedInformer) {
        let Some(successor) = self.successor.take() else { return };
        let config = settings::listener(plugin, &self.on);
        let sink = || -> Arc<dyn NotificationSink> {
            // Whatever waited for the listener was offered before.
            successor.finish();
            // There is nothing between any more.
            Arc::clone(&self.filter) as _
        };
        if !informer.retarget_listener(&self.registration, config, sink, |_| None) {
            // It has ended meanwhile: whoever takes over next goes on with what was not told.
            self.successor = Some(successor);
        }
    }
}

#[cfg(test)]
mod tests;
