//! How many lines a plugin may write: a token bucket for all its calls and instances.

use std::{
    num::NonZeroU32,
    time::{Duration, Instant},
};

use parking_lot::Mutex;

/// That lines are left out is said so often at most.
const TOLD_EVERY: Duration = Duration::from_secs(1);

/// One token a line; so many a second, and one second's worth after a pause. Starts full.
#[derive(Debug, Default)]
pub(crate) struct LineBudget(Mutex<State>);

#[derive(Debug, Default)]
struct State {
    bucket: Option<Bucket>,
    /// Lines left out since that was said last.
    untold: u64,
    told: Option<Instant>,
    left_out: u64,
}

#[derive(Debug)]
struct Bucket {
    tokens: f64,
    at: Instant,
}

// === impl LineBudget ===

impl LineBudget {
    /// Takes the token of a line; false: there is none, the line is to be left out, and is counted.
    pub(super) fn take(&self, per_second: NonZeroU32, now: Instant) -> bool {
        let rate = f64::from(per_second.get());
        let mut state = self.0.lock();
        let bucket = state.bucket.get_or_insert(Bucket { tokens: rate, at: now });
        let refill = now.saturating_duration_since(bucket.at).as_secs_f64() * rate;
        bucket.tokens = (bucket.tokens + refill).min(rate);
        bucket.at = bucket.at.max(now);
        let taken = bucket.tokens >= 1.0;
        if taken {
            bucket.tokens -= 1.0;
        } else {
            state.untold += 1;
            state.left_out += 1;
        }
        taken
    }

    /// Lines left out that have to be said now: at once, and then once a second.
    pub(super) fn to_tell(&self, now: Instant) -> Option<u64> {
        let mut state = self.0.lock();
        let told_lately = state.told.is_some_and(|told| now.saturating_duration_since(told) < TOLD_EVERY);
        if state.untold == 0 || told_lately {
            return None;
        }
        state.told = Some(now);
        Some(std::mem::take(&mut state.untold))
    }

    /// Lines left out so far.
    pub(crate) fn left_out(&self) -> u64 {
        self.0.lock().left_out
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    const FOUR: NonZeroU32 = NonZeroU32::new(4).unwrap();

    fn taken(budget: &LineBudget, lines: usize, now: Instant) -> usize {
        (0..lines).filter(|_| budget.take(FOUR, now)).count()
    }

    #[test]
    fn a_second_s_worth_is_written_at_once_and_then_as_much_as_comes_in() {
        let (budget, now) = (LineBudget::default(), Instant::now());

        assert_eq!(taken(&budget, 10, now), 4);
        assert_eq!(taken(&budget, 10, now + Duration::from_millis(500)), 2);
        assert_eq!(taken(&budget, 10, now + Duration::from_secs(3600)), 4, "no more is saved up");
        assert_eq!(budget.left_out(), 6 + 8 + 6);
    }

    #[test]
    fn what_is_left_out_is_said_at_once_and_then_once_a_second() {
        let (budget, now) = (LineBudget::default(), Instant::now());
        taken(&budget, 4, now);
        assert_eq!(budget.to_tell(now), None, "nothing is left out");

        taken(&budget, 1, now);
        assert_eq!(budget.to_tell(now), Some(1));
        taken(&budget, 5, now);
        assert_eq!(budget.to_tell(now + TOLD_EVERY / 2), None);
        assert_eq!(budget.to_tell(now + TOLD_EVERY), Some(5));
        assert_eq!(budget.to_tell(now + 3 * TOLD_EVERY), None, "it was said");
    }
}
