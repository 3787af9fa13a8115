//! The state that a reflector and the controller report.

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

/// The maximum number of quarantined objects that are listed. All of them are counted.
const MAX_LISTED: usize = 1_000;

/// The reported state of one reflector. The reflector writes it; any thread may read it.
pub(crate) struct ReflectorCell {
    namespace: Option<String>,
    state: Mutex<State>,
    /// Saves a search of an empty map for every good event.
    has_quarantined: AtomicBool,
    /// Signalled after a request was answered with 404, or an object of another type arrived.
    doubt: Notify,
    /// Signalled after the applied resource version has changed.
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

    /// The watched namespace. `None` means all namespaces.
    pub(crate) fn namespace(&self) -> Option<&str> {
        self.namespace.as_deref()
    }

    pub(crate) fn enter(&self, phase: Phase) {
        self.state.lock().enter(phase);
    }

    pub(crate) fn phase(&self) -> Phase {
        self.state.lock().phase
    }

    /// The reflector waits for `delay` after a failure.
    pub(crate) fn back_off(&self, delay: Duration) {
        let mut state = self.state.lock();
        state.enter(Phase::BackingOff);
        state.retry_at = Some(Instant::now() + delay);
    }

    /// The server does not serve the resource, and the next lookup is after `delay`. This does not count as a failure.
    pub(crate) fn wait_for_resource(&self, reason: &str, delay: Duration) {
        let mut state = self.state.lock();
        state.wait_for_resource(reason);
        state.retry_at = Some(Instant::now() + delay);
    }

    /// The server does not serve the resource any more. Deltas that are not applied by now never will be.
    pub(crate) fn vanished(&self, reason: &str) {
        self.release_all();
        let mut state = self.state.lock();
        state.counters.vanished += 1;
        state.wait_for_resource(reason);
    }

    /// Returns after a sign that the resource may have been removed or replaced: a request was answered with 404, or an
    /// object of another type arrived.
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

    /// Returns true once there was a list, by this reflector or by an earlier one of the same informer.
    pub(crate) fn has_listed(&self) -> bool {
        self.state.lock().counters.lists > 0
    }

    /// A streaming list is complete, and its watch continues.
    pub(crate) fn streamed(&self, resource_version: &str) {
        self.listed(resource_version);
        self.watch_opened();
        let mut state = self.state.lock();
        state.counters.streaming_lists += 1;
        state.plain_lists_because = None;
    }

    /// A streaming list was equal to a plain list.
    pub(crate) fn consistent(&self) {
        self.state.lock().counters.consistent_lists += 1;
    }

    /// A plain list replaces a streaming list.
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

    /// An object arrived on the watch. `resource_version` is empty if it must not be recorded.
    pub(crate) fn event(&self, resource_version: &str) {
        let mut state = self.state.lock();
        state.counters.events += 1;
        state.received();
        state.observe(resource_version);
    }

    pub(crate) fn bookmark(&self, resource_version: &str) {
        let mut state = self.state.lock();
        state.counters.bookmarks += 1;
        state.received();
        state.observe(resource_version);
    }

    pub(crate) fn skipped(&self) {
        self.state.lock().counters.skipped += 1;
        self.doubt.notify_one();
    }

    /// The cache now has the change that was received at `observed`.
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

    /// Waits until `fits` returns `Some` for the applied resource version, and returns its value.
    ///
    /// # Cancel safety
    /// A dropped future changes nothing.
    pub(crate) async fn wait_applied<T>(&self, mut fits: impl FnMut(&str) -> Option<T>) -> T {
        loop {
            // Requested before the check, so that a change after the check is not missed.
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

    /// Records an object that did not decode (D-2). `key` is `None` if the key was unreadable. Returns true if the
    /// object was not in quarantine yet.
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

    /// Removes an object from quarantine: it decodes again, or was deleted.
    pub(crate) fn release(&self, key: impl FnOnce() -> ObjectKey) {
        if self.has_quarantined.load(Ordering::Relaxed) {
            let mut state = self.state.lock();
            state.quarantined.remove(&key());
            self.has_quarantined.store(!state.quarantined.is_empty(), Ordering::Relaxed);
        }
    }

    /// Empties the quarantine before a list, which reports all objects that do not decode.
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
