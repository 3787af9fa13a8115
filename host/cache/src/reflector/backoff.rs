//! How long a reflector waits after a failure, and when it need not wait.

use std::time::Duration;

use informer_types::Backoff;
use tokio::time::Instant;

use super::target::{ReflectorError, Target};
use crate::{BackoffConfig, error::chain};

/// The longest time that a server can ask for with Retry-After.
const MAX_RETRY_AFTER: Duration = Duration::from_secs(300);

/// The share of the configured jitter that extends a Retry-After: informers that were given the same time should not
/// all return at the same moment, nor much later.
const RETRY_AFTER_JITTER: f64 = 0.25;

/// After this time without an internal error, the next one starts a new window.
const FORGET_AFTER: Duration = Duration::from_secs(60);

/// One sequence of delays for everything that a reflector waits for after a failure.
pub(crate) struct FailureBackoff {
    config: BackoffConfig,
    /// Failures since the sequence started.
    failures: u32,
    healthy_since: Option<Instant>,
}

/// The time in which a watch is reopened at once after internal errors of the server. A window of length zero is
/// always closed.
pub(crate) struct InternalErrorWindow {
    length: Duration,
    first: Option<Instant>,
    last: Option<Instant>,
}

// === impl FailureBackoff ===

impl FailureBackoff {
    pub(crate) fn new(config: BackoffConfig) -> Self {
        Self { config, failures: 0, healthy_since: None }
    }

    /// Records that a watch is open. The healthy time lasts until the next failure, not until the watch ends (D-1).
    pub(crate) fn healthy(&mut self) {
        self.healthy_since.get_or_insert_with(Instant::now);
    }

    /// Records a failure and returns the delay before the next attempt: at least `retry_after`, up to five minutes.
    pub(crate) fn draw(&mut self, retry_after: Option<Duration>) -> Duration {
        let healthy = self.healthy_since.take().map_or(Duration::ZERO, |since| since.elapsed());
        if healthy >= self.config.reset_after {
            self.failures = 0;
        }
        self.failures = self.failures.saturating_add(1);
        let backoff = self.config.backoff;
        let requested = retry_after.unwrap_or_default().min(MAX_RETRY_AFTER);
        let jitter = RETRY_AFTER_JITTER * backoff.jitter;
        let requested = Backoff { min: requested, max: requested, factor: 1.0, jitter };
        backoff.delay(self.failures, fastrand::f64()).max(requested.delay(1, fastrand::f64()))
    }

    /// Reports a failure and waits.
    pub(super) async fn wait_after(&mut self, error: &ReflectorError, target: &Target) {
        let delay = self.draw(error.retry_after());
        let (text, class) = (chain(error), error.class());
        tracing::warn!(
            resource = %target.resource(),
            class = class.as_str(),
            error = text,
            retry_in_ms = u64::try_from(delay.as_millis()).unwrap_or(u64::MAX),
            "reflector backs off"
        );
        target.cell.failed(text, class);
        target.cell.back_off(delay);
        tokio::time::sleep(delay).await;
    }
}

// === impl InternalErrorWindow ===

impl InternalErrorWindow {
    pub(crate) fn new(length: Duration) -> Self {
        Self { length, first: None, last: None }
    }

    /// Records an internal error. Returns true if the watch may be reopened at once.
    pub(crate) fn may_retry(&mut self) -> bool {
        if self.length.is_zero() {
            return false;
        }
        let now = Instant::now();
        if self.last.is_some_and(|last| now - last >= FORGET_AFTER) {
            self.first = None;
        }
        self.last = Some(now);
        now - *self.first.get_or_insert(now) <= self.length
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn without_jitter() -> FailureBackoff {
        let mut config = BackoffConfig::default();
        config.backoff.jitter = 0.0;
        FailureBackoff::new(config)
    }

    fn seconds(backoff: &mut FailureBackoff) -> f64 {
        backoff.draw(None).as_secs_f64()
    }

    /// The delay starts at 800 ms, doubles up to 30 s, and jitter extends each delay by up to its length.
    #[tokio::test(start_paused = true)]
    async fn delays_double_from_800_ms_to_30_s_and_jitter_at_most_doubles_each() {
        let mut backoff = FailureBackoff::new(BackoffConfig::default());

        for expected in [0.8, 1.6, 3.2, 6.4, 12.8, 25.6, 30.0, 30.0, 30.0] {
            let delay = seconds(&mut backoff);

            assert!((expected..2.0 * expected).contains(&delay), "{delay} for {expected}");
        }
    }

    /// The delays start over after two minutes in which watches were open, and only then (D-1).
    /// client-go resets its backoff by time alone.
    #[tokio::test(start_paused = true)]
    async fn two_healthy_minutes_reset_the_delay_and_two_minutes_of_failures_do_not() {
        let mut backoff = without_jitter();
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
    async fn a_delay_is_at_least_the_retry_after_of_the_server_up_to_five_minutes() {
        let mut backoff = without_jitter();

        assert_eq!(backoff.draw(Some(Duration::from_secs(7))), Duration::from_secs(7));
        assert_eq!(backoff.draw(Some(Duration::from_secs(1))), Duration::from_millis(1_600));
        assert_eq!(backoff.draw(Some(Duration::MAX)), MAX_RETRY_AFTER);
    }

    #[tokio::test(start_paused = true)]
    async fn the_same_retry_after_gives_different_delays_and_never_a_shorter_one() {
        let delays: Vec<Duration> = (0..100)
            .map(|_| FailureBackoff::new(BackoffConfig::default()).draw(Some(Duration::from_secs(8))))
            .collect();

        assert!(delays.iter().all(|delay| (8.0..10.0).contains(&delay.as_secs_f64())), "{delays:?}");
        assert!(delays.iter().any(|delay| *delay != delays[0]));
    }

    /// Scenarios 8 and 9: internal errors are retried within the window, and a quiet minute opens a new one.
    #[tokio::test(start_paused = true)]
    async fn internal_errors_are_retried_within_the_window_and_a_quiet_minute_opens_a_new_one() {
        let mut window = InternalErrorWindow::new(Duration::from_secs(30));
        let mut retries = 0;
        while window.may_retry() {
            retries += 1;
            tokio::time::advance(Duration::from_secs(1)).await;
        }
        assert_eq!(retries, 31);

        tokio::time::advance(FORGET_AFTER).await;
        assert!(window.may_retry());
    }

    /// Scenario 9: a window of length zero never allows a retry.
    #[tokio::test(start_paused = true)]
    async fn without_a_window_no_internal_error_is_retried() {
        assert!(!InternalErrorWindow::new(Duration::ZERO).may_retry());
    }
}
