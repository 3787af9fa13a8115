//! The share of calls that may be retries.

use std::time::Instant;

use informer_types::TokenBucket;

/// So that a plugin with few events gets its retries too.
const RESERVE_PER_SECOND: f64 = 10.0;
/// Ten seconds of the reserve.
const MOST: f64 = 100.0;

/// Within any time of `t` seconds, at most `100 + 10 t + share * first attempts` retries that fail are made.
#[derive(Debug)]
pub(super) struct RetryBudget {
    /// None: no bound.
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

    /// A retry succeeded, which is no load on what is broken.
    pub(super) fn retry_succeeded(&mut self) {
        self.bucket.add(1.0);
    }

    /// A retry is due: false where it has to wait.
    pub(super) fn allows(&mut self, now: Instant) -> bool {
        self.share.is_none() || self.bucket.take(now)
    }

    /// When the next retry may be made: not before `now`.
    pub(super) fn next(&self, now: Instant) -> Instant {
        if self.share.is_none() { now } else { self.bucket.next(now) }
    }
}
