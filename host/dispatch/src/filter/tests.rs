//! The notifications that each condition lets through, and how an update is mapped (P-21, scenario 96).

mod explaining;
mod recalling;
mod sharing;
mod transitions;

use std::{sync::Arc, time::Instant};

use informer_types::{Body, Header, Source};

use super::*;
use crate::testing::{add, delete, update};

/// The notifications that passed, as text: `+a1`, `a1>a2`, `-a2`, `-a2?`, followed by the cause if it is not live.
#[derive(Clone, Default)]
struct Received(Arc<Mutex<Vec<String>>>);

impl NotificationSink for Received {
    fn offer(&self, notification: Notification) {
        let cause = match notification.cause {
            Cause::Live => String::new(),
            cause => format!(" {cause}"),
        };
        self.0.lock().push(crate::testing::text(&notification.change) + &cause);
    }
}

/// A filter and what passes it.
struct Subscription {
    filter: Filter<Received>,
    received: Received,
}

impl Subscription {
    fn new(config: FilterConfig) -> Self {
        let received = Received::default();
        Self { filter: Filter::new(config, received.clone()), received }
    }

    fn when(text: &str) -> Self {
        Self::new(FilterConfig { when: Some(text.parse().unwrap()), ..FilterConfig::default() })
    }

    /// What the handler receives for one notification.
    fn receives(&self, change: Change, cause: Cause) -> Vec<String> {
        let source = Source::new("v1/pods".parse().unwrap());
        self.filter.offer(Notification {
            source,
            change,
            cause,
            initial: None,
            observed: Instant::now().into(),
        });
        std::mem::take(&mut *self.received.0.lock())
    }
}

fn changed(pointers: &[&str]) -> Changed {
    pointers.iter().map(|pointer| pointer.parse().unwrap()).collect()
}

/// Version `rv` of one object with this JSON.
fn object(rv: &str, json: &str) -> Arc<Object> {
    let header = Header {
        namespace: Arc::from("shop"),
        name: "web".into(),
        uid: "u".into(),
        resource_version: rv.to_owned().into(),
        ..Header::default()
    };
    Arc::new(Object::new(&header, Body::Raw(json.into())).unwrap())
}

/// Version `rv` of one object, with a label `app` and a field `spec.n`.
fn state(rv: &str, app: &str, n: &str) -> Arc<Object> {
    let header = Header {
        namespace: Arc::from("shop"),
        name: "web".into(),
        uid: rv.chars().take(1).collect::<String>().into(),
        resource_version: rv.into(),
        labels: vec![("app".into(), app.to_owned().into())],
        ..Header::default()
    };
    let body = format!(r#"{{"spec":{{"n":{n}}},"status":{{"rv":"{rv}"}}}}"#);
    Arc::new(Object::new(&header, Body::Raw(body.into())).unwrap())
}

const NOTHING: [&str; 0] = [];

#[test]
fn without_a_condition_everything_passes_and_nothing_is_remembered() {
    let open = Subscription::new(FilterConfig::default());
    let (one, two) = (state("a1", "web", "1"), state("a2", "web", "1"));

    assert_eq!(open.receives(add(&one), Cause::Initial), ["+a1 initial"]);
    assert_eq!(open.receives(update(&one, &two), Cause::Live), ["a1>a2"]);
    assert_eq!(open.receives(update(&two, &two), Cause::Resync), ["a2>a2 resync"]);
    assert_eq!(open.receives(delete(&two), Cause::Live), ["-a2"]);
    assert_eq!(open.filter.stats(), FilterStats { passed: 4, ..FilterStats::default() });
    assert!(open.filter.state.lock().inside.is_empty());
}

#[test]
fn events_say_which_calls_are_made() {
    let events = Events { add: false, update: true, delete: false };
    let updates = Subscription::new(FilterConfig { events, ..FilterConfig::default() });
    let (one, two) = (state("a1", "web", "1"), state("a2", "web", "1"));

    assert_eq!(updates.receives(add(&one), Cause::Initial), NOTHING);
    assert_eq!(updates.receives(update(&one, &two), Cause::Live), ["a1>a2"]);
    assert_eq!(updates.receives(delete(&two), Cause::Live), NOTHING);
    let stats = updates.filter.stats();
    assert_eq!((stats.passed, stats.suppressed.events, stats.suppressed.total()), (1, 2, 2));
}

#[test]
fn initial_skip_leaves_out_the_additions_of_the_first_list_and_nothing_else() {
    let skip = Subscription::new(FilterConfig {
        initial: Initial::Skip,
        labels: "app=web".parse().unwrap(),
        ..FilterConfig::default()
    });
    let (one, two) = (state("a1", "web", "1"), state("a2", "web", "1"));

    assert_eq!(skip.receives(add(&one), Cause::Initial), NOTHING);
    assert_eq!(skip.receives(update(&one, &two), Cause::Live), ["a1>a2"], "it was there all the time");
    assert_eq!(skip.receives(delete(&two), Cause::Initial), ["-a2 initial"]);
    assert_eq!(skip.filter.stats().suppressed.initial, 1);
}

#[test]
fn objects_of_other_namespaces_are_excluded_whatever_happens_to_them() {
    let in_namespaces = |names: &[&str]| {
        let namespaces = names.iter().map(|&name| name.to_owned()).collect();
        Subscription::new(FilterConfig { namespaces, ..FilterConfig::default() })
    };
    let (one, two) = (state("a1", "web", "1"), state("a2", "web", "1"));
    let (shop, other) = (in_namespaces(&["a", "shop"]), in_namespaces(&["a"]));

    assert_eq!(shop.receives(add(&one), Cause::Initial), ["+a1 initial"]);
    assert_eq!(shop.receives(update(&one, &two), Cause::Live), ["a1>a2"]);
    assert_eq!(shop.receives(delete(&two), Cause::Live), ["-a2"]);
    assert_eq!(other.receives(add(&one), Cause::Initial), NOTHING);
    assert_eq!(other.receives(update(&one, &two), Cause::Live), NOTHING);
    assert_eq!(other.receives(delete(&two), Cause::Live), NOTHING);
    let stats = other.filter.stats();
    assert_eq!((stats.passed, stats.suppressed.namespaces, stats.suppressed.total()), (0, 3, 3));
    assert_eq!(other.filter.excludes(&one), Some("namespaces"));
    assert_eq!(
        (other.filter.excludes_key(&one.key()), shop.filter.excludes_key(&one.key())),
        (Some("namespaces"), None)
    );
}

/// An object that the filter before did not select is an addition; one that only the filter before selected is a deletion.
#[test]
fn a_filter_of_other_namespaces_succeeds_with_the_difference() {
    let in_namespace =
        |name: &str| FilterConfig { namespaces: [name.to_owned()].into(), ..FilterConfig::default() };
    let one = state("a1", "web", "1");
    let (before, after) = (Subscription::new(in_namespace("shop")), Subscription::new(in_namespace("other")));
    before.receives(add(&one), Cause::Live);
    let leaves = after.filter.succeed(&before.filter, &one).unwrap();
    assert_eq!(after.receives(leaves, Cause::Relist), ["-a1? relist"]);

    let again = Subscription::new(in_namespace("shop"));
    let enters = again.filter.succeed(&after.filter, &one).unwrap();
    assert_eq!(again.receives(enters, Cause::Relist), ["+a1 relist"]);
}

#[test]
fn changed_counts_an_update_only_if_the_value_at_a_pointer_differs() {
    let changed = changed(&["/spec", "/metadata/labels"]);
    let spec = Subscription::new(FilterConfig { changed, ..FilterConfig::default() });
    let (one, same, other) = (state("a1", "web", "1"), state("a2", "web", "1"), state("a3", "web", "2"));

    assert_eq!(spec.receives(add(&one), Cause::Live), ["+a1"]);
    assert_eq!(spec.receives(update(&one, &same), Cause::Live), NOTHING, "only /status differs");
    assert_eq!(spec.receives(update(&same, &other), Cause::Relist), ["a2>a3 relist"]);
    assert_eq!(spec.receives(delete(&other), Cause::Live), ["-a3"], "it is about updates alone");
    assert_eq!(spec.filter.stats().suppressed.changed, 1);
}

/// The API server raises the generation with the spec, and keeps none for some kinds.
#[test]
fn the_generation_counts_and_without_one_all_but_metadata_and_status() {
    let generation = |partial| {
        let changed = Changed { generation: true, partial, ..Changed::default() };
        Subscription::new(FilterConfig { changed, ..FilterConfig::default() })
    };
    let passes = |partial, old: &str, new: &str| {
        let (old, new) = (object("1", old), object("2", new));
        generation(partial).receives(update(&old, &new), Cause::Live) != NOTHING
    };

    let first = r#"{"metadata":{"generation":1,"labels":{}},"spec":{"n":1}}"#;
    assert!(passes(false, first, r#"{"metadata":{"generation":2},"spec":{"n":2}}"#));
    assert!(!passes(
        false,
        first,
        r#"{"metadata":{"generation":1,"labels":{"a":"b"}},"spec":{"n":1},"status":{}}"#
    ));
    assert!(
        !passes(true, first, r#"{"metadata":{"generation":1},"status":{}}"#),
        "a generation is always kept"
    );

    let plain = r#"{"kind":"ConfigMap","metadata":{"labels":{}},"data":{"a":"1"}}"#;
    assert!(passes(false, plain, r#"{"kind":"ConfigMap","metadata":{"labels":{}},"data":{"a":"2"}}"#));
    assert!(passes(false, plain, r#"{"kind":"ConfigMap","metadata":{"labels":{}}}"#));
    assert!(passes(false, plain, r#"{"metadata":{},"data":{"a":"1"},"binaryData":{}}"#));
    assert!(passes(
        false,
        plain,
        r#"{"metadata":{"deletionTimestamp":"2026-01-01T00:00:00Z"},"data":{"a":"1"}}"#
    ));
    assert!(!passes(false, plain, r#"{"data": { "a" : "1" },"metadata":{"labels":{"a":"b"}},"status":3}"#));
    assert!(
        passes(true, plain, r#"{"metadata":{"labels":{"a":"b"}}}"#),
        "what is not kept cannot be compared"
    );
    assert!(passes(false, first, plain), "the old one had a generation");
}

#[test]
fn annotations_select_objects_and_an_object_without_them_leaves() {
    let annotations = "example.com/auto=true,!legacy".parse().unwrap();
    let auto = Subscription::new(FilterConfig { annotations, ..FilterConfig::default() });
    let none = object("1", r#"{"metadata":{"labels":{"example.com/auto":"true"}}}"#);
    let with = object("2", r#"{"metadata":{"annotations":{"example.com/auto":"tr\u0075e"}}}"#);
    let also = object("3", r#"{"metadata":{"annotations":{"legacy":"","example.com/auto":"true"}}}"#);

    assert_eq!(auto.receives(add(&none), Cause::Live), NOTHING);
    assert_eq!(auto.receives(update(&none, &with), Cause::Live), ["+2"]);
    assert_eq!(auto.receives(update(&with, &also), Cause::Live), ["-2"]);
    assert_eq!(auto.filter.stats().suppressed.annotations, 1);
    assert_eq!(auto.filter.excludes(&also), Some("annotations"));
}

/// A resync or a relist that the subscription wants is delivered, although no field changed (D-5).
#[test]
fn changed_does_not_apply_to_an_update_without_a_newer_state() {
    let changed = changed(&["/spec"]);
    let spec = Subscription::new(FilterConfig { changed, ..FilterConfig::default() });
    let (one, again) = (state("a1", "web", "1"), state("a1", "web", "1"));

    assert_eq!(spec.receives(update(&one, &one), Cause::Resync), ["a1>a1 resync"]);
    assert_eq!(spec.receives(update(&one, &again), Cause::Relist), ["a1>a1 relist"]);
}

/// Some aggregated API servers send objects without versions.
#[test]
fn changed_compares_the_contents_of_objects_without_versions() {
    let changed = changed(&["/spec"]);
    let spec = Subscription::new(FilterConfig { changed, ..FilterConfig::default() });
    let state = |n: u32, status: u32| object("", &format!(r#"{{"spec":{{"n":{n}}},"status":{status}}}"#));

    assert_eq!(spec.receives(update(&state(1, 1), &state(1, 2)), Cause::Live), NOTHING);
    assert_eq!(spec.receives(update(&state(1, 2), &state(2, 2)), Cause::Live), [">"]);
    assert_eq!(spec.receives(update(&state(2, 2), &state(2, 2)), Cause::Relist), ["> relist"]);
}

#[test]
fn a_body_that_cannot_be_read_withholds_nothing_and_is_counted() {
    let broken = |rv: &str| {
        let header = Header { resource_version: rv.to_owned().into(), ..Header::default() };
        Arc::new(Object::new(&header, Body::Raw("{".into())).unwrap())
    };
    let (changed, fields) = (changed(&["/spec"]), "spec.n=1".parse().unwrap());
    let subscription = Subscription::new(FilterConfig { changed, fields, ..FilterConfig::default() });

    assert_eq!(subscription.receives(add(&broken("1")), Cause::Live), ["+1"]);
    assert_eq!(subscription.receives(update(&broken("1"), &broken("2")), Cause::Live), ["1>2"]);
    assert_eq!(subscription.filter.stats().unreadable, 3);
}

#[test]
fn an_expression_about_changes_judges_the_mapped_notification() {
    let grown = Subscription::when("old == null || object.spec.n > old.spec.n");
    let (one, two, three) = (state("a1", "web", "1"), state("a2", "web", "2"), state("a3", "web", "1"));

    assert_eq!(grown.receives(add(&one), Cause::Live), ["+a1"]);
    assert_eq!(grown.receives(update(&one, &two), Cause::Live), ["a1>a2"]);
    assert_eq!(grown.receives(update(&two, &three), Cause::Live), NOTHING);
    assert_eq!(grown.receives(delete(&three), Cause::Live), ["-a3"]);
    assert_eq!(grown.filter.stats().when.evaluations, 3, "a deletion passes without an evaluation");
}

#[test]
fn an_expression_that_names_the_event_is_taken_at_its_word() {
    let subscription = Subscription::when("event == 'add' || (event == 'delete' && object.spec.n == 1)");
    let (one, two) = (state("a1", "web", "1"), state("a2", "web", "2"));

    assert_eq!(subscription.receives(add(&one), Cause::Live), ["+a1"]);
    assert_eq!(subscription.receives(update(&one, &two), Cause::Live), NOTHING);
    assert_eq!(subscription.receives(delete(&two), Cause::Live), NOTHING);
    assert_eq!(subscription.receives(delete(&one), Cause::Live), ["-a1"]);
    assert_eq!(subscription.filter.stats().suppressed.when, 2);
}

#[test]
fn an_expression_about_changes_sees_the_verb_that_the_selectors_mapped() {
    let config = FilterConfig {
        labels: "app=web".parse().unwrap(),
        when: Some("event != 'update'".parse().unwrap()),
        ..FilterConfig::default()
    };
    let subscription = Subscription::new(config);
    let (out, into) = (state("a1", "db", "1"), state("a2", "web", "1"));

    assert_eq!(subscription.receives(add(&out), Cause::Live), NOTHING);
    assert_eq!(subscription.receives(update(&out, &into), Cause::Live), ["+a2"]);
    assert_eq!(subscription.receives(update(&into, &into), Cause::Resync), NOTHING);
    assert_eq!(subscription.receives(update(&into, &out), Cause::Live), ["-a2"]);
}

/// An expression that cannot be evaluated lets the notification pass (D-9).
#[test]
fn an_expression_that_fails_suppresses_nothing_and_reports_the_reason() {
    let subscription = Subscription::when("object.spec.n > 2");
    let (bad, good, low) = (state("a1", "web", "\"x\""), state("a2", "web", "3"), state("a3", "web", "1"));

    assert_eq!(subscription.receives(add(&bad), Cause::Live), ["+a1"]);
    assert_eq!(subscription.receives(update(&bad, &good), Cause::Live), ["a1>a2"], "an error let it in");
    assert_eq!(
        subscription.receives(update(&good, &bad), Cause::Live),
        ["a2>a1"],
        "an error excludes no object"
    );
    assert_eq!(
        subscription.receives(update(&bad, &low), Cause::Live),
        ["-a1"],
        "the handler had received it"
    );
    assert_eq!(subscription.receives(update(&low, &bad), Cause::Live), ["+a1"]);
    assert_eq!(subscription.receives(delete(&bad), Cause::Live), ["-a1"]);
    let when = subscription.filter.stats().when;
    assert_eq!((when.evaluations, when.errors), (5, 3));
    let error = when.last_error.unwrap();
    assert_eq!(error, "found no matching overload for '_>_' applied to '(string, int)'");
    assert!(when.longest > std::time::Duration::ZERO && when.time >= when.longest);
}

#[test]
fn many_offered_at_once_pass_in_their_order() {
    let subscription = Subscription::when("object.spec.n > 2");
    let (low, high, higher) = (state("a1", "web", "1"), state("a2", "web", "3"), state("a3", "web", "4"));
    let changes =
        [add(&low), update(&low, &high), update(&high, &higher), update(&higher, &low), delete(&low)];
    let source = Source::new("v1/pods".parse().unwrap());
    let notify = |change| Notification {
        source: source.clone(),
        change,
        cause: Cause::Live,
        initial: None,
        observed: Instant::now().into(),
    };

    let mut offered: VecDeque<Notification> = changes.into_iter().map(notify).collect();
    subscription.filter.offer_all(&mut offered);

    assert!(offered.is_empty());
    assert_eq!(*subscription.received.0.lock(), ["+a2", "a2>a3", "-a3"]);
    let stats = subscription.filter.stats();
    assert_eq!((stats.passed, stats.entered, stats.left, stats.suppressed.when), (3, 1, 1, 2));
}
