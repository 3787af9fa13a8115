//! The notifications of a plugin when one cache replaces another.

use std::time::Instant;

use informer_dispatch::{Filter, FilterConfig};
use informer_types::{Body, Header, TraceSink, Traced};

use super::*;
use crate::config;

#[derive(Default)]
struct Notified(Mutex<Vec<String>>);

impl NotificationSink for Notified {
    fn offer(&self, notification: Notification) {
        let line = format!(
            "{} {} {}",
            notification.change.verb(),
            notification.change.object().name(),
            notification.cause
        );
        self.0.lock().push(line);
    }
}

fn object(name: &str, uid: &str, rv: &str, body: &str) -> Arc<Object> {
    let header =
        Header { name: name.into(), uid: uid.into(), resource_version: rv.into(), ..Header::default() };
    Arc::new(Object::new(&header, Body::Raw(body.into())).unwrap())
}

fn with_label(name: &str, app: &str) -> Arc<Object> {
    let labels = vec![("app".into(), app.into())];
    let header = Header { name: name.into(), resource_version: "5".into(), labels, ..Header::default() };
    Arc::new(Object::new(&header, Body::Raw("{}".into())).unwrap())
}

fn source() -> Source {
    Source::new("v1/pods".parse().unwrap())
}

fn offer(sink: &Successor, change: Change, cause: Cause) {
    sink.offer(Notification {
        source: source(),
        change,
        cause,
        initial: None,
        observed: Instant::now().into(),
    });
}

/// What a plugin sees that declares nothing.
fn whole() -> View {
    View::of(&config::Subscription::default())
}

/// The informer before had reached version 5.
fn successor(cached: Vec<Arc<Object>>) -> (Successor, Arc<Notified>) {
    seeing(whole(), cached)
}

fn seeing(view: View, cached: Vec<Arc<Object>>) -> (Successor, Arc<Notified>) {
    let notified = Arc::new(Notified::default());
    let until = Some("5".to_owned());
    let received = Received { cached, newer: HashMap::new(), until, view };
    (Successor::new(source(), received, Arc::clone(&notified) as _, Tracer::default()), notified)
}

/// The notifications when the second cache replaces the first.
fn delivered(before: Vec<Arc<Object>>, after: Vec<Arc<Object>>) -> Vec<String> {
    let (sink, notified) = successor(before);
    for object in after {
        offer(&sink, Change::Added { object }, Cause::Initial);
    }
    sink.finish(|_| false);
    let mut lines = notified.0.lock().clone();
    lines.sort();
    lines
}

#[test]
fn an_unchanged_object_is_not_delivered_again() {
    assert!(delivered(vec![object("a", "1", "5", "{}")], vec![object("a", "1", "5", "{}")]).is_empty());
}

#[test]
fn a_changed_object_or_another_kept_part_is_an_update() {
    let before = || vec![object("a", "1", "5", "{}")];

    assert_eq!(delivered(before(), vec![object("a", "1", "6", "{}")]), ["update a relist"]);
    assert_eq!(delivered(before(), vec![object("a", "1", "5", r#"{"spec":1}"#)]), ["update a relist"]);
}

/// Another plugin may make the watch keep more or less (D-21).
#[test]
fn an_unchanged_object_is_no_update_if_only_parts_differ_that_the_plugin_does_not_read() {
    let reads = config::Reading::Parts(vec!["/spec".parse().unwrap()]);
    let on = config::Subscription { reads, ..config::Subscription::default() };
    let (sink, notified) = seeing(View::of(&on), vec![object("a", "1", "5", r#"{"spec":1}"#)]);

    offer(&sink, Change::Added { object: object("a", "1", "5", r#"{"spec":1,"status":2}"#) }, Cause::Initial);
    sink.finish(|_| false);

    assert!(notified.0.lock().is_empty());
}

#[test]
fn an_object_that_is_no_longer_selected_is_deleted_and_a_new_one_is_added() {
    let lines = delivered(vec![object("a", "1", "5", "{}")], vec![object("b", "2", "5", "{}")]);

    assert_eq!(lines, ["add b initial", "delete a relist"]);
}

#[test]
fn another_object_of_the_same_name_is_a_deletion_and_an_addition() {
    let lines = delivered(vec![object("a", "1", "5", "{}")], vec![object("a", "2", "6", "{}")]);

    assert_eq!(lines, ["add a relist", "delete a relist"], "it is not initial");
}

/// An object that the informer before cannot have seen is not initial (C-11).
#[test]
fn an_object_newer_than_the_informer_before_is_not_initial() {
    assert_eq!(delivered(Vec::new(), vec![object("a", "1", "5", "{}")]), ["add a initial"]);
    assert_eq!(delivered(Vec::new(), vec![object("a", "1", "6", "{}")]), ["add a relist"]);
    assert_eq!(
        delivered(Vec::new(), vec![object("a", "1", "x", "{}")]),
        ["add a relist"],
        "a version without an order counts as newer"
    );
}

#[test]
fn every_object_is_initial_if_the_informer_before_had_not_synced() {
    let notified = Arc::new(Notified::default());
    let view = whole();
    let received = Received { cached: Vec::new(), newer: HashMap::new(), until: None, view };
    let sink = Successor::new(source(), received, Arc::clone(&notified) as _, Tracer::default());

    offer(&sink, Change::Added { object: object("a", "1", "6", "{}") }, Cause::Initial);

    assert_eq!(*notified.0.lock(), ["add a initial"]);
}

struct Forward(Arc<Notified>);

impl NotificationSink for Forward {
    fn offer(&self, notification: Notification) {
        self.0.offer(notification);
    }
}

fn labelled(labels: &str, notified: &Arc<Notified>) -> Arc<Filter<Forward>> {
    let config = FilterConfig { labels: labels.parse().unwrap(), ..FilterConfig::default() };
    Arc::new(Filter::new(config, Forward(Arc::clone(notified))))
}

#[test]
fn an_object_that_a_changed_filter_excludes_is_deleted_even_if_the_new_informer_never_reaches_it() {
    let notified = Arc::new(Notified::default());
    let (before, after) = (labelled("app=web", &notified), labelled("app=db", &notified));
    let added = |name, label| Change::Added { object: with_label(name, label) };
    for change in [added("a", "web"), added("b", "db")] {
        before.offer(Notification {
            source: source(),
            change,
            cause: Cause::Live,
            initial: None,
            observed: Instant::now().into(),
        });
    }
    let cached = vec![with_label("a", "web"), with_label("b", "db")];
    let view = whole();
    let received = Received { cached, newer: HashMap::new(), until: Some("5".to_owned()), view };
    let successor = Successor::new(source(), received, Arc::clone(&before) as _, Tracer::default());
    assert_eq!(*notified.0.lock(), ["add a live"]);

    successor.retarget(Arc::clone(&after) as _, None, |object| after.succeed(&before, object));
    let mut swapped = notified.0.lock().split_off(1);
    swapped.sort();
    assert_eq!(swapped, ["add b replay", "delete a replay"]);

    successor.finish(|_| false);
    assert_eq!(notified.0.lock()[1..], ["delete b relist"], "the other object left before");
}

#[test]
fn the_newest_received_version_is_awaited() {
    let (sink, _) = successor(vec![object("a", "1", "4", "{}"), object("b", "1", "9", "{}")]);
    assert_eq!(sink.awaits(), Some("9".parse().unwrap()));

    sink.finish(|_| false);
    assert_eq!(sink.awaits(), None);
}

#[test]
fn every_notification_passes_after_the_end() {
    let (sink, notified) = successor(Vec::new());
    sink.finish(|_| false);

    let web = object("web", "1", "1", "{}");
    offer(&sink, Change::Deleted { object: web, final_state_known: true }, Cause::Live);

    assert_eq!(*notified.0.lock(), ["delete web live"]);
}

#[test]
fn an_older_state_is_withheld_and_the_next_newer_one_is_an_update() {
    let (sink, notified) = successor(vec![object("a", "1", "9", "{}"), object("b", "1", "3", "{}")]);
    let added = |rv| Change::Added { object: object("a", "1", rv, "{}") };

    offer(&sink, added("5"), Cause::Initial);
    sink.reached(Some("5"), |_| false);
    assert_eq!(
        *notified.0.lock(),
        ["delete b relist"],
        "it was received in an earlier version, and is not there"
    );

    let update =
        |old, new| Change::Updated { old: object("a", "1", old, "{}"), new: object("a", "1", new, "{}") };
    offer(&sink, update("5", "7"), Cause::Live);
    offer(&sink, update("7", "9"), Cause::Live);
    offer(&sink, update("9", "11"), Cause::Live);
    assert_eq!(notified.0.lock()[1..], ["update a live"]);
}

#[test]
fn objects_newer_than_the_new_cache_are_kept_until_the_informer_has_caught_up() {
    let (sink, notified) = successor(vec![object("a", "1", "9", "{}"), object("b", "1", "9", "{}")]);

    sink.reached(Some("5"), |_| false);
    assert!(notified.0.lock().is_empty(), "the informer may not have reached them yet");
    offer(&sink, Change::Added { object: object("a", "1", "9", "{}") }, Cause::Live);
    sink.finish(|_| false);
    assert_eq!(*notified.0.lock(), ["delete b relist"]);
}

/// The new informer has no good state of an object that it cannot decode (D-2).
#[test]
fn an_object_that_the_new_informer_cannot_decode_is_not_gone_and_its_next_state_is_an_update() {
    let (sink, notified) = successor(vec![object("a", "1", "5", "{}"), object("b", "1", "5", "{}")]);

    sink.reached(Some("9"), |_| true);
    assert!(notified.0.lock().is_empty());
    sink.finish(|key| *key.name == *"a");
    assert_eq!(*notified.0.lock(), ["delete b relist"]);
    assert!(!sink.is_finished());

    offer(&sink, Change::Added { object: object("a", "1", "12", "{}") }, Cause::Live);
    assert_eq!(notified.0.lock()[1..], ["update a relist"]);
    assert!(sink.is_finished());
}

#[test]
fn a_deletion_of_a_received_object_is_delivered_however_old_its_state_but_not_that_of_an_earlier_object() {
    let (sink, notified) = successor(vec![object("a", "2", "9", "{}"), object("b", "1", "9", "{}")]);
    let gone =
        |name, uid, rv| Change::Deleted { object: object(name, uid, rv, "{}"), final_state_known: false };

    offer(&sink, gone("a", "1", "4"), Cause::Live);
    offer(&sink, gone("b", "1", "4"), Cause::Relist);

    assert_eq!(*notified.0.lock(), ["delete b relist"]);
}

#[derive(Default)]
struct Steps(Mutex<Vec<Step>>);

impl TraceSink for Steps {
    fn record(&self, traced: Traced) {
        assert_eq!((&*traced.key.name, traced.plugin.as_deref()), ("a", Some("ttl")));
        self.0.lock().push(traced.step);
    }
}

#[test]
fn a_withheld_state_is_a_step_of_the_trace() {
    let steps = Arc::new(Steps::default());
    let cached = vec![object("a", "1", "9", "{}")];
    let view = whole();
    let received = Received { cached, newer: HashMap::new(), until: Some("9".to_owned()), view };
    let tracer = Tracer::new(Arc::clone(&steps) as _).of_plugin("ttl");
    let sink = Successor::new(source(), received, Arc::new(Notified::default()), tracer);

    offer(&sink, Change::Added { object: object("a", "1", "5", "{}") }, Cause::Initial);
    offer(&sink, Change::Added { object: object("a", "1", "9", "{}") }, Cause::Initial);

    let withheld = Step::Withheld { verb: "add", version: "5".into(), known: "9".into() };
    assert_eq!(*steps.0.lock(), [withheld], "an unchanged object is no step");
}

#[test]
fn a_third_informer_continues_with_the_states_that_the_second_did_not_reach() {
    let (second, _) = successor(vec![object("a", "1", "9", "{}")]);
    second.reached(Some("5"), |_| false);
    let notified = Arc::new(Notified::default());
    let (newer, until) = second.take();
    let view = whole();
    let received = Received { cached: vec![object("a", "1", "5", "{}")], newer, until, view };
    let third = Successor::new(source(), received, Arc::clone(&notified) as _, Tracer::default());

    offer(&third, Change::Added { object: object("a", "1", "7", "{}") }, Cause::Initial);
    offer(&third, Change::Added { object: object("a", "1", "9", "{}") }, Cause::Initial);
    third.finish(|_| false);

    assert!(notified.0.lock().is_empty());
}
