//! Filters with the same `when` share its answers.

use std::time::Duration;

use super::*;

#[test]
fn filters_with_the_same_expression_evaluate_it_once_for_a_state() {
    let text = "object.spec.n == 41";
    let (first, second) = (Subscription::when(text), Subscription::when(text));
    let other = Subscription::when("object.spec.n == 1 || object.spec.n == 42");
    let (one, two) = (state("a1", "web", "1"), state("a2", "web", "41"));

    for subscription in [&first, &second] {
        assert_eq!(subscription.receives(add(&one), Cause::Live), NOTHING);
        assert_eq!(subscription.receives(update(&one, &two), Cause::Live), ["+a2"]);
        assert_eq!(subscription.receives(update(&two, &one), Cause::Live), ["-a2"]);
    }
    assert_eq!(other.receives(add(&one), Cause::Live), ["+a1"]);

    let when = |subscription: &Subscription| subscription.filter.stats().when;
    assert_eq!((when(&first).evaluations, when(&second).evaluations), (3, 3));
    assert!(when(&first).time > Duration::ZERO && when(&other).time > Duration::ZERO);
    assert_eq!((when(&second).time, when(&second).longest), (Duration::ZERO, Duration::ZERO));
}

/// The selectors of two filters may map the same notification to different changes.
#[test]
fn a_shared_expression_judges_the_change_that_each_handler_would_receive() {
    let config = |labels: &str| FilterConfig {
        labels: labels.parse().unwrap(),
        when: Some("event == 'update' && old.spec.n != object.spec.n && cause == 'live'".parse().unwrap()),
        ..FilterConfig::default()
    };
    let (all, web) = (Subscription::new(config("")), Subscription::new(config("app=web")));
    let (db, one, two) = (state("a1", "db", "1"), state("a2", "web", "2"), state("a3", "web", "3"));

    assert_eq!(all.receives(update(&db, &one), Cause::Live), ["a1>a2"]);
    assert_eq!(web.receives(update(&db, &one), Cause::Live), NOTHING, "an addition for this handler");
    assert_eq!(all.receives(update(&one, &two), Cause::Live), ["a2>a3"]);
    assert_eq!(web.receives(update(&one, &two), Cause::Live), ["a2>a3"]);
    assert_eq!(web.receives(update(&one, &two), Cause::Relist), NOTHING);
    assert_eq!(all.receives(update(&db, &two), Cause::Live), ["a1>a3"]);
}

#[test]
fn a_shared_error_passes_and_is_counted_by_each_filter() {
    let text = "object.spec.nowhere == 43";
    let subscriptions = [Subscription::when(text), Subscription::when(text)];
    let one = state("a1", "web", "1");

    for subscription in &subscriptions {
        assert_eq!(subscription.receives(add(&one), Cause::Live), ["+a1"]);
        let when = subscription.filter.stats().when;
        assert_eq!((when.evaluations, when.errors), (1, 1));
        assert_eq!(when.last_error.unwrap(), "there is no `nowhere`; ask with `has(...)` first");
    }
}
