//! Counters of the calls of one plugin.

use std::time::{Duration, Instant};

use informer_types::{Failure, Histogram};
use parking_lot::Mutex;

use crate::PluginStats;

/// Upper bounds in seconds: a call takes from microseconds to its deadline.
static BOUNDS: [f64; 13] = [1e-5, 1e-4, 5e-4, 1e-3, 5e-3, 0.01, 0.05, 0.1, 0.5, 1.0, 5.0, 30.0, 300.0];

/// Upper bounds in seconds: a change that waits for retries takes hours.
static WATCH_BOUNDS: [f64; 14] =
    [5e-4, 1e-3, 2.5e-3, 5e-3, 0.01, 0.025, 0.05, 0.1, 0.5, 1.0, 5.0, 30.0, 300.0, 3600.0];

/// The times of one call.
#[derive(Clone, Copy)]
pub(super) struct Took {
    /// The attempt, including the wait for an instance.
    pub(super) call: Duration,
    /// The time that a notification spent in the queue; `None` for a key.
    pub(super) queued: Option<Duration>,
    /// When the watch received the change; `None` if the watch did not send it.
    pub(super) watched: Option<Instant>,
}

/// Calls for notifications, keys and signals, over all versions. The other statistics of the plugin are zero.
#[derive(Debug)]
pub(super) struct CallCounters(Mutex<PluginStats>);

// === impl CallCounters ===

impl CallCounters {
    /// Counts a call that ended now.
    pub(super) fn ended(&self, took: Took, failure: Option<&Failure>) {
        let since_watch = took.watched.filter(|_| failure.is_none()).map(|watched| watched.elapsed());
        let mut stats = self.0.lock();
        stats.calls += 1;
        stats.durations.observe_duration(took.call);
        if let Some(queued) = took.queued {
            stats.queued.observe_duration(queued);
        }
        if let Some(time) = since_watch {
            stats.watch_to_done.observe_duration(time);
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
        let watch_to_done = Histogram::new(&WATCH_BOUNDS);
        Self(Mutex::new(PluginStats { durations, queued, watch_to_done, ..PluginStats::default() }))
    }
}
