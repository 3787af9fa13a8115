//! The interface of a rate limiter.

use std::{
    fmt,
    sync::Arc,
    time::{Duration, Instant},
};

/// client-go's `RateLimiter`: how long a key waits before it is retried.
pub trait RateLimiter: fmt::Debug + Send + 'static {
    /// Returns how long a key has to wait. Each call counts as a failure of the key.
    fn when(&mut self, key: &Arc<str>, now: Instant) -> Duration;

    /// The key succeeded or was given up. Its failures are forgotten.
    fn forget(&mut self, key: &str);

    /// Failures of a key since it was forgotten.
    fn num_requeues(&self, key: &str) -> u32;

    /// Each key with its failures, for a limiter that replaces this one. If a key occurs several times, the largest number
    /// wins.
    fn failures(&self) -> Vec<(Arc<str>, u32)>;

    /// Sets the failures of a key, without a wait.
    fn restore(&mut self, key: &Arc<str>, failures: u32);
}
