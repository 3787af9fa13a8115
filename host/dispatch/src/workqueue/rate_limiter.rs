//! How long a key waits before it is retried (W-9 to W-12).

use std::{
    collections::HashMap,
    num::NonZeroU32,
    sync::Arc,
    time::{Duration, Instant},
};

use informer_types::{Backoff, TokenBucket};

/// client-go's `RateLimiter`: how long a key waits before it is retried. If there are several rules, the strictest wins.
#[derive(Debug)]
pub struct RateLimiter {
    rules: Vec<Rule>,
    /// Failures of each key since it was forgotten. Empty if no rule depends on them.
    failures: HashMap<Arc<str>, u32>,
}

#[derive(Debug)]
enum Rule {
    /// Each key has a backoff of its own.
    Exponential(Backoff),
    /// All keys together take the tokens of one bucket.
    Bucket(TokenBucket),
}

// === impl RateLimiter ===

impl RateLimiter {
    /// client-go's `ItemExponentialFailureRateLimiter`: waits `min * 2^failures`, at most `max`, for each key separately (W-9).
    /// A product that overflows is `max` (W-10).
    pub fn exponential(min: Duration, max: Duration) -> Self {
        Self::of(Rule::Exponential(Backoff { min: min.min(max), max, factor: 2.0, jitter: 0.0 }))
    }

    /// Waits as this backoff defines, for each key separately, without jitter.
    pub fn backoff(backoff: Backoff) -> Self {
        Self::of(Rule::Exponential(backoff))
    }

    /// client-go's `BucketRateLimiter`: limits the rate of all keys together. Each call reserves a token of one bucket, which is
    /// full at first, and waits until the token has accrued. `qps` is a finite number above zero. The failures of single keys
    /// are not tracked.
    pub fn bucket(qps: f64, burst: NonZeroU32) -> Self {
        Self::of(Rule::Bucket(TokenBucket::new(qps, f64::from(burst.get()))))
    }

    /// The longer of an exponential backoff for each key and the wait for a token of one bucket for all keys. client-go's default
    /// is 5 ms to 1000 s, 10 tokens per second, and a burst of 100 (W-9).
    pub fn default_controller(min: Duration, max: Duration, qps: f64, burst: NonZeroU32) -> Self {
        Self::exponential(min, max).and(Self::bucket(qps, burst))
    }

    /// client-go's `MaxOfRateLimiter`: waits as long as the strictest of both. Each is called, so each takes its token (W-11).
    #[must_use]
    pub fn and(mut self, other: Self) -> Self {
        self.rules.extend(other.rules);
        self
    }

    fn of(rule: Rule) -> Self {
        Self { rules: vec![rule], failures: HashMap::new() }
    }

    /// Returns how long a key has to wait. Each call counts as a failure of the key.
    pub(super) fn when(&mut self, key: &Arc<str>, now: Instant) -> Duration {
        let mut before = 0;
        if self.counts_failures() {
            let failures = self.failures.entry(Arc::clone(key)).or_default();
            before = *failures;
            *failures = before.saturating_add(1);
        }
        self.rules.iter_mut().map(|rule| rule.wait(before, now)).max().unwrap_or_default()
    }

    /// The key succeeded or was given up. Its failures are forgotten.
    pub(super) fn forget(&mut self, key: &str) {
        self.failures.remove(key);
        if self.failures.is_empty() {
            self.failures.shrink_to_fit();
        }
    }

    /// Failures of a key since it was forgotten.
    pub(super) fn num_requeues(&self, key: &str) -> u32 {
        self.failures.get(key).copied().unwrap_or_default()
    }

    /// Puts another limiter, which has no failures yet, in the place of this one. It starts with the failures of all keys.
    pub(super) fn replace(&mut self, with: Self) {
        let failures = std::mem::replace(self, with).failures;
        if self.counts_failures() {
            self.failures = failures;
        }
    }

    fn counts_failures(&self) -> bool {
        self.rules.iter().any(|rule| matches!(rule, Rule::Exponential(_)))
    }
}

// === impl Rule ===

impl Rule {
    /// The wait of a key that failed `before` times.
    fn wait(&mut self, before: u32, now: Instant) -> Duration {
        match self {
            Self::Exponential(backoff) => backoff.delay(before.saturating_add(1), 0.0),
            Self::Bucket(bucket) => bucket.reserve(now),
        }
    }
}

#[cfg(test)]
mod tests;
