//! Fans changes out to the listeners.
//!
//! The processor's lock is the informer's lock (C-10): the controller holds it while it applies a batch, and a listener
//! joins and leaves under it. So a joining listener misses no change and receives none twice.

use std::{
    fmt,
    ops::{Deref, DerefMut},
    sync::Arc,
    time::Duration,
};

use informer_types::{
    Cause, Change, NotificationSink, Object, ObjectKey, Observed, Source, Step, SyncToken, Tracer,
};
use parking_lot::{Mutex, MutexGuard};
use tokio::{
    sync::{Notify, watch},
    time::Instant,
};

use crate::{
    in_doubt::InDoubt,
    listener::{Listener, ListenerConfig, SyncState},
};

/// The listeners of one informer.
pub(crate) struct Processor {
    default_resync: Option<Duration>,
    listeners: Mutex<Listeners>,
    /// Signalled when the time of the next resync may have changed.
    resync_moved: Notify,
}

/// The listeners, guarded by the informer's lock.
pub(crate) struct Listeners {
    source: Source,
    tracer: Tracer,
    listeners: Vec<Listener>,
    last_id: u64,
    synced: bool,
    stopped: bool,
    pub(crate) suppressed_unchanged: u64,
    pub(crate) sink_panics: u64,
    /// The change that is being applied; `None` once it was distributed.
    pub(crate) in_doubt: Option<InDoubt>,
}

/// The informer's lock, held.
pub(crate) struct Locked<'a>(MutexGuard<'a, Listeners>);

/// A listener's registration at an informer. Dropping it changes nothing; [`remove`](Self::remove) ends it.
#[derive(Clone)]
pub struct Registration {
    pub(crate) processor: Arc<Processor>,
    pub(crate) id: u64,
    name: Arc<str>,
    sync: watch::Receiver<SyncState>,
}

// === impl Processor ===

impl Processor {
    pub(crate) fn new(source: Source, default_resync: Option<Duration>, tracer: Tracer) -> Self {
        let listeners = Listeners {
            source,
            tracer,
            listeners: Vec::new(),
            last_id: 0,
            synced: false,
            stopped: false,
            suppressed_unchanged: 0,
            sink_panics: 0,
            in_doubt: None,
        };
        Self { default_resync, listeners: Mutex::new(listeners), resync_moved: Notify::new() }
    }

    /// Takes the informer's lock. When it is released, all queued notifications have been passed to the sinks.
    pub(crate) fn lock(&self) -> Locked<'_> {
        Locked(self.listeners.lock())
    }

    /// Adds a listener after notifying it of every object in `cached` (P-11, P-12). Returns `None` if the informer has
    /// stopped (P-13).
    pub(crate) fn join(
        self: &Arc<Self>,
        config: ListenerConfig,
        sink: Arc<dyn NotificationSink>,
        cached: impl FnOnce() -> Vec<Arc<Object>>,
    ) -> Option<Registration> {
        let mut listeners = self.lock();
        if listeners.stopped {
            return None;
        }
        listeners.last_id += 1;
        let id = listeners.last_id;
        let mut listener =
            Listener::new(id, config, sink, listeners.source.clone(), self.default_resync, &listeners.tracer);
        let (name, sync) = (Arc::clone(&listener.name), listener.sync.subscribe());
        listener.notify_all(cached().into_iter().map(|object| Change::Added { object }), Cause::Initial);
        // A reader that finds the listener synced finds all initial notifications offered.
        listener.flush();
        if listeners.synced {
            drop(listener.initial_done());
        }
        listeners.listeners.push(listener);
        drop(listeners);
        self.resync_moved.notify_one();
        Some(Registration { processor: Arc::clone(self), id, name, sync })
    }

    /// Gives a listener another sink and other settings, between two notifications. The new sink first receives the
    /// changes in `first`. Returns false if the listener has left or the informer stopped.
    pub(crate) fn retarget(
        &self,
        id: u64,
        config: ListenerConfig,
        sink: impl FnOnce() -> Arc<dyn NotificationSink>,
        first: impl FnOnce() -> Vec<Change>,
    ) -> bool {
        let retargeted = self.with(id, |listener| {
            // Queued notifications belong to the old sink.
            listener.flush();
            listener.retarget(config, sink(), self.default_resync);
            listener.notify_all(first(), Cause::Replay);
            true
        });
        if retargeted {
            self.resync_moved.notify_one();
        }
        retargeted
    }

    /// Calls `use_it` with a listener, in order with its notifications. Returns false if the listener has left or the
    /// informer stopped.
    pub(crate) fn with(&self, id: u64, use_it: impl FnOnce(&mut Listener) -> bool) -> bool {
        self.lock().listeners.iter_mut().find(|listener| listener.id == id).is_some_and(use_it)
    }

    pub(crate) fn leave(&self, id: u64) {
        let mut listeners = self.lock();
        if let Some(at) = listeners.listeners.iter().position(|listener| listener.id == id) {
            listeners.listeners.remove(at).end();
        }
    }

    /// Ends all listeners, because the informer has stopped. No listener can join any more.
    pub(crate) fn close(&self) {
        let mut listeners = self.lock();
        listeners.stopped = true;
        for listener in listeners.listeners.drain(..) {
            listener.end();
        }
    }

    /// The time of the next resync.
    pub(crate) fn next_resync(&self) -> Option<Instant> {
        self.lock().listeners.iter().filter_map(|listener| listener.next_resync).min()
    }

    /// Makes the next resync of each listener due earlier by this time.
    pub(crate) fn hasten_resyncs(&self, by: Duration) {
        let now = Instant::now();
        for listener in &mut self.lock().listeners {
            listener.next_resync = listener.next_resync.map(|at| at.checked_sub(by).unwrap_or(now));
        }
        self.resync_moved.notify_one();
    }

    /// Returns when [`next_resync`](Self::next_resync) may have changed since the last return.
    pub(crate) async fn resync_moved(&self) {
        self.resync_moved.notified().await;
    }

    /// Wakes the task that waits in [`resync_moved`](Self::resync_moved).
    pub(crate) fn resync_done(&self) {
        self.resync_moved.notify_one();
    }
}

// === impl Listeners ===

impl Listeners {
    /// Traces a decision about an object of this informer.
    pub(crate) fn note(&self, observed: &Observed, step: impl FnOnce() -> (ObjectKey, Step)) {
        self.tracer.note_of(&self.source, &observed.trace, None, step);
    }

    /// Notifies every listener.
    pub(crate) fn distribute(&mut self, change: &Change, cause: Cause, observed: &Observed) {
        self.note(observed, || {
            let (verb, listeners) = (change.verb(), self.listeners.len());
            (change.object().key(), Step::Distributed { verb, cause, listeners })
        });
        for listener in &mut self.listeners {
            listener.offer(change.clone(), cause, observed.clone());
        }
    }

    /// Notifies the listeners that requested unchanged objects of an object that the API server sent again unchanged (D-5).
    pub(crate) fn distribute_unchanged(&mut self, object: &Arc<Object>, cause: Cause, observed: &Observed) {
        let mut notified = false;
        for listener in self.listeners.iter_mut().filter(|listener| listener.relist_all) {
            let change = Change::Updated { old: Arc::clone(object), new: Arc::clone(object) };
            listener.notify(change, cause, observed.clone());
            notified = true;
        }
        self.suppressed_unchanged += u64::from(!notified);
    }

    /// Notifies the listeners whose resync period has elapsed of every object in the cache (P-8, C-7).
    pub(crate) fn resync(&mut self, cached: impl FnOnce() -> Vec<Arc<Object>>, observed: &Observed) {
        let now = Instant::now();
        let due: Vec<u64> = self
            .listeners
            .iter_mut()
            .filter_map(|listener| listener.take_due(now).then_some(listener.id))
            .collect();
        if due.is_empty() {
            return;
        }
        let objects = cached();
        for listener in self.listeners.iter_mut().filter(|listener| due.contains(&listener.id)) {
            for object in &objects {
                let change = Change::Updated { old: Arc::clone(object), new: Arc::clone(object) };
                listener.notify(change, Cause::Resync, observed.clone());
            }
        }
    }

    /// The name of each listener and whether it has synced.
    pub(crate) fn names(&self) -> Vec<(String, bool)> {
        let synced = |listener: &Listener| *listener.sync.borrow() == SyncState::Synced;
        self.listeners.iter().map(|listener| (listener.name.to_string(), synced(listener))).collect()
    }

    /// Passes the queued notifications of all listeners to their sinks.
    pub(crate) fn flush(&mut self) {
        for listener in &mut self.listeners {
            listener.flush();
            self.sink_panics += listener.take_sink_panics();
        }
    }

    /// Records that the first lists are in the cache and were offered to every listener. The resync periods of these listeners begin now
    /// because the listeners have just received every object. No listener has synced before the returned tokens are dropped
    /// (C-12).
    #[must_use]
    pub(crate) fn informer_synced(&mut self) -> Vec<SyncToken> {
        self.synced = true;
        let now = Instant::now();
        self.listeners.iter_mut().for_each(|listener| listener.begin_period(now));
        self.listeners.iter_mut().filter_map(Listener::initial_done).collect()
    }
}

// === impl Locked ===

impl Deref for Locked<'_> {
    type Target = Listeners;

    fn deref(&self) -> &Listeners {
        &self.0
    }
}

impl DerefMut for Locked<'_> {
    fn deref_mut(&mut self) -> &mut Listeners {
        &mut self.0
    }
}

impl Drop for Locked<'_> {
    fn drop(&mut self) {
        self.0.flush();
    }
}

// === impl Registration ===

impl Registration {
    /// The name in the listener's configuration.
    pub fn name(&self) -> &str {
        &self.name
    }

    /// Returns true once the informer has synced and every initial notification offered to this listener is settled: acknowledged,
    /// given up, or dropped without a call (P-16, D-8). A notification that merged is settled with the result. The value never
    /// becomes false again.
    pub fn has_synced(&self) -> bool {
        *self.sync.borrow() == SyncState::Synced
    }

    /// Waits for [`has_synced`](Self::has_synced). Returns false if the listener is removed or the informer stops
    /// first.
    ///
    /// # Cancel safety
    /// A dropped future changes nothing.
    pub async fn wait_synced(&self) -> bool {
        let mut sync = self.sync.clone();
        match sync.wait_for(|sync| *sync != SyncState::Pending).await {
            Ok(sync) => *sync == SyncState::Synced,
            Err(_) => false,
        }
    }

    /// Removes the listener. When this returns, the sink will not be called again; notifications that the sink already
    /// has are not affected (D-10). It waits for a call of the sink that is in progress, so a sink must not call it
    /// (P-15). A second call, and a call after the informer stopped, does nothing (P-14).
    pub fn remove(&self) {
        self.processor.leave(self.id);
    }
}

impl fmt::Debug for Registration {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "Registration({} synced={})", self.name, self.has_synced())
    }
}
