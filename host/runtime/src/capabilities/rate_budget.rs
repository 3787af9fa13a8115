//! Limits a rate of one plugin: its requests to the API server, or its writes of key-values.

use std::{
    num::NonZeroU32,
    time::{Duration, Instant},
};

use informer_types::TokenBucket;
use parking_lot::Mutex;

/// A token bucket for all calls and instances of a plugin, with a burst of one second.
#[derive(Debug, Default)]
pub(super) struct RateBudget(Mutex<Option<TokenBucket>>);

// === impl RateBudget ===

impl RateBudget {
    /// Takes a token, in advance if there is none, and returns how long the caller has to wait for it.
    ///
    /// # Errors
    /// The wait, if it would end after `until`; no token is taken then.
    pub(super) fn reserve(
        &self,
        per_second: NonZeroU32,
        now: Instant,
        until: Instant,
    ) -> Result<Duration, Duration> {
        self.reserve_many(NonZeroU32::MIN, per_second, now, until)
    }

    /// Like [`reserve`](Self::reserve), for several tokens. The wait is for the last of them.
    pub(super) fn reserve_many(
        &self,
        tokens: NonZeroU32,
        per_second: NonZeroU32,
        now: Instant,
        until: Instant,
    ) -> Result<Duration, Duration> {
        let rate = f64::from(per_second.get());
        let mut bucket = self.0.lock();
        let bucket = bucket.get_or_insert_with(|| TokenBucket::new(rate, rate));
        bucket.set_rate(rate, rate, now);
        let mut reserved = bucket.clone();
        let wait = (0..tokens.get()).map(|_| reserved.reserve(now)).max().unwrap_or_default();
        if now + wait > until {
            return Err(wait);
        }
        *bucket = reserved;
        Ok(wait)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    const FOUR: NonZeroU32 = NonZeroU32::new(4).unwrap();

    #[test]
    fn the_requests_of_one_second_go_at_once_and_each_further_one_waits_for_its_token() {
        let (budget, now) = (RateBudget::default(), Instant::now());
        let until = now + Duration::from_secs(60);
        let waits: Vec<u128> =
            (0..7).map(|_| budget.reserve(FOUR, now, until).unwrap().as_millis()).collect();

        assert_eq!(waits, [0, 0, 0, 0, 250, 500, 750]);
    }

    #[test]
    fn a_request_that_cannot_wait_takes_no_token() {
        let (budget, now) = (RateBudget::default(), Instant::now());
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
    fn several_tokens_are_taken_together_or_not_at_all() {
        let (budget, now) = (RateBudget::default(), Instant::now());
        let many = |tokens, until| {
            let wait = budget.reserve_many(NonZeroU32::new(tokens).unwrap(), FOUR, now, until);
            wait.map(|wait| wait.as_millis()).map_err(|wait| wait.as_millis())
        };
        assert_eq!(many(3, now), Ok(0));
        assert_eq!(many(3, now), Err(500), "one token is left");
        assert_eq!(many(1, now), Ok(0));
        assert_eq!(many(6, now + Duration::from_secs(2)), Ok(1500), "more than a burst");
    }

    #[test]
    fn a_long_pause_saves_the_tokens_of_one_second_only() {
        let (budget, now) = (RateBudget::default(), Instant::now());
        budget.reserve(FOUR, now, now).unwrap();
        let later = now + Duration::from_secs(3600);

        let at_once = (0..10).filter(|_| budget.reserve(FOUR, later, later).is_ok()).count();

        assert_eq!(at_once, 4);
    }
}
