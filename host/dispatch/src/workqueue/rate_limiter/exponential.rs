//! A wait that doubles with each failure.

use std::{
    sync::Arc,
    time::{Duration, Instant},
};

use informer_types::Backoff;

use super::{failures::Failures, limiter::RateLimiter};

/// Waits `min * 2^failures`, at most `max`, for each key separately (W-9). A product that overflows is `max` (W-10).
#[derive(Debug)]
pub struct ItemExponentialFailureRateLimiter {
    backoff: Backoff,
    failures: Failures,
}

// === impl ItemExponentialFailureRateLimiter ===

impl ItemExponentialFailureRateLimiter {
    /// A limiter without failures.
    pub fn new(min: Duration, max: Duration) -> Self {
        let backoff = Backoff { min: min.min(max), max, factor: 2.0, jitter: 0.0 };
        Self { backoff, failures: Failures::default() }
    }
}

impl RateLimiter for ItemExponentialFailureRateLimiter {
    fn when(&mut self, key: &Arc<str>, _: Instant) -> Duration {
        self.backoff.delay(self.failures.count(key).saturating_add(1), 0.0)
    }

    fn forget(&mut self, key: &str) {
        self.failures.forget(key);
    }

    fn num_requeues(&self, key: &str) -> u32 {
        self.failures.of(key)
    }

    fn failures(&self) -> Vec<(Arc<str>, u32)> {
        self.failures.all()
    }

    fn restore(&mut self, key: &Arc<str>, failures: u32) {
        self.failures.restore(key, failures);
    }
}
