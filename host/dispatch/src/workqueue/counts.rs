//! What a workqueue counts (W-14).

use std::{
    collections::VecDeque,
    ops::Deref,
    sync::Arc,
    time::{Duration, SystemTime},
};

use informer_types::Failure;

use super::DurationHistogram;
use crate::dead_letter::cut;

/// Keys that were given up and are still shown: more than a person reads.
const SHOWN: usize = 100;

/// The state of a workqueue at one moment; the counters of `Counts` are its fields too.
#[derive(Clone, Debug, Default, PartialEq)]
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
    /// Keys that were given up.
    pub dropped: u64,
    /// What was counted since the queue was made.
    pub counts: Counts,
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
    /// Calls cut short by the host; their keys were put back.
    pub put_back: u64,
    /// How long keys waited, from their first add until they were handed out.
    pub latency: DurationHistogram,
    /// How long keys were in hand.
    pub work_duration: DurationHistogram,
}

/// A key that was given up, until it is reconciled after all.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct DroppedKey {
    /// The key.
    pub key: Arc<str>,
    /// Calls in a row that failed.
    pub attempts: u32,
    /// Why the last one failed; the message is cut at 4 KiB.
    pub failure: Failure,
    /// When it was given up.
    pub at: SystemTime,
}

/// The keys given up last, each once; at the bound the oldest goes, and stays counted.
#[derive(Debug, Default)]
pub(super) struct DroppedKeys {
    kept: VecDeque<DroppedKey>,
    total: u64,
}

// === impl WorkqueueStats ===

impl Deref for WorkqueueStats {
    type Target = Counts;

    fn deref(&self) -> &Counts {
        &self.counts
    }
}

// === impl DroppedKey ===

impl DroppedKey {
    pub(super) fn new(key: Arc<str>, attempts: u32, failure: Failure) -> Self {
        Self { key, attempts, failure: cut(failure), at: SystemTime::now() }
    }
}

// === impl DroppedKeys ===

impl DroppedKeys {
    pub(super) fn keep(&mut self, dropped: DroppedKey) {
        self.withdraw(&dropped.key);
        if self.kept.len() >= SHOWN {
            self.kept.pop_front();
        }
        self.kept.push_back(dropped);
        self.total += 1;
    }

    /// Forgets a key that was reconciled after all.
    pub(super) fn withdraw(&mut self, key: &str) {
        self.kept.retain(|dropped| *dropped.key != *key);
    }

    pub(super) fn list(&self) -> Vec<DroppedKey> {
        self.kept.iter().cloned().collect()
    }

    pub(super) fn total(&self) -> u64 {
        self.total
    }
}
