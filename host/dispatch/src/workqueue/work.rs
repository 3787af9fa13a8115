//! A key in hand.

use std::{sync::Arc, time::Duration};

use informer_types::Failure;

use super::{RateLimitingQueue, keys::Keys, now};

/// A key in hand: nobody else gets it meanwhile (W-3). Ending it is client-go's `Done`.
///
/// Work that is dropped puts its key back, to be handed out at once: whoever had it did not get to the end.
#[derive(Debug)]
pub struct Work {
    queue: RateLimitingQueue,
    taken: Taken,
    ended: bool,
}

/// What becomes of a key whose call failed.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Failed {
    /// It is handed out again, when the limiter lets it.
    Retrying,
    /// It is kept as a [`DroppedKey`](super::DroppedKey), until a later call for it ends well, somebody drops it, or newer ones
    /// take its room.
    GivenUp,
    /// The reconciler is left alone. The key waits, as if the call had not been made.
    Quarantined {
        /// Since this call.
        begins: bool,
        /// Until the next probe.
        probe_in: Duration,
    },
}

/// What [`Keys::take`] hands out.
#[derive(Debug)]
pub(super) struct Taken {
    pub(super) key: Arc<str>,
    /// Calls for it that failed, one after the other, up to now.
    pub(super) failed: u32,
    pub(super) waited: Duration,
}

// === impl Work ===

impl Work {
    pub(super) fn new(queue: RateLimitingQueue, taken: Taken) -> Self {
        Self { queue, taken, ended: false }
    }

    /// The key.
    pub fn key(&self) -> &Arc<str> {
        &self.taken.key
    }

    /// 1, and one more for each call in a row that ended by [`Work::retry`].
    pub fn attempt(&self) -> u32 {
        self.taken.failed.saturating_add(1)
    }

    /// How long it waited, since its first add.
    pub fn waited(&self) -> Duration {
        self.taken.waited
    }

    /// `Done`, and nothing else: the failures that the limiter counts stay (W-12).
    pub fn done(mut self) {
        self.end(Keys::done);
    }

    /// `Forget` and `Done`: it succeeded. A dropped key that was added again and succeeded is no longer shown. True where
    /// that ended a quarantine, as for the next two.
    pub fn succeed(mut self) -> bool {
        self.end(Keys::succeed)
    }

    /// `Forget`, `AddAfter` and `Done`.
    pub fn requeue_after(mut self, delay: Duration) -> bool {
        self.end(|keys, key, now| keys.requeue_after(key, delay, now))
    }

    /// `AddAfter` and `Done`: no call was made. It is counted as put back; its failures, its backoff and its dead letter
    /// stay.
    pub fn put_back_after(mut self, delay: Duration) {
        self.end(|keys, key, now| keys.put_back_after(key, delay, now));
    }

    /// `AddRateLimited` and `Done`: again, without having failed.
    pub fn requeue(mut self) -> bool {
        self.end(Keys::requeue)
    }

    /// `AddRateLimited` and `Done`: again, because it failed.
    pub fn retry(mut self, failure: &Failure) {
        self.end(|keys, key, now| keys.retry(key, failure, now));
    }

    /// The call failed: [`Work::retry`], or [`Work::give_up`] where its attempts are `spent`; in a quarantine, neither.
    pub fn fail(mut self, failure: &Failure, spent: bool) -> Failed {
        let attempts = self.attempt();
        self.end(|keys, key, now| keys.fail(key, (attempts, spent), failure, now))
    }

    /// `Forget` and `Done`: it is given up, counted and shown (W-12, W-13), until a later call for it ends well. Nobody makes
    /// one unless it is added again.
    pub fn give_up(mut self, failure: Failure) {
        let attempts = self.attempt();
        self.end(|keys, key, now| keys.give_up(key, attempts, failure, now));
    }

    fn end<T>(&mut self, how: impl FnOnce(&mut Keys, &Arc<str>, std::time::Instant) -> T) -> T {
        self.ended = true;
        let shared = &self.queue.0;
        let (ended, wake, letters) = {
            let mut keys = shared.keys.lock();
            let version = keys.dropped().version();
            let ended = how(&mut keys, &self.taken.key, now());
            (ended, keys.wakes(), keys.dropped().version() != version)
        };
        if wake {
            shared.ready.notify_one();
        }
        if letters {
            shared.letters.notify_waiters();
        }
        shared.changed.notify_waiters();
        ended
    }
}

impl Drop for Work {
    fn drop(&mut self) {
        if !self.ended {
            self.end(Keys::put_back);
        }
    }
}
