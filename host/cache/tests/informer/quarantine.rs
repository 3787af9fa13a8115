//! Objects that do not decode: D-2, R-31.

use std::{num::NonZeroUsize, sync::Arc};

use futures::FutureExt;
use informer_cache::{FactoryConfig, SharedInformer};
use informer_types::{Notification, NotificationSink, ObjectKey};
use parking_lot::Mutex;
use serde_json::json;

use crate::{
    notification::describe,
    server::{Answer, Live, Script},
    world::{World, config, event, listener, pod, pods, status},
};

fn key(name: &str) -> ObjectKey {
    ObjectKey::new("shop", name)
}

fn broken(name: &str, version: &str) -> serde_json::Value {
    let mut pod = pod(name, version);
    pod["metadata"]["labels"] = json!(["not", "a", "map"]);
    pod
}

/// An object that does not decode is quarantined by its key (D-2).
#[tokio::test(start_paused = true)]
async fn the_last_good_state_stays_until_the_next_good_event_ends_the_quarantine() {
    let script = Script::new();
    script.list(Answer::list("10", &[pod("a", "1")]));
    let watch = script.live_watch();
    let world = World::start(script);

    watch.event("MODIFIED", &broken("a", "11"));
    watch.event("ADDED", &pod("b", "12"));
    world.caches(&["shop/a@1", "shop/b@12"]).await;
    let status = world.informer.status();
    let (key, problem) = status.reflectors[0].quarantined.first_key_value().unwrap();
    assert_eq!(key.to_string(), "shop/a");
    assert!(problem.contains("its metadata cannot be read"), "{problem}");
    assert!(status.to_string().contains("; shop/a cannot be decoded: "), "{status}");

    watch.event("MODIFIED", &pod("a", "13"));
    world.caches(&["shop/a@13", "shop/b@12"]).await;
    assert!(world.informer.status().reflectors[0].quarantined.is_empty());
    assert_eq!(world.informer.status().counters.quarantined, 1);
}

#[tokio::test(start_paused = true)]
async fn the_reason_of_a_quarantine_does_not_grow_with_the_object() {
    let mut bad = pod("bad", "2");
    bad["metadata"]["labels"] = json!("x".repeat(1 << 20));
    let world = World::listing("10", &[bad, pod("a", "1")]);
    world.caches(&["shop/a@1"]).await;

    let status = world.informer.status();
    let problem = &status.reflectors[0].quarantined[&key("bad")];
    assert!(problem.starts_with("its metadata cannot be read: invalid type: string"), "{}", problem.len());
    assert!(problem.len() < 2 << 10, "{}", problem.len());
}

/// Scenario 64.
#[tokio::test(start_paused = true)]
async fn the_watch_resumes_after_an_undecodable_event() {
    let script = Script::new();
    script.list(Answer::list("10", &[]));
    script.watch(Answer::watch(&[event("ADDED", broken("a", "11"))]));
    let world = World::start(script);

    world.watches(2).await;

    assert_eq!(world.watch_versions(), ["10", "11"]);
    assert_eq!(world.list_versions().len(), 1);
}

/// Scenarios 64 and 102: a listed object that does not decode keeps its last good state (D-2).
/// client-go refuses such a list as a whole (Q-7).
#[tokio::test(start_paused = true)]
async fn a_list_with_undecodable_objects_applies_the_others_and_deletes_none_of_them() {
    let script = Script::new();
    script.list(Answer::list("10", &[pod("a", "1"), pod("b", "2")]));
    script.watch(Answer::watch(&[event("ERROR", status(410, "Expired", "x"))]));
    script.list(Answer::list("20", &[broken("a", "15"), broken("new", "16"), pod("c", "17")]));
    let world = World::start(script);

    world.caches(&["shop/a@1", "shop/c@17"]).await;

    assert_eq!(world.received()[2..], ["delete shop/b@2 relist?", "add shop/c@17 relist"]);
    let keys: Vec<String> =
        world.informer.status().reflectors[0].quarantined.keys().map(ToString::to_string).collect();
    assert_eq!(keys, ["shop/a", "shop/new"]);
}

/// Scenario 97: the deletion of an object needs only its key (D-2).
/// A deletion can be used with its key alone (P-22).
#[tokio::test(start_paused = true)]
async fn a_deletion_with_an_undecodable_state_deletes_with_an_unknown_final_state() {
    let script = Script::new();
    script.list(Answer::list("10", &[pod("a", "1")]));
    let watch = script.live_watch();
    let world = World::start(script);

    watch.event("DELETED", &broken("a", "11"));
    watch.event("DELETED", &broken("never-seen", "12"));

    world.receives(&["add shop/a@1 initial", "delete shop/a@1 live?"]).await;
    world.caches(&[]).await;
    assert!(world.informer.status().reflectors[0].quarantined.is_empty());
}

#[tokio::test(start_paused = true)]
async fn an_object_that_is_not_utf_8_is_quarantined_by_its_key() {
    let script = Script::new();
    let bad = br#"{"metadata":{"name":"bad","namespace":"shop","resourceVersion":"5"},"data":"XX"}"#;
    let bad: Vec<u8> = bad.iter().map(|byte| if *byte == b'X' { 0xff } else { *byte }).collect();
    let list = [br#"{"metadata":{"resourceVersion":"10"},"items":["#, &bad[..], b"]}"].concat();
    script.list(Answer::ok(list));
    let watch = script.live_watch();
    let world = World::start(script);

    watch.bytes([br#"{"type":"MODIFIED","object":"#, &bad[..], b"}\n"].concat());
    watch.event("ADDED", &pod("a", "11"));
    world.caches(&["shop/a@11"]).await;

    let status = world.informer.status();
    assert_eq!(status.counters.quarantined, 2);
    assert_eq!(status.reflectors[0].quarantined.keys().next().unwrap().to_string(), "shop/bad");
}

/// Scenario 103.
#[tokio::test(start_paused = true)]
async fn an_object_without_a_name_is_only_counted() {
    let script = Script::new();
    script.list(Answer::list("10", &[json!({"metadata": {"namespace": "shop"}}), pod("a", "1")]));
    let world = World::start(script);

    world.caches(&["shop/a@1"]).await;

    let status = world.informer.status();
    assert_eq!((status.counters.quarantined, status.reflectors[0].quarantined.len()), (1, 0));
}

/// Each list reports anew which objects do not decode (D-2).
#[tokio::test(start_paused = true)]
async fn a_list_in_which_an_object_decodes_ends_its_quarantine() {
    let script = Script::new();
    script.list(Answer::list("10", &[broken("a", "1"), broken("gone", "2")]));
    let watch = script.live_watch();
    script.list(Answer::list("20", &[pod("a", "15")]));
    let world = World::start(script);
    world.watches(1).await;
    assert_eq!(world.informer.status().reflectors[0].quarantined.len(), 2);

    watch.frame(&event("ERROR", status(410, "Expired", "x")));
    world.caches(&["shop/a@15"]).await;

    assert!(world.informer.status().reflectors[0].quarantined.is_empty());
}

/// An object that cannot be decoded is not deleted, although no cache has it (D-2).
#[tokio::test(start_paused = true)]
async fn any_object_may_exist_if_more_objects_do_not_decode_than_are_listed() {
    let bad: Vec<_> = (0..=1_000).map(|number| broken(&format!("a{number}"), "1")).collect();
    let script = Script::new();
    script.list(Answer::list("10", &bad[..2]));
    let watch = script.live_watch();
    script.list(Answer::list("20", &bad));
    let _open = script.live_watch();
    let world = World::start(script);
    world.watches(1).await;
    let may_exist = |name: &str| world.informer.undecoded().may_have(&key(name));
    assert_eq!([may_exist("a1"), may_exist("gone")], [true, false]);

    watch.frame(&event("ERROR", status(410, "Expired", "x")));
    world.watches(2).await;

    assert_eq!([may_exist("a1"), may_exist("gone")], [true, true]);
    let status = world.informer.status().to_string();
    assert!(status.contains("at least 1000 objects cannot be decoded, for example shop/a0: "), "{status}");
}

/// Records for each notification whether a reader of the quarantine and the cache finds shop/a.
struct Reader {
    informer: SharedInformer,
    found: Mutex<Vec<(String, bool)>>,
}

impl NotificationSink for Reader {
    fn offer(&self, notification: Notification) {
        let may_exist = self.informer.undecoded().may_have(&key("a"));
        let exists = may_exist || self.informer.lister().get(&key("a")).is_some();
        self.found.lock().push((describe(&notification), exists));
    }
}

/// The reflector may be ahead of the cache (R-36). A reader of the cache must not take the object for deleted meanwhile.
#[tokio::test(start_paused = true)]
async fn an_object_that_becomes_decodable_stays_in_quarantine_until_the_cache_has_it() {
    let script = Script::new();
    script.list(Answer::list("10", &[broken("a", "1")]));
    let watch = script.live_watch();
    let config = FactoryConfig { delta_queue_capacity: NonZeroUsize::MIN, ..config() };
    let world = World::start_with(script, config, pods());
    let reader = Arc::new(Reader { informer: world.informer.clone(), found: Mutex::default() });
    let sink = Arc::clone(&reader);
    let _registration = world.informer.add_listener(listener("reader"), sink).unwrap();
    world.watches(1).await;

    // Both events arrive together, and the queue has room for one of them.
    watch.bytes(format!("{}\n{}\n", event("ADDED", pod("b", "11")), event("MODIFIED", pod("a", "12"))));
    world.caches(&["shop/a@12", "shop/b@11"]).await;

    let found = reader.found.lock();
    assert_eq!(*found, [("add shop/b@11 live".to_owned(), true), ("add shop/a@12 live".to_owned(), true)]);
}

/// The cache has no state of the object, so no notification shows that it is gone.
#[tokio::test(start_paused = true)]
async fn the_end_of_a_quarantine_is_noticed_however_it_ends() {
    type End = fn(&Live);
    let ends: [(&str, End); 3] = [
        ("a list without the object", |watch| watch.event("ERROR", &status(410, "Expired", "x"))),
        ("its deletion in an undecodable state", |watch| watch.event("DELETED", &broken("a", "11"))),
        ("a state that can be decoded", |watch| watch.event("MODIFIED", &pod("a", "11"))),
    ];
    for (how, end) in ends {
        let script = Script::new();
        script.list(Answer::list("10", &[broken("a", "1"), broken("b", "2")]));
        let watch = script.live_watch();
        script.list(Answer::list("20", &[broken("b", "2")]));
        let world = World::start(script);
        world.watches(1).await;
        let before = world.informer.undecoded();
        let mut released = Box::pin(world.informer.wait_released(&before));
        assert!(released.as_mut().now_or_never().is_none(), "{how}");

        end(&watch);

        assert!(released.await, "{how}");
        let after = world.informer.undecoded();
        assert_eq!(["a", "b"].map(|name| after.may_have(&key(name))), [false, true], "{how}");
    }
}

#[tokio::test(start_paused = true)]
async fn a_wait_for_the_end_of_a_quarantine_ends_with_the_informer() {
    let world = World::listing("10", &[broken("a", "1")]);
    world.informer.wait_synced().await;
    let before = world.informer.undecoded();

    world.factory.shutdown().await;

    assert!(!world.informer.wait_released(&before).await);
    assert!(before.may_have(&key("a")));
}
