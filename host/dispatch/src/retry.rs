//! What a failure leads to: the one place where it is decided.

use std::{num::NonZeroU32, time::Duration};

use informer_types::{Backoff, Failure, Outcome};

use crate::DeadLetter;

/// A handler may ask to be called again later than any backoff, but not so late that the wait looks like a
/// loss. It also keeps the sum of a time and a delay far from overflow.
pub(crate) const MAX_RETRY_DELAY: Duration = Duration::from_secs(24 * 60 * 60);

/// How often a notification is tried, how far apart, and what becomes of it then.
#[derive(Clone, Debug, PartialEq)]
pub struct RetryConfig {
    /// The waits between attempts.
    pub backoff: Backoff,
    /// Calls in all, the first included; none: until it succeeds or is superseded.
    pub attempts: Option<NonZeroU32>,
    /// What becomes of a notification whose attempts are spent.
    pub on_exhausted: Fate,
}

/// What becomes of a notification whose attempts are spent. All are counted and logged; the first two release its sync
/// tokens (D-8).
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Fate {
    /// It is kept as a [`DeadLetter`].
    DeadLetter,
    /// It is only counted and logged.
    Drop,
    /// It is not given up: the plugin is put in quarantine, and its attempts start anew after it.
    Quarantine,
}

/// What is to be done with a notification after an attempt.
#[derive(Clone, Debug, PartialEq)]
pub enum Settlement {
    /// It is delivered.
    Acknowledged,
    /// It is tried again.
    Retry {
        /// After this long, where nothing newer comes.
        delay: Duration,
        /// After this long, where newer state of the object takes its place.
        floor: Duration,
        /// Why.
        failure: Failure,
    },
    /// Its attempts are spent: it is tried again only as part of newer state, which is its own reason.
    Spent {
        /// After this long, where newer state of the object is pending already.
        floor: Duration,
        /// Else.
        fate: Fate,
        /// Why the last attempt failed.
        failure: Failure,
    },
    /// It cannot succeed; it is a dead letter at once.
    Permanent {
        /// Why.
        failure: Failure,
    },
    /// No call was made: it is taken back as it was.
    NotCalled,
    /// Nobody is to be told of it: it is done with, and nothing is known of the plugin by that.
    Untold,
}

/// What was done with it.
#[derive(Clone, Debug, PartialEq)]
pub enum Settled {
    /// It is delivered; a dead letter of the same object is withdrawn.
    Acknowledged,
    /// It is delivered, and that ended the quarantine of the plugin.
    Recovered,
    /// There was nobody to tell. A dead letter of the object stays.
    Untold,
    /// It waits, alone or merged with newer state.
    Retrying {
        /// For how long from now.
        delay: Duration,
        /// It is now part of newer state.
        superseded: bool,
    },
    /// The plugin is in quarantine, since now or before: it waits for the end of that, or to be the probe, and the
    /// attempt does not count.
    Quarantined {
        /// The quarantine begins with it.
        begins: bool,
        /// What went wrong.
        failure: Failure,
        /// Until the next probe.
        probe_in: Duration,
    },
    /// It was given up.
    GaveUp {
        /// What became of it.
        fate: Fate,
        /// What is known of it; kept in the queue's list if that is its fate.
        letter: DeadLetter,
    },
    /// The queue was closed, and it would have been tried again.
    Discarded,
}

// === impl Settlement ===

impl Settlement {
    /// Why the attempt failed, if it did.
    pub(crate) fn failure(&self) -> Option<&Failure> {
        match self {
            Self::Acknowledged | Self::NotCalled | Self::Untold => None,
            Self::Permanent { failure } | Self::Retry { failure, .. } | Self::Spent { failure, .. } => {
                Some(failure)
            }
        }
    }
}

// === impl RetryConfig ===

impl Default for RetryConfig {
    /// Ten attempts, which take about two minutes: long enough for a downstream to restart, short enough that a
    /// poisonous object is noticed.
    fn default() -> Self {
        let (min, max) = (Duration::from_millis(200), Duration::from_secs(60));
        let backoff = Backoff { min, max, factor: 2.0, jitter: 0.2 };
        Self { backoff, attempts: NonZeroU32::new(10), on_exhausted: Fate::DeadLetter }
    }
}

impl RetryConfig {
    /// Decides what an outcome leads to. `attempt` is 1 for the first call; `random` is in `[0, 1)`.
    ///
    /// A handler's own wish replaces the backoff, at least [`Backoff::min`] and at most a day. No object is
    /// tried again sooner than [`Backoff::min`], not even in a newer state: that is the floor.
    pub fn settle(&self, outcome: Outcome, attempt: u32, random: f64) -> Settlement {
        let floor = self.backoff.min.min(MAX_RETRY_DELAY);
        match outcome {
            Outcome::Acknowledged => Settlement::Acknowledged,
            Outcome::NotCalled => Settlement::NotCalled,
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

#[cfg(test)]
mod tests;
