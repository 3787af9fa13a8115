//! The waits between attempts.

use std::time::Duration;

/// An exponential series: `min`, `min * factor`, `min * factor^2`, ... up to `max`, each longer by a random share
/// of up to `jitter` (as `wait.Jitter` of apimachinery), so that objects that failed together do not come back
/// together.
#[derive(Clone, Debug, PartialEq)]
pub struct Backoff {
    /// The first wait, and the least time between two attempts of one object.
    pub min: Duration,
    /// The longest wait, before the random share.
    pub max: Duration,
    /// At least 1.
    pub factor: f64,
    /// 0 for none, 0.2 for waits up to a fifth longer.
    pub jitter: f64,
}

// === impl Backoff ===

impl Default for Backoff {
    fn default() -> Self {
        Self { min: Duration::from_millis(200), max: Duration::from_secs(60), factor: 2.0, jitter: 0.2 }
    }
}

impl Backoff {
    /// The wait after attempt number `attempt`, which is 1 for the first; `random` is in `[0, 1)`.
    ///
    /// Whatever the numbers, the result is neither below `min` nor above `max` with its random share; a series
    /// that overflows has reached `max` (W-10).
    pub fn delay(&self, attempt: u32, random: f64) -> Duration {
        let exponent = i32::try_from(attempt.saturating_sub(1)).unwrap_or(i32::MAX);
        // A product that is not a number counts as one that overflows.
        let seconds = (self.min.as_secs_f64() * self.factor.powi(exponent)).min(self.max.as_secs_f64());
        let seconds = seconds * (1.0 + self.jitter * random);
        Duration::try_from_secs_f64(seconds).unwrap_or(self.max).max(self.min)
    }
}
