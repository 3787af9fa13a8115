//! How many requests a plugin may make: a token bucket for all its calls and instances.

use std::{
    num::NonZeroU32,
    time::{Duration, Instant},
};

use parking_lot::Mutex;

/// One token a request; so many a second, and one second's worth after a pause. Starts full.
#[derive(Debug, Default)]
pub(super) struct RequestBudget(Mutex<Option<Bucket>>);

#[derive(Debug)]
struct Bucket {
    /// Below zero: promised to requests that wait.
    tokens: f64,
    at: Instant,
}

// === impl RequestBudget ===

impl RequestBudget {
    /// Promises a token: how long to wait for it.
    ///
    /// # Errors
    /// How long it would take, where that is later than `until`; nothing is taken then.
    pub(super) fn reserve(
        &self,
        per_second: NonZeroU32,
        now: Instant,
        until: Instant,
    ) -> Result<Duration, Duration> {
        let rate = f64::from(per_second.get());
        let mut bucket = self.0.lock();
        let bucket = bucket.get_or_insert(Bucket { tokens: rate, at: now });
        let refill = now.saturating_duration_since(bucket.at).as_secs_f64() * rate;
        bucket.tokens = (bucket.tokens + refill).min(rate);
        bucket.at = bucket.at.max(now);
        let wait = Duration::from_secs_f64(((1.0 - bucket.tokens) / rate).max(0.0));
        if now + wait > until {
            return Err(wait);
        }
        bucket.tokens -= 1.0;
        Ok(wait)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    const FOUR: NonZeroU32 = NonZeroU32::new(4).unwrap();

    #[test]
    fn a_second_s_worth_goes_at_once_and_the_rest_waits_its_turn() {
        let (budget, now) = (RequestBudget::default(), Instant::now());
        let until = now + Duration::from_secs(60);
        let waits: Vec<u128> =
            (0..7).map(|_| budget.reserve(FOUR, now, until).unwrap().as_millis()).collect();

        assert_eq!(waits, [0, 0, 0, 0, 250, 500, 750]);
    }

    #[test]
    fn who_cannot_wait_so_long_takes_nothing() {
        let (budget, now) = (RequestBudget::default(), Instant::now());
        for _ in 0..4 {
            budget.reserve(FOUR, now, now).unwrap();
        }

        for _ in 0..100 {
            assert_eq!(budget.reserve(FOUR, now, now).unwrap_err().as_millis(), 250);
        }
        let later = now + Duration::from_millis(250);
        assert_eq!(budget.reserve(FOUR, later, later), Ok(Duration::ZERO));
    }

    #[test]
    fn a_long_pause_saves_up_one_second_and_no_more() {
        let (budget, now) = (RequestBudget::default(), Instant::now());
        budget.reserve(FOUR, now, now).unwrap();
        let later = now + Duration::from_secs(3600);

        let at_once = (0..10).filter(|_| budget.reserve(FOUR, later, later).is_ok()).count();

        assert_eq!(at_once, 4);
    }
}
