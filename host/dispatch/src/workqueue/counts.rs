//! The counters and gauges of a workqueue (W-14), and where one key stands.

use std::{ops::Deref, time::Duration};

use informer_types::{Histogram, millis};
use serde::{Deserialize, Serialize};

use crate::keyed::{NextRetry, Quarantine, Stands};

/// The state of a workqueue at one moment. The fields of `Counts` can be read from it directly. The
/// names in JSON are those of client-go's workqueue metrics if client-go has them (W-14).
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize)]
#[serde(rename_all = "kebab-case", default)]
pub struct WorkqueueStats {
    /// Keys that are ready for a worker (W-6).
    pub ready: usize,
    /// Keys whose delay is not over.
    pub delayed: usize,
    /// The first key that is called again after failed calls. `None` if there is none.
    pub next_retry: Option<NextRetry>,
    /// Keys that a worker has.
    pub in_flight: usize,
    /// Distinct keys that are ready, delayed or in flight.
    pub keys: usize,
    /// Distinct keys that the guest may add.
    pub capacity: usize,
    /// The queue is paused: no key is handed out.
    pub paused: bool,
    /// Sum of the time that the calls in flight have taken so far.
    #[serde(rename = "unfinished-work-ms", with = "millis")]
    pub unfinished_work: Duration,
    /// Time that the oldest call in flight has taken so far.
    #[serde(rename = "longest-running-ms", with = "millis")]
    pub longest_running: Duration,
    /// The quarantine of the reconciler. `None` if there is none.
    pub quarantine: Option<Quarantine>,
    /// Number of quarantines so far.
    pub quarantines: u64,
    /// Keys that were given up and have not succeeded since, at most a thousand.
    #[serde(skip)]
    pub dropped_keys: usize,
    /// Given up keys that were evicted by newer ones.
    pub dropped_keys_evicted: u64,
    /// The counters since the queue was created.
    #[serde(flatten)]
    pub counts: Counts,
    /// How long keys were pending, from the first add until a worker took them.
    #[serde(rename = "queue-duration", skip_deserializing)]
    pub latency: Histogram,
    /// How long keys were in flight.
    #[serde(skip_deserializing)]
    pub work_duration: Histogram,
}

/// The counters since the queue was created, and the depth that results from them.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize)]
#[serde(rename_all = "kebab-case", default)]
pub struct Counts {
    /// client-go's `depth`: the number of dirty keys, ready or in flight.
    pub depth: usize,
    /// Keys added; a key that is dirty already does not count.
    pub adds: u64,
    /// Keys added with a delay, by the limiter or otherwise.
    pub retries: u64,
    /// Keys of the guest refused because the queue was full.
    pub refused: u64,
    /// Calls that succeeded and did not requeue their key.
    pub succeeded: u64,
    /// Calls that succeeded and requeued their key.
    pub requeued: u64,
    /// Calls that failed, whatever followed.
    pub failed: u64,
    /// Keys that were given up.
    pub dropped: u64,
    /// Keys that were to be reconciled when the queue was shut down and are not: delayed keys, keys whose call was to be
    /// repeated, keys added later, and, if the queue was closed, ready keys.
    pub discarded: u64,
    /// Calls that the host cut short or could not make. Their keys are ready again.
    pub given_back: u64,
}

/// The place of a key that is ready, delayed or in flight.
#[derive(Clone, Debug, PartialEq, Eq, Serialize)]
pub struct KeyStanding {
    /// The place of the key.
    #[serde(flatten)]
    pub stands: Stands,
    /// The key is in flight and will be handed out again.
    pub again: bool,
    /// Failed calls in a row.
    pub failed: u32,
}

// === impl WorkqueueStats ===

impl Deref for WorkqueueStats {
    type Target = Counts;

    fn deref(&self) -> &Counts {
        &self.counts
    }
}
