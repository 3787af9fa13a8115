//! Twice as long after each failure.

use std::{
    collections::HashMap,
    sync::Arc,
    time::{Duration, Instant},
};

use super::RateLimiter;

/// `min * 2^failures`, at most `max`, for each key by itself (W-9). A product that overflows is `max` (W-10).
#[derive(Debug)]
pub struct ItemExponentialFailureRateLimiter {
    min: Duration,
    max: Duration,
    failures: HashMap<Arc<str>, u32>,
}

// === impl ItemExponentialFailureRateLimiter ===

impl ItemExponentialFailureRateLimiter {
    /// Without failures.
    pub fn new(min: Duration, max: Duration) -> Self {
        Self { min, max, failures: HashMap::new() }
    }
}

impl RateLimiter for ItemExponentialFailureRateLimiter {
    fn when(&mut self, key: &Arc<str>, _: Instant) -> Duration {
        let failures = self.failures.entry(Arc::clone(key)).or_default();
        let factor = 1_u32.checked_shl(*failures);
        *failures = failures.saturating_add(1);
        let delay = factor.and_then(|factor| self.min.checked_mul(factor));
        delay.unwrap_or(self.max).min(self.max)
    }

    fn forget(&mut self, key: &str) {
        self.failures.remove(key);
        if self.failures.is_empty() {
            self.failures.shrink_to_fit();
        }
    }

    fn num_requeues(&self, key: &str) -> u32 {
        self.failures.get(key).copied().unwrap_or_default()
    }

    fn failures(&self) -> Vec<(Arc<str>, u32)> {
        self.failures.iter().map(|(key, failures)| (Arc::clone(key), *failures)).collect()
    }

    fn restore(&mut self, key: &Arc<str>, failures: u32) {
        let known = self.failures.entry(Arc::clone(key)).or_default();
        *known = failures.max(*known);
    }
}
