//! The subscriptions of a plugin, and the caches that it may read.

mod again;
mod claim;
mod initials;
mod namespaces;
mod recall;

use std::{
    collections::{BTreeMap, BTreeSet, HashMap},
    sync::{
        Arc,
        atomic::{AtomicU64, Ordering},
    },
};

use futures::{
    future::join_all,
    stream::{FuturesUnordered, StreamExt},
};
use informer_cache::{
    InformerFactory, Registration, ResourceVersion, SharedInformer, Subscription, WatchConfig,
};
use informer_dispatch::{Filter, FilterStats, Initial, Queue};
use informer_types::{Gvr, NotificationSink, Object, ObjectKey, ReadGrants, Selected, Source, Tracer};
use parking_lot::Mutex;
use tokio::{select, sync::Notify};

pub(in crate::app) use claim::Interest;
pub use claim::SubscribeError;
use claim::{Announcement, Claim, Claims, Listening, informers};
use initials::Initials;
use namespaces::{Namespaces, chosen, followed, review};
use recall::end_recall;

use super::receipts::ReceiptKeeper;
use crate::{
    app::{blocking::off_the_workers, settings},
    config,
    wiring::CacheLister,
};

/// Every `[[watch]]`, as the cache takes it.
pub(in crate::app) type Watches = BTreeMap<Gvr, WatchConfig>;

/// The subscriptions and reads of one plugin: one claim on each informer that the plugin subscribes to or may read. An
/// informer runs while some plugin has a claim on it (D-12).
pub(in crate::app) struct Subscriptions {
    plugin: Arc<str>,
    factory: Arc<InformerFactory>,
    /// Receives the notifications.
    queue: Queue,
    /// What the plugin acknowledged.
    receipts: ReceiptKeeper,
    /// Notified if there may be receipts of an earlier process to compare.
    recalling: Notify,
    /// Traces the decisions of the filters.
    tracer: Tracer,
    /// The caches that the plugin may read.
    lister: Arc<CacheLister>,
    claims: Mutex<Claims>,
    /// Resources that the plugin may read only since the newest configuration, and whose informer is still narrowed to what the
    /// plugins needed before. Their caches are incomplete until a wider informer replaces the present one.
    narrow: Mutex<BTreeSet<Gvr>>,
    /// Notified when a registration is new.
    registered: Notify,
    /// The part that follows the labels of namespaces.
    namespaces: Namespaces,
    /// The number of the last version put into service for which objects were delivered again, if it needed that.
    swap: AtomicU64,
}

// === impl Subscriptions ===

impl Subscriptions {
    /// Subscribes: the queue receives notifications from now on.
    pub(super) fn new(
        config: &config::Plugin,
        watches: &Watches,
        factory: &Arc<InformerFactory>,
        queue: &Queue,
        (receipts, tracer): (ReceiptKeeper, Tracer),
    ) -> Result<Self, SubscribeError> {
        let subscriptions = Self {
            plugin: config.name.as_str().into(),
            factory: Arc::clone(factory),
            queue: queue.clone(),
            receipts,
            recalling: Notify::new(),
            tracer,
            lister: Arc::default(),
            claims: Mutex::default(),
            narrow: Mutex::default(),
            registered: Notify::new(),
            namespaces: Namespaces::default(),
            swap: AtomicU64::default(),
        };
        subscriptions.set(config, watches)?;
        Ok(subscriptions)
    }

    /// The caches that the plugin may read.
    pub(super) fn lister(&self) -> &Arc<CacheLister> {
        &self.lister
    }

    /// What the plugin acknowledged.
    pub(in crate::app) fn receipts(&self) -> &ReceiptKeeper {
        &self.receipts
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

    /// Makes the claims those of this configuration. Claims that are there already stay as they are, and nothing is
    /// delivered again. A subscription that changed delivers only the difference. Returns true if an informer was added.
    fn set(&self, config: &config::Plugin, watches: &Watches) -> Result<bool, SubscribeError> {
        let mut claims = self.claims.lock();
        self.receipts.configure(config);
        let subscribed = config.subscriptions.iter().map(|on| &on.watch);
        let namespaces = Gvr::namespaces();
        let followed = config.follows_namespaces().then_some(&namespaces);
        let read = config.grants.read.iter().flat_map(ReadGrants::gvrs);
        let wanted: Vec<&Gvr> = subscribed.chain(read).chain(followed).collect();
        let mut added = false;
        for &gvr in &wanted {
            if let Some(watch) = watches.get(gvr).filter(|_| !claims.contains_key(gvr)) {
                claims.insert(gvr.clone(), Claim::of(self.factory.subscribe(watch.clone())?));
                added = true;
            }
        }
        let waiting = self.listen_to(&mut claims, &config.subscriptions);
        self.namespaces.wait_for(waiting);
        for (gvr, claim) in &mut *claims {
            if config.subscriptions.iter().all(|on| on.watch != *gvr) {
                claim.listening.take().inspect(|listening| listening.registration.remove());
            }
        }
        claims.retain(|gvr, _| wanted.contains(&gvr));
        self.lister.set(informers(&claims));
        Ok(added)
    }

    /// Begins or changes these subscriptions. Returns those that have to wait: for the labels of namespaces, or for the informer that
    /// replaces an informer that has ended.
    fn listen_to(
        &self,
        claims: &mut Claims,
        all: &[config::Subscription],
    ) -> BTreeMap<Gvr, config::Subscription> {
        let namespaces = followed(claims);
        let mut waiting = BTreeMap::new();
        for on in all {
            let Some(claim) = claims.get_mut(&on.watch) else { continue };
            let is_known = namespaces.is_some() || !on.follows_namespaces();
            if !is_known || !self.listen(claim, on, namespaces.as_ref()) {
                waiting.insert(on.watch.clone(), on.clone());
            }
        }
        waiting
    }

    /// Keeps the filters up to date with the labels of namespaces, and begins the subscriptions that wait. Never returns.
    pub(super) async fn follow_namespaces(self: Arc<Self>) {
        loop {
            let unfollowed = self.namespaces.unfollowed(&self.claims.lock());
            let this = Arc::clone(&self);
            let Some(informer) = unfollowed else {
                let names = self.namespaces.moved().await;
                // Most plugins follow no namespaces, and no subscription of theirs waits: they need no turn.
                if self.namespaces.is_awaited() || followed(&self.claims.lock()).is_some() {
                    off_the_workers(move || this.review(names.as_ref())).await;
                }
                self.namespaces.reviewed();
                continue;
            };
            let begun = async {
                if !informer.wait_synced().await || !off_the_workers(move || this.begin(&informer)).await {
                    // Another informer replaces it.
                    std::future::pending::<()>().await;
                }
            };
            select! {
                biased;
                () = begun => {}
                () = self.namespaces.changed() => {
                    // A subscription without `namespaces-labels` begins also while the namespaces are not known.
                    let this = Arc::clone(&self);
                    off_the_workers(move || this.review(None)).await;
                }
            }
        }
    }

    /// Follows this informer of namespaces, which has synced, and begins the subscriptions that wait for it. Returns false if
    /// another informer replaces it.
    fn begin(&self, informer: &SharedInformer) -> bool {
        let is_followed = {
            let mut claims = self.claims.lock();
            followed(&claims).is_some() || self.namespaces.follow(&self.plugin, &mut claims, informer)
        };
        if is_followed {
            self.review(None);
        }
        is_followed
    }

    /// Updates the filters with the labels of these namespaces. `None` means all of them, and begins the subscriptions that wait.
    fn review(&self, names: Option<&BTreeSet<Arc<str>>>) {
        let mut claims = self.claims.lock();
        if names.is_none() {
            let waiting = self.listen_to(&mut claims, &self.namespaces.waiting());
            self.namespaces.still_wait(waiting);
        }
        review(&claims, names);
    }

    /// Begins or changes one subscription. `namespaces` is the informer of namespaces, if it is followed. Returns false and changes
    /// nothing if the informer of the subscription has ended: another informer replaces it.
    fn listen(
        &self,
        claim: &mut Claim,
        on: &config::Subscription,
        namespaces: Option<&SharedInformer>,
    ) -> bool {
        let config = settings::listener(&self.plugin, on);
        let namespaces = namespaces.filter(|_| on.follows_namespaces());
        let labels = &on.filter.namespaces_labels;
        match &mut claim.listening {
            Some(listening) if listening.on == *on => {}
            Some(listening) => {
                let informer = claim.subscription.informer();
                let before = Arc::clone(&listening.filter);
                let filter = Arc::new(self.filter(on, false));
                let difference = |object: &Arc<Object>| filter.succeed(&before, object);
                let sink = || -> Arc<dyn NotificationSink> {
                    // The informer's lock is held, so no further object reaches the filter before.
                    if let Some(namespaces) = namespaces {
                        let known = before.known_namespaces(|| listening.offered(informer));
                        let chosen = chosen(namespaces, labels, known);
                        chosen.iter().for_each(|name| filter.set_namespace(name, true));
                    }
                    filter.continues(&before);
                    match &listening.successor {
                        Some(successor) => {
                            // The cache lacks the objects that the successor still holds, or has older states of them.
                            successor.retarget(Arc::clone(&filter) as _, None, difference);
                            listening.initials.before(Arc::clone(successor) as _)
                        }
                        None => listening.initials.before(Arc::clone(&filter) as _),
                    }
                };
                // The successor has compared its objects already. If it delivered the deletion of an object, a second comparison would
                // mark this object as known again.
                let is_left = |object: &&Arc<Object>| !listening.is_behind(&object.key());
                let of_rest = |object: &Arc<Object>| Some(object).filter(is_left).and_then(difference);
                if !informer.retarget_listener(&listening.registration, config, sink, of_rest) {
                    return false;
                }
                (listening.on, listening.filter) = (on.clone(), filter);
            }
            None => {
                let mut filter = self.filter(on, true);
                if let Some(namespaces) = namespaces {
                    // A filter by labels of namespaces has a condition on objects, so the cached objects do not matter.
                    let known = filter.known_namespaces(Vec::new);
                    filter = filter.choosing(chosen(namespaces, labels, known));
                }
                let (filter, initials) = (Arc::new(filter), Initials::new());
                let sink = initials.before(Arc::clone(&filter) as _);
                let Ok(registration) = claim.subscription.add_listener(config, sink) else { return false };
                claim.listening = Some(Listening::new(on.clone(), registration, filter, initials));
                self.registered.notify_one();
            }
        }
        self.recalling.notify_one();
        true
    }

    /// The filter of a subscription. A new subscription begins with the receipts of an earlier process.
    fn filter(&self, on: &config::Subscription, is_new: bool) -> Filter<Queue> {
        let filter = Filter::traced(on.filter.clone(), self.queue.clone(), self.tracer.clone());
        if on.filter.initial != Initial::Changed {
            return filter;
        }
        let source = Source::new(on.watch.clone());
        let recalled = if is_new { self.receipts.load(&source) } else { HashMap::new() };
        filter.recalling(source, self.receipts.receipts().clone(), recalled)
    }

    /// Delivers the deletions of objects that the plugin acknowledged in an earlier process and that are gone. Never returns.
    pub(super) async fn find_gone(&self) {
        loop {
            let recalling =
                self.recalled().into_iter().map(|(informer, filter)| end_recall(informer, filter));
            let ended = join_all(recalling);
            select! {
                biased;
                () = self.recalling.notified() => {}
                _ = ended => self.recalling.notified().await,
            }
        }
    }

    /// The filters with receipts of an earlier process that are not compared yet, each with its informer.
    fn recalled(&self) -> Vec<(SharedInformer, Arc<Filter<Queue>>)> {
        let claims = self.claims.lock();
        let filters = claims.values().filter_map(|claim| {
            let filter = &claim.listening.as_ref()?.filter;
            Some((claim.subscription.informer().clone(), Arc::clone(filter)))
        });
        filters.filter(|(_, filter)| filter.recalls()).collect()
    }

    /// Makes the receipts of an earlier process outdated: every object that exists is delivered, and an object that is gone is
    /// still a deletion.
    pub(super) fn expire(&self) {
        self.receipts.receipts().expire();
        for (_, filter) in self.recalled() {
            filter.expire_recalled();
        }
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
        let claimed = informers(&self.claims.lock());
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
        self.claims.lock().clear();
        self.namespaces.wait_for(BTreeMap::new());
    }

    /// Takes the caches from the plugin.
    pub(super) fn close_lister(&self) {
        self.lister.set([]);
    }

    /// Replaces the informer of a watch. The previous informer has ended, and its cache is still there. The new informer may be
    /// behind it until [`caught_up`](Self::caught_up) is called.
    ///
    /// # Errors
    /// [`SubscribeError`], only while the host stops.
    ///
    /// # Blocking
    /// It blocks as [`SharedInformer::add_listener`] does.
    pub(super) fn replace_informer(&self, subscription: Subscription) -> Result<(), SubscribeError> {
        let gvr = subscription.informer().key().gvr.clone();
        let mut claims = self.claims.lock();
        if let Some(claim) = claims.get_mut(&gvr) {
            if let Some(listening) = &mut claim.listening {
                let old = claim.subscription.informer();
                listening.replace_informer(&self.plugin, old, &subscription, &self.tracer)?;
                self.registered.notify_one();
            }
            (claim.subscription, claim.is_followed) = (subscription, false);
        }
        self.namespaces.change();
        self.recalling.notify_one();
        self.lister.set(informers(&claims));
        drop(claims);
        self.narrow.lock().remove(&gvr);
        Ok(())
    }

    /// Ends the succession after the informer has seen everything that the previous informer had seen. An object that the informer does
    /// not have is gone, unless the informer cannot decode it. Returns false if the plugin knows an object that the informer cannot
    /// decode, or if the informer has ended. If the informer has not ended, call this again when such an object can be decoded or is
    /// gone.
    ///
    /// # Blocking
    /// This function blocks as [`SharedInformer::replace_sink`] does.
    pub(in crate::app) fn caught_up(&self, informer: &SharedInformer) -> bool {
        let mut claims = self.claims.lock();
        let claim = claims.get_mut(&informer.key().gvr);
        let claim = claim.filter(|claim| claim.subscription.informer().is(informer));
        let listening = claim.and_then(|claim| claim.listening.as_mut());
        listening.is_none_or(|listening| listening.caught_up(&self.plugin, informer))
    }

    /// The version that an informer must reach before [`caught_up`](Self::caught_up) may be called.
    pub(in crate::app) fn awaits(&self, informer: &SharedInformer) -> Option<ResourceVersion> {
        let claims = self.claims.lock();
        let claim = claims.get(&informer.key().gvr)?;
        let listening = claim.listening.as_ref().filter(|_| claim.subscription.informer().is(informer))?;
        listening.successor.as_ref()?.awaits()
    }

    /// Returns the informer that the plugin uses for the resource of this one, if it is another one.
    pub(in crate::app) fn other_than(&self, informer: &SharedInformer) -> Option<SharedInformer> {
        let claims = self.claims.lock();
        let own = claims.get(&informer.key().gvr)?.subscription.informer();
        (!own.is(informer)).then(|| own.clone())
    }

    /// Returns true if the plugin subscribes to this resource, may read it, or follows it for the labels of namespaces.
    pub(in crate::app) fn contains(&self, gvr: &Gvr) -> bool {
        self.claims.lock().contains_key(gvr)
    }

    /// The interest of the plugin in an object.
    pub(in crate::app) fn interest(&self, gvr: &Gvr, key: &ObjectKey) -> Interest {
        let claims = self.claims.lock();
        let Some(claim) = claims.get(gvr) else { return Interest::None };
        let Some(listening) = &claim.listening else { return Interest::None };
        let cached = claim.subscription.informer().lister().get(key);
        let by_name = listening.filter.excludes_key(key);
        let excluded = by_name.or_else(|| cached.and_then(|object| listening.filter.excludes(&object)));
        excluded.map_or(Interest::Selected, Interest::Excluded)
    }

    /// The statistics of each filter, by resource.
    pub(in crate::app) fn filters(&self) -> Vec<(Gvr, FilterStats)> {
        let filter = |claim: &Claim| claim.listening.as_ref().map(|listening| listening.filter.stats());
        let claims = self.claims.lock();
        claims.iter().filter_map(|(gvr, claim)| Some((gvr.clone(), filter(claim)?))).collect()
    }

    /// Waits until every initial notification is settled.
    pub(in crate::app) async fn synced(&self) {
        self.namespaces.known().await;
        let listening: Vec<(Registration, Initials)> = {
            let claims = self.claims.lock();
            let listening = claims.values().filter_map(|claim| claim.listening.as_ref());
            listening.map(Listening::initial).collect()
        };
        let synced = listening.iter().map(|(registration, initials)| async move {
            registration.wait_synced().await;
            initials.settled().await;
        });
        join_all(synced).await;
    }

    /// Waits until the caches that the plugin reads are complete. A resource that the server does not serve is complete.
    /// Returns false if an informer that was waited for is to be replaced.
    pub(super) async fn complete(&self) -> bool {
        if !self.narrow.lock().is_empty() {
            return false;
        }
        let informers = informers(&self.claims.lock());
        let synced = informers.iter().map(|(_, informer)| informer.wait_synced_or_unserved());
        join_all(synced).await;
        informers.iter().all(|(_, informer)| informer.has_synced() || !informer.has_ended())
    }

    /// Returns true if the caches that the plugin uses are complete.
    pub(in crate::app) fn are_synced(&self) -> bool {
        let claims = self.claims.lock();
        !self.namespaces.is_awaited()
            && claims.values().all(|claim| claim.subscription.informer().has_synced())
    }

    /// Notes that objects were delivered again for the version of this number, if it needed that.
    pub(super) fn note_swap(&self, swap: u64) {
        self.swap.store(swap, Ordering::Release);
    }

    /// Returns true if the queues have everything that follows from the caches, from the receipts of an earlier process, and from the
    /// version of this number, which is in service. This includes the signals of complete caches.
    pub(super) fn is_settled(&self, swap: u64) -> bool {
        let is_recalling = || self.recalled().iter().any(|(informer, _)| informer.has_synced());
        self.swap.load(Ordering::Acquire) == swap
            && self.namespaces.are_settled()
            && !is_recalling()
            && !self.announces()
    }

    /// Returns a subscription that is not [announced](Self::announce) yet, once its initial notifications are settled.
    ///
    /// # Cancel safety
    /// A dropped future has returned nothing.
    pub(super) async fn next_synced(&self) -> Gvr {
        loop {
            let registered = self.registered.notified();
            let mut waits: FuturesUnordered<_> = self.unannounced().into_iter().map(settled).collect();
            tokio::select! {
                biased;
                () = registered => {}
                Some(gvr) = waits.next() => if self.begins_to_announce(&gvr) {
                    return gvr;
                },
            }
        }
    }

    /// Returns false if the plugin must not be notified now, because a replay has begun or the subscription has ended.
    fn begins_to_announce(&self, gvr: &Gvr) -> bool {
        let mut claims = self.claims.lock();
        let listening = claims.get_mut(gvr).and_then(|claim| claim.listening.as_mut());
        let Some(listening) = listening.filter(|listening| listening.is_settled()) else { return false };
        listening.announcement = Announcement::Begun;
        true
    }

    /// The subscriptions that are not [announced](Self::announce) yet.
    fn unannounced(&self) -> Vec<(Gvr, (Registration, Initials))> {
        let claims = self.claims.lock();
        let listening = claims.iter().filter_map(|(gvr, claim)| Some((gvr, claim.listening.as_ref()?)));
        let waiting = listening.filter(|(_, listening)| listening.announcement != Announcement::Done);
        waiting.map(|(gvr, listening)| (gvr.clone(), listening.initial())).collect()
    }

    /// Calls `notify`, which notifies the plugin that the initial notifications of this subscription are settled, and marks the
    /// subscription as announced. Does nothing if the subscription has ended since [`next_synced`](Self::next_synced) returned it, even if
    /// another subscription to the resource has begun. `notify` must not use the subscriptions, because they are locked.
    pub(super) fn announce(&self, gvr: &Gvr, notify: impl FnOnce()) {
        let mut claims = self.claims.lock();
        let listening = claims.get_mut(gvr).and_then(|claim| claim.listening.as_mut());
        if let Some(begun) = listening.filter(|one| one.announcement == Announcement::Begun) {
            notify();
            begun.announcement = Announcement::Done;
        }
    }

    /// Returns true if a subscription is to be announced now.
    pub(in crate::app) fn announces(&self) -> bool {
        let claims = self.claims.lock();
        let mut listening = claims.values().filter_map(|claim| claim.listening.as_ref());
        listening.any(|listening| listening.announcement != Announcement::Done && listening.is_settled())
    }

    /// The subscriptions that were [announced](Self::announce).
    pub(super) fn announced(&self) -> Vec<Gvr> {
        let claims = self.claims.lock();
        let is_done = |listening: &Listening| listening.announcement == Announcement::Done;
        let announced = |claim: &Claim| claim.listening.as_ref().is_some_and(is_done);
        claims.iter().filter(|(_, claim)| announced(claim)).map(|(gvr, _)| gvr.clone()).collect()
    }

    /// The number and the version of the objects that a subscription selects at this moment.
    ///
    /// # Blocking
    /// It judges every cached object.
    pub(super) fn selected(&self, gvr: &Gvr) -> Selected {
        let found = {
            let claims = self.claims.lock();
            let claim = claims.get(gvr);
            claim.and_then(|claim| {
                let filter = Arc::clone(&claim.listening.as_ref()?.filter);
                Some((claim.subscription.informer().clone(), filter))
            })
        };
        let Some((informer, filter)) = found else { return Selected::default() };
        let selects = |object: &Arc<Object>| {
            filter.excludes_key(&object.key()).or_else(|| filter.excludes(object)).is_none()
        };
        Selected {
            objects: informer.cached().into_iter().filter(selects).count(),
            resource_version: informer.last_synced_version().ok().flatten().unwrap_or_default(),
        }
    }
}

/// Returns the resource once the initial notifications are settled, and never if its registration ends before.
async fn settled((gvr, (registration, initials)): (Gvr, (Registration, Initials))) -> Gvr {
    if !registration.wait_synced().await {
        std::future::pending::<()>().await;
    }
    initials.settled().await;
    gvr
}

#[cfg(test)]
mod tests;
