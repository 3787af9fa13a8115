//! What happens after a failure.

use std::{
    num::NonZeroU32,
    time::{Duration, Instant},
};

use informer_types::{Backoff, Failure, Outcome, TokenBucket};

use crate::DeadLetter;

/// The longest wait before a retry. A handler may request a longer wait than any backoff, but not one that looks like a loss.
/// It also keeps the sum of an instant and a delay far from overflow.
pub(crate) const MAX_RETRY_DELAY: Duration = Duration::from_secs(24 * 60 * 60);

/// Retries per second that are always allowed, so that a plugin with few events gets its retries too.
const RESERVE_PER_SECOND: f64 = 10.0;
/// The largest number of saved up retries: ten seconds of the reserve.
const MOST_SAVED: f64 = 100.0;

/// How often a notification is attempted, how long the waits are, and what happens after the last attempt.
#[derive(Clone, Debug, PartialEq)]
pub struct RetryConfig {
    /// The waits between attempts.
    pub backoff: Backoff,
    /// Number of calls, the first included. `None` means no limit: until a call succeeds or newer state replaces it.
    pub attempts: Option<NonZeroU32>,
    /// What happens to a notification whose attempts are spent.
    pub on_exhausted: Fate,
}

/// What happens to a notification whose attempts are spent. Each fate is counted, and logged within the limit on log lines.
/// `DeadLetter` and `Drop` release the sync tokens of the notification (D-8).
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Fate {
    /// The notification is kept as a [`DeadLetter`].
    DeadLetter,
    /// The notification is only counted and logged.
    Drop,
    /// The notification is not given up. The plugin is quarantined, and the attempts start over afterwards.
    Quarantine,
}

/// What is to happen to a notification after an attempt.
#[derive(Clone, Debug, PartialEq)]
pub enum Settlement {
    /// The notification is delivered.
    Acknowledged,
    /// The attempt is repeated.
    Retry {
        /// The wait, if there is no newer state.
        delay: Duration,
        /// The wait, if newer state of the object replaces the notification.
        floor: Duration,
        /// Why the attempt failed.
        failure: Failure,
    },
    /// The attempts are spent. Newer state of the object is still delivered.
    Spent {
        /// The wait, if newer state of the object is pending.
        floor: Duration,
        /// What happens if there is no newer state.
        fate: Fate,
        /// Why the last attempt failed.
        failure: Failure,
    },
    /// The notification cannot succeed. It becomes a dead letter at once.
    Permanent {
        /// Why the attempt failed.
        failure: Failure,
    },
}

/// What happened to a notification after an attempt.
#[derive(Clone, Debug, PartialEq)]
pub enum Settled {
    /// The notification is delivered. A dead letter of the same object is withdrawn.
    Acknowledged,
    /// The notification is delivered, and that ended the quarantine of the plugin.
    Recovered,
    /// The version in service takes keys: the keys of the notification are in the workqueue.
    Enqueued,
    /// The notification waits, alone or merged with newer state.
    Retrying {
        /// Time until the retry.
        delay: Duration,
        /// The notification is now part of newer state.
        superseded: bool,
    },
    /// The plugin is in quarantine. The notification waits for the end of the quarantine, or to be the probe. The attempt does
    /// not count.
    Quarantined {
        /// The quarantine begins with this attempt.
        begins: bool,
        /// Why the attempt failed.
        failure: Failure,
        /// Time until the next probe.
        probe_in: Duration,
    },
    /// The notification was given up.
    GaveUp {
        /// What happens to the letter.
        fate: Fate,
        /// The dead letter.
        letter: DeadLetter,
    },
    /// The attempt failed, and the queue is closed.
    Discarded,
}

/// The share of calls that may be retries. In any `t` seconds, at most `100 + 10 t + share * first attempts` retries fail.
#[derive(Debug)]
pub(crate) struct RetryBudget {
    /// Retries per first attempt. `None` means no limit.
    pub(crate) share: Option<f64>,
    bucket: TokenBucket,
}

// === impl Settlement ===

impl Settlement {
    /// Why the attempt failed. Returns `None` if it succeeded.
    pub(crate) fn failure(&self) -> Option<&Failure> {
        match self {
            Self::Acknowledged => None,
            Self::Permanent { failure } | Self::Retry { failure, .. } | Self::Spent { failure, .. } => {
                Some(failure)
            }
        }
    }

    /// Returns true if the notification may be delivered again.
    pub(crate) fn is_retry(&self) -> bool {
        matches!(self, Self::Retry { .. } | Self::Spent { .. })
    }
}

// === impl RetryConfig ===

impl Default for RetryConfig {
    /// Ten attempts, which take about two minutes: long enough for a downstream to restart, and short enough that an operator
    /// notices an object that always fails.
    fn default() -> Self {
        let (min, max) = (Duration::from_millis(200), Duration::from_secs(60));
        let backoff = Backoff { min, max, factor: 2.0, jitter: 0.2 };
        Self { backoff, attempts: NonZeroU32::new(10), on_exhausted: Fate::DeadLetter }
    }
}

impl RetryConfig {
    /// Decides what happens after an outcome. `attempt` is 1 for the first call; `random` is in `[0, 1)`.
    ///
    /// A delay that the handler requests replaces the backoff, bounded by [`Backoff::min`] and a day. No object is attempted
    /// again sooner than after [`Backoff::min`], not even in a newer state: that is the floor.
    pub fn settle(&self, outcome: Outcome, attempt: u32, random: f64) -> Settlement {
        let floor = self.backoff.min.min(MAX_RETRY_DELAY);
        match outcome {
            Outcome::Acknowledged | Outcome::Again(_) => Settlement::Acknowledged,
            Outcome::Permanent { failure } => Settlement::Permanent { failure },
            Outcome::Retry { failure, .. } if self.attempts.is_some_and(|most| attempt >= most.get()) => {
                Settlement::Spent { floor, fate: self.on_exhausted, failure }
            }
            Outcome::Retry { after, failure } => {
                let delay = after.unwrap_or_else(|| self.backoff.delay(attempt, random));
                Settlement::Retry { delay: delay.max(floor).min(MAX_RETRY_DELAY), floor, failure }
            }
        }
    }
}

// === impl RetryBudget ===

impl RetryBudget {
    pub(crate) fn new(share: Option<f64>) -> Self {
        Self { share, bucket: TokenBucket::new(RESERVE_PER_SECOND, MOST_SAVED) }
    }

    /// A first attempt is made.
    pub(crate) fn first_attempt(&mut self) {
        self.bucket.add(self.share.unwrap_or_default());
    }

    /// A retry succeeded. It costs nothing, because it puts no load on a broken downstream.
    pub(crate) fn retry_succeeded(&mut self) {
        self.bucket.add(1.0);
    }

    /// A retry is due. Returns false if it has to wait.
    pub(crate) fn allows(&mut self, now: Instant) -> bool {
        self.share.is_none() || self.bucket.take(now)
    }

    /// When the next retry may be made, never before `now`.
    pub(crate) fn next(&self, now: Instant) -> Instant {
        if self.share.is_none() { now } else { self.bucket.next(now) }
    }
}

#[cfg(test)]
mod tests;
