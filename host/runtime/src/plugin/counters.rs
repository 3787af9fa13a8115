//! Counters of the calls of one plugin.

use std::{collections::BTreeMap, time::Duration};

use informer_types::{Failure, FailureKind, Histogram};
use parking_lot::Mutex;

/// Upper bounds in seconds: a call takes from microseconds to its deadline.
static BOUNDS: [f64; 13] = [1e-5, 1e-4, 5e-4, 1e-3, 5e-3, 0.01, 0.05, 0.1, 0.5, 1.0, 5.0, 30.0, 300.0];

/// Calls of `handler` and `reconciler`, over all versions.
#[derive(Debug, Default)]
pub(crate) struct CallCounters(Mutex<CallStats>);

/// A snapshot of the counters.
#[derive(Clone, Debug)]
pub(crate) struct CallStats {
    pub(crate) calls: u64,
    pub(crate) acknowledged: u64,
    pub(crate) failures: BTreeMap<FailureKind, u64>,
    pub(crate) last_failure: Option<Failure>,
    pub(crate) durations: Histogram,
    pub(crate) queued: Histogram,
    /// Versions taken out of service because they failed their trial.
    pub(crate) went_back: u64,
}

// === impl CallCounters ===

impl CallCounters {
    /// Counts a call that ended. `queued` is the time that a notification spent in the queue; `None` for a key.
    pub(super) fn ended(&self, took: Duration, queued: Option<Duration>, failure: Option<&Failure>) {
        let mut stats = self.0.lock();
        stats.calls += 1;
        stats.durations.observe_duration(took);
        if let Some(queued) = queued {
            stats.queued.observe_duration(queued);
        }
        match failure {
            None => stats.acknowledged += 1,
            Some(failure) => {
                *stats.failures.entry(failure.kind).or_default() += 1;
                stats.last_failure = Some(failure.clone());
            }
        }
    }

    pub(super) fn went_back(&self) {
        self.0.lock().went_back += 1;
    }

    pub(super) fn snapshot(&self) -> CallStats {
        self.0.lock().clone()
    }
}

// === impl CallStats ===

impl Default for CallStats {
    fn default() -> Self {
        Self {
            calls: 0,
            acknowledged: 0,
            failures: BTreeMap::new(),
            last_failure: None,
            durations: Histogram::new(&BOUNDS),
            queued: Histogram::new(&BOUNDS),
            went_back: 0,
        }
    }
}
