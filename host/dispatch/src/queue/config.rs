//! What a queue is told to do.

use std::num::{NonZeroU32, NonZeroUsize};

use super::quarantine::QuarantineConfig;

/// How a queue hands out what it takes in.
#[derive(Clone, Debug, PartialEq)]
pub struct QueueConfig {
    /// What is done with several changes of one object.
    pub delivery: DeliveryMode,
    /// The most calls a second, retries included; none: as many as the workers make.
    pub rate: Option<Rate>,
    /// Retries for one first attempt, besides a hundred at once and ten a second; none: as many as become due.
    ///
    /// A downstream that is broken is thus asked a little more often than usual, and not as many times as often as there
    /// are attempts. A retry that becomes due beyond the budget waits for it, in the order of the times they were due. A
    /// retry that succeeds costs nothing: what recovered is caught up with at full speed.
    pub retry_budget: Option<f64>,
    /// When a plugin that does not work is left alone.
    pub quarantine: QuarantineConfig,
    /// Dead letters kept; at the bound the oldest goes, and is counted.
    pub dead_letters: NonZeroUsize,
    /// Each delivery tells the controllers of all states merged into it, as long as they are no more than a thousand; and
    /// of what came and went unseen the deletion is delivered, if it had one.
    pub controllers: bool,
}

/// What is done with changes of one object that are still pending.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub enum DeliveryMode {
    /// They merge: see the merging rule in `coalesce.rs`.
    #[default]
    Latest,
    /// Each is delivered, in order. Nothing takes the place of one that fails: it is tried until it succeeds or is given
    /// up, and the later ones of its object wait for it.
    Every {
        /// Notifications that may be pending before the queue falls behind: then it merges, what is pending and what
        /// comes, until it is down to half of this. Merged ones have the cause `replay`, so that a handler that counts
        /// changes knows that it missed some, and [`QueueStats::overflows`](super::QueueStats::overflows) counts.
        ///
        /// Merging, rather than forgetting and replaying the cache later, because it keeps what the contract promises
        /// besides: deletions are told, an update starts at the state that the handler knows, and order is kept.
        capacity: NonZeroUsize,
    },
}

/// A token bucket over calls.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct Rate {
    /// In the long run; more than 0.
    pub per_second: f64,
    /// At once, after a pause.
    pub burst: NonZeroU32,
}

// === impl Rate ===

impl Rate {
    pub(super) fn tokens(&self) -> f64 {
        f64::from(self.burst.get())
    }
}

// === impl QueueConfig ===

impl Default for QueueConfig {
    /// A thousand dead letters: more than a person reads, and some 20 MiB at the very longest, with 4 KiB of message and 16
    /// KiB of labels each. The budget is that of
    /// linkerd and finagle.
    fn default() -> Self {
        Self {
            delivery: DeliveryMode::default(),
            rate: None,
            retry_budget: Some(0.2),
            quarantine: QuarantineConfig::default(),
            dead_letters: NonZeroUsize::MIN.saturating_add(999),
            controllers: false,
        }
    }
}
