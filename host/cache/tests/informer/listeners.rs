//! Joining, leaving and being in sync: C-10 to C-12, P-11 to P-17, D-8.

use std::sync::{Arc, OnceLock};

use informer_cache::{InformerFactory, ListQuery, ListenerStatus, SharedInformer, WatchConfig};
use informer_types::{LabelSelector, Notification, NotificationSink, SyncToken};
use parking_lot::Mutex;
use serde_json::json;

use crate::{
    server::{Answer, Script},
    world::{Recorder, World, config, eventually, listener, pod, pods},
};

/// Scenario 91: a listener that joins late receives the cache as initial additions (P-11).
#[tokio::test(start_paused = true)]
async fn a_late_listener_receives_all_cached_objects_and_then_the_changes() {
    let script = Script::new();
    script.list(Answer::list("10", &[pod("a", "1")]));
    let watch = script.live_watch();
    let world = World::start(script);
    watch.event("MODIFIED", &pod("a", "11"));
    world.caches(&["shop/a@11"]).await;

    let late = Arc::new(Recorder::default());
    let registration = world.informer.add_listener(listener("late"), Arc::clone(&late) as _).unwrap();
    assert_eq!(late.received(), ["add shop/a@11 initial"]);
    watch.event("DELETED", &pod("a", "12"));
    world.caches(&[]).await;
    eventually("the deletion", || late.received().len() == 2, || format!("{:?}", late.received())).await;

    assert_eq!(late.received(), ["add shop/a@11 initial", "delete shop/a@12 live"]);
    assert!(!registration.has_synced());
    late.acknowledge();
    assert!(registration.wait_synced().await);
}

/// Scenario 107: a listener has synced once its initial notifications are settled (P-16), however they were (D-8).
#[tokio::test(start_paused = true)]
async fn a_listener_has_synced_once_all_initial_notifications_are_settled() {
    let script = Script::new();
    script.list(Answer::list("10", &[pod("a", "1"), pod("b", "2")]));
    let watch = script.live_watch();
    let world = World::start(script);
    assert!(!world.registration.has_synced());

    assert!(world.informer.wait_synced().await);
    assert!(!world.registration.has_synced());
    let status = ListenerStatus { name: "recorder".to_owned(), synced: false };
    assert_eq!(world.informer.status().listeners, [status]);
    world.recorder.acknowledge();
    assert!(world.registration.has_synced());

    watch.event("ADDED", &pod("c", "11"));
    world.receives(&["add shop/c@11 live"]).await;
    assert!(world.registration.has_synced());
}

/// A listener that joins before the informer has synced waits for all first lists (P-12).
#[tokio::test(start_paused = true)]
async fn a_listener_that_joins_between_two_lists_has_synced_after_both() {
    let script = Script::new();
    let (second, answer) = Answer::live(200);
    let other = json!({"kind": "Pod", "metadata": {"name": "x", "namespace": "bank", "uid": "u", "resourceVersion": "2"}});
    script.path("/api/v1/namespaces/bank/pods", Answer::list("10", &[other]));
    script.path("/api/v1/namespaces/shop/pods", answer);
    let watch = WatchConfig { namespaces: vec!["shop".to_owned(), "bank".to_owned()], ..pods() };
    let world = World::start_with(script, config(), watch);
    world.caches(&["bank/x@2"]).await;
    let late = Arc::new(Recorder::default());
    let registration = world.informer.add_listener(listener("late"), Arc::clone(&late) as _).unwrap();
    late.acknowledge();
    assert!(!registration.has_synced());

    second.bytes(json!({"metadata": {"resourceVersion": "11"}, "items": [pod("a", "3")]}).to_string());
    second.end();
    assert!(world.informer.wait_synced().await);

    assert_eq!(late.received(), ["add shop/a@3 initial"]);
    late.acknowledge();
    assert!(registration.wait_synced().await);
}

/// Scenario 87: removing a listener twice is allowed (P-14).
#[tokio::test(start_paused = true)]
async fn a_removed_listener_receives_nothing_and_can_be_removed_again() {
    let script = Script::new();
    script.list(Answer::list("10", &[pod("a", "1")]));
    let watch = script.live_watch();
    let world = World::start(script);
    world.informer.wait_synced().await;
    let other = Arc::new(Recorder::default());
    world.informer.add_listener(listener("other"), Arc::clone(&other) as _).unwrap();

    world.registration.remove();
    world.registration.remove();
    watch.event("MODIFIED", &pod("a", "11"));
    world.caches(&["shop/a@11"]).await;
    eventually("the update", || other.received().len() == 2, || format!("{:?}", other.received())).await;

    assert_eq!(world.received(), ["add shop/a@1 initial"]);
    assert!(!world.registration.wait_synced().await);
    assert_eq!(world.informer.status().listeners.len(), 1);
}

/// Scenario 86: each registration of a sink is a listener of its own (P-13).
#[tokio::test(start_paused = true)]
async fn a_sink_added_twice_receives_everything_twice() {
    let world = World::listing("10", &[pod("a", "1")]);
    world.informer.wait_synced().await;

    let sink = Arc::clone(&world.recorder);
    let second = world.informer.add_listener(listener("again"), sink).unwrap();
    assert_eq!(world.received().len(), 2);
    second.remove();

    assert_eq!(world.informer.status().listeners.len(), 1);
}

struct Panics;

impl NotificationSink for Panics {
    fn offer(&self, _: Notification) {
        panic!("a bug in a sink");
    }
}

/// Scenario 93: a sink that panics loses the notification and nothing else (P-17).
/// Listeners are independent (P-1).
#[tokio::test(start_paused = true)]
async fn a_panicking_sink_affects_no_other_listener_and_its_notification_counts_as_settled() {
    let script = Script::new();
    script.list(Answer::list("10", &[pod("a", "1")]));
    let watch = script.live_watch();
    let world = World::start(script);
    world.informer.wait_synced().await;

    let broken = world.informer.add_listener(listener("broken"), Arc::new(Panics)).unwrap();
    watch.event("MODIFIED", &pod("a", "11"));
    world.receives(&["add shop/a@1 initial", "update shop/a@1->11 live"]).await;

    assert!(broken.wait_synced().await);
    assert_eq!(world.informer.status().counters.sink_panics, 2);
}

/// Reads the cache at each notification.
struct Looks(informer_cache::Lister, Mutex<Vec<(String, usize)>>);

impl NotificationSink for Looks {
    fn offer(&self, notification: Notification) {
        let object = self.0.get(&notification.key());
        let found = object.map(|object| object.resource_version().to_owned()).unwrap_or_default();
        let labels = LabelSelector::default();
        let query = ListQuery { namespace: Some("shop"), labels: &labels, index: Some(("by-node", "n1")) };
        self.1.lock().push((found, self.0.list(&query).unwrap().len()));
    }
}

/// Scenario 77: the store is written before the listeners are notified (C-5).
/// The old state of an update is the one that the cache held before (P-23).
#[tokio::test(start_paused = true)]
async fn the_cache_and_its_indexes_have_a_change_before_listeners_are_notified() {
    let on_node = |name: &str, version: &str| {
        let mut pod = pod(name, version);
        pod["spec"] = json!({"nodeName": "n1"});
        pod
    };
    let script = Script::new();
    script.list(Answer::list("10", &[on_node("a", "1")]));
    let watch = script.live_watch();
    let indexes = [("by-node".to_owned(), "/spec/nodeName".parse().unwrap())].into();
    let world = World::start_with(script, config(), WatchConfig { indexes, ..pods() });
    world.informer.wait_synced().await;
    let looks = Arc::new(Looks(world.informer.lister(), Mutex::default()));
    world.informer.add_listener(listener("looks"), Arc::clone(&looks) as _).unwrap();

    // One by one: if several events arrive together, the cache may be ahead, but never behind.
    let events =
        [("ADDED", on_node("b", "11")), ("MODIFIED", pod("a", "12")), ("DELETED", on_node("b", "13"))];
    for (received, (kind, object)) in events.into_iter().enumerate() {
        watch.event(kind, &object);
        let looked = || looks.1.lock().len() == received + 2;
        eventually("a look", looked, || format!("{:?}", looks.1.lock())).await;
    }

    let seen = looks.1.lock();
    let versions: Vec<&str> = seen.iter().map(|(version, _)| version.as_str()).collect();
    assert_eq!(versions, ["1", "11", "12", ""]);
    assert_eq!(seen.iter().map(|(_, on_node)| *on_node).collect::<Vec<_>>(), [1, 2, 1, 0]);
}

/// Checks at each notification whether the informer has synced.
#[derive(Default)]
struct Asking {
    informer: OnceLock<SharedInformer>,
    answers: Mutex<Vec<bool>>,
}

impl NotificationSink for Asking {
    fn offer(&self, _: Notification) {
        self.answers.lock().push(self.informer.get().unwrap().has_synced());
    }

    fn listed(&self, _: SyncToken) {
        self.answers.lock().push(self.informer.get().unwrap().has_synced());
    }
}

/// Scenarios 55 and 61: the informer has synced once the whole first list was applied and offered, and the listener knows
/// that it was the whole list.
#[tokio::test(start_paused = true)]
async fn the_informer_has_synced_only_after_the_last_initial_notification() {
    let script = Script::new();
    script.list(Answer::list("10", &[pod("a", "1"), pod("b", "2"), pod("c", "3")]));
    let watch = script.live_watch();
    let factory = InformerFactory::new(script.client(), config());
    let informer = factory.informer(pods());
    let asking = Arc::new(Asking::default());
    asking.informer.set(informer.clone()).unwrap();
    informer.add_listener(listener("asking"), Arc::clone(&asking) as _).unwrap();
    factory.start();
    assert!(informer.wait_synced().await);

    watch.event("ADDED", &pod("d", "11"));
    eventually("5", || asking.answers.lock().len() == 5, || format!("{:?}", asking.answers.lock())).await;

    assert_eq!(*asking.answers.lock(), [false, false, false, false, true]);
}
