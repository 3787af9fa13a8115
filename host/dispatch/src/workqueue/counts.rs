//! What a workqueue counts (W-14).

use std::{ops::Deref, time::Duration};

use informer_types::Histogram;

use crate::Quarantine;

/// The state of a workqueue at one moment; the counters of `Counts` are its fields too.
#[derive(Clone, Debug, PartialEq)]
pub struct WorkqueueStats {
    /// Keys that wait for a worker (W-6).
    pub waiting: usize,
    /// Keys whose time has not come.
    pub delayed: usize,
    /// Keys that workers have in hand.
    pub in_hand: usize,
    /// Distinct keys, wherever they are.
    pub keys: usize,
    /// Distinct keys it may hold.
    pub capacity: usize,
    /// Nothing is handed out at present.
    pub paused: bool,
    /// The time that the work in hand has taken so far, all together.
    pub unfinished_work: Duration,
    /// The time that the oldest work in hand has taken so far.
    pub longest_running: Duration,
    /// The plugin's reconciler is left alone, but for a probe now and then.
    pub quarantine: Option<Quarantine>,
    /// How often that began.
    pub quarantines: u64,
    /// Keys that were given up and not reconciled since, as far as they are kept.
    pub dropped_keys: usize,
    /// Of these, how many had to make room for newer ones.
    pub dropped_keys_evicted: u64,
    /// What was counted since the queue was made.
    pub counts: Counts,
    /// How long keys were pending, from the first add until a worker took them.
    pub latency: Histogram,
    /// How long keys were in flight.
    pub work_duration: Histogram,
}

/// What was counted since the queue was made, and the depth that follows from it.
#[derive(Clone, Debug, Default, PartialEq)]
pub struct Counts {
    /// client-go's `depth`: keys that wait, and those in hand that will wait again.
    pub depth: usize,
    /// Keys added, those not counted that waited already.
    pub adds: u64,
    /// Times a key was added with a delay, the limiter's or another.
    pub retries: u64,
    /// Keys refused because the queue was full.
    pub refused: u64,
    /// Calls that ended well and asked for nothing more.
    pub succeeded: u64,
    /// Calls that ended well and asked to be made again.
    pub requeued: u64,
    /// Calls that failed, whatever followed.
    pub failed: u64,
    /// Keys that were given up.
    pub dropped: u64,
    /// Keys that were to be reconciled and are not, as the queue was shut down: delayed ones, those that would have come again,
    /// those that came later, and, where it was closed, those that waited.
    pub discarded: u64,
    /// Calls cut short by the host, or not made as there was nothing to call; their keys were put back.
    pub put_back: u64,
}

// === impl WorkqueueStats ===

impl Deref for WorkqueueStats {
    type Target = Counts;

    fn deref(&self) -> &Counts {
        &self.counts
    }
}
