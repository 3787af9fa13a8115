//! How long a key waits that comes again (W-9 to W-12).

mod bucket;
mod exponential;
mod failures;
mod fast_slow;
mod max_of;
mod max_wait;

use std::{
    fmt,
    num::NonZeroU32,
    sync::Arc,
    time::{Duration, Instant},
};

pub use bucket::BucketRateLimiter;
pub use exponential::ItemExponentialFailureRateLimiter;
pub use fast_slow::ItemFastSlowRateLimiter;
pub use max_of::MaxOfRateLimiter;
pub use max_wait::MaxWaitRateLimiter;

/// client-go's `RateLimiter`.
pub trait RateLimiter: fmt::Debug + Send + 'static {
    /// How long this key has to wait; asking counts as a failure of it.
    fn when(&mut self, key: &Arc<str>, now: Instant) -> Duration;

    /// The key succeeded, or was given up: what is known of its failures goes.
    fn forget(&mut self, key: &str);

    /// Failures since the key was forgotten.
    fn num_requeues(&self, key: &str) -> u32;

    /// Each key with failures, for a limiter that takes over. Several numbers for one key are possible: the largest counts.
    fn failures(&self) -> Vec<(Arc<str>, u32)>;

    /// The key failed so often before; nothing has to wait for that.
    fn restore(&mut self, key: &Arc<str>, failures: u32);
}

/// The larger of an exponential wait for each key and a bucket of tokens for all of them: client-go's default with 5 ms,
/// 1000 s, 10 a second and 100 at once (W-9).
pub fn default_controller_rate_limiter(
    min: Duration,
    max: Duration,
    qps: f64,
    burst: NonZeroU32,
) -> MaxOfRateLimiter {
    MaxOfRateLimiter::new(vec![
        Box::new(ItemExponentialFailureRateLimiter::new(min, max)),
        Box::new(BucketRateLimiter::new(qps, burst)),
    ])
}

#[cfg(test)]
mod tests;
