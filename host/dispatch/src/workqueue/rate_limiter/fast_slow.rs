//! A few quick attempts, then slow ones.

use std::{
    sync::Arc,
    time::{Duration, Instant},
};

use super::{failures::Failures, limiter::RateLimiter};

/// Waits `fast` after each of the first failures of a key, and `slow` after each further one (W-11).
#[derive(Debug)]
pub struct ItemFastSlowRateLimiter {
    fast: Duration,
    slow: Duration,
    fast_attempts: u32,
    failures: Failures,
}

// === impl ItemFastSlowRateLimiter ===

impl ItemFastSlowRateLimiter {
    /// A limiter without failures.
    pub fn new(fast: Duration, slow: Duration, fast_attempts: u32) -> Self {
        Self { fast, slow, fast_attempts, failures: Failures::default() }
    }
}

impl RateLimiter for ItemFastSlowRateLimiter {
    fn when(&mut self, key: &Arc<str>, _: Instant) -> Duration {
        if self.failures.count(key) < self.fast_attempts { self.fast } else { self.slow }
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
