//! The claims of a plugin on informers. A claim keeps an informer running, and has the subscription to it, if there is one.

use std::{
    collections::{BTreeMap, BTreeSet},
    sync::Arc,
};

use informer_cache::{FactoryStopped, InformerStopped, Registration, SharedInformer, Subscription};
use informer_dispatch::{Filter, Queue};
use informer_types::{Gvr, NotificationSink, Object, ObjectKey, Source, Tracer};

use super::initials::Initials;
use crate::{
    app::{
        keeping::View,
        settings,
        successor::{Received, Successor},
    },
    config,
};

/// The claims of a plugin.
pub(super) type Claims = BTreeMap<Gvr, Claim>;

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

/// The interest of a plugin in an object.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(in crate::app) enum Interest {
    /// The plugin does not subscribe to the resource.
    None,
    /// This condition of the subscription, a key of `[[plugin.on]]`, excludes the object as it is in the cache.
    Excluded(&'static str),
    /// The subscription selects the object, or the object is not in the cache.
    Selected,
}

/// A claim on an informer.
pub(super) struct Claim {
    pub(super) subscription: Subscription,
    pub(super) listening: Option<Listening>,
    /// True if this is the informer of namespaces, it has synced, and the labels of namespaces are followed.
    pub(super) is_followed: bool,
}

/// One `[[plugin.on]]`.
pub(super) struct Listening {
    pub(super) on: config::Subscription,
    pub(super) registration: Registration,
    /// Tracks the initial notifications of this informer and of all previous informers.
    pub(super) initials: Initials,
    /// Tracks which objects the plugin has seen.
    pub(super) filter: Arc<Filter<Queue>>,
    /// Stands before the filter until the informer has caught up with the informer that it replaced. It stays after that while the
    /// plugin knows objects that the informer cannot decode.
    pub(super) successor: Option<Arc<Successor>>,
    /// The progress of the announcement that the initial notifications are settled.
    pub(super) announcement: Announcement,
}

/// The progress of an announcement: the host notifies the plugin once the initial notifications of a subscription are settled.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Announcement {
    /// Some initial notifications may not be settled.
    Waits,
    /// The initial notifications are settled, and the host is about to notify the plugin. If a replay begins now, the host notifies
    /// the plugin once more at the end of the replay.
    Begun,
    /// The plugin is notified.
    Done,
}

// === impl Claim ===

impl Claim {
    pub(super) fn of(subscription: Subscription) -> Self {
        Self { subscription, listening: None, is_followed: false }
    }
}

// === impl Listening ===

impl Listening {
    /// A subscription that begins.
    pub(super) fn new(
        on: config::Subscription,
        registration: Registration,
        filter: Arc<Filter<Queue>>,
        initials: Initials,
    ) -> Self {
        let announcement = Announcement::Waits;
        Self { on, registration, initials, filter, successor: None, announcement }
    }

    /// Returns true if the plugin has received a state of the object from the previous informer that the present informer has not
    /// reached.
    pub(super) fn is_behind(&self, key: &ObjectKey) -> bool {
        self.successor.as_ref().is_some_and(|successor| successor.knows(key))
    }

    /// The registration and the tracker of the initial notifications. The subscription has synced when both are settled.
    pub(super) fn initial(&self) -> (Registration, Initials) {
        (self.registration.clone(), self.initials.clone())
    }

    /// Returns true if every initial notification and every replay that began before the announcement is settled.
    pub(super) fn is_settled(&self) -> bool {
        self.registration.has_synced() && self.initials.are_settled()
    }

    /// The objects that the filter has been offered and that are not deleted.
    pub(super) fn offered(&self, informer: &SharedInformer) -> Vec<Arc<Object>> {
        // The successor comes first and the cache second. In the other order, an object that leaves the successor in between would be
        // missing.
        let mut offered = self.successor.as_ref().map(|successor| successor.known()).unwrap_or_default();
        offered.extend(informer.cached());
        offered
    }

    /// Listens to another informer from now on. The previous informer has ended. A [`Successor`] stands before the filter until
    /// [`caught_up`](Self::caught_up) is called.
    pub(super) fn replace_informer(
        &mut self,
        plugin: &str,
        old: &SharedInformer,
        subscription: &Subscription,
        tracer: &Tracer,
    ) -> Result<(), SubscribeError> {
        let new = subscription.informer();
        // If the previous informer had not caught up either, its successor tracks more than its cache.
        let (newer, before) = self.successor.take().map(|successor| successor.take()).unwrap_or_default();
        // The filter stays: it tracks which objects the plugin has seen.
        self.initials.end_list();
        let sink = Arc::clone(&self.filter) as _;
        let until = old.last_synced_version().unwrap_or_else(|_| Some(String::new())).or(before);
        let received = Received { cached: old.cached(), newer, until, view: View::of(&self.on) };
        let source = Source::new(new.key().gvr.clone());
        let successor = Arc::new(Successor::new(source, received, sink, tracer.clone()));
        // Read first: the cache has reached at least this version once the listener receives it.
        let (reached, undecoded) = (new.last_synced_version().ok().flatten(), new.undecoded());
        let config = settings::listener(plugin, &self.on);
        let sink = self.initials.before(Arc::clone(&successor) as _);
        let registration = subscription.add_listener(config, sink);
        if registration.is_ok() {
            successor.reached(reached.as_deref(), |key| undecoded.may_have(key));
        }
        // Kept on failure too: the next informer continues with what was not delivered.
        self.successor = Some(successor);
        self.registration = registration?;
        Ok(())
    }

    /// Delivers a deletion for each object that only the previous informer had, and removes the [`Successor`]. An object that the
    /// informer cannot decode exists, and the successor keeps the object. Returns false if the successor stays, because it keeps an
    /// object or because the informer has ended. If the informer has not ended, call this again when an object can be decoded or is
    /// gone ([`SharedInformer::wait_released`]).
    pub(super) fn caught_up(&mut self, plugin: &str, informer: &SharedInformer) -> bool {
        let Some(successor) = self.successor.take() else { return true };
        let config = settings::listener(plugin, &self.on);
        let undecoded = informer.undecoded();
        let sink = || -> Arc<dyn NotificationSink> {
            // Every notification of the listener was offered before.
            successor.finish(|key| undecoded.may_have(key));
            let sink: Arc<dyn NotificationSink> = if successor.is_finished() {
                Arc::clone(&self.filter) as _
            } else {
                Arc::clone(&successor) as _
            };
            self.initials.before(sink)
        };
        let is_replaced = informer.replace_sink(&self.registration, config, sink);
        let is_over = is_replaced && successor.is_finished();
        if !is_over {
            // If the informer has ended meanwhile, the next one continues with what was not delivered.
            self.successor = Some(successor);
        }
        is_over
    }

    /// Updates the filter for each of these namespaces whose labels begin or cease to match. A namespace that cannot be decoded stays
    /// as it is in the filter.
    pub(super) fn review(
        &self,
        informer: &SharedInformer,
        namespaces: &SharedInformer,
        names: &BTreeSet<Arc<str>>,
    ) {
        // Read the quarantine before the cache. In the other order, a namespace that becomes decodable in between would be missing in both.
        let undecoded = namespaces.undecoded();
        let (lister, filter) = (namespaces.lister(), &self.filter);
        let labels = &self.on.filter.namespaces_labels;
        let known: BTreeSet<Arc<str>> = filter.chosen().into_iter().collect();
        for name in names {
            let key = ObjectKey::new("", &**name);
            let namespace = lister.get(&key);
            let is_known = namespace.is_some() || !undecoded.may_have(&key);
            let matches = namespace.is_some_and(|namespace| labels.selects(&namespace));
            if !is_known || known.contains(name) == matches {
                continue;
            }
            let difference = |object: &Arc<Object>| filter.revisit(object);
            let switch = || filter.set_namespace(name, matches);
            let revisited = informer.revisit(&self.registration, name, switch, difference);
            if let Some(successor) = self.successor.as_ref().filter(|_| revisited) {
                // The objects that the successor still holds are in no cache any more.
                let is_there = |object: &&Arc<Object>| object.namespace() == &**name;
                successor.retarget(Arc::clone(filter) as _, None, |object| {
                    Some(object).filter(is_there).and_then(difference)
                });
            }
        }
    }
}

/// The informer of each claim.
pub(super) fn informers(claims: &Claims) -> Vec<(Gvr, SharedInformer)> {
    claims.iter().map(|(gvr, claim)| (gvr.clone(), claim.subscription.informer().clone())).collect()
}
