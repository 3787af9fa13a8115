//! Fans changes out to the listeners.
//!
//! The processor's lock is the informer's lock (C-10): the controller holds it while it applies a batch, and a listener
//! joins and leaves under it. So a joining listener misses no change and receives none twice.

use std::{
    ops::{Deref, DerefMut},
    sync::Arc,
    time::Duration,
};

use informer_types::{Cause, Change, NotificationSink, Object, ObjectKey, Source, Step, Tracer};
use parking_lot::{Mutex, MutexGuard};
use tokio::{
    sync::{Notify, watch},
    time::Instant,
};

use crate::listener::{Listener, ListenerConfig, SyncState};

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
    suppressed_unchanged: u64,
    sink_panics: u64,
}

/// The informer's lock, held.
pub(crate) struct Locked<'a>(MutexGuard<'a, Listeners>);

/// A listener that has joined.
#[derive(Clone)]
pub(crate) struct Joined {
    pub(crate) id: u64,
    pub(crate) name: Arc<str>,
    pub(crate) sync: watch::Receiver<SyncState>,
}

/// The processor's counters.
pub(crate) struct ProcessorCounters {
    pub(crate) suppressed_unchanged: u64,
    pub(crate) sink_panics: u64,
}

// === impl Processor ===

impl Processor {
    pub(crate) fn new(source: Source, default_resync: Option<Duration>, tracer: Tracer) -> Self {
        let listeners = Mutex::new(Listeners::new(source, tracer));
        Self { default_resync, listeners, resync_moved: Notify::new() }
    }

    /// Takes the informer's lock. When it is released, all queued notifications have been passed to the sinks.
    pub(crate) fn lock(&self) -> Locked<'_> {
        Locked(self.listeners.lock())
    }

    /// Adds a listener after notifying it of every object in `cached` (P-11, P-12). Returns `None` if the informer has
    /// stopped (P-13).
    pub(crate) fn join(
        &self,
        config: ListenerConfig,
        sink: Arc<dyn NotificationSink>,
        cached: impl FnOnce() -> Vec<Arc<Object>>,
    ) -> Option<Joined> {
        let mut listeners = self.lock();
        if listeners.stopped {
            return None;
        }
        listeners.last_id += 1;
        let id = listeners.last_id;
        let mut listener =
            Listener::new(id, config, sink, listeners.source.clone(), self.default_resync, &listeners.tracer);
        let joined = Joined { id, name: Arc::clone(&listener.name), sync: listener.sync_state() };
        let observed = Instant::now().into_std();
        for object in cached() {
            listener.notify(Change::Added { object }, Cause::Initial, observed);
        }
        // A reader that finds the listener synced finds all initial notifications offered.
        listener.flush();
        if listeners.synced {
            listener.initial_done();
        }
        listeners.listeners.push(listener);
        drop(listeners);
        self.resync_moved.notify_one();
        Some(joined)
    }

    /// Gives a listener another sink and other settings, between two notifications. The new sink first receives the
    /// changes in `first`. Returns false if the listener has left or the informer stopped.
    pub(crate) fn retarget(
        &self,
        id: u64,
        config: ListenerConfig,
        sink: impl FnOnce() -> Arc<dyn NotificationSink>,
        first: impl FnOnce() -> Vec<(Change, Cause)>,
    ) -> bool {
        let mut listeners = self.lock();
        let Some(listener) = listeners.find(id) else { return false };
        // Queued notifications belong to the old sink.
        listener.flush();
        listener.retarget(config, sink(), self.default_resync);
        listener.notify_all(first());
        drop(listeners);
        self.resync_moved.notify_one();
        true
    }

    /// Notifies one listener of every object in `cached` again. Returns false if the listener has left or the informer
    /// stopped.
    pub(crate) fn replay(&self, id: u64, cached: impl FnOnce() -> Vec<Arc<Object>>) -> bool {
        let mut listeners = self.lock();
        let Some(listener) = listeners.find(id) else { return false };
        let again = cached().into_iter().map(|object| (Change::Added { object }, Cause::Replay));
        listener.notify_all(again);
        true
    }

    /// Notifies one listener with the cause `replay`, in order with its other notifications. Returns false if the
    /// listener is gone or `change` returns `None`.
    pub(crate) fn notify(&self, id: u64, change: impl FnOnce() -> Option<Change>) -> bool {
        let mut listeners = self.lock();
        let Some(listener) = listeners.find(id) else {
            return false;
        };
        let Some(change) = change() else { return false };
        listener.notify(change, Cause::Replay, Instant::now().into_std());
        true
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
        self.lock().listeners.iter().filter_map(Listener::next_resync).min()
    }

    /// Returns when [`next_resync`](Self::next_resync) may have changed since the last return.
    pub(crate) async fn resync_moved(&self) {
        self.resync_moved.notified().await;
    }

    /// Wakes the task that waits in [`resync_moved`](Self::resync_moved).
    pub(crate) fn resync_done(&self) {
        self.resync_moved.notify_one();
    }

    pub(crate) fn counters(&self) -> ProcessorCounters {
        let listeners = self.lock();
        ProcessorCounters {
            suppressed_unchanged: listeners.suppressed_unchanged,
            sink_panics: listeners.sink_panics,
        }
    }

    /// The name of each listener and whether it has synced.
    pub(crate) fn listeners(&self) -> Vec<(String, bool)> {
        let listeners = self.lock();
        let listeners = listeners.listeners.iter();
        listeners.map(|listener| (listener.name.to_string(), listener.has_synced())).collect()
    }
}

// === impl Listeners ===

impl Listeners {
    fn new(source: Source, tracer: Tracer) -> Self {
        Self {
            source,
            tracer,
            listeners: Vec::new(),
            last_id: 0,
            synced: false,
            stopped: false,
            suppressed_unchanged: 0,
            sink_panics: 0,
        }
    }

    /// Traces a decision about an object of this informer.
    pub(crate) fn note(&self, step: impl FnOnce() -> (ObjectKey, Step)) {
        self.tracer.note(&self.source, step);
    }

    fn find(&mut self, id: u64) -> Option<&mut Listener> {
        self.listeners.iter_mut().find(|listener| listener.id == id)
    }

    /// Notifies every listener.
    pub(crate) fn distribute(&mut self, change: &Change, cause: Cause, observed: std::time::Instant) {
        self.note(|| {
            let (verb, listeners) = (change.verb(), self.listeners.len());
            (change.object().key(), Step::Distributed { verb, cause, listeners })
        });
        for listener in &mut self.listeners {
            listener.offer(change.clone(), cause, observed);
        }
    }

    /// Notifies the listeners that asked for it of an object that the API server sent again unchanged (D-5).
    pub(crate) fn distribute_unchanged(
        &mut self,
        object: &Arc<Object>,
        cause: Cause,
        observed: std::time::Instant,
    ) {
        let mut notified = false;
        for listener in self.listeners.iter_mut().filter(|listener| listener.relist_all) {
            let change = Change::Updated { old: Arc::clone(object), new: Arc::clone(object) };
            listener.notify(change, cause, observed);
            notified = true;
        }
        self.suppressed_unchanged += u64::from(!notified);
    }

    /// Notifies the listeners whose resync period has elapsed of every object in the cache (P-8, C-7).
    pub(crate) fn resync(&mut self, cached: impl FnOnce() -> Vec<Arc<Object>>, observed: std::time::Instant) {
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
                listener.notify(change, Cause::Resync, observed);
            }
        }
    }

    /// Passes the queued notifications of all listeners to their sinks.
    pub(crate) fn flush(&mut self) {
        for listener in &mut self.listeners {
            listener.flush();
            self.sink_panics += listener.take_sink_panics();
        }
    }

    /// Records that the first lists are in the cache and were offered to every listener (C-12).
    pub(crate) fn informer_synced(&mut self) {
        self.synced = true;
        for listener in &mut self.listeners {
            listener.initial_done();
        }
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
