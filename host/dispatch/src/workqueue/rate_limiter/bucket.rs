//! One rate for all keys.

use std::{
    num::NonZeroU32,
    sync::Arc,
    time::{Duration, Instant},
};

use super::RateLimiter;

/// A bucket of tokens. Each call takes one, on credit where there is none: it waits until that one has come. It knows
/// nothing of keys and forgets nothing.
#[derive(Debug)]
pub struct BucketRateLimiter {
    qps: f64,
    burst: f64,
    /// At `filled`; below zero are those that wait already.
    tokens: f64,
    filled: Option<Instant>,
}

// === impl BucketRateLimiter ===

impl BucketRateLimiter {
    /// A full bucket. `qps` is a finite number above zero.
    pub fn new(qps: f64, burst: NonZeroU32) -> Self {
        let burst = f64::from(burst.get());
        Self { qps, burst, tokens: burst, filled: None }
    }
}

impl RateLimiter for BucketRateLimiter {
    fn when(&mut self, _: &Arc<str>, now: Instant) -> Duration {
        let elapsed = self.filled.map_or(Duration::ZERO, |filled| now.saturating_duration_since(filled));
        self.filled = Some(now);
        self.tokens = (self.tokens + elapsed.as_secs_f64() * self.qps).min(self.burst) - 1.0;
        Duration::try_from_secs_f64((-self.tokens / self.qps).max(0.0)).unwrap_or(Duration::MAX)
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
