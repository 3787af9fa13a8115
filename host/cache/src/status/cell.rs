//! Where a reflector and the controller write down how they are doing.

mod state;

use std::{
    sync::atomic::{AtomicBool, Ordering},
    time::Duration,
};

use informer_types::ObjectKey;
use parking_lot::Mutex;
use tokio::{sync::Notify, time::Instant};

use state::State;

use super::{Phase, ReflectorStatus};
use crate::ErrorClass;

/// Beyond this, quarantined objects are counted but not listed.
const MAX_LISTED: usize = 1_000;

/// The state of one reflector, written by it, read by anybody.
pub(crate) struct ReflectorCell {
    namespace: Option<String>,
    state: Mutex<State>,
    /// Spares every good event a look at an empty map.
    has_quarantined: AtomicBool,
    /// A request was answered 404, or an object is of another type.
    doubt: Notify,
    /// The applied resource version has moved.
    applied: Notify,
}

// === impl ReflectorCell ===

impl ReflectorCell {
    pub(crate) fn new(namespace: Option<String>) -> Self {
        Self {
            namespace,
            state: Mutex::new(State::new()),
            has_quarantined: AtomicBool::new(false),
            doubt: Notify::new(),
            applied: Notify::new(),
        }
    }

    /// None: all namespaces.
    pub(crate) fn namespace(&self) -> Option<&str> {
        self.namespace.as_deref()
    }

    pub(crate) fn enter(&self, phase: Phase) {
        self.state.lock().enter(phase);
    }

    pub(crate) fn phase(&self) -> Phase {
        self.state.lock().phase
    }

    /// Waits for so long after a failure.
    pub(crate) fn back_off(&self, delay: Duration) {
        let mut state = self.state.lock();
        state.enter(Phase::BackingOff);
        state.retry_at = Some(Instant::now() + delay);
    }

    /// The server does not serve the resource; it is asked again after `delay`. That is no failure.
    pub(crate) fn wait_for_resource(&self, reason: &str, delay: Duration) {
        let mut state = self.state.lock();
        state.wait_for_resource(reason);
        state.retry_at = Some(Instant::now() + delay);
    }

    /// The server does not serve the resource any more: what is not applied by now never will be.
    pub(crate) fn vanished(&self, reason: &str) {
        self.release_all();
        let mut state = self.state.lock();
        state.counters.vanished += 1;
        state.wait_for_resource(reason);
    }

    /// Returns after something that the resource may have to do with itself: a request was answered 404, or an
    /// object is of another type.
    pub(crate) async fn doubt(&self) {
        self.doubt.notified().await;
    }

    pub(crate) fn failed(&self, text: String, class: ErrorClass) {
        let now = Instant::now();
        let mut state = self.state.lock();
        state.settle();
        state.last_error = Some((text, class, now));
        state.consecutive_failures = state.consecutive_failures.saturating_add(1);
        state.failing_since.get_or_insert(now);
        state.counters.failures += 1;
        drop(state);
        if class == ErrorClass::NotFound {
            self.doubt.notify_one();
        }
    }

    pub(crate) fn listed(&self, resource_version: &str) {
        let mut state = self.state.lock();
        state.counters.relists += u64::from(state.counters.lists > 0);
        state.counters.lists += 1;
        state.unsynced_because = None;
        state.observe(resource_version);
    }

    /// True once there was a list, of this reflector or of one before it.
    pub(crate) fn has_listed(&self) -> bool {
        self.state.lock().counters.lists > 0
    }

    /// A streaming list is complete; its watch goes on.
    pub(crate) fn streamed(&self, resource_version: &str) {
        self.listed(resource_version);
        self.watch_opened();
        let mut state = self.state.lock();
        state.counters.streaming_lists += 1;
        state.plain_lists_because = None;
    }

    ///
    pub(crate) fn consistent(&self) {
        self.state.lock().counters.consistent_lists += 1;
    }

    /// A plain list takes the place of a streaming one.
    pub(crate) fn fell_back(&self, reason: String) {
        let mut state = self.state.lock();
        state.counters.streaming_fallbacks += 1;
        state.unsynced_because = Some(reason);
    }

    pub(crate) fn unsynced_because(&self, reason: String) {
        self.state.lock().unsynced_because = Some(reason);
    }

    pub(crate) fn plain_lists_because(&self, reason: String) {
        self.state.lock().plain_lists_because = Some(reason);
    }

    pub(crate) fn watch_opened(&self) {
        let mut state = self.state.lock();
        state.enter(Phase::Watching);
        state.counters.watches += 1;
    }

    pub(crate) fn watch_silent(&self) {
        self.state.lock().counters.silent_watches += 1;
    }

    /// An object on the watch; `resource_version` is empty where it does not count.
    pub(crate) fn event(&self, resource_version: &str) {
        let mut state = self.state.lock();
        state.counters.events += 1;
        state.heard();
        state.observe(resource_version);
    }

    pub(crate) fn bookmark(&self, resource_version: &str) {
        let mut state = self.state.lock();
        state.counters.bookmarks += 1;
        state.heard();
        state.observe(resource_version);
    }

    pub(crate) fn skipped(&self) {
        self.state.lock().counters.skipped += 1;
        self.doubt.notify_one();
    }

    /// The cache has what was seen at `observed`.
    pub(crate) fn applied(&self, resource_version: &str, observed: std::time::Instant) {
        let mut state = self.state.lock();
        state.applied_version.clear();
        state.applied_version.push_str(resource_version);
        state.applied_observed = Some(observed);
        if state.applied_version == state.observed_version {
            state.behind_since = None;
        }
        drop(state);
        self.applied.notify_waiters();
    }

    /// Waits until the applied resource version satisfies the condition, and gives what the condition said.
    ///
    /// # Cancel safety
    /// A dropped future changes nothing.
    pub(crate) async fn wait_applied<T>(&self, mut fits: impl FnMut(&str) -> Option<T>) -> T {
        loop {
            // Asked for before the look, so that a move after it is not missed.
            let moved = self.applied.notified();
            let found = fits(&self.state.lock().applied_version);
            if let Some(found) = found {
                return found;
            }
            moved.await;
        }
    }

    pub(crate) fn applied_version(&self) -> String {
        self.state.lock().applied_version.clone()
    }

    /// D-2: `key` is none where even that could not be read. True where this is news.
    pub(crate) fn quarantine(&self, key: Option<ObjectKey>, problem: String) -> bool {
        let mut state = self.state.lock();
        state.counters.quarantined += 1;
        let Some(key) = key else {
            return true;
        };
        let known = state.quarantined.contains_key(&key);
        if known || state.quarantined.len() < MAX_LISTED {
            state.quarantined.insert(key, problem);
            self.has_quarantined.store(true, Ordering::Relaxed);
        }
        !known
    }

    /// The object decodes again, or is gone.
    pub(crate) fn release(&self, key: impl FnOnce() -> ObjectKey) {
        if self.has_quarantined.load(Ordering::Relaxed) {
            let mut state = self.state.lock();
            state.quarantined.remove(&key());
            self.has_quarantined.store(!state.quarantined.is_empty(), Ordering::Relaxed);
        }
    }

    /// A list is about to say anew what does not decode.
    pub(crate) fn release_all(&self) {
        self.state.lock().quarantined.clear();
        self.has_quarantined.store(false, Ordering::Relaxed);
    }

    pub(crate) fn snapshot(&self) -> ReflectorStatus {
        let mut state = self.state.lock();
        state.settle();
        state.status(self.namespace.clone())
    }
}

#[cfg(test)]
mod tests;
