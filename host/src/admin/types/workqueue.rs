//! The workqueue of a plugin's own keys.

use serde::{Deserialize, Serialize};

use super::Quarantine;

/// The workqueue. The names are those of client-go's workqueue metrics if client-go has them (W-14).
#[derive(Clone, Debug, Default, Serialize, Deserialize)]
#[serde(rename_all = "kebab-case", default)]
pub struct Workqueue {
    /// Keys that wait for a worker, and keys in flight that will wait again.
    pub depth: usize,
    /// Keys that wait for a worker.
    pub waiting: usize,
    /// Keys that wait for a time.
    pub delayed: usize,
    /// Keys in flight.
    pub in_hand: usize,
    /// Distinct keys, wherever they are.
    pub keys: usize,
    /// Most distinct keys.
    pub capacity: usize,
    /// True while no calls are made.
    pub paused: bool,
    /// Keys added that were not waiting already.
    pub adds: u64,
    /// Keys added with a delay.
    pub retries: u64,
    /// Keys refused because the workqueue was full.
    pub refused: u64,
    /// Calls that succeeded and requested nothing more.
    pub succeeded: u64,
    /// Calls that succeeded and requested another call.
    pub requeued: u64,
    /// Calls that failed.
    pub failed: u64,
    /// Keys that were put back without a result.
    pub put_back: u64,
    /// Keys discarded when the workqueue was shut down.
    pub discarded: u64,
    /// Keys given up.
    pub dropped: u64,
    /// Keys given up that newer ones replaced.
    pub dropped_keys_evicted: u64,
    /// The quarantine of the reconciler, if it is in quarantine.
    pub quarantine: Option<Quarantine>,
    /// Times that the reconciler was put in quarantine.
    pub quarantines: u64,
    /// Time from the first add of a key until a worker took it.
    pub queue_duration: Durations,
    /// Time that keys were in flight.
    pub work_duration: Durations,
    /// Time of all present calls together, in milliseconds.
    pub unfinished_work_ms: u64,
    /// Time of the oldest present call, in milliseconds.
    pub longest_running_ms: u64,
    /// The keys that are dead letters.
    pub dropped_keys: Vec<DroppedKey>,
}

/// A key that the host gave up.
#[derive(Clone, Debug, Default, Serialize, Deserialize)]
#[serde(default)]
pub struct DroppedKey {
    /// The key.
    pub key: String,
    /// Calls made.
    pub attempts: u32,
    /// The last failure.
    pub failure: String,
}

/// A histogram of durations.
#[derive(Clone, Debug, Default, Serialize, Deserialize)]
#[serde(rename_all = "kebab-case", default)]
pub struct Durations {
    /// Number of durations.
    pub count: u64,
    /// Their sum, in milliseconds.
    pub sum_ms: u64,
    /// The longest, in milliseconds.
    pub longest_ms: u64,
    /// Upper bounds in seconds, each with the number of durations up to it.
    pub buckets: Vec<(f64, u64)>,
}
