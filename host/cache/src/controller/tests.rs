use std::num::NonZeroUsize;

use informer_types::{Body, Gvr, Header, Notification, NotificationSink, Object, ObjectKey, Source, Tracer};
use parking_lot::Mutex;

use super::*;
use crate::{ListenerConfig, Registration, delta_queue::DeltaKind::*, delta_queue::delta_queue};

mod deltas;
mod quarantine;
mod steps;

#[derive(Default)]
struct Recorder(Mutex<Vec<Notification>>);

impl NotificationSink for Recorder {
    fn offer(&self, notification: Notification) {
        self.0.lock().push(notification);
    }
}

impl Recorder {
    fn received(&self) -> Vec<String> {
        let received = self.0.lock();
        let one = |received: &Notification| {
            format!("{} {} {}", received.change.verb(), received.key(), received.cause)
        };
        received.iter().map(one).collect()
    }
}

fn object(namespace: &str, name: &str, version: &str) -> Arc<Object> {
    let header = Header {
        namespace: namespace.into(),
        name: name.into(),
        resource_version: version.into(),
        ..Header::default()
    };
    Arc::new(Object::new(&header, Body::Raw("{}".into())).unwrap())
}

fn list(version: &str, objects: Vec<Arc<Object>>) -> Replacement {
    Replacement { resource_version: version.to_owned(), objects, quarantined: Vec::new() }
}

/// A controller of these namespaces, fed by the test.
struct World {
    controller: Option<Controller>,
    recorder: Arc<Recorder>,
    registration: Registration,
    synced: watch::Receiver<bool>,
    cells: Vec<Arc<ReflectorCell>>,
}

impl World {
    fn new(namespaces: &[&str]) -> Self {
        Self::traced(namespaces, Tracer::default())
    }

    fn traced(namespaces: &[&str], tracer: Tracer) -> Self {
        let cells: Vec<_> = if namespaces.is_empty() {
            vec![Arc::new(ReflectorCell::new(None))]
        } else {
            let one = |namespace: &&str| Arc::new(ReflectorCell::new(Some((*namespace).to_owned())));
            namespaces.iter().map(one).collect()
        };
        let indexer = Arc::new(Indexer::default());
        let processor = Arc::new(Processor::new(Source::new(Gvr::new("", "v1", "pods")), None, tracer));
        let recorder = Arc::new(Recorder::default());
        let config = ListenerConfig { name: "recorder".to_owned(), resync: None, relist_all: false };
        let registration = processor.join(config, Arc::clone(&recorder) as _, Vec::new).unwrap();
        let (_, receiver) = delta_queue(NonZeroUsize::MIN);
        let (synced, receives) = watch::channel(false);
        let controller = Controller::new(receiver, indexer, processor, &cells, synced);
        Self { controller: Some(controller), recorder, registration, synced: receives, cells }
    }

    fn apply(&mut self, deltas: Vec<DeltaKind>) {
        let controller = self.controller.take().unwrap();
        self.controller = Some(controller.apply_all(deltas.into_iter().map(Delta::now).collect()));
    }

    fn synced(&self) -> (bool, bool) {
        self.recorder.0.lock().iter_mut().for_each(|received| received.initial = None);
        (*self.synced.borrow(), self.registration.has_synced())
    }
}

/// Scenario 57: an event before any list counts as the first state.
#[test]
fn an_event_before_any_list_makes_the_informer_synced_and_is_not_initial() {
    let mut world = World::new(&[]);
    assert_eq!(world.synced(), (false, false));

    world.apply(vec![Added(0, object("", "a", "1"))]);

    assert_eq!(world.recorder.received(), ["add a live"]);
    assert_eq!(world.synced(), (true, true));
}

/// Scenario 57: the first list counts even if it is empty; a bookmark only moves the version.
#[test]
fn an_empty_first_list_makes_the_informer_synced_and_a_bookmark_does_not() {
    let mut world = World::new(&[]);

    world.apply(vec![Bookmark(0, "5".to_owned())]);
    assert_eq!(world.synced(), (false, false));
    world.apply(vec![ReplacedAll(0, list("7", Vec::new()))]);

    assert_eq!(world.synced(), (true, true));
    assert_eq!(world.cells[0].snapshot().applied_version, "7");
}

/// Scenarios 60 and 65: deletions are found when the list is applied and delivered first (C-6).
#[test]
fn a_list_is_compared_with_the_store_and_its_deletions_are_delivered_first() {
    let mut world = World::new(&[]);
    world.apply(vec![
        ReplacedAll(0, list("1", vec![object("", "a", "1")])),
        Added(0, object("", "late", "2")),
        ReplacedAll(0, list("3", vec![object("", "new", "3"), object("", "a", "3")])),
        ReplacedAll(0, list("4", vec![object("", "new", "3"), object("", "a", "3")])),
    ]);

    assert_eq!(
        world.recorder.received(),
        ["add a initial", "add late live", "delete late relist", "add new relist", "update a relist"]
    );
}

/// Scenario 57: only objects of a first list are initial (C-11).
#[test]
fn each_namespace_is_replaced_by_itself_and_initial_until_its_first_list() {
    let mut world = World::new(&["bank", "shop"]);

    world.apply(vec![
        ReplacedAll(0, list("1", vec![object("bank", "a", "1")])),
        Added(0, object("bank", "b", "2")),
    ]);
    assert_eq!(world.synced(), (false, false));
    world.apply(vec![
        ReplacedAll(1, list("3", vec![object("shop", "a", "3")])),
        ReplacedAll(0, list("4", vec![object("bank", "b", "2")])),
    ]);

    assert_eq!(
        world.recorder.received(),
        ["add bank/a initial", "add bank/b live", "add shop/a initial", "delete bank/a relist"]
    );
    assert_eq!(world.synced(), (true, true));
}

/// Scenarios 65, 70 and 100: the version of the store is the version of the last applied delta (I-11).
/// A bookmark changes this version and nothing else (C-8).
#[test]
fn the_version_of_the_store_follows_the_applied_deltas() {
    let mut world = World::new(&[]);
    let version = |world: &World| world.cells[0].snapshot().applied_version;

    for (delta, expected) in [
        (ReplacedAll(0, list("10", Vec::new())), "10"),
        (Added(0, object("", "a", "11")), "11"),
        (Updated(0, object("", "a", "12")), "12"),
        (Deleted(0, object("", "a", "13")), "13"),
        (DeletedKey(0, ObjectKey::new("", "x")), "13"),
        (SyncAll, "13"),
        (Bookmark(0, "20".to_owned()), "20"),
    ] {
        world.apply(vec![delta]);

        assert_eq!(version(&world), expected);
    }
}

/// Deltas from before the close are still applied (C-2).
#[tokio::test]
async fn the_controller_ends_when_the_queue_is_closed_and_empty() {
    let mut world = World::new(&[]);
    let (sender, receiver) = delta_queue(NonZeroUsize::new(4).unwrap());
    let mut controller = world.controller.take().unwrap();
    controller.deltas = receiver;
    sender.push(Delta::now(Added(0, object("", "a", "1")))).await;
    sender.push(Delta::now(Deleted(0, object("", "a", "2")))).await;
    drop(sender);

    controller.run().await;

    assert_eq!(world.recorder.received(), ["add a live", "delete a live"]);
}

/// From an object with its header to the notification of a listener.
#[test]
#[ignore = "needs valgrind"]
fn an_update_is_notified_within_its_instructions() {
    let mut world = World::new(&[]);
    world.apply(vec![ReplacedAll(0, list("0", vec![object("shop", "a", "0")]))]);
    const TEST: &str = "controller::tests::an_update_is_notified_within_its_instructions";

    let rounds = informer_instructions::rounds(TEST, 1_000, 25_800);
    for version in 1..=rounds {
        world.apply(vec![Updated(0, object("shop", "a", &version.to_string()))]);
    }

    assert_eq!(world.recorder.received().len(), 1 + rounds as usize);
}
