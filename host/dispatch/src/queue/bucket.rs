//! Token buckets, told the time.

use std::time::{Duration, Instant};

use super::Rate;

/// What rounding may cost: a token that is as good as there is there.
const CLOSE: f64 = 1e-6;

/// Tokens that accrue with time, up to a most; full at first.
#[derive(Debug)]
pub(super) struct TokenBucket {
    per_second: f64,
    most: f64,
    tokens: f64,
    /// When they were last counted; none before the first use.
    at: Option<Instant>,
}

// === impl TokenBucket ===

impl TokenBucket {
    pub(super) fn new(per_second: f64, most: f64) -> Self {
        Self { per_second, most, tokens: most, at: None }
    }

    pub(super) fn of(rate: Rate) -> Self {
        Self::new(rate.per_second, f64::from(rate.burst.get()))
    }

    /// True where it is one of this rate.
    pub(super) fn has(&self, rate: Rate) -> bool {
        let other = Self::of(rate);
        (self.per_second, self.most) == (other.per_second, other.most)
    }

    /// Takes a token, if there is one.
    pub(super) fn take(&mut self, now: Instant) -> bool {
        self.tokens = self.count(now);
        self.at = Some(now);
        let there = self.tokens + CLOSE >= 1.0;
        if there {
            self.tokens = (self.tokens - 1.0).max(0.0);
        }
        there
    }

    /// Adds tokens, or as many as fit.
    pub(super) fn add(&mut self, tokens: f64) {
        self.tokens = (self.tokens + tokens).min(self.most);
    }

    /// When there will be a token, if nobody takes or adds one: not before `now`.
    pub(super) fn next(&self, now: Instant) -> Instant {
        let missing = 1.0 - self.count(now);
        if missing <= CLOSE {
            return now;
        }
        let wait = Duration::try_from_secs_f64(missing / self.per_second).unwrap_or(crate::retry::MAX_DELAY);
        now + wait.min(crate::retry::MAX_DELAY)
    }

    fn count(&self, now: Instant) -> f64 {
        let since = self.at.map_or(Duration::ZERO, |at| now.saturating_duration_since(at));
        (self.tokens + since.as_secs_f64() * self.per_second).min(self.most)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_burst_goes_at_once_and_the_rest_as_tokens_accrue() {
        let (mut bucket, start) = (TokenBucket::new(2.0, 3.0), Instant::now());
        let taken = (0..5).filter(|_| bucket.take(start)).count();
        assert_eq!(taken, 3);
        assert_eq!(bucket.next(start), start + Duration::from_millis(500));

        assert!(!bucket.take(start + Duration::from_millis(499)));
        assert!(bucket.take(start + Duration::from_millis(500)));
        // However long nobody came: no more than the burst.
        let later = start + Duration::from_secs(3600);
        assert_eq!((0..9).filter(|_| bucket.take(later)).count(), 3);
    }

    #[test]
    fn a_clock_that_stands_still_or_a_rate_of_almost_nothing_never_overflows() {
        let (mut bucket, start) = (TokenBucket::new(1e-300, 1.0), Instant::now());
        assert!(bucket.take(start));
        assert!(!bucket.take(start));
        assert!(bucket.next(start) > start);
    }
}
