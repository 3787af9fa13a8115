//! The trace of each delta: first the indexer's decision, then the notified listeners.

use informer_types::{TraceSink, Traced};

use super::*;

#[derive(Default)]
struct Steps(Mutex<Vec<String>>);

impl TraceSink for Steps {
    fn record(&self, traced: Traced) {
        let Traced { key, plugin, step, .. } = traced;
        let text = match step {
            Step::Stored { cause, old: Some(old), new } => format!("{old} by {new} {cause}"),
            Step::Stored { cause, old: None, new } => format!("{new} {cause}"),
            Step::Unchanged { version } => format!("still {version}"),
            Step::Removed { cause, last: Some(last) } => format!("not {last} {cause}"),
            Step::Removed { cause, last: None } => format!("never there {cause}"),
            Step::Distributed { verb, cause, listeners } => format!("{verb} {cause} to {listeners}"),
            Step::Notified { verb, cause } => format!("{verb} {cause} to {}", plugin.as_deref().unwrap()),
            other => panic!("{other:?}"),
        };
        self.0.lock().push(format!("{key}: {text}"));
    }
}

impl Steps {
    fn take(&self) -> Vec<String> {
        std::mem::take(&mut *self.0.lock())
    }
}

fn traced() -> (World, Arc<Steps>) {
    let steps = Arc::new(Steps::default());
    (World::traced(&[], Tracer::new(Arc::clone(&steps) as _)), steps)
}

fn object(name: &str, version: &str) -> Arc<Object> {
    super::object("", name, version)
}

/// The store decides (C-3), and listeners are notified after it was written (C-5).
#[test]
fn the_decision_of_the_store_is_traced_before_the_notification() {
    let (mut world, steps) = traced();

    world.apply(vec![Added(0, object("a", "1")), Updated(0, object("a", "2")), Deleted(0, object("a", "3"))]);

    let expected = [
        "a: 1 live",
        "a: add live to 1",
        "a: 1 by 2 live",
        "a: update live to 1",
        "a: not 2 live",
        "a: delete live to 1",
    ];
    assert_eq!(steps.take(), expected);
}

/// Unchanged objects are not delivered (D-5).
#[test]
fn an_unchanged_object_is_traced_for_the_watch_and_not_for_a_list() {
    let (mut world, steps) = traced();
    world.apply(vec![ReplacedAll(0, list("1", vec![object("a", "1")]))]);
    assert_eq!(steps.take(), ["a: 1 initial", "a: add initial to 1"]);

    world.apply(vec![Updated(0, object("a", "1"))]);
    assert_eq!(steps.take(), ["a: still 1"]);
    world.apply(vec![ReplacedAll(0, list("2", vec![object("a", "1")]))]);
    assert!(steps.take().is_empty());

    world.apply(vec![ReplacedAll(0, list("3", Vec::new()))]);
    assert_eq!(steps.take(), ["a: not 1 relist", "a: delete relist to 1"]);
}

/// Deletions of objects that were never stored are delivered (D-11).
#[test]
fn the_trace_of_a_deletion_shows_if_the_object_was_never_stored() {
    let (mut world, steps) = traced();

    world.apply(vec![Deleted(0, object("a", "1")), DeletedKey(0, ObjectKey::new("", "b"))]);

    assert_eq!(steps.take(), ["a: never there live", "a: delete live to 1", "b: never there live"]);
}

#[test]
fn a_notification_of_one_listener_is_traced_with_its_name() {
    let (mut world, steps) = traced();
    world.apply(vec![Added(0, object("a", "1"))]);
    steps.take();
    let processor = Arc::clone(&world.registration.processor);

    let config = ListenerConfig { name: "late".to_owned(), resync: None, relist_all: true };
    let sink = Arc::new(Recorder::default());
    processor.join(config, sink, || vec![object("a", "1")]).unwrap();
    world.apply(vec![Updated(0, object("a", "1"))]);
    processor.with(world.registration.id, |listener| {
        listener.notify_all([Change::Added { object: object("a", "1") }], Cause::Replay);
        true
    });

    let expected =
        ["a: add initial to late", "a: still 1", "a: update live to late", "a: add replay to recorder"];
    assert_eq!(steps.take(), expected);
}
