//! The share of calls that may be retries.

use std::time::Instant;

use informer_types::TokenBucket;

/// Retries per second that are always allowed, so that a plugin with few events gets its retries too.
const RESERVE_PER_SECOND: f64 = 10.0;
/// The largest number of saved up retries: ten seconds of the reserve.
const MOST: f64 = 100.0;

/// In any `t` seconds, at most `100 + 10 t + share * first attempts` retries fail.
#[derive(Debug)]
pub(super) struct RetryBudget {
    /// Retries per first attempt. `None` means no limit.
    share: Option<f64>,
    bucket: TokenBucket,
}

// === impl RetryBudget ===

impl RetryBudget {
    pub(super) fn new(share: Option<f64>) -> Self {
        Self { share, bucket: TokenBucket::new(RESERVE_PER_SECOND, MOST) }
    }

    pub(super) fn set_share(&mut self, share: Option<f64>) {
        self.share = share;
    }

    /// A first attempt is made.
    pub(super) fn first_attempt(&mut self) {
        self.bucket.add(self.share.unwrap_or_default());
    }

    /// A retry succeeded. It costs nothing, because it puts no load on a broken downstream.
    pub(super) fn retry_succeeded(&mut self) {
        self.bucket.add(1.0);
    }

    /// A retry is due. Returns false if it has to wait.
    pub(super) fn allows(&mut self, now: Instant) -> bool {
        self.share.is_none() || self.bucket.take(now)
    }

    /// When the next retry may be made, never before `now`.
    pub(super) fn next(&self, now: Instant) -> Instant {
        if self.share.is_none() { now } else { self.bucket.next(now) }
    }
}
