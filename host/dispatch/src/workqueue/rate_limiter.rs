//! How long a key waits before it is retried (W-9 to W-12).

mod bucket;
mod exponential;
mod failures;
mod fast_slow;
mod limiter;
mod max_of;
mod max_wait;

use std::{num::NonZeroU32, time::Duration};

pub use bucket::BucketRateLimiter;
pub use exponential::ItemExponentialFailureRateLimiter;
pub use fast_slow::ItemFastSlowRateLimiter;
pub use limiter::RateLimiter;
pub use max_of::MaxOfRateLimiter;
pub use max_wait::MaxWaitRateLimiter;

/// The longer of an exponential backoff for each key and the wait for a token of one bucket for all keys. client-go's default is
/// 5 ms to 1000 s, 10 tokens per second, and a burst of 100 (W-9).
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
