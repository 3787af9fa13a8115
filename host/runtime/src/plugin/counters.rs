//! Counters of the calls of one plugin.

use std::time::Duration;

use informer_types::{Failure, Histogram};
use parking_lot::Mutex;

use crate::PluginStats;

/// Upper bounds in seconds: a call takes from microseconds to its deadline.
static BOUNDS: [f64; 13] = [1e-5, 1e-4, 5e-4, 1e-3, 5e-3, 0.01, 0.05, 0.1, 0.5, 1.0, 5.0, 30.0, 300.0];

/// Calls of `handler` and `reconciler`, over all versions. The other statistics of the plugin are zero.
#[derive(Debug)]
pub(super) struct CallCounters(Mutex<PluginStats>);

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
                stats.last_failure = Some(failure.to_string());
            }
        }
    }

    pub(super) fn went_back(&self) {
        self.0.lock().went_back += 1;
    }

    pub(super) fn snapshot(&self) -> PluginStats {
        self.0.lock().clone()
    }
}

impl Default for CallCounters {
    fn default() -> Self {
        let (durations, queued) = (Histogram::new(&BOUNDS), Histogram::new(&BOUNDS));
        Self(Mutex::new(PluginStats { durations, queued, ..PluginStats::default() }))
    }
}
