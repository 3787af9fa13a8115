//! The state behind the cell's lock.

use std::{collections::BTreeMap, time::Duration};

use informer_types::ObjectKey;
use tokio::time::Instant;

use crate::{
    ErrorClass,
    status::{Counters, LastError, Phase, ReflectorStatus},
};

/// After this time an open watch counts as recovered, even without an event.
const RECOVERED_AFTER: Duration = Duration::from_secs(1);

pub(super) struct State {
    pub(super) phase: Phase,
    pub(super) since: Instant,
    pub(super) last_error: Option<(String, ErrorClass, Instant)>,
    pub(super) unsynced_because: Option<String>,
    pub(super) plain_lists_because: Option<String>,
    pub(super) consecutive_failures: u32,
    /// The time of the first of these failures.
    pub(super) failing_since: Option<Instant>,
    /// The time of the next attempt.
    pub(super) retry_at: Option<Instant>,
    pub(super) last_event: Option<Instant>,
    pub(super) observed_version: String,
    pub(super) applied_version: String,
    /// The time since which the cache lacks a received change.
    pub(super) behind_since: Option<Instant>,
    /// When the last applied change was received.
    pub(super) applied_observed: Option<std::time::Instant>,
    pub(super) quarantined: BTreeMap<ObjectKey, String>,
    pub(super) counters: Counters,
}

// === impl State ===

impl State {
    pub(super) fn new() -> Self {
        Self {
            phase: Phase::NotStarted,
            since: Instant::now(),
            last_error: None,
            unsynced_because: None,
            plain_lists_because: None,
            consecutive_failures: 0,
            failing_since: None,
            retry_at: None,
            last_event: None,
            observed_version: String::new(),
            applied_version: String::new(),
            behind_since: None,
            applied_observed: None,
            quarantined: BTreeMap::new(),
            counters: Counters::default(),
        }
    }

    pub(super) fn status(&self, namespace: Option<String>) -> ReflectorStatus {
        ReflectorStatus {
            namespace,
            phase: self.phase,
            phase_age: self.since.elapsed(),
            last_error: self.last_error.as_ref().map(|(text, class, at)| LastError {
                text: text.clone(),
                class: *class,
                age: at.elapsed(),
            }),
            unsynced_because: self.unsynced_because.clone(),
            plain_lists_because: self.plain_lists_because.clone(),
            consecutive_failures: self.consecutive_failures,
            failing_for: self.failing_since.map(|at| at.elapsed()),
            retry_in: self.retry_at.map(|at| at.saturating_duration_since(Instant::now())),
            lag: self.lag(),
            last_event_age: self.last_event.map(|at| at.elapsed()),
            observed_version: self.observed_version.clone(),
            applied_version: self.applied_version.clone(),
            quarantined: self.quarantined.clone(),
            counters: self.counters,
        }
    }

    pub(super) fn enter(&mut self, phase: Phase) {
        (self.phase, self.since) = (phase, Instant::now());
        self.retry_at = None;
    }

    pub(super) fn wait_for_resource(&mut self, reason: &str) {
        if self.phase != Phase::WaitingForResource {
            self.enter(Phase::WaitingForResource);
        }
        self.recovered();
        self.last_error = Some((reason.to_owned(), ErrorClass::UnknownResource, Instant::now()));
    }

    /// Two upper bounds of the lag, of which the smaller is used: the time since the cache first lacked a received
    /// change, and the age of the last applied change.
    pub(super) fn lag(&self) -> Duration {
        let Some(behind) = self.behind_since.map(|since| since.elapsed()) else {
            return Duration::ZERO;
        };
        let now = Instant::now().into_std();
        behind.min(self.applied_observed.map_or(Duration::MAX, |at| now.saturating_duration_since(at)))
    }

    pub(super) fn recovered(&mut self) {
        self.consecutive_failures = 0;
        self.failing_since = None;
    }

    pub(super) fn observe(&mut self, resource_version: &str) {
        if !resource_version.is_empty() {
            self.observed_version.clear();
            self.observed_version.push_str(resource_version);
            if self.applied_version != resource_version {
                self.behind_since.get_or_insert_with(Instant::now);
            }
        }
    }

    pub(super) fn received(&mut self) {
        self.last_event = Some(Instant::now());
        self.recovered();
    }

    /// Resets the failures once a watch has been open for long enough.
    pub(super) fn settle(&mut self) {
        if self.phase == Phase::Watching && self.since.elapsed() >= RECOVERED_AFTER {
            self.recovered();
        }
    }
}
