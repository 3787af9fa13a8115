//! The state that a reflector and the controller report.

use std::{
    sync::atomic::{AtomicBool, Ordering},
    time::Duration,
};

use informer_types::ObjectKey;
use parking_lot::Mutex;
use tokio::{
    sync::{Notify, futures::Notified},
    time::Instant,
};

use super::{LastError, Phase, ReflectorStatus};
use crate::{ErrorClass, delta_queue::Quarantined};

/// After this time an open watch counts as recovered, even without an event.
const RECOVERED_AFTER: Duration = Duration::from_secs(1);

/// The maximum number of quarantined objects that are listed. All of them are counted.
const MAX_LISTED: usize = 1_000;

/// The reported state of one reflector. The controller writes the applied version and the quarantine, and the reflector writes the rest.
/// Any thread may read the state.
pub(crate) struct ReflectorCell {
    namespace: Option<String>,
    state: Mutex<State>,
    /// Saves a search of an empty map for every good event.
    has_quarantined: AtomicBool,
    /// Signalled after a request was answered with 404, or an object of another type arrived.
    doubt: Notify,
    /// Signalled after the applied resource version has changed.
    applied: Notify,
    /// Signalled after an object may have left the quarantine.
    released: Notify,
}

/// The state behind the cell's lock.
struct State {
    /// A snapshot replaces its durations.
    status: ReflectorStatus,
    /// The time when the phase began.
    since: Instant,
    failed_at: Option<Instant>,
    /// The time of the first of the consecutive failures.
    failing_since: Option<Instant>,
    /// The time of the next attempt.
    retry_at: Option<Instant>,
    last_event: Option<Instant>,
    /// The last time at which the cache was known to be current: at a list, an event or a bookmark, or, if the cache is empty, at a lookup
    /// that did not find the resource.
    current_at: Option<Instant>,
    /// The time since which the cache lacks a received change.
    behind_since: Option<Instant>,
    /// When the last applied change was received.
    applied_observed: Option<std::time::Instant>,
    restarted: bool,
    /// True if an object is in quarantine and not listed, because too many are or because its key is unreadable.
    has_unlisted: bool,
}

// === impl ReflectorCell ===

impl ReflectorCell {
    pub(crate) fn new(namespace: Option<String>) -> Self {
        let status = ReflectorStatus { namespace: namespace.clone(), ..ReflectorStatus::default() };
        let state = State {
            status,
            since: Instant::now(),
            failed_at: None,
            failing_since: None,
            retry_at: None,
            last_event: None,
            current_at: None,
            behind_since: None,
            applied_observed: None,
            restarted: false,
            has_unlisted: false,
        };
        Self {
            namespace,
            state: Mutex::new(state),
            has_quarantined: AtomicBool::new(false),
            doubt: Notify::new(),
            applied: Notify::new(),
            released: Notify::new(),
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
        self.state.lock().status.phase
    }

    /// The reflector waits for `delay` after a failure.
    pub(crate) fn back_off(&self, delay: Duration) {
        let mut state = self.state.lock();
        state.enter(Phase::BackingOff);
        state.retry_at = Some(Instant::now() + delay);
    }

    /// The server does not serve the resource, and the next lookup is after `delay`. This does not count as a failure.
    pub(crate) fn wait_for_resource(&self, reason: &str, remedy: Option<String>, delay: Duration) {
        let mut state = self.state.lock();
        state.wait_for_resource(reason, remedy);
        state.retry_at = Some(Instant::now() + delay);
    }

    /// The server does not serve the resource in this version, and its objects may exist in another version. The cache stays as it
    /// is, and the next lookup is after `delay`. This counts as a failure, because an operator has to act.
    pub(crate) fn keep(&self, reason: String, remedy: Option<String>, delay: Duration) {
        let mut state = self.state.lock();
        state.failed(reason, ErrorClass::UnknownResource, remedy);
        state.enter(Phase::BackingOff);
        state.retry_at = Some(Instant::now() + delay);
    }

    /// Records that the server does not serve the resource any more. The informer calls this after the controller has ended and the store
    /// is empty, so the quarantine becomes empty too.
    pub(crate) fn vanished(&self, reason: &str) {
        self.replace_quarantine(Vec::new());
        let mut state = self.state.lock();
        state.status.counters.vanished += 1;
        state.confirm_empty();
        state.wait_for_resource(reason, None);
    }

    /// Records that the empty cache is current, because the server does not serve the resource.
    pub(crate) fn confirm_empty(&self) {
        self.state.lock().confirm_empty();
    }

    /// Returns after a sign that the resource may have been removed or replaced: a request was answered with 404, or an
    /// object of another type arrived.
    pub(crate) async fn doubt(&self) {
        self.doubt.notified().await;
    }

    pub(crate) fn failed(&self, text: String, class: ErrorClass) {
        self.state.lock().failed(text, class, None);
        if class == ErrorClass::NotFound {
            self.doubt.notify_one();
        }
    }

    pub(crate) fn listed(&self, resource_version: &str) {
        let mut state = self.state.lock();
        state.status.counters.relists += u64::from(state.status.counters.lists > 0);
        state.status.counters.lists += 1;
        state.status.unsynced_because = None;
        state.current_at = Some(Instant::now());
        state.observe(resource_version);
    }

    /// The informer starts again after a bug. Its cache may have a list that was not reported.
    pub(crate) fn restarts(&self) {
        self.state.lock().restarted = true;
    }

    /// Returns true if there may have been a list, by this reflector or by an earlier one of the same informer.
    pub(crate) fn has_listed(&self) -> bool {
        let state = self.state.lock();
        state.restarted || state.status.counters.lists > 0
    }

    /// A streaming list is complete, and its watch continues.
    pub(crate) fn streamed(&self, resource_version: &str) {
        self.listed(resource_version);
        self.watch_opened();
        let mut state = self.state.lock();
        state.status.counters.streaming_lists += 1;
        state.status.plain_lists_because = None;
    }

    /// A streaming list was equal to a plain list.
    pub(crate) fn consistent(&self) {
        self.state.lock().status.counters.consistent_lists += 1;
    }

    /// A plain list replaces a streaming list.
    pub(crate) fn fell_back(&self, reason: String) {
        let mut state = self.state.lock();
        state.status.counters.streaming_fallbacks += 1;
        state.status.unsynced_because = Some(reason);
    }

    pub(crate) fn unsynced_because(&self, reason: String) {
        self.state.lock().status.unsynced_because = Some(reason);
    }

    pub(crate) fn plain_lists_because(&self, reason: String) {
        self.state.lock().status.plain_lists_because = Some(reason);
    }

    pub(crate) fn watch_opened(&self) {
        let mut state = self.state.lock();
        state.enter(Phase::Watching);
        state.status.counters.watches += 1;
    }

    pub(crate) fn watch_silent(&self) {
        self.state.lock().status.counters.silent_watches += 1;
    }

    /// An object arrived on the watch. `resource_version` is empty if it must not be recorded.
    pub(crate) fn event(&self, resource_version: &str) {
        let mut state = self.state.lock();
        state.status.counters.events += 1;
        state.received();
        state.observe(resource_version);
    }

    pub(crate) fn bookmark(&self, resource_version: &str) {
        let mut state = self.state.lock();
        state.status.counters.bookmarks += 1;
        state.received();
        state.observe(resource_version);
    }

    pub(crate) fn skipped(&self) {
        self.state.lock().status.counters.skipped += 1;
        self.doubt.notify_one();
    }

    /// The cache now has the change that was received at `observed`. An object without a version leaves the version as it was.
    pub(crate) fn applied(&self, resource_version: &str, observed: std::time::Instant) {
        let mut state = self.state.lock();
        if !resource_version.is_empty() {
            state.status.applied_version.clear();
            state.status.applied_version.push_str(resource_version);
        }
        state.applied_observed = Some(observed);
        if state.status.applied_version == state.status.observed_version {
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
            let found = fits(&self.state.lock().status.applied_version);
            if let Some(found) = found {
                return found;
            }
            moved.await;
        }
    }

    pub(crate) fn applied_version(&self) -> String {
        self.state.lock().status.applied_version.clone()
    }

    /// Counts an object that did not decode (D-2). `key` is `None` if the key was unreadable. Returns true if the object is not in
    /// quarantine yet.
    pub(crate) fn refused(&self, key: Option<&ObjectKey>) -> bool {
        let mut state = self.state.lock();
        state.status.counters.quarantined += 1;
        key.is_none_or(|key| !state.status.quarantined.contains_key(key))
    }

    /// Puts an object in quarantine (D-2).
    pub(crate) fn quarantine(&self, object: Quarantined) {
        let mut state = self.state.lock();
        state.quarantine(object);
        self.note_quarantined(&state);
    }

    /// Removes an object from quarantine. Call this after the write to the store: a reader that finds an object neither in quarantine nor
    /// afterwards in the store takes the object for deleted.
    pub(crate) fn release(&self, key: impl FnOnce() -> ObjectKey) {
        if self.has_quarantined.load(Ordering::Relaxed) {
            let mut state = self.state.lock();
            let is_released = state.status.quarantined.remove(&key()).is_some();
            self.note_quarantined(&state);
            drop(state);
            if is_released {
                self.released.notify_waiters();
            }
        }
    }

    /// Replaces the whole quarantine by the objects of a list that did not decode. Call this after the write to the store. A reader sees
    /// either the old or the new quarantine.
    pub(crate) fn replace_quarantine(&self, objects: Vec<Quarantined>) {
        let mut state = self.state.lock();
        state.status.quarantined.clear();
        state.has_unlisted = false;
        objects.into_iter().for_each(|object| state.quarantine(object));
        self.note_quarantined(&state);
        drop(state);
        self.released.notify_waiters();
    }

    /// The future is ready after an object may have left the quarantine. It does not miss a release between this call and its first
    /// poll.
    pub(crate) fn released(&self) -> Notified<'_> {
        self.released.notified()
    }

    fn note_quarantined(&self, state: &State) {
        self.has_quarantined.store(!state.status.quarantined.is_empty(), Ordering::Relaxed);
    }

    /// The quarantined objects. Returns `None` if not all of them are listed.
    pub(crate) fn undecoded(&self) -> Option<Vec<ObjectKey>> {
        let state = self.state.lock();
        (!state.has_unlisted).then(|| state.status.quarantined.keys().cloned().collect())
    }

    /// The time since the cache was known to be current. Returns `None` before the first list.
    pub(crate) fn data_age(&self) -> Option<Duration> {
        let mut state = self.state.lock();
        state.note_recovery();
        state.current_at.map(|at| at.elapsed())
    }

    pub(crate) fn snapshot(&self) -> ReflectorStatus {
        let mut state = self.state.lock();
        state.note_recovery();
        let mut status = state.status.clone();
        status.more_quarantined = state.has_unlisted;
        status.phase_age = state.since.elapsed();
        if let (Some(error), Some(at)) = (&mut status.last_error, state.failed_at) {
            error.age = at.elapsed();
        }
        status.failing_for = state.failing_since.map(|at| at.elapsed());
        status.retry_in = state.retry_at.map(|at| at.saturating_duration_since(Instant::now()));
        status.lag = state.lag();
        status.last_event_age = state.last_event.map(|at| at.elapsed());
        status.data_age = state.current_at.map(|at| at.elapsed());
        status
    }
}

// === impl State ===

impl State {
    fn enter(&mut self, phase: Phase) {
        (self.status.phase, self.since) = (phase, Instant::now());
        self.retry_at = None;
    }

    fn wait_for_resource(&mut self, reason: &str, remedy: Option<String>) {
        if self.status.phase != Phase::WaitingForResource {
            self.enter(Phase::WaitingForResource);
        }
        self.recovered();
        self.record(reason.to_owned(), ErrorClass::UnknownResource, remedy);
    }

    /// Records that the empty cache is current. Changes nothing before the first list.
    fn confirm_empty(&mut self) {
        self.current_at = self.current_at.map(|_| Instant::now());
    }

    fn failed(&mut self, text: String, class: ErrorClass, remedy: Option<String>) {
        self.note_recovery();
        let now = self.record(text, class, remedy);
        self.status.consecutive_failures = self.status.consecutive_failures.saturating_add(1);
        self.failing_since.get_or_insert(now);
        self.status.counters.failures += 1;
    }

    fn record(&mut self, text: String, class: ErrorClass, remedy: Option<String>) -> Instant {
        self.status.last_error = Some(LastError { text, class, remedy, age: Duration::ZERO });
        *self.failed_at.insert(Instant::now())
    }

    /// Two upper bounds of the lag, of which the smaller is used: the time since the cache first lacked a received
    /// change, and the age of the last applied change.
    fn lag(&self) -> Duration {
        let Some(behind) = self.behind_since.map(|since| since.elapsed()) else {
            return Duration::ZERO;
        };
        let now = Instant::now().into_std();
        behind.min(self.applied_observed.map_or(Duration::MAX, |at| now.saturating_duration_since(at)))
    }

    fn quarantine(&mut self, Quarantined { key, problem }: Quarantined) {
        let listed = &mut self.status.quarantined;
        match key {
            Some(key) if listed.len() < MAX_LISTED || listed.contains_key(&key) => {
                listed.insert(key, problem);
            }
            _ => self.has_unlisted = true,
        }
    }

    fn recovered(&mut self) {
        self.status.consecutive_failures = 0;
        self.failing_since = None;
    }

    fn observe(&mut self, resource_version: &str) {
        if !resource_version.is_empty() {
            self.status.observed_version.clear();
            self.status.observed_version.push_str(resource_version);
            if self.status.applied_version != resource_version {
                self.behind_since.get_or_insert_with(Instant::now);
            }
        }
    }

    fn received(&mut self) {
        self.last_event = Some(Instant::now());
        self.current_at = self.last_event;
        self.recovered();
    }

    /// Resets the failures once a watch has been open for long enough.
    fn note_recovery(&mut self) {
        if self.status.phase == Phase::Watching && self.since.elapsed() >= RECOVERED_AFTER {
            self.recovered();
        }
    }
}

#[cfg(test)]
mod tests;
