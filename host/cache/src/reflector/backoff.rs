//! How long to wait after a failure.

use std::time::Duration;

use tokio::time::Instant;

use crate::BackoffConfig;

/// A server that asks for more than this is not believed.
const MAX_RETRY_AFTER: Duration = Duration::from_secs(300);

/// How much of the jitter of a delay a time that the server asked for gets: whoever was told the same time
/// should not come back at the same moment, and not much later either.
const RETRY_AFTER_JITTER: f64 = 0.25;

/// One sequence of delays for everything a reflector waits for.
pub(crate) struct Backoff {
    config: BackoffConfig,
    next: Duration,
    healthy_since: Option<Instant>,
}

// === impl Backoff ===

impl Backoff {
    pub(crate) fn new(config: BackoffConfig) -> Self {
        Self { config, next: config.base, healthy_since: None }
    }

    /// A watch is open. Health ends with the next failure, not with the watch (D-1).
    pub(crate) fn healthy(&mut self) {
        self.healthy_since.get_or_insert_with(Instant::now);
    }

    /// A failure: the delay before the next try, at least what the server asked for, within reason.
    pub(crate) fn draw(&mut self, retry_after: Option<Duration>) -> Duration {
        let healthy = self.healthy_since.take().map_or(Duration::ZERO, |since| since.elapsed());
        if healthy >= self.config.reset_after {
            self.next = self.config.base;
        }
        let delay = self.next.min(self.config.cap);
        self.next = times(delay, self.config.factor).min(self.config.cap);
        let asked = retry_after.unwrap_or_default().min(MAX_RETRY_AFTER);
        self.jittered(delay, 1.0).max(self.jittered(asked, RETRY_AFTER_JITTER))
    }

    fn jittered(&self, delay: Duration, share: f64) -> Duration {
        times(delay, 1.0 + share * self.config.jitter * fastrand::f64())
    }
}

/// A factor that makes no sense is none.
fn times(delay: Duration, factor: f64) -> Duration {
    Duration::try_from_secs_f64(delay.as_secs_f64() * factor).unwrap_or(delay)
}

#[cfg(test)]
mod tests {
    use super::*;

    fn seconds(backoff: &mut Backoff) -> f64 {
        backoff.draw(None).as_secs_f64()
    }

    #[tokio::test(start_paused = true)]
    async fn delays_double_from_800_ms_to_30_s_and_each_is_up_to_twice_as_long_r2() {
        let mut backoff = Backoff::new(BackoffConfig::default());

        for expected in [0.8, 1.6, 3.2, 6.4, 12.8, 25.6, 30.0, 30.0, 30.0] {
            let delay = seconds(&mut backoff);

            assert!((expected..2.0 * expected).contains(&delay), "{delay} for {expected}");
        }
    }

    #[tokio::test(start_paused = true)]
    async fn two_minutes_of_health_start_it_over_and_two_minutes_of_failure_do_not_d1() {
        let mut backoff = Backoff::new(BackoffConfig { jitter: 0.0, ..BackoffConfig::default() });
        assert_eq!([seconds(&mut backoff), seconds(&mut backoff)], [0.8, 1.6]);

        tokio::time::advance(Duration::from_secs(300)).await;
        assert_eq!(seconds(&mut backoff), 3.2);

        backoff.healthy();
        tokio::time::advance(Duration::from_secs(60)).await;
        backoff.healthy();
        tokio::time::advance(Duration::from_secs(59)).await;
        assert_eq!(seconds(&mut backoff), 6.4);

        backoff.healthy();
        tokio::time::advance(Duration::from_secs(60)).await;
        backoff.healthy();
        tokio::time::advance(Duration::from_secs(60)).await;
        assert_eq!(seconds(&mut backoff), 0.8);
    }

    #[tokio::test(start_paused = true)]
    async fn the_server_is_left_alone_for_as_long_as_it_asks_within_reason() {
        let mut backoff = Backoff::new(BackoffConfig { jitter: 0.0, ..BackoffConfig::default() });

        assert_eq!(backoff.draw(Some(Duration::from_secs(7))), Duration::from_secs(7));
        assert_eq!(backoff.draw(Some(Duration::from_secs(1))), Duration::from_millis(1_600));
        assert_eq!(backoff.draw(Some(Duration::MAX)), MAX_RETRY_AFTER);
    }

    #[tokio::test(start_paused = true)]
    async fn not_all_come_back_at_the_moment_that_the_server_named_and_none_before_it() {
        let delays: Vec<Duration> = (0..100)
            .map(|_| Backoff::new(BackoffConfig::default()).draw(Some(Duration::from_secs(8))))
            .collect();

        assert!(delays.iter().all(|delay| (8.0..10.0).contains(&delay.as_secs_f64())), "{delays:?}");
        assert!(
            delays.iter().any(|delay| *delay > delays[0]) || delays.iter().any(|delay| *delay < delays[0])
        );
    }

    #[test]
    fn numbers_that_make_no_sense_do_not_panic() {
        for number in [f64::NAN, f64::INFINITY, f64::MAX, -1.0, -10.0] {
            let config = BackoffConfig { jitter: number, factor: number, ..BackoffConfig::default() };
            let mut backoff = Backoff::new(config);
            (0..5).for_each(|_| assert!(backoff.draw(None) <= 2 * config.cap));
        }
    }
}
