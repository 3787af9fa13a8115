//! What a plugin is told where one cache follows on another.

use std::time::Instant;

use informer_dispatch::{Filter, FilterConfig};
use informer_types::{Body, Header, TraceSink, Traced};

use super::*;

#[derive(Default)]
struct Heard(Mutex<Vec<String>>);

impl NotificationSink for Heard {
    fn offer(&self, told: Notification) {
        let line = format!("{} {} {}", told.change.verb(), told.change.object().name(), told.cause);
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
    sink.offer(Notification { source: source(), change, cause, initial: None, observed: Instant::now() });
}

/// The one before had come to version 5.
fn successor(cached: Vec<Arc<Object>>) -> (Successor, Arc<Heard>) {
    let heard = Arc::new(Heard::default());
    let told = Told { cached, untold: HashMap::new(), until: Some("5".to_owned()), alike: false };
    (Successor::new(source(), told, Arc::clone(&heard) as _, Tracer::default()), heard)
}

/// What is told where one cache follows on another.
fn told(before: Vec<Arc<Object>>, after: Vec<Arc<Object>>) -> Vec<String> {
    let (sink, told) = successor(before);
    for object in after {
        offer(&sink, Change::Added { object }, Cause::Initial);
    }
    sink.finish();
    let mut lines = told.0.lock().clone();
    lines.sort();
    lines
}

#[test]
fn what_did_not_change_is_not_told_again() {
    assert!(told(vec![object("a", "1", "5", "{}")], vec![object("a", "1", "5", "{}")]).is_empty());
}

#[test]
fn what_changed_or_is_kept_otherwise_is_an_update() {
    let before = || vec![object("a", "1", "5", "{}")];

    assert_eq!(told(before(), vec![object("a", "1", "6", "{}")]), ["update a relist"]);
    assert_eq!(told(before(), vec![object("a", "1", "5", r#"{"spec":1}"#)]), ["update a relist"]);
}

#[test]
fn what_is_not_selected_any_more_is_deleted_and_what_is_new_is_added() {
    let lines = told(vec![object("a", "1", "5", "{}")], vec![object("b", "2", "5", "{}")]);

    assert_eq!(lines, ["add b initial", "delete a relist"]);
}

#[test]
fn another_object_of_the_same_name_is_a_deletion_and_an_addition() {
    let lines = told(vec![object("a", "1", "5", "{}")], vec![object("a", "2", "6", "{}")]);

    assert_eq!(lines, ["add a relist", "delete a relist"], "it is no part of the first state");
}

#[test]
fn what_the_one_before_cannot_have_seen_is_no_part_of_the_first_state_c11() {
    assert_eq!(told(Vec::new(), vec![object("a", "1", "5", "{}")]), ["add a initial"]);
    assert_eq!(told(Vec::new(), vec![object("a", "1", "6", "{}")]), ["add a relist"]);
    assert_eq!(told(Vec::new(), vec![object("a", "1", "x", "{}")]), ["add a relist"], "nobody can say");
}

#[test]
fn where_the_one_before_had_not_synced_everything_is_the_first_state() {
    let heard = Arc::new(Heard::default());
    let told = Told { cached: Vec::new(), untold: HashMap::new(), until: None, alike: false };
    let sink = Successor::new(source(), told, Arc::clone(&heard) as _, Tracer::default());

    offer(&sink, Change::Added { object: object("a", "1", "6", "{}") }, Cause::Initial);

    assert_eq!(*heard.0.lock(), ["add a initial"]);
}

struct Forward(Arc<Heard>);

impl NotificationSink for Forward {
    fn offer(&self, told: Notification) {
        self.0.offer(told);
    }
}

fn labelled(labels: &str, heard: &Arc<Heard>) -> Arc<Filter<Forward>> {
    let config = FilterConfig { labels: labels.parse().unwrap(), ..FilterConfig::default() };
    Arc::new(Filter::new(config, Forward(Arc::clone(heard))))
}

#[test]
fn whom_a_filter_let_in_it_tells_that_it_left_though_the_new_informer_never_came_to_it() {
    let heard = Arc::new(Heard::default());
    let (before, after) = (labelled("app=web", &heard), labelled("app=db", &heard));
    let added = |name, label| Change::Added { object: with_label(name, label) };
    for change in [added("a", "web"), added("b", "db")] {
        before.offer(Notification {
            source: source(),
            change,
            cause: Cause::Live,
            initial: None,
            observed: Instant::now(),
        });
    }
    let cached = vec![with_label("a", "web"), with_label("b", "db")];
    let told = Told { cached, untold: HashMap::new(), until: Some("5".to_owned()), alike: true };
    let successor = Successor::new(source(), told, Arc::clone(&before) as _, Tracer::default());
    assert_eq!(*heard.0.lock(), ["add a live"]);

    successor.retarget(Arc::clone(&after) as _, |object| after.succeed(&before, object));
    let mut swapped = heard.0.lock().split_off(1);
    swapped.sort();
    assert_eq!(swapped, ["add b replay", "delete a replay"]);

    successor.finish();
    assert_eq!(heard.0.lock()[1..], ["delete b relist"], "the other one left before");
}

#[test]
fn what_is_gone_can_be_asked_once_the_newest_that_is_known_was_reached() {
    let (sink, _) = successor(vec![object("a", "1", "4", "{}"), object("b", "1", "9", "{}")]);
    assert_eq!(sink.awaits(), Some("9".parse().unwrap()));

    sink.finish();
    assert_eq!(sink.awaits(), None);
}

#[test]
fn after_the_end_everything_passes() {
    let (sink, told) = successor(Vec::new());
    sink.finish();

    let web = object("web", "1", "1", "{}");
    offer(&sink, Change::Deleted { object: web, final_state_known: true }, Cause::Live);

    assert_eq!(*told.0.lock(), ["delete web live"]);
}

#[test]
fn what_is_older_than_what_is_known_is_not_told_and_what_follows_is_an_update() {
    let (sink, told) = successor(vec![object("a", "1", "9", "{}"), object("b", "1", "3", "{}")]);
    let added = |rv| Change::Added { object: object("a", "1", rv, "{}") };

    offer(&sink, added("5"), Cause::Initial);
    sink.reached(Some("5"));
    assert_eq!(*told.0.lock(), ["delete b relist"], "it was known before that, and is not there");

    let update =
        |old, new| Change::Updated { old: object("a", "1", old, "{}"), new: object("a", "1", new, "{}") };
    offer(&sink, update("5", "7"), Cause::Live);
    offer(&sink, update("7", "9"), Cause::Live);
    offer(&sink, update("9", "11"), Cause::Live);
    assert_eq!(told.0.lock()[1..], ["update a live"]);
}

#[test]
fn what_is_newer_than_the_new_cache_is_kept_until_it_has_caught_up() {
    let (sink, told) = successor(vec![object("a", "1", "9", "{}"), object("b", "1", "9", "{}")]);

    sink.reached(Some("5"));
    assert!(told.0.lock().is_empty(), "it may not have heard of them yet");
    offer(&sink, Change::Added { object: object("a", "1", "9", "{}") }, Cause::Live);
    sink.finish();
    assert_eq!(*told.0.lock(), ["delete b relist"]);
}

#[test]
fn a_deletion_of_what_is_known_is_told_however_old_its_state_and_one_of_another_before_it_is_not() {
    let (sink, told) = successor(vec![object("a", "2", "9", "{}"), object("b", "1", "9", "{}")]);
    let gone =
        |name, uid, rv| Change::Deleted { object: object(name, uid, rv, "{}"), final_state_known: false };

    offer(&sink, gone("a", "1", "4"), Cause::Live);
    offer(&sink, gone("b", "1", "4"), Cause::Relist);

    assert_eq!(*told.0.lock(), ["delete b relist"]);
}

#[derive(Default)]
struct Steps(Mutex<Vec<Step>>);

impl TraceSink for Steps {
    fn record(&self, traced: Traced) {
        assert_eq!((&*traced.key.name, traced.plugin.as_deref()), ("a", Some("ttl")));
        self.0.lock().push(traced.step);
    }
}

/// Issue 4, point 7.
#[test]
fn what_is_older_than_what_is_known_is_written_down() {
    let steps = Arc::new(Steps::default());
    let cached = vec![object("a", "1", "9", "{}")];
    let told = Told { cached, untold: HashMap::new(), until: Some("9".to_owned()), alike: false };
    let tracer = Tracer::new(Arc::clone(&steps) as _).of_plugin("ttl");
    let sink = Successor::new(source(), told, Arc::new(Heard::default()), tracer);

    offer(&sink, Change::Added { object: object("a", "1", "5", "{}") }, Cause::Initial);
    offer(&sink, Change::Added { object: object("a", "1", "9", "{}") }, Cause::Initial);

    let withheld = Step::Withheld { verb: "add", version: "5".into(), known: "9".into() };
    assert_eq!(*steps.0.lock(), [withheld], "what it knows is no step, as in a list");
}

#[test]
fn a_third_one_knows_what_the_second_did_not_get_to_say() {
    let (second, _) = successor(vec![object("a", "1", "9", "{}")]);
    second.reached(Some("5"));
    let heard = Arc::new(Heard::default());
    let (untold, until) = second.take();
    let told = Told { cached: vec![object("a", "1", "5", "{}")], untold, until, alike: true };
    let third = Successor::new(source(), told, Arc::clone(&heard) as _, Tracer::default());

    offer(&third, Change::Added { object: object("a", "1", "7", "{}") }, Cause::Initial);
    offer(&third, Change::Added { object: object("a", "1", "9", "{}") }, Cause::Initial);
    third.finish();

    assert!(heard.0.lock().is_empty());
}
