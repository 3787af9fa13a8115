//! The handle of one informer, and its contract.

mod endings;
mod presence;
mod run;
mod version;

use std::{
    collections::BTreeMap,
    fmt,
    sync::{
        Arc,
        atomic::{AtomicBool, Ordering},
    },
    time::Duration,
};

use futures::future::select_all;
use informer_types::{
    Cause, Change, IndexPaths, NotificationSink, Object, ObjectKey, Source, SyncToken, Tracer,
};
use parking_lot::Mutex;
use tokio::sync::watch;
use tokio_util::sync::CancellationToken;

use endings::Endings;
pub(crate) use run::run;
pub use version::VersionError;

use crate::{
    ErrorClass, InformerKey, InformerStatus, ListenerConfig, ListenerStatus, Lister, Phase, Registration,
    Undecoded, WatchConfig,
    delta_queue::DeltaGauge,
    indexer::Indexer,
    processor::Processor,
    status::{Counters, ReflectorCell},
};

/// A shared informer maintains a local cache of one collection and notifies any number of listeners of its changes,
/// with one watch. A `SharedInformer` is a handle: clones are cheap and refer to the same informer.
///
/// The *collection* consists of the objects of one resource that the API server holds and that are in the configured
/// namespaces and match the configured selectors. An informer makes the following promises.
///
/// **Eventual consistency.** The cache is eventually consistent with the collection. If the collection stops changing
/// and the API server can be reached, the cache becomes equal to the collection, and every listener is notified of the
/// last state of every object. Until then the cache may lag behind. A listener may miss intermediate states of an
/// object: after a gap in the watch it receives only the difference (C-14, C-17).
///
/// **Order.** Each listener receives its notifications one after the other. The states of one object arrive in the
/// order in which they existed, and never go back in time. There is no order among different objects.
///
/// **Cache first.** When a listener is notified of a change, the cache and its indexes already contain it. A reader is
/// never behind the notification that it handles, but may be ahead of it (C-5). Each query is answered from one
/// consistent snapshot of the cache (I-1). Objects are shared and immutable.
///
/// **Additions and updates.** The cache decides: an object that was not in the cache is *added*, and an object that was
/// in the cache is *updated*. An update contains the state that the cache had before (C-3). Every notification has a
/// cause: *initial* (the first list, or the replay to a listener that joined later), *live* (an event of the watch),
/// *relist* (found by a later list, after the watch lost its place), *resync* (nothing changed, but the listener's
/// resync period has elapsed), or *replay* (requested again).
///
/// **Late listeners.** A listener may join at any time. It first receives an initial addition for every object in the
/// cache, and then all further changes; it misses none and receives none twice (C-10, P-11).
///
/// **Unchanged objects.** If a relist or an event of the watch brings an object with the UID, the resource version and the content
/// that the cache already has, only listeners with `relist_all` are notified (D-5). If the resync period of a listener has elapsed,
/// this listener is notified of every object in the cache. Each listener has its own period.
///
/// **Recreated objects.** An object with another UID is another object. If an object was deleted and created again
/// under the same name, a listener receives a deletion and an addition, never an update, even if the watch missed both
/// (D-6).
///
/// **Deletions.** A deletion contains the key and the last known state of the object. If the deletion itself was
/// missed, `final_state_known` is false and the state may be stale. A deletion on the watch is delivered even if the
/// object was never in the cache (D-11).
///
/// **Undecodable objects.** An object whose metadata cannot be read is quarantined by its key: its last good state
/// stays in the cache, the status reports the key and the reason, and the next event or list tries again. All other
/// objects are unaffected (D-2).
///
/// **Lifetime.** An informer runs while it has a [`Subscription`](crate::Subscription) (D-12). When the last
/// subscription ends, the watch is closed and the cache is freed; the next subscription starts with an initial list. An
/// informer that belongs to its factory runs until it is stopped.
///
/// **Resources that are not served.** If the API server does not serve the resource, because its CRD is not installed
/// or was removed, the informer waits for it, and [`status`](Self::status) reports that (D-12). If a served resource is
/// removed, every listener is notified of the deletion of all objects in the cache, with `final_state_known` false and
/// cause `relist`. If the resource comes back, its objects are listed and added. [`has_synced`](Self::has_synced) does
/// not change meanwhile: the empty cache of a resource that does not exist is complete. A resource that is watched by namespace also
/// counts as removed if a cluster-scoped resource takes its name. A 404 does not count unless the server lists its API groups, or
/// answers 403 to the request for this list, because a proxy may answer 404 in place of the API server.
///
/// **Versions that are not served.** If the server still serves the resource in another version of its group, the objects exist.
/// The informer then keeps its cache and notifies no listener, and [`status`](Self::status) names the served version. The informer
/// lists again once its own version is served. The informer also keeps its cache if the lookup of the other versions fails.
///
/// **Failures.** Failures are retried forever, with backoff. The cache stays readable in its last state,
/// and [`status`](Self::status) reports the failure and its duration. [`has_synced`](Self::has_synced) means that the
/// first list is in the cache; it does not mean that the cache is up to date.
///
/// **Bugs.** If a bug of this crate ends a task of the informer, the informer starts again, with backoff. Its listeners stay, its
/// cache stays readable, and the list at the start delivers what changed meanwhile. What the bug kept from being delivered is
/// delivered again with cause *replay*, so a listener may receive it twice. [`status`](Self::status) counts the restarts.
///
/// **Listeners must be quick.** A sink is called with the informer's lock held. It must neither block nor call the
/// informer; work that takes time belongs in a queue behind the sink. A sink that panics loses that notification and
/// nothing else.
#[derive(Clone)]
pub struct SharedInformer {
    pub(crate) inner: Arc<Inner>,
}

/// The state that all handles of one informer share.
pub(crate) struct Inner {
    pub(crate) key: InformerKey,
    pub(crate) config: WatchConfig,
    pub(crate) indexer: Arc<Indexer>,
    pub(crate) processor: Arc<Processor>,
    /// One for each watched namespace.
    pub(crate) cells: Vec<Arc<ReflectorCell>>,
    pub(crate) synced: watch::Sender<bool>,
    pub(crate) started: AtomicBool,
    /// True while the server does not serve the resource.
    pub(crate) unserved: watch::Sender<bool>,
    /// True if the last subscription has ended: the cache is freed at the end.
    pub(crate) abandoned: AtomicBool,
    pub(crate) endings: Mutex<Endings>,
    /// Cancelled to end every task of the informer.
    pub(crate) stop: CancellationToken,
    /// Cancelled once every task has ended.
    pub(crate) ended: CancellationToken,
    /// The gauge of the newest delta queue. `None` until the resource is watched for the first time.
    pub(crate) queue: Mutex<Option<DeltaGauge>>,
}

/// The informer has stopped, so no listener can join it (P-13).
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
#[error("the informer of {0} has stopped; request a new one from the factory")]
pub struct InformerStopped(Box<InformerKey>);

// === impl SharedInformer ===

impl SharedInformer {
    pub(crate) fn new(
        key: InformerKey,
        config: WatchConfig,
        tracer: &Tracer,
        stop: CancellationToken,
    ) -> Self {
        let scopes: Vec<Option<String>> = if key.namespaces.is_empty() {
            vec![None]
        } else {
            key.namespaces.iter().cloned().map(Some).collect()
        };
        let source = Source::new(config.gvr.clone());
        let inner = Inner {
            processor: Arc::new(Processor::new(source, config.resync, tracer.clone())),
            cells: scopes.into_iter().map(|namespace| Arc::new(ReflectorCell::new(namespace))).collect(),
            key,
            config,
            indexer: Arc::default(),
            synced: watch::Sender::new(false),
            started: AtomicBool::new(false),
            unserved: watch::Sender::new(false),
            abandoned: AtomicBool::new(false),
            endings: Mutex::default(),
            stop,
            ended: CancellationToken::new(),
            queue: Mutex::default(),
        };
        Self { inner: Arc::new(inner) }
    }

    /// The informer's key in its factory.
    pub fn key(&self) -> &InformerKey {
        &self.inner.key
    }

    /// Returns a reader of the cache.
    pub fn lister(&self) -> Lister {
        Lister::new(Arc::clone(&self.inner.indexer), self.inner.synced.subscribe())
    }

    /// Adds a listener. When this returns, `sink` has been offered every object in the cache with cause `initial`;
    /// after that it is offered all changes (P-11). A sink that is added twice receives every notification twice
    /// (P-13).
    ///
    /// # Errors
    /// [`InformerStopped`] if the informer has stopped.
    ///
    /// # Blocking
    /// Waits for the informer's lock and offers the objects with that lock held. If the cache has many objects, call it
    /// on a thread that may block.
    pub fn add_listener(
        &self,
        config: ListenerConfig,
        sink: Arc<dyn NotificationSink>,
    ) -> Result<Registration, InformerStopped> {
        let Inner { processor, indexer, key, .. } = &*self.inner;
        let joined = processor.join(config, sink, || indexer.list(None));
        joined.ok_or_else(|| InformerStopped(Box::new(key.clone())))
    }

    /// Replaces the sink and the settings of a listener in place. The new sink is offered all changes from now on; none
    /// is missed and none is offered to both sinks (C-10). First it is offered, with cause `replay`, the changes that
    /// `difference` returns for the objects in the cache, for example an addition for an object that only the new sink
    /// selects. The registration stays valid.
    ///
    /// `sink` is called after the old sink was offered its last notification and before anything else is offered, so a
    /// state that both sinks share can be switched there.
    ///
    /// Returns false and changes nothing if the listener was removed or the informer stopped.
    ///
    /// # Blocking
    /// Waits for the informer's lock and calls `sink` and `difference` with that lock held, so no listener is notified
    /// meanwhile. If they take long for many objects, call this on a thread that may block.
    pub fn retarget_listener(
        &self,
        registration: &Registration,
        config: ListenerConfig,
        sink: impl FnOnce() -> Arc<dyn NotificationSink>,
        difference: impl FnMut(&Arc<Object>) -> Option<Change>,
    ) -> bool {
        let first = || self.cached().iter().filter_map(difference).collect();
        self.has(registration) && registration.processor.retarget(registration.id, config, sink, first)
    }

    /// Replaces the sink and the settings of a listener in place, as [`retarget_listener`](Self::retarget_listener) does, for a sink
    /// that has no difference. No object in the cache is visited.
    ///
    /// # Blocking
    /// Waits for the informer's lock and calls `sink` with that lock held.
    pub fn replace_sink(
        &self,
        registration: &Registration,
        config: ListenerConfig,
        sink: impl FnOnce() -> Arc<dyn NotificationSink>,
    ) -> bool {
        self.has(registration) && registration.processor.retarget(registration.id, config, sink, Vec::new)
    }

    /// Notifies one listener of every object in the cache again, as additions with cause `replay`. Other listeners are
    /// not notified, no request is sent, and no change is missed or overtaken (C-10). `settled` is held until each of these
    /// notifications is settled. Returns false if the listener was removed or the informer stopped.
    ///
    /// # Blocking
    /// Calls the sink with the informer's lock held, as [`retarget_listener`](Self::retarget_listener) does.
    pub fn replay(&self, registration: &Registration, settled: SyncToken) -> bool {
        self.has(registration)
            && registration.processor.with(registration.id, |listener| {
                let again = self.cached().into_iter().map(|object| Change::Added { object });
                listener.replay(again, settled);
                true
            })
    }

    /// Returns every object in the cache, also after the informer was stopped explicitly.
    pub fn cached(&self) -> Vec<Arc<Object>> {
        self.inner.indexer.list(None)
    }

    /// Notifies one listener of one object again, with this cause. `change` receives the object's state in the
    /// cache, or `None` if the cache does not have it, and returns the change to notify of. Returns false if `change`
    /// returns `None` or the listener was removed.
    ///
    /// # Ordering
    /// Notifications that the listener receives afterwards are newer than the state in the cache (C-10).
    ///
    /// # Blocking
    /// Waits for the informer's lock and calls `change` with that lock held.
    pub fn replay_object(
        &self,
        listener: &Registration,
        key: &ObjectKey,
        cause: Cause,
        change: impl FnOnce(Option<Arc<Object>>) -> Option<Change>,
    ) -> bool {
        self.has(listener)
            && listener.processor.with(listener.id, |listener| {
                let change = change(self.inner.indexer.get(&key.namespace, &key.name));
                let found = change.is_some();
                listener.notify_all(change, cause);
                found
            })
    }

    /// Notifies one listener, with cause `live`, of the changes that `difference` returns for the cached objects of a namespace.
    /// Before that, when the sink has been offered all earlier changes, `switch` is called: state that the sink shares with
    /// `difference` can be switched there. No change is missed or overtaken (C-10). Returns false, without calling anything, if
    /// the listener was removed or the informer stopped.
    ///
    /// # Blocking
    /// Waits for the informer's lock and calls `switch` and `difference` with that lock held, as
    /// [`retarget_listener`](Self::retarget_listener) does.
    pub fn revisit(
        &self,
        registration: &Registration,
        namespace: &str,
        switch: impl FnOnce(),
        difference: impl FnMut(&Arc<Object>) -> Option<Change>,
    ) -> bool {
        self.has(registration)
            && registration.processor.with(registration.id, |listener| {
                // Queued notifications are filtered by the state before the switch.
                listener.flush();
                switch();
                let changes: Vec<Change> =
                    self.inner.indexer.list(Some(namespace)).iter().filter_map(difference).collect();
                listener.notify_all(changes, Cause::Live);
                true
            })
    }

    /// Time until the next resync of a listener. Returns `None` if no listener has a resync period, before the informer has synced
    /// and while the server does not serve the resource.
    pub fn next_resync(&self) -> Option<Duration> {
        if !self.has_synced() || *self.inner.unserved.borrow() {
            return None;
        }
        let next = self.inner.processor.next_resync();
        next.map(|at| at.saturating_duration_since(tokio::time::Instant::now()))
    }

    /// Makes the next resync of each listener due earlier by this time, for tests of plugins.
    pub fn hasten_resyncs(&self, by: Duration) {
        self.inner.processor.hasten_resyncs(by);
    }

    /// Waits until the listeners were offered everything that the cache has. [`wait_for_version`](Self::wait_for_version) may
    /// return before that.
    ///
    /// # Blocking
    /// Waits for the informer's lock, which is held from the change of the cache until the offers are made.
    pub fn wait_offered(&self) {
        drop(self.inner.processor.lock());
    }

    /// Returns true once the first list of every watched namespace is in the cache and was offered to the listeners
    /// (C-12). Whether the listeners have handled it is reported by [`Registration::has_synced`].
    pub fn has_synced(&self) -> bool {
        *self.inner.synced.borrow()
    }

    /// Waits for [`has_synced`](Self::has_synced). Returns false if the informer stops first.
    ///
    /// # Cancel safety
    /// A dropped future changes nothing.
    pub async fn wait_synced(&self) -> bool {
        let mut synced = self.inner.synced.subscribe();
        tokio::select! {
            biased;
            _ = synced.wait_for(|synced| *synced) => true,
            () = self.inner.ended.cancelled() => self.has_synced(),
        }
    }

    /// Waits as [`wait_synced`](Self::wait_synced) does, but also returns, with false, as soon as the server reports
    /// that it does not serve the resource (D-12). For callers that need complete caches of the resources that exist.
    ///
    /// # Cancel safety
    /// A dropped future changes nothing.
    pub async fn wait_synced_or_unserved(&self) -> bool {
        let mut unserved = self.inner.unserved.subscribe();
        tokio::select! {
            biased;
            synced = self.wait_synced() => synced,
            _ = unserved.wait_for(|unserved| *unserved) => self.has_synced(),
        }
    }

    /// Returns true once the informer was stopped and its tasks have ended. It never starts again.
    pub fn has_ended(&self) -> bool {
        self.inner.ended.is_cancelled()
    }

    /// Returns a snapshot of the informer's state.
    pub fn status(&self) -> InformerStatus {
        let Inner { key, indexer, processor, cells, .. } = &*self.inner;
        let reflectors: Vec<_> = cells.iter().map(|cell| cell.snapshot()).collect();
        let mut counters = Counters::default();
        for reflector in &reflectors {
            counters += reflector.counters;
        }
        let locked = processor.lock();
        counters.suppressed_unchanged = locked.suppressed_unchanged;
        counters.sink_panics = locked.sink_panics;
        let listeners = locked.names().into_iter();
        drop(locked);
        counters.index_failures = indexer.index_failures();
        counters.restarts = self.inner.endings.lock().total();
        let phases = reflectors.iter().map(|reflector| reflector.phase);
        InformerStatus {
            key: key.clone(),
            phase: phases.max().unwrap_or(Phase::NotStarted),
            synced: self.has_synced(),
            keeps_ending: self.keeps_ending(),
            last_synced_version: self.last_synced_version().ok().flatten(),
            objects: indexer.len(),
            bytes: indexer.bytes(),
            queued_deltas: self.inner.queue.lock().as_ref().map_or(0, DeltaGauge::len),
            listeners: listeners.map(|(name, synced)| ListenerStatus { name, synced }).collect(),
            reflectors,
            counters,
        }
    }

    /// Returns true if bugs end the informer again and again, so that only a new process may help. Never waits for the handlers of
    /// notifications, as [`status`](Self::status) may.
    pub fn keeps_ending(&self) -> bool {
        self.inner.endings.lock().keeps_ending()
    }

    /// The objects that exist and cannot be decoded (D-2), at the version of the cache. A caller that treats an object as deleted
    /// because the cache does not have it must read them before it reads the cache.
    pub fn undecoded(&self) -> Undecoded {
        Undecoded::of(self.inner.cells.iter().map(|cell| cell.undecoded()))
    }

    /// Waits until an object of `before` can be decoded or is gone, and all objects that cannot be decoded are known. If the object can
    /// be decoded, the cache has the object when this returns. If `before` does not know all objects, waits only until all are known.
    /// Returns false if the informer stops first.
    ///
    /// # Cancel safety
    /// A dropped future changes nothing.
    pub async fn wait_released(&self, before: &Undecoded) -> bool {
        loop {
            // The futures exist before the check, so that a release after the check is not missed.
            let released = select_all(self.inner.cells.iter().map(|cell| Box::pin(cell.released())));
            if !before.is_within(&self.undecoded()) {
                return true;
            }
            tokio::select! {
                biased;
                _ = released => {}
                () = self.inner.ended.cancelled() => return false,
            }
        }
    }

    /// Adds the indexes that do not exist yet (I-8).
    pub(crate) fn add_indexes(&self, indexes: &BTreeMap<String, IndexPaths>) {
        // The informer's lock keeps the controller from writing meanwhile.
        let _lock = self.inner.processor.lock();
        if let Err(error) = self.inner.indexer.add_indexes(indexes) {
            tracing::warn!(resource = %self.inner.key, %error, "index refused");
        }
    }

    /// Returns true for the first call, and false for all later ones.
    pub(crate) fn claim_start(&self) -> bool {
        !self.inner.started.swap(true, Ordering::AcqRel)
    }

    fn has(&self, registration: &Registration) -> bool {
        Arc::ptr_eq(&self.inner.processor, &registration.processor)
    }

    /// Returns true if `other` is a handle of the same informer.
    pub fn is(&self, other: &Self) -> bool {
        Arc::ptr_eq(&self.inner, &other.inner)
    }

    pub(crate) fn is_started(&self) -> bool {
        self.inner.started.load(Ordering::Acquire)
    }
}

impl fmt::Debug for SharedInformer {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "SharedInformer({})", self.inner.key)
    }
}

// === impl Inner ===

impl Inner {
    pub(crate) fn enter(&self, phase: Phase) {
        self.cells.iter().for_each(|cell| cell.enter(phase));
    }

    pub(crate) fn failed(&self, text: &str, class: ErrorClass) {
        self.cells.iter().for_each(|cell| cell.failed(text.to_owned(), class));
    }
}
