//! Objects that enter or leave a filter become additions and deletions, for each kind of condition (P-21).

use super::*;

/// The same story for three ways to say which objects: the states are out, in, in, out.
fn story(subscription: &Subscription) {
    let (out, into) = (state("a1", "db", "1"), state("a2", "web", "3"));
    let (still, gone) = (state("a3", "web", "4"), state("a4", "db", "1"));

    assert_eq!(subscription.receives(add(&out), Cause::Initial), NOTHING);
    assert_eq!(subscription.receives(update(&out, &out), Cause::Resync), NOTHING);
    assert_eq!(subscription.receives(update(&out, &into), Cause::Live), ["+a2"]);
    assert_eq!(subscription.receives(update(&into, &into), Cause::Resync), ["a2>a2 resync"]);
    assert_eq!(subscription.receives(update(&into, &still), Cause::Relist), ["a2>a3 relist"]);
    assert_eq!(subscription.receives(update(&still, &gone), Cause::Live), ["-a3"]);
    assert_eq!(subscription.receives(delete(&gone), Cause::Live), NOTHING);
    assert_eq!(subscription.receives(add(&into), Cause::Live), ["+a2"], "the name was taken again");
    assert_eq!(subscription.receives(delete(&into), Cause::Live), ["-a2"]);
    assert!(subscription.filter.state.lock().inside.is_empty());
}

/// The objects of a namespace come and go with its labels, in order with their own changes (D-20).
#[test]
fn the_objects_of_a_namespace_are_added_when_it_begins_to_match_and_deleted_when_it_no_longer_does() {
    let namespaces_labels = "team=shop".parse().unwrap();
    let subscription = Subscription::new(FilterConfig {
        namespaces_labels,
        labels: "app=web".parse().unwrap(),
        ..FilterConfig::default()
    });
    let web = state("a1", "web", "1");
    let shop: Arc<str> = "shop".into();
    let filter = &subscription.filter;
    let set = |matches| {
        filter.set_namespace(&shop, matches);
        let revisited = filter.revisit(&web).into_iter();
        revisited.flat_map(|change| subscription.receives(change, Cause::Live)).collect::<Vec<_>>()
    };

    assert_eq!(subscription.receives(add(&web), Cause::Initial), NOTHING);
    assert_eq!(
        (filter.excludes(&web), filter.excludes_key(&web.key())),
        (Some("namespaces-labels"), Some("namespaces-labels"))
    );
    assert_eq!(set(true), ["+a1"]);
    assert_eq!(set(true), NOTHING);
    assert_eq!(subscription.receives(update(&web, &web), Cause::Resync), ["a1>a1 resync"]);
    assert_eq!(set(false), ["-a1"]);
    assert_eq!(subscription.receives(delete(&web), Cause::Live), NOTHING, "the handler knows already");
    assert_eq!(filter.stats().suppressed.namespaces_labels, 2);
}

/// An object without a namespace is in none whose labels match.
#[test]
fn an_object_without_a_namespace_matches_no_labels_of_namespaces() {
    let namespaces_labels = "!legacy".parse().unwrap();
    let filter =
        Filter::new(FilterConfig { namespaces_labels, ..FilterConfig::default() }, Received::default());
    let node =
        Object::new(&Header { name: "node".into(), ..Header::default() }, Body::Raw("{}".into())).unwrap();

    assert_eq!(filter.excludes(&Arc::new(node)), Some("namespaces-labels"));
}

/// Scenario 96.
#[test]
fn an_update_is_mapped_by_whether_the_object_was_inside_and_is_inside() {
    let with = |config: FilterConfig| Subscription::new(config);
    let all = FilterConfig::default;

    let labels = with(FilterConfig { labels: "app=web".parse().unwrap(), ..all() });
    story(&labels);
    assert_eq!(labels.filter.stats().suppressed.labels, 3);
    let fields = with(FilterConfig { fields: "spec.n!=1".parse().unwrap(), ..all() });
    story(&fields);
    assert_eq!(fields.filter.stats().suppressed.fields, 3);
    let when = Subscription::when("object.spec.n > 2");
    story(&when);
    let stats = when.filter.stats();
    assert_eq!((stats.suppressed.when, stats.entered, stats.left, stats.passed), (3, 1, 1, 6));
}

#[test]
fn all_conditions_must_hold_and_the_first_that_does_not_is_counted() {
    let subscription = Subscription::new(FilterConfig {
        labels: "app=web".parse().unwrap(),
        fields: "metadata.name=web".parse().unwrap(),
        when: Some("object.spec.n > 2".parse().unwrap()),
        ..FilterConfig::default()
    });

    assert_eq!(subscription.receives(add(&state("a1", "db", "3")), Cause::Live), NOTHING);
    assert_eq!(subscription.receives(add(&state("a1", "web", "1")), Cause::Live), NOTHING);
    assert_eq!(subscription.receives(add(&state("a1", "web", "3")), Cause::Live), ["+a1"]);
    let stats = subscription.filter.stats();
    assert_eq!((stats.suppressed.labels, stats.suppressed.when), (1, 1));
    assert_eq!(stats.when.evaluations, 2, "labels are checked first");
}

/// client-go's filter suppresses this deletion: its last state was never seen before and does not match.
#[test]
fn a_subscriber_that_saw_an_object_receives_its_deletion() {
    let subscription =
        Subscription::new(FilterConfig { labels: "app=web".parse().unwrap(), ..FilterConfig::default() });
    let (into, last) = (state("a1", "web", "1"), state("a2", "db", "1"));

    assert_eq!(subscription.receives(add(&into), Cause::Live), ["+a1"]);
    assert_eq!(subscription.receives(delete(&last), Cause::Live), ["-a2"]);
    assert_eq!(subscription.receives(delete(&last), Cause::Live), NOTHING, "received once");
}

/// The cache may report a deletion that it found by a list; the handler receives it if the last state matches (D-11).
#[test]
fn the_deletion_of_an_object_that_was_never_seen_passes_if_it_matches() {
    let subscription = Subscription::when("object.spec.n > 2");

    assert_eq!(subscription.receives(delete(&state("a1", "web", "3")), Cause::Live), ["-a1"]);
    assert_eq!(subscription.receives(delete(&state("a1", "web", "1")), Cause::Live), NOTHING);
}

/// An addition that the filter made is never part of the initial list (C-11).
#[test]
fn an_update_that_lets_an_object_in_is_not_initial() {
    let subscription = Subscription::when("object.spec.n > 2");
    let (out, into) = (state("a1", "web", "1"), state("a2", "web", "3"));

    assert_eq!(subscription.receives(add(&out), Cause::Initial), NOTHING);
    assert_eq!(subscription.receives(update(&out, &into), Cause::Initial), ["+a2 relist"]);
}

/// An object that replaces another one of its name is a deletion and an addition, and each is filtered alone (D-6).
#[test]
fn another_object_of_the_name_is_judged_anew() {
    let subscription = Subscription::when("object.spec.n > 2");
    let (first, second) = (state("a1", "web", "3"), state("b1", "web", "1"));
    let unseen =
        |object: &Arc<Object>| Change::Deleted { object: Arc::clone(object), final_state_known: false };

    assert_eq!(subscription.receives(add(&first), Cause::Live), ["+a1"]);
    assert_eq!(subscription.receives(unseen(&first), Cause::Relist), ["-a1? relist"]);
    assert_eq!(subscription.receives(add(&second), Cause::Relist), NOTHING);
    assert_eq!(subscription.receives(delete(&second), Cause::Live), NOTHING);
}

#[test]
fn a_repeated_addition_is_mapped_by_the_present_state_of_the_object() {
    let subscription = Subscription::when("object.spec.n > 2");
    let (into, out) = (state("a1", "web", "3"), state("a2", "web", "1"));

    assert_eq!(subscription.receives(add(&into), Cause::Live), ["+a1"]);
    assert_eq!(subscription.receives(add(&into), Cause::Replay), ["+a1 replay"]);
    assert_eq!(subscription.receives(add(&out), Cause::Replay), ["-a2? replay"]);
    assert_eq!(subscription.receives(add(&out), Cause::Replay), NOTHING);
}

/// `changed` is about updates: what it suppresses neither lets in nor puts out.
#[test]
fn changed_never_hides_that_an_object_came_or_left() {
    let subscription = Subscription::new(FilterConfig {
        labels: "app=web".parse().unwrap(),
        changed: changed(&["/spec"]),
        ..FilterConfig::default()
    });
    let (into, same, gone) = (state("a1", "web", "1"), state("a2", "web", "1"), state("a3", "db", "1"));

    assert_eq!(subscription.receives(add(&into), Cause::Live), ["+a1"]);
    assert_eq!(subscription.receives(update(&into, &same), Cause::Live), NOTHING);
    assert_eq!(subscription.receives(update(&same, &gone), Cause::Live), ["-a2"]);
    assert_eq!(subscription.receives(update(&gone, &same), Cause::Live), ["+a2"]);
}

#[test]
fn events_are_those_that_the_handler_would_hear() {
    let events = Events { add: true, update: false, delete: false };
    let arrivals = Subscription::new(FilterConfig {
        events,
        labels: "app=web".parse().unwrap(),
        ..FilterConfig::default()
    });
    let (out, into) = (state("a1", "db", "1"), state("a2", "web", "1"));

    assert_eq!(arrivals.receives(add(&out), Cause::Live), NOTHING);
    assert_eq!(arrivals.receives(update(&out, &into), Cause::Live), ["+a2"]);
    assert_eq!(arrivals.receives(update(&into, &out), Cause::Live), NOTHING);
    assert_eq!(arrivals.receives(update(&out, &into), Cause::Live), ["+a2"]);
}

/// The rest of the object has neither the fields nor what the expression reads.
#[test]
fn only_events_applies_to_a_replayed_deletion_of_a_dead_letter() {
    let full = state("a2", "web", "3");
    let labels = Header {
        namespace: full.key().namespace,
        name: "web".into(),
        uid: "a".into(),
        resource_version: "a2".into(),
        ..Header::default()
    };
    let left = Arc::new(Object::new(&labels, Body::Raw("{}".into())).unwrap());
    for config in [
        FilterConfig { fields: "spec.n=3".parse().unwrap(), ..FilterConfig::default() },
        FilterConfig { labels: "app=web".parse().unwrap(), ..FilterConfig::default() },
        FilterConfig {
            when: Some("object.?spec.?n.orValue(0) > 2".parse().unwrap()),
            ..FilterConfig::default()
        },
        FilterConfig {
            when: Some("event == 'delete' && object.?spec.?n.orValue(0) > 2".parse().unwrap()),
            ..FilterConfig::default()
        },
    ] {
        let subscription = Subscription::new(config.clone());
        subscription.receives(add(&full), Cause::Live);
        assert_eq!(subscription.receives(delete(&full), Cause::Live), ["-a2"], "{config:?}");
        assert_eq!(subscription.receives(delete(&left), Cause::Live), NOTHING, "{config:?}");

        assert_eq!(subscription.receives(delete(&left), Cause::Replay), ["-a2 replay"], "{config:?}");
    }
    let events = Events { delete: false, ..Events::ALL };
    let subscription = Subscription::new(FilterConfig { events, ..FilterConfig::default() });
    assert_eq!(subscription.receives(delete(&left), Cause::Replay), NOTHING);
}

/// There is one state of it now, and what the expression reads of the change is gone, so it has no answer any more.
#[test]
fn conditions_on_changes_do_not_apply_to_a_replayed_update_of_a_dead_letter() {
    let (one, two) = (state("a1", "web", "1"), state("a2", "web", "2"));
    let subscription = Subscription::when("event != 'update' || object.spec.n != old.spec.n");
    subscription.receives(add(&one), Cause::Live);
    assert_eq!(subscription.receives(update(&one, &two), Cause::Live), ["a1>a2"]);
    assert_eq!(subscription.receives(update(&two, &two), Cause::Resync), NOTHING);

    assert_eq!(subscription.receives(update(&two, &two), Cause::Replay), ["a2>a2 replay"]);
}
