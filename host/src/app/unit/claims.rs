//! What a plugin hears of, and what it may read.

use std::{collections::BTreeMap, sync::Arc};

use informer_cache::{InformerFactory, Registration, SharedInformer, Subscription};
use informer_dispatch::{Filter, FilterStats, Queue};
use informer_types::{Gvr, ReadGrants, Source};

use super::{SubscribeError, Watches};
use crate::{
    app::{settings, successor::Successor},
    config,
};

/// One claim on each informer that the plugin hears of or may read.
#[derive(Default)]
pub(super) struct Claims(BTreeMap<Gvr, Claim>);

struct Claim {
    subscription: Subscription,
    listening: Option<Listening>,
}

/// One `[[plugin.on]]`.
struct Listening {
    on: config::Subscription,
    registration: Registration,
    /// It remembers which objects the plugin was told of.
    filter: Arc<Filter<Queue>>,
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
        queue: &Queue,
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
                claim.listen(&config.name, on, queue)?;
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

    /// Another informer takes over a watch; the one before has ended, its cache is still there.
    pub(super) fn succeed(&mut self, plugin: &str, subscription: Subscription) -> Result<(), SubscribeError> {
        let gvr = subscription.informer().key().gvr.clone();
        let Some(claim) = self.0.get_mut(&gvr) else { return Ok(()) };
        let known = claim.subscription.informer().cached();
        if let Some(listening) = &mut claim.listening {
            // The same one: it is the same story that goes on.
            let sink = Arc::clone(&listening.filter);
            let config = settings::listener(plugin, &listening.on);
            let successor = Arc::new(Successor::new(Source::new(gvr), known, Arc::clone(&sink) as _));
            let registration = subscription.add_listener(config.clone(), Arc::clone(&successor) as _)?;
            successor.finish();
            // It was told the difference; from now on there is nothing between.
            subscription.informer().retarget_listener(&registration, config, sink, |_| None);
            listening.registration = registration;
        }
        claim.subscription = subscription;
        Ok(())
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
        queue: &Queue,
    ) -> Result<(), SubscribeError> {
        let config = settings::listener(plugin, on);
        let filter = || Arc::new(Filter::new(settings::filter(on), queue.clone()));
        match &mut self.listening {
            Some(listening) if listening.on == *on => {}
            Some(listening) => {
                let informer = self.subscription.informer();
                let (before, filter) = (Arc::clone(&listening.filter), filter());
                let sink = Arc::clone(&filter) as _;
                informer.retarget_listener(&listening.registration, config, sink, |object| {
                    filter.succeed(&before, object)
                });
                (listening.on, listening.filter) = (on.clone(), filter);
            }
            None => {
                let filter = filter();
                let registration = self.subscription.add_listener(config, Arc::clone(&filter) as _)?;
                self.listening = Some(Listening { on: on.clone(), registration, filter });
            }
        }
        Ok(())
    }
}
