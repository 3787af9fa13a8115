//! The project's one token bucket.

use std::time::{Duration, Instant};

/// A shortfall this small is rounding, and counts as a whole token.
const ROUNDING: f64 = 1e-6;

/// The longest wait. It keeps the sum of an instant and a wait far from overflow.
const MAX_WAIT: Duration = Duration::from_secs(24 * 60 * 60);

/// Tokens that accrue at `per_second`, up to `burst`. A new bucket is full.
///
/// The bucket reads no clock: the caller passes the time. A time before the latest one that the bucket has seen adds no
/// tokens.
#[derive(Clone, Debug)]
pub struct TokenBucket {
    per_second: f64,
    burst: f64,
    /// The tokens at `updated`. If negative, the number of tokens that were reserved in advance.
    tokens: f64,
    /// `None` until the first use.
    updated: Option<Instant>,
}

// === impl TokenBucket ===

impl TokenBucket {
    /// A full bucket. `per_second` is a finite number above zero; `burst` is at least 1.
    pub fn new(per_second: f64, burst: f64) -> Self {
        Self { per_second, burst, tokens: burst, updated: None }
    }

    /// Returns true if the bucket has this rate and this burst.
    pub fn has_rate(&self, per_second: f64, burst: f64) -> bool {
        (self.per_second, self.burst) == (per_second, burst)
    }

    /// Changes the rate and the burst from `now` on. The tokens stay, up to the new burst.
    pub fn set_rate(&mut self, per_second: f64, burst: f64, now: Instant) {
        self.accrue(now);
        (self.per_second, self.burst) = (per_second, burst);
        self.tokens = self.tokens.min(burst);
    }

    /// Takes a token and returns true, or returns false and takes nothing if there is none.
    pub fn take(&mut self, now: Instant) -> bool {
        self.accrue(now);
        let available = self.tokens + ROUNDING >= 1.0;
        if available {
            self.tokens = (self.tokens - 1.0).max(0.0);
        }
        available
    }

    /// Takes a token in any case, in advance if there is none, and returns how long the caller has to wait until the
    /// token has accrued.
    pub fn reserve(&mut self, now: Instant) -> Duration {
        let wait = self.next(now).saturating_duration_since(now);
        self.accrue(now);
        self.tokens -= 1.0;
        wait
    }

    /// Adds tokens, up to the burst.
    pub fn add(&mut self, tokens: f64) {
        self.tokens = (self.tokens + tokens).min(self.burst);
    }

    /// Sets the number of tokens at `now`, at most the burst. After zero no burst follows, for example at the end of a pause that a
    /// server requested.
    pub fn set_tokens(&mut self, tokens: f64, now: Instant) {
        self.tokens = tokens.min(self.burst);
        self.updated = Some(now);
    }

    /// When the next token is available if none is taken or added before. Never before `now`, and at most a day after
    /// it.
    pub fn next(&self, now: Instant) -> Instant {
        let missing = 1.0 - self.count(now);
        if missing <= ROUNDING {
            return now;
        }
        let wait = Duration::try_from_secs_f64(missing / self.per_second).unwrap_or(MAX_WAIT);
        now + wait.min(MAX_WAIT)
    }

    /// When the bucket was last used. Returns `None` if it never was.
    pub fn last_used(&self) -> Option<Instant> {
        self.updated
    }

    fn accrue(&mut self, now: Instant) {
        self.tokens = self.count(now);
        self.updated = self.updated.max(Some(now));
    }

    fn count(&self, now: Instant) -> f64 {
        let since = self.updated.map_or(Duration::ZERO, |updated| now.saturating_duration_since(updated));
        (self.tokens + since.as_secs_f64() * self.per_second).min(self.burst)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_burst_is_available_at_once_and_then_tokens_accrue_at_the_rate() {
        let (mut bucket, start) = (TokenBucket::new(2.0, 3.0), Instant::now());

        assert_eq!((0..5).filter(|_| bucket.take(start)).count(), 3);
        assert_eq!(bucket.next(start), start + Duration::from_millis(500));
        assert!(!bucket.take(start + Duration::from_millis(499)));
        assert!(bucket.take(start + Duration::from_millis(500)));
    }

    #[test]
    fn an_unused_bucket_holds_no_more_than_the_burst() {
        let (mut bucket, start) = (TokenBucket::new(2.0, 3.0), Instant::now());
        assert!(bucket.take(start));

        let later = start + Duration::from_secs(3600);
        assert_eq!((0..9).filter(|_| bucket.take(later)).count(), 3);
    }

    #[test]
    fn each_token_reserved_in_advance_is_due_one_interval_after_the_one_before() {
        let (mut bucket, start) = (TokenBucket::new(4.0, 4.0), Instant::now());

        let waits: Vec<u128> = (0..7).map(|_| bucket.reserve(start).as_millis()).collect();

        assert_eq!(waits, [0, 0, 0, 0, 250, 500, 750]);
        assert!(!bucket.take(start + Duration::from_millis(999)), "three tokens are owed");
        assert!(bucket.take(start + Duration::from_secs(1)));
    }

    #[test]
    fn a_token_that_is_given_back_is_available_again() {
        let (mut bucket, start) = (TokenBucket::new(1.0, 1.0), Instant::now());
        assert!(bucket.take(start));
        assert!(!bucket.take(start));

        bucket.add(5.0);

        assert_eq!((0..9).filter(|_| bucket.take(start)).count(), 1, "it never holds more than the burst");
    }

    #[test]
    fn another_rate_adds_no_tokens_and_keeps_at_most_the_new_burst() {
        let (mut bucket, start) = (TokenBucket::new(4.0, 4.0), Instant::now());
        assert!(bucket.take(start));

        bucket.set_rate(8.0, 8.0, start);
        assert_eq!((0..9).filter(|_| bucket.take(start)).count(), 3);

        let later = start + Duration::from_secs(1);
        bucket.set_rate(2.0, 2.0, later);
        assert_eq!((0..9).filter(|_| bucket.take(later)).count(), 2);
    }

    #[test]
    fn a_time_in_the_past_adds_no_tokens() {
        let (mut bucket, start) = (TokenBucket::new(1.0, 1.0), Instant::now());
        assert!(bucket.take(start + Duration::from_secs(10)));

        assert!(!bucket.take(start));
        assert!(!bucket.take(start + Duration::from_secs(10)));
        assert!(bucket.take(start + Duration::from_secs(11)));
    }

    #[test]
    fn a_rate_of_almost_zero_never_overflows() {
        let (mut bucket, start) = (TokenBucket::new(1e-300, 1.0), Instant::now());

        assert!(bucket.take(start));
        assert!(!bucket.take(start));
        assert_eq!(bucket.next(start), start + MAX_WAIT);
        assert_eq!(bucket.reserve(start), MAX_WAIT);
    }
}
