use informer_types::FailureKind;

use super::*;

fn config() -> RetryConfig {
    RetryConfig {
        backoff: Backoff {
            min: Duration::from_millis(100),
            max: Duration::from_secs(1),
            factor: 2.0,
            jitter: 0.5,
        },
        attempts: NonZeroU32::new(5),
        on_exhausted: Fate::Drop,
    }
}

fn failure() -> Failure {
    Failure::new(FailureKind::Handler, "no")
}

fn delay_after(wish: Option<Duration>, attempt: u32) -> Duration {
    match config().settle(Outcome::Retry { after: wish, failure: failure() }, attempt, 0.0) {
        Settlement::Retry { delay, floor, .. } => {
            assert_eq!(floor, Duration::from_millis(100));
            delay
        }
        other => panic!("not a retry: {other:?}"),
    }
}

/// The backoff doubles with each attempt, up to its maximum (scenario 124).
#[test]
fn an_error_is_tried_again_after_the_backoff() {
    assert_eq!(delay_after(None, 1), Duration::from_millis(100));
    assert_eq!(delay_after(None, 3), Duration::from_millis(400));
    assert_eq!(delay_after(None, 4), Duration::from_millis(800));
}

#[test]
fn the_handlers_own_wish_replaces_the_backoff_within_the_minimum_and_a_day() {
    assert_eq!(delay_after(Some(Duration::from_secs(30)), 1), Duration::from_secs(30));
    assert_eq!(delay_after(Some(Duration::ZERO), 1), Duration::from_millis(100));
    assert_eq!(delay_after(Some(Duration::MAX), 1), Duration::from_secs(86_400));
}

#[test]
fn the_last_attempt_is_not_retried_whatever_delay_the_handler_requests() {
    for after in [None, Some(Duration::from_secs(1))] {
        let outcome = Outcome::Retry { after, failure: failure() };
        let spent =
            Settlement::Spent { floor: Duration::from_millis(100), fate: Fate::Drop, failure: failure() };

        assert_eq!(config().settle(outcome.clone(), 5, 0.0), spent);
        assert_eq!(config().settle(outcome, 6, 0.0), spent);
    }
}

#[test]
fn without_a_number_of_attempts_it_is_tried_for_ever() {
    let config = RetryConfig { attempts: None, ..config() };
    let settlement = config.settle(Outcome::Retry { after: None, failure: failure() }, u32::MAX, 0.0);

    assert!(matches!(settlement, Settlement::Retry { .. }), "{settlement:?}");
}

#[test]
fn a_permanent_failure_is_not_tried_again() {
    let settlement = config().settle(Outcome::Permanent { failure: failure() }, 1, 0.0);

    assert_eq!(settlement, Settlement::Permanent { failure: failure() });
}
