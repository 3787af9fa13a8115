//! The configuration of a notification queue, and how the queue falls behind and catches up.

use std::{
    collections::BTreeMap,
    num::{NonZeroU32, NonZeroUsize},
    time::Duration,
};

use informer_types::{Source, TokenBucket};

use crate::{QuarantineConfig, coalesce::Rule};

/// How a queue hands out notifications.
#[derive(Clone, Debug, PartialEq)]
pub struct QueueConfig {
    /// What happens to several pending changes of one object.
    pub delivery: DeliveryMode,
    /// The highest rate of deliveries, retries included. `None` means no limit.
    pub rate: Option<Rate>,
    /// Retries per first attempt, beyond a reserve of a hundred at once and ten per second. `None` means no limit.
    ///
    /// The budget keeps a broken downstream from receiving many times its usual load. A retry beyond the budget waits until the
    /// budget allows it, in the order in which retries became due. A successful retry costs nothing, so a downstream that
    /// recovered is caught up with at full speed.
    pub retry_budget: Option<f64>,
    /// When a plugin that keeps failing is quarantined.
    pub quarantine: QuarantineConfig,
    /// Number of dead letters kept. If there are more, the oldest is evicted and counted.
    pub dead_letters: NonZeroUsize,
    /// How long an object of a source has to be without a change before its change is delivered; at most
    /// [`MAX_SETTLE`](super::MAX_SETTLE). Changes of other sources are delivered at once.
    pub settle: BTreeMap<Source, Duration>,
}

/// What happens to pending changes of one object.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub enum DeliveryMode {
    /// Changes merge: see the merging rule in `coalesce.rs`.
    #[default]
    Latest,
    /// Each change is delivered, in order. A failed one is retried until it succeeds or is given up, and later changes of its
    /// object wait for it.
    Every {
        /// Number of pending notifications at which the queue falls behind. It then merges what is pending and what is offered
        /// until half of this number is left. Merged notifications have the cause `replay`, so a handler that counts changes
        /// can detect that it missed some, and [`QueueStats::overflows`](super::QueueStats::overflows) counts.
        ///
        /// The queue merges instead of dropping notifications and replaying the cache later, because merging keeps the
        /// other promises of the contract: deletions are delivered, an update starts at the state that the handler knows, and
        /// order is kept.
        capacity: NonZeroUsize,
    },
}

/// A limit on the rate of deliveries. Each notification of a batch is one delivery.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct Rate {
    /// The sustained rate, above 0.
    pub per_second: f64,
    /// The most deliveries at once, if fewer than the rate allows were made before.
    pub burst: NonZeroU32,
}

/// Which pending changes of an object merge now: it follows from the [`DeliveryMode`], and from whether the queue is behind.
#[derive(Debug)]
pub(super) struct Merging {
    mode: DeliveryMode,
    /// Each change was requested, but there were too many: they merge until the queue has caught up.
    behind: bool,
}

// === impl Rate ===

impl Rate {
    pub(super) fn tokens(&self) -> f64 {
        f64::from(self.burst.get())
    }
}

// === impl QueueConfig ===

impl QueueConfig {
    /// A full bucket for the rate. Returns `None` if there is no rate.
    pub(super) fn bucket(&self) -> Option<TokenBucket> {
        self.rate.map(|rate| TokenBucket::new(rate.per_second, rate.tokens()))
    }
}

impl Default for QueueConfig {
    /// The retry budget is that of linkerd and finagle. A thousand dead letters are more than a person reads, and take at most
    /// 20 MiB, with 4 KiB of message and 16 KiB of labels each.
    fn default() -> Self {
        Self {
            delivery: DeliveryMode::default(),
            rate: None,
            retry_budget: Some(0.2),
            quarantine: QuarantineConfig::default(),
            dead_letters: NonZeroUsize::MIN.saturating_add(999),
            settle: BTreeMap::new(),
        }
    }
}

// === impl Merging ===

impl Merging {
    pub(super) fn new(mode: DeliveryMode) -> Self {
        Self { mode, behind: false }
    }

    pub(super) fn set_mode(&mut self, mode: DeliveryMode) {
        self.mode = mode;
        self.behind &= mode != DeliveryMode::Latest;
    }

    pub(super) fn rule(&self) -> Rule {
        match self.mode {
            DeliveryMode::Latest => Rule::Latest,
            DeliveryMode::Every { .. } if self.behind => Rule::Behind,
            DeliveryMode::Every { .. } => Rule::Every,
        }
    }

    /// Returns true if changes would merge now although each change was requested. `pending` is the present number of pending
    /// notifications. This number may have become smaller since the last offer.
    pub(super) fn is_behind(&self, pending: usize) -> bool {
        match self.mode {
            DeliveryMode::Latest => false,
            DeliveryMode::Every { capacity } => self.behind && pending > capacity.get() / 2,
        }
    }

    /// Called before a notification is accepted. Returns true if the queue falls behind now, so that everything pending has to
    /// merge. The merge alone may make enough room. In this case the next call finds that the queue has caught up.
    ///
    /// Half of the capacity has to be delivered or offered before this can happen again, so the amortized cost for each
    /// notification is constant.
    pub(super) fn falls_behind(&mut self, pending: usize) -> bool {
        self.catch_up(pending);
        let full = match self.mode {
            DeliveryMode::Latest => false,
            DeliveryMode::Every { capacity } => !self.behind && pending >= capacity.get(),
        };
        self.behind |= full;
        full
    }

    /// Called after a notification was handed out, and before one is accepted or put back. Changes no longer merge once there is room
    /// again.
    pub(super) fn catch_up(&mut self, pending: usize) {
        self.behind = self.is_behind(pending);
    }
}
