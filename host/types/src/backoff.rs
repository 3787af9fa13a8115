//! The project's one exponential backoff.

use std::time::Duration;

/// The waits `min`, `min * factor`, `min * factor^2`, ... up to `max`. Each wait is extended by a random share of up to
/// `jitter`, as `wait.Jitter` of apimachinery does, so that objects that failed together are not retried together.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct Backoff {
    /// The first wait, and the shortest one.
    pub min: Duration,
    /// The longest wait before jitter.
    pub max: Duration,
    /// The ratio of a wait to the previous wait, at least 1.
    pub factor: f64,
    /// The largest random share: 0 turns jitter off, 0.2 extends a wait by up to a fifth.
    pub jitter: f64,
}

// === impl Backoff ===

impl Backoff {
    /// The wait after attempt number `attempt`, which is 1 for the first one. `random` is in `[0, 1)`.
    ///
    /// The result is at least `min`, and at most `max` plus its random share. A series that overflows stays at `max`.
    pub fn delay(&self, attempt: u32, random: f64) -> Duration {
        let exponent = i32::try_from(attempt.saturating_sub(1)).unwrap_or(i32::MAX);
        // `f64::min` ignores a product that is not a number.
        let seconds = (self.min.as_secs_f64() * self.factor.powi(exponent)).min(self.max.as_secs_f64());
        self.jittered(seconds, random).max(self.min)
    }

    fn jittered(&self, seconds: f64, random: f64) -> Duration {
        Duration::try_from_secs_f64(seconds * (1.0 + self.jitter * random)).unwrap_or(self.max)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    const DOUBLING: Backoff =
        Backoff { min: Duration::from_millis(5), max: Duration::from_secs(1000), factor: 2.0, jitter: 0.0 };

    /// Scenario 124.
    #[test]
    fn each_wait_is_the_one_before_times_the_factor_up_to_the_longest() {
        let waits: Vec<u128> = (1..=4).map(|attempt| DOUBLING.delay(attempt, 0.0).as_millis()).collect();
        assert_eq!(waits, [5, 10, 20, 40]);

        assert_eq!(DOUBLING.delay(18, 0.0), Duration::from_millis(5 << 17));
        assert_eq!(DOUBLING.delay(19, 0.0), DOUBLING.max);
        assert_eq!(DOUBLING.delay(u32::MAX, 0.0), DOUBLING.max);
    }

    #[test]
    fn jitter_extends_a_wait_by_at_most_its_share() {
        let backoff = Backoff { jitter: 0.2, ..DOUBLING };

        assert_eq!(backoff.delay(1, 0.0), Duration::from_millis(5));
        assert_eq!(backoff.delay(1, 0.5), Duration::from_micros(5_500));
        assert_eq!(backoff.delay(99, 0.5), Duration::from_secs(1_100));
    }

    /// Scenario 124.
    #[test]
    fn meaningless_numbers_neither_panic_nor_leave_the_bounds() {
        for number in [f64::NAN, f64::INFINITY, f64::MAX, -1.0, -10.0, 0.0] {
            let backoff = Backoff { factor: number, jitter: number, ..DOUBLING };
            for attempt in [0, 1, 2, u32::MAX] {
                let delay = backoff.delay(attempt, 0.5);
                assert!(backoff.min <= delay && delay <= 2 * backoff.max, "{number}: {delay:?}");
            }
        }
    }
}
