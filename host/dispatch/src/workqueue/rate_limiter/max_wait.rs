//! A bound on the waits of another limiter.

use std::{
    sync::Arc,
    time::{Duration, Instant},
};

use super::limiter::RateLimiter;

/// Waits as another limiter, at most `longest` (W-11).
#[derive(Debug)]
pub struct MaxWaitRateLimiter<L> {
    limiter: L,
    longest: Duration,
}

// === impl MaxWaitRateLimiter ===

impl<L: RateLimiter> MaxWaitRateLimiter<L> {
    /// Bounds the waits of `limiter`.
    pub fn new(limiter: L, longest: Duration) -> Self {
        Self { limiter, longest }
    }
}

impl<L: RateLimiter> RateLimiter for MaxWaitRateLimiter<L> {
    fn when(&mut self, key: &Arc<str>, now: Instant) -> Duration {
        self.limiter.when(key, now).min(self.longest)
    }

    fn forget(&mut self, key: &str) {
        self.limiter.forget(key);
    }

    fn num_requeues(&self, key: &str) -> u32 {
        self.limiter.num_requeues(key)
    }

    fn failures(&self) -> Vec<(Arc<str>, u32)> {
        self.limiter.failures()
    }

    fn restore(&mut self, key: &Arc<str>, failures: u32) {
        self.limiter.restore(key, failures);
    }
}
