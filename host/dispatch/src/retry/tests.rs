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

/// Scenario 124.
#[test]
fn the_delay_doubles_up_to_the_maximum() {
    let delays: Vec<u128> = (1..=6).map(|attempt| config().backoff.delay(attempt, 0.0).as_millis()).collect();

    assert_eq!(delays, [100, 200, 400, 800, 1000, 1000]);
}

#[test]
fn the_random_share_only_lengthens_and_also_beyond_the_maximum() {
    let backoff = config().backoff;

    assert_eq!(backoff.delay(1, 0.5), Duration::from_millis(125));
    assert_eq!(backoff.delay(9, 0.5), Duration::from_millis(1250));
}

/// Scenario 124.
#[test]
fn whatever_the_numbers_a_delay_is_between_the_minimum_and_the_maximum() {
    let (min, max) = (Duration::from_millis(100), Duration::from_secs(1));
    for factor in [f64::NAN, f64::INFINITY, f64::NEG_INFINITY, -3.0, 0.0, 1e300] {
        for jitter in [0.0, f64::NAN, f64::INFINITY, -2.0] {
            for attempt in [0, 1, 2, 1000, u32::MAX] {
                let delay = Backoff { min, max, factor, jitter }.delay(attempt, 0.5);

                assert!((min..=max).contains(&delay), "{factor} {jitter} {attempt}: {delay:?}");
            }
        }
    }
}

#[test]
fn an_error_is_tried_again_after_the_backoff() {
    assert_eq!(delay_after(None, 1), Duration::from_millis(100));
    assert_eq!(delay_after(None, 3), Duration::from_millis(400));
}

#[test]
fn the_handlers_own_wish_replaces_the_backoff_within_the_minimum_and_a_day() {
    assert_eq!(delay_after(Some(Duration::from_secs(30)), 1), Duration::from_secs(30));
    assert_eq!(delay_after(Some(Duration::ZERO), 1), Duration::from_millis(100));
    assert_eq!(delay_after(Some(Duration::MAX), 1), Duration::from_secs(86_400));
}

#[test]
fn the_last_attempt_spends_the_budget_whatever_the_handler_wishes() {
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

#[test]
fn what_was_not_called_is_no_failure_though_no_attempt_is_left() {
    assert_eq!(config().settle(Outcome::NotCalled, 5, 0.0), Settlement::NotCalled);
}
