//! The handle of one informer.

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
};

use informer_types::{Cause, Change, NotificationSink, Object, ObjectKey, Pointer, Source, Tracer};
use parking_lot::Mutex;
use tokio::sync::watch;
use tokio_util::sync::CancellationToken;

pub(crate) use run::run;
pub use version::VersionError;

use crate::{
    ErrorClass, InformerKey, InformerStatus, ListenerConfig, Lister, Phase, Registration, WatchConfig,
    delta_queue::DeltaGauge,
    indexer::Indexer,
    processor::Processor,
    status::{Counters, ReflectorCell},
};

/// A shared informer: one watch and one cache of a collection for any number of listeners. Cheap to clone;
/// all clones are the same informer.
///
/// It promises what follows. "The collection" is what the API server has of the resource, within the
/// namespaces and selectors the informer was configured with.
///
/// **Eventually consistent.** If the collection stops changing and the API server answers, the cache equals
/// the collection exactly, and every listener has been told the final state of every object. Before that the
/// cache may lag behind, and intermediate states may be missed: after a gap in the watch only the difference
/// is told (C-14, C-17).
///
/// **Order per object.** What a listener is told about one object never goes back in time and never overlaps:
/// the states it sees are a subsequence of the real ones, in their order. Between objects nothing is promised,
/// other than that one listener's notifications come one after the other.
///
/// **The cache first.** When a listener is told of a change, the cache and its indexes have it already, so a
/// reader is never behind the notification in hand; it may be ahead of it (C-5). Each read comes from one
/// consistent state of the cache (I-1). Objects are immutable and shared.
///
/// **Which notifications.** The cache decides: an object it did not have is *added*, one it had is *updated*,
/// with the state it had before (C-3). Every notification says its cause: *initial* (the first list, or the
/// replay to a listener that joined later), *live* (seen on the watch), *relist* (found by a later list, after
/// the watch lost its place), *resync* (nothing changed, the listener's period is over).
///
/// **Joining late** makes no difference: at any time a new listener is told of everything in the cache, as
/// initial additions, and then of what happens next; nothing is missed and nothing told twice (C-10, P-11).
///
/// **Unchanged objects are not told.** An object that a relist shows with the UID and resource version the
/// cache has already is passed over, unless the listener asked for `relist_all` (D-5). Resync tells the
/// listeners whose period is over about every object; periods are each listener's own.
///
/// **Another UID is another object.** When an object was deleted and created anew under the same name, a
/// listener is told of a deletion and an addition, never of an update, even where the watch missed both (D-6).
///
/// **Deletions** always say the key and the last known state. Where the deletion itself was missed, they say
/// so: `final_state_known` is false, and the state may be stale. A deletion on the watch is told even of an
/// object the cache never had (D-11).
///
/// **What cannot be decoded is set aside, not lost.** An object whose metadata cannot be read is quarantined
/// by its key: the last good state stays in the cache, the status shows the key and the reason, the next event
/// or list tries again, and every other object goes on as before (D-2).
///
/// **It runs while somebody is subscribed** (D-12): see [`Subscription`](crate::Subscription). When the last
/// subscription ends the watch is closed and the cache freed; who was subscribed sees nothing any more, and who
/// subscribes then begins with an initial list. One that belongs to its factory runs until it is stopped.
///
/// **A resource that is not served** (its CRD is not installed, or not any more) is waited for, and
/// [`status`](Self::status) says so (D-12). When a resource that was served is gone for good, every listener is
/// told of the deletion of everything the cache still had, with `final_state_known` false and cause `relist`;
/// when it comes back, what is in it is listed and told as added. [`has_synced`](Self::has_synced) stays as it
/// was: an empty cache of a resource that does not exist is complete.
///
/// **Failures are retried for ever**, with backoff. The cache stays readable, with what it had
/// last; [`status`](Self::status) says what is wrong and since when. [`has_synced`](Self::has_synced) says that
/// the first list is in the cache, and nothing about now.
///
/// **Listeners must be quick.** A sink is called with the informer's lock held and must not block or call
/// back; what it cannot handle at once it has to queue. A sink that panics loses that notification and nothing
/// else.
#[derive(Clone)]
pub struct SharedInformer {
    pub(crate) inner: Arc<Inner>,
}

/// The informer has stopped, so nobody can join it (P-13).
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
#[error("the informer of {0} has stopped; ask the factory for a new one")]
pub struct InformerStopped(Box<InformerKey>);

pub(crate) struct Inner {
    pub(crate) key: InformerKey,
    pub(crate) config: WatchConfig,
    pub(crate) indexer: Arc<Indexer>,
    pub(crate) processor: Arc<Processor>,
    /// One for each namespace watched.
    pub(crate) cells: Vec<Arc<ReflectorCell>>,
    pub(crate) synced: watch::Sender<bool>,
    pub(crate) started: AtomicBool,
    /// The server does not serve the resource.
    pub(crate) unserved: watch::Sender<bool>,
    /// Nobody subscribes any more: at the end the cache is freed.
    pub(crate) abandoned: AtomicBool,
    /// Asks every task of the informer to end.
    pub(crate) stop: CancellationToken,
    /// Every task has ended.
    pub(crate) ended: CancellationToken,
    /// Set while the resource is served and watched.
    pub(crate) queue: Mutex<Option<DeltaGauge>>,
}

// === impl SharedInformer ===

impl SharedInformer {
    pub(crate) fn new(
        key: InformerKey,
        config: WatchConfig,
        tracer: &Tracer,
        stop: CancellationToken,
    ) -> Self {
        let indexer = Arc::new(Indexer::default());
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
            indexer,
            synced: watch::Sender::new(false),
            started: AtomicBool::new(false),
            unserved: watch::Sender::new(false),
            abandoned: AtomicBool::new(false),
            stop,
            ended: CancellationToken::new(),
            queue: Mutex::default(),
        };
        Self { inner: Arc::new(inner) }
    }

    /// Which informer this is.
    pub fn key(&self) -> &InformerKey {
        &self.inner.key
    }

    /// Reads the cache.
    pub fn lister(&self) -> Lister {
        Lister::new(Arc::clone(&self.inner.indexer), self.inner.synced.subscribe())
    }

    /// Adds a listener. Before it returns, `sink` has been offered everything in the cache, with cause
    /// `initial`; from then on it is offered what happens (P-11). The same sink may be added twice, and is
    /// then told twice (P-13).
    ///
    /// # Errors
    /// [`InformerStopped`] once the informer has stopped.
    ///
    /// # Blocking
    /// It waits for the informer's lock, and offers with that lock held: with many objects in the cache it belongs on a
    /// thread that may block.
    pub fn add_listener(
        &self,
        config: ListenerConfig,
        sink: Arc<dyn NotificationSink>,
    ) -> Result<Registration, InformerStopped> {
        let Inner { processor, indexer, key, .. } = &*self.inner;
        processor
            .join(config, sink, || indexer.list(None))
            .ok_or_else(|| InformerStopped(Box::new(key.clone())))
    }

    /// Gives a listener another sink and other settings, in place: it was told what it was told, and the sink is
    /// offered what happens from now on, nothing in between missed or doubled (C-10). `difference` is asked about
    /// every cached object: what it returns the new sink is offered first, with cause `replay`, for instance an
    /// addition where the new sink selects an object that the old one did not. The registration stays what it is.
    ///
    /// `sink` is asked for once the sink before was offered whatever waits for it, and before anything else is offered:
    /// one that stands before both may change over then.
    ///
    /// Returns false, and changes nothing, where the listener was removed or the informer stopped.
    ///
    /// # Blocking
    /// It waits for the informer's lock, and asks `sink` and `difference` with that lock held: nobody is told anything
    /// meanwhile.
    /// What takes long for many objects belongs on a thread that may block.
    pub fn retarget_listener(
        &self,
        registration: &Registration,
        config: ListenerConfig,
        sink: impl FnOnce() -> Arc<dyn NotificationSink>,
        difference: impl FnMut(&Arc<Object>) -> Option<Change>,
    ) -> bool {
        let cached = || self.inner.indexer.list(None);
        self.knows(registration)
            && self.inner.processor.retarget(registration.id, config, sink, || {
                let changes = cached();
                changes.iter().filter_map(difference).map(|change| (change, Cause::Replay)).collect()
            })
    }

    /// Tells one listener about everything in the cache again, as additions with cause `replay`. Nobody else hears
    /// of it, no request is made, and nothing that happens is missed or overtaken (C-10). Returns false where the
    /// listener was removed or the informer stopped.
    ///
    /// # Blocking
    /// As [`retarget_listener`](Self::retarget_listener): what the sink does with each object it does with the informer's
    /// lock held.
    pub fn replay(&self, registration: &Registration) -> bool {
        let Inner { processor, indexer, .. } = &*self.inner;
        self.knows(registration) && processor.replay(registration.id, || indexer.list(None))
    }

    /// Everything in the cache, also once the informer was stopped by name.
    pub fn cached(&self) -> Vec<Arc<Object>> {
        self.inner.indexer.list(None)
    }

    /// Tells one listener about one object again, with the cause `replay`: what `change` makes of the state in the cache,
    /// or of there being none. False where that is nothing, or the listener was removed.
    ///
    /// # Ordering
    /// As with everything else (C-10): what the listener is told afterwards is newer than the state in the cache.
    ///
    /// # Blocking
    /// It waits for the informer's lock, and calls `change` with that lock held.
    pub fn tell_again(
        &self,
        listener: &Registration,
        key: &ObjectKey,
        change: impl FnOnce(Option<Arc<Object>>) -> Option<Change>,
    ) -> bool {
        let Inner { processor, indexer, .. } = &*self.inner;
        self.knows(listener) && processor.tell(listener.id, || change(indexer.get(&key.namespace, &key.name)))
    }

    /// True once the first list of every namespace watched is in the cache and was offered to the listeners
    /// (C-12). Says nothing about what they did with it: see [`Registration::has_synced`].
    pub fn has_synced(&self) -> bool {
        *self.inner.synced.borrow()
    }

    /// Waits for [`has_synced`](Self::has_synced); false where the informer stopped before.
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

    /// As [`wait_synced`](Self::wait_synced), but it also returns, with false, as soon as the server says that
    /// it does not serve the resource (D-12): for who wants complete caches and can do without what is not there.
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

    /// True once it was stopped and its tasks have ended. It never starts again.
    pub fn has_ended(&self) -> bool {
        self.inner.ended.is_cancelled()
    }

    /// True where both keep the same of an object, so that one resource version is one text in both caches.
    pub fn keeps_as(&self, other: &Self) -> bool {
        let (own, other) = (&self.inner.config, &other.inner.config);
        own.drop == other.drop && own.keep == other.keep && own.metadata_only == other.metadata_only
    }

    /// How it is doing.
    pub fn status(&self) -> InformerStatus {
        let Inner { key, indexer, processor, cells, .. } = &*self.inner;
        let reflectors: Vec<_> = cells.iter().map(|cell| cell.snapshot()).collect();
        let mut counters = Counters::default();
        for reflector in &reflectors {
            counters += reflector.counters;
        }
        let processed = processor.counters();
        counters.suppressed_unchanged = processed.suppressed_unchanged;
        counters.sink_panics = processed.sink_panics;
        counters.index_failures = indexer.index_failures();
        let phases = reflectors.iter().map(|reflector| reflector.phase);
        InformerStatus {
            key: key.clone(),
            phase: phases.max_by_key(|phase| phase.urgency()).unwrap_or(Phase::NotStarted),
            synced: self.has_synced(),
            last_synced_version: self.last_synced_version().ok().flatten(),
            objects: indexer.len(),
            bytes: indexer.bytes(),
            queued_deltas: self.inner.queue.lock().as_ref().map_or(0, DeltaGauge::len),
            listeners: processor.listeners(),
            reflectors,
            counters,
        }
    }

    /// Adds what is not there yet (I-8).
    pub(crate) fn add_indexes(&self, indexes: &BTreeMap<String, Pointer>) {
        // The informer's lock keeps the controller from writing meanwhile.
        let _lock = self.inner.processor.lock();
        if let Err(error) = self.inner.indexer.add_indexes(indexes) {
            tracing::warn!(resource = %self.inner.key, %error, "index refused");
        }
    }

    /// True the first time it is called.
    pub(crate) fn claim_start(&self) -> bool {
        !self.inner.started.swap(true, Ordering::AcqRel)
    }

    fn knows(&self, registration: &Registration) -> bool {
        Arc::ptr_eq(&self.inner.processor, &registration.processor)
    }

    /// True for a handle of this very informer.
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
