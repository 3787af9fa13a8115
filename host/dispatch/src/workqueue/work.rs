//! A key in flight.

use std::{sync::Arc, time::Duration};

use informer_types::Failure;

use super::keys::{Failed, Keys, Taken};
use crate::keyed::Held;

/// A key in flight: no other worker gets it (W-3). Ending the work is client-go's `Done`.
///
/// Dropping the work puts the key back, ready at once, because its call did not end.
#[derive(Debug)]
pub struct Work {
    held: Held<Keys>,
    key: Arc<str>,
    failed: u32,
    waited: Duration,
}

// === impl Work ===

impl Work {
    pub(super) fn new(held: Held<Keys>) -> Option<Self> {
        let Taken { key, failed, waited, .. } = held.get()?;
        let (key, failed, waited) = (Arc::clone(key), *failed, *waited);
        Some(Self { held, key, failed, waited })
    }

    /// The key.
    pub fn key(&self) -> &Arc<str> {
        &self.key
    }

    /// The number of the call: 1, and one more for each failed call in a row.
    pub fn attempt(&self) -> u32 {
        self.failed.saturating_add(1)
    }

    /// Time from the first add of the key until it was handed out.
    pub fn waited(&self) -> Duration {
        self.waited
    }

    /// `Done`, and nothing else: the backoff of the key does not start over (W-12).
    pub fn done(self) {
        self.end(|keys, taken, now| keys.done(taken, now));
    }

    /// `Forget` and `Done`: the call succeeded. A dropped key that was added again and succeeded is no longer listed. Returns
    /// true if that ended a quarantine, as do the next two functions.
    pub fn succeed(self) -> bool {
        self.end(|keys, taken, now| keys.succeed(taken, now)).unwrap_or_default()
    }

    /// `Forget`, `AddAfter` and `Done`.
    pub fn requeue_after(self, delay: Duration) -> bool {
        self.end(|keys, taken, now| keys.requeue_after(taken, delay, now)).unwrap_or_default()
    }

    /// `AddRateLimited` and `Done`: the key is to be reconciled again although its call did not fail.
    pub fn requeue(self) -> bool {
        self.end(|keys, taken, now| keys.requeue(taken, now)).unwrap_or_default()
    }

    /// `AddRateLimited` and `Done`: the call failed.
    pub fn retry(self, failure: &Failure) {
        self.end(|keys, taken, now| keys.retry(taken, failure, now));
    }

    /// The call failed: [`Work::retry`], or [`Work::give_up`] if the attempts of the key are `spent`. In a quarantine, neither.
    pub fn fail(self, failure: &Failure, spent: bool) -> Failed {
        self.end(|keys, taken, now| keys.fail(taken, failure, spent, now)).unwrap_or(Failed::Retrying)
    }

    /// `Forget` and `Done`: the key is given up, counted and listed (W-12, W-13) until a later call for it succeeds. No call is
    /// made unless the key is added again.
    pub fn give_up(self, failure: Failure) {
        self.end(|keys, taken, now| keys.give_up(taken, failure, now));
    }

    fn end<T>(self, end: impl FnOnce(&mut Keys, &Taken, std::time::Instant) -> T) -> Option<T> {
        self.held.end(|keys, taken, now| {
            let ended = end(keys, &taken, now);
            (ended, keys.wake())
        })
    }
}
