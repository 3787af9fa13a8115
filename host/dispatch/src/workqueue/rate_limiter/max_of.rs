//! Several limiters combined.

use std::{
    sync::Arc,
    time::{Duration, Instant},
};

use super::limiter::RateLimiter;

/// Waits as long as the strictest of its limiters. Each limiter is called, so each takes its token (W-11).
#[derive(Debug)]
pub struct MaxOfRateLimiter(Vec<Box<dyn RateLimiter>>);

// === impl MaxOfRateLimiter ===

impl MaxOfRateLimiter {
    /// Combines limiters. Without any, there is no wait.
    pub fn new(limiters: Vec<Box<dyn RateLimiter>>) -> Self {
        Self(limiters)
    }
}

impl RateLimiter for MaxOfRateLimiter {
    fn when(&mut self, key: &Arc<str>, now: Instant) -> Duration {
        self.0.iter_mut().map(|limiter| limiter.when(key, now)).max().unwrap_or_default()
    }

    fn forget(&mut self, key: &str) {
        self.0.iter_mut().for_each(|limiter| limiter.forget(key));
    }

    fn num_requeues(&self, key: &str) -> u32 {
        self.0.iter().map(|limiter| limiter.num_requeues(key)).max().unwrap_or_default()
    }

    fn failures(&self) -> Vec<(Arc<str>, u32)> {
        self.0.iter().flat_map(|limiter| limiter.failures()).collect()
    }

    fn restore(&mut self, key: &Arc<str>, failures: u32) {
        self.0.iter_mut().for_each(|limiter| limiter.restore(key, failures));
    }
}
