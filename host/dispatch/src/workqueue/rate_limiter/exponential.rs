//! Twice as long after each failure.

use std::{
    sync::Arc,
    time::{Duration, Instant},
};

use super::{RateLimiter, failures::Failures};

/// `min * 2^failures`, at most `max`, for each key by itself (W-9). A product that overflows is `max` (W-10).
#[derive(Debug)]
pub struct ItemExponentialFailureRateLimiter {
    min: Duration,
    max: Duration,
    failures: Failures,
}

// === impl ItemExponentialFailureRateLimiter ===

impl ItemExponentialFailureRateLimiter {
    /// Without failures.
    pub fn new(min: Duration, max: Duration) -> Self {
        Self { min, max, failures: Failures::default() }
    }
}

impl RateLimiter for ItemExponentialFailureRateLimiter {
    fn when(&mut self, key: &Arc<str>, _: Instant) -> Duration {
        let factor = 1_u32.checked_shl(self.failures.count(key));
        let delay = factor.and_then(|factor| self.min.checked_mul(factor));
        delay.unwrap_or(self.max).min(self.max)
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
