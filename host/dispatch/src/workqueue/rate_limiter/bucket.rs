//! One rate for all keys.

use std::{
    num::NonZeroU32,
    sync::Arc,
    time::{Duration, Instant},
};

use informer_types::TokenBucket;

use super::limiter::RateLimiter;

/// Limits the rate of all keys together. Each call reserves a token of one bucket and waits until the token has accrued.
/// The limiter does not track single keys.
#[derive(Debug)]
pub struct BucketRateLimiter(TokenBucket);

// === impl BucketRateLimiter ===

impl BucketRateLimiter {
    /// A limiter with a full bucket. `qps` is a finite number above zero.
    pub fn new(qps: f64, burst: NonZeroU32) -> Self {
        Self(TokenBucket::new(qps, f64::from(burst.get())))
    }
}

impl RateLimiter for BucketRateLimiter {
    fn when(&mut self, _: &Arc<str>, now: Instant) -> Duration {
        self.0.reserve(now)
    }

    fn forget(&mut self, _: &str) {}

    fn num_requeues(&self, _: &str) -> u32 {
        0
    }

    fn failures(&self) -> Vec<(Arc<str>, u32)> {
        Vec::new()
    }

    fn restore(&mut self, _: &Arc<str>, _: u32) {}
}
