//! The subscriptions with `namespaces-labels` follow the labels of namespaces (D-20).
//!
//! Such a subscription begins once the informer of namespaces has synced. So the first list is judged with the labels of all namespaces, and
//! its objects are initial (C-11). From then on a task compares each namespace that changed with what the filters have. A filter
//! that differs is changed together with the objects of the namespace, in order with its other notifications. The task looks at the
//! cache, which is at least as new as the notification (C-5), and not at the notification, so the newest labels win.
//!
//! A namespace that cannot be decoded stays as it is in the filter (D-2). A filter that begins with such a namespace counts it as
//! matching if the plugin may know an object of it: the filter before had the object, or there is a receipt of an earlier process. So no
//! deletion is delivered because the labels cannot be read.

use std::{
    collections::{BTreeMap, BTreeSet},
    sync::{
        Arc,
        atomic::{AtomicBool, Ordering},
    },
};

use informer_cache::{ListQuery, ListenerConfig, SharedInformer};
use informer_types::{Gvr, LabelSelector, Notification, NotificationSink, ObjectKey};
use parking_lot::Mutex;
use tokio::{
    select,
    sync::{Notify, watch},
};

use super::claim::Claims;
use crate::config;

/// The part of the subscriptions that follows the labels of namespaces.
#[derive(Default)]
pub(super) struct Namespaces {
    /// The subscriptions that have not begun, because the namespaces are not known yet, or because their informer has ended and is
    /// being replaced.
    waiting: watch::Sender<BTreeMap<Gvr, config::Subscription>>,
    /// Notified if there may be another informer, or another subscription.
    changed: Notify,
    moved: Arc<Moved>,
}

/// The namespaces that changed.
#[derive(Debug, Default)]
struct Moved {
    names: Mutex<BTreeSet<Arc<str>>>,
    changed: Notify,
    /// True from the moment at which names are taken until their review ends. It is written while `names` is locked.
    in_review: AtomicBool,
}

// === impl Namespaces ===

impl Namespaces {
    /// Replaces the subscriptions that wait.
    pub(super) fn wait_for(&self, waiting: BTreeMap<Gvr, config::Subscription>) {
        self.waiting.send_replace(waiting);
        self.change();
    }

    /// The subscriptions that wait.
    pub(super) fn waiting(&self) -> Vec<config::Subscription> {
        self.waiting.borrow().values().cloned().collect()
    }

    /// Sets which of them still wait, until the next [`change`](Self::change).
    pub(super) fn still_wait(&self, waiting: BTreeMap<Gvr, config::Subscription>) {
        self.waiting.send_replace(waiting);
    }

    /// Reports that another informer may be the informer of namespaces, or of a subscription that waits.
    pub(super) fn change(&self) {
        self.changed.notify_one();
    }

    /// Waits for [`change`](Self::change).
    ///
    /// # Cancel safety
    /// A dropped future misses nothing.
    pub(super) async fn changed(&self) {
        self.changed.notified().await;
    }

    /// Waits until [`review`] is needed. Returns the names of the namespaces to review; `None` means all.
    ///
    /// # Cancel safety
    /// A dropped future misses nothing.
    pub(super) async fn moved(&self) -> Option<BTreeSet<Arc<str>>> {
        select! {
            biased;
            () = self.changed.notified() => None,
            () = self.moved.changed.notified() => Some(self.moved.take()),
        }
    }

    /// Call it after each review that [`moved`](Self::moved) requested.
    pub(super) fn reviewed(&self) {
        let _names = self.moved.names.lock();
        self.moved.in_review.store(false, Ordering::Relaxed);
    }

    /// Returns true if every subscription has begun, and the filters have the labels of all namespaces in the cache.
    pub(super) fn are_settled(&self) -> bool {
        let names = self.moved.names.lock();
        names.is_empty() && !self.moved.in_review.load(Ordering::Relaxed) && !self.is_awaited()
    }

    /// The informer of namespaces, if a subscription needs their labels and they are not followed yet.
    pub(super) fn unfollowed(&self, claims: &Claims) -> Option<SharedInformer> {
        let claim = claims.get(&Gvr::namespaces()).filter(|claim| !claim.is_followed)?;
        let mut begun = claims.values().filter_map(|claim| claim.listening.as_ref());
        let waits = self.waiting.borrow().values().any(config::Subscription::follows_namespaces);
        let is_needed = waits || begun.any(|one| one.on.follows_namespaces());
        is_needed.then(|| claim.subscription.informer().clone())
    }

    /// Follows this informer of namespaces, which has synced. Returns false if another informer replaces it.
    ///
    /// # Blocking
    /// It blocks as [`SharedInformer::add_listener`] does.
    pub(super) fn follow(&self, plugin: &str, claims: &mut Claims, informer: &SharedInformer) -> bool {
        let claim = claims.get_mut(&informer.key().gvr);
        let Some(claim) = claim.filter(|claim| claim.subscription.informer().is(informer)) else {
            return false;
        };
        let name = format!("{plugin} (namespaces-labels)");
        let listener = ListenerConfig { name, resync: None, relist_all: false };
        claim.is_followed = claim.subscription.add_listener(listener, Arc::clone(&self.moved) as _).is_ok();
        claim.is_followed
    }

    /// Returns true if a subscription has not begun.
    pub(super) fn is_awaited(&self) -> bool {
        !self.waiting.borrow().is_empty()
    }

    /// Waits until every subscription has begun.
    pub(super) async fn known(&self) {
        // The sender lives as long as `self`.
        self.waiting.subscribe().wait_for(BTreeMap::is_empty).await.ok();
    }
}

// === impl Moved ===

impl Moved {
    fn take(&self) -> BTreeSet<Arc<str>> {
        let mut names = self.names.lock();
        self.in_review.store(true, Ordering::Relaxed);
        std::mem::take(&mut *names)
    }
}

impl NotificationSink for Moved {
    fn offer(&self, notification: Notification) {
        self.names.lock().insert(notification.key().name.into());
        self.changed.notify_one();
    }
}

/// Changes each filter whose namespaces differ from the labels that they have now. `None` means all namespaces.
///
/// # Blocking
/// It blocks as [`SharedInformer::revisit`] does.
pub(super) fn review(claims: &Claims, names: Option<&BTreeSet<Arc<str>>>) {
    let Some(namespaces) = followed(claims) else { return };
    for claim in claims.values() {
        let listening = claim.listening.as_ref().filter(|listening| listening.on.follows_namespaces());
        let Some(listening) = listening else { continue };
        let informer = claim.subscription.informer();
        match names {
            Some(names) => listening.review(informer, &namespaces, names),
            None => {
                let mut all: BTreeSet<Arc<str>> = listening.filter.chosen().into_iter().collect();
                all.extend(chosen(&namespaces, &LabelSelector::default(), BTreeSet::new()));
                listening.review(informer, &namespaces, &all);
            }
        }
    }
}

/// The informer of namespaces, if it has synced and is followed.
pub(super) fn followed(claims: &Claims) -> Option<SharedInformer> {
    let claim = claims.get(&Gvr::namespaces()).filter(|claim| claim.is_followed)?;
    Some(claim.subscription.informer().clone())
}

/// The namespaces with these labels, and those of `known` whose labels cannot be read: what the plugin knows stays until the labels
/// can be read ([`review`]).
pub(super) fn chosen(
    namespaces: &SharedInformer,
    labels: &LabelSelector,
    known: BTreeSet<Arc<str>>,
) -> Vec<Arc<str>> {
    // Read the quarantine before the cache. In the other order, a namespace that becomes decodable in between would be missing in both.
    let undecoded = namespaces.undecoded();
    let lister = namespaces.lister();
    let is_unreadable = |name: &Arc<str>| {
        let key = ObjectKey::new("", &**name);
        // An object without a namespace matches no labels of namespaces.
        !name.is_empty() && undecoded.may_have(&key) && lister.get(&key).is_none()
    };
    let mut chosen: Vec<Arc<str>> = known.into_iter().filter(is_unreadable).collect();
    let query = ListQuery { namespace: None, labels, index: None };
    let found = lister.list(&query).unwrap_or_default();
    chosen.extend(found.iter().map(|namespace| Arc::from(namespace.name())));
    chosen
}
