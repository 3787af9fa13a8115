//! A few quick attempts, then slow ones.

use std::{
    collections::HashMap,
    sync::Arc,
    time::{Duration, Instant},
};

use super::RateLimiter;

/// `fast` for the first failures of a key, `slow` for each after them (W-11).
#[derive(Debug)]
pub struct ItemFastSlowRateLimiter {
    fast: Duration,
    slow: Duration,
    fast_attempts: u32,
    failures: HashMap<Arc<str>, u32>,
}

// === impl ItemFastSlowRateLimiter ===

impl ItemFastSlowRateLimiter {
    /// Without failures.
    pub fn new(fast: Duration, slow: Duration, fast_attempts: u32) -> Self {
        Self { fast, slow, fast_attempts, failures: HashMap::new() }
    }
}

impl RateLimiter for ItemFastSlowRateLimiter {
    fn when(&mut self, key: &Arc<str>, _: Instant) -> Duration {
        let failures = self.failures.entry(Arc::clone(key)).or_default();
        *failures = failures.saturating_add(1);
        if *failures <= self.fast_attempts { self.fast } else { self.slow }
    }

    fn forget(&mut self, key: &str) {
        self.failures.remove(key);
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
