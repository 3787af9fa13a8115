//! Lists after the first one, C-6, D-5, D-6.

use std::{sync::Arc, time::Duration};

use informer_cache::{ErrorClass, ListenerConfig};
use tokio::time::Instant;

use crate::{
    server::{Answer, Script},
    world::{Recorder, World, event, listener, pod, pod_of},
};

fn gone() -> serde_json::Value {
    event("ERROR", crate::world::status(410, "Expired", "too old resource version"))
}

/// Scenarios 69, 76, 97, 116 and 117: a 410 in the stream ends the run, and the relist infers deletions.
/// The old state of an update comes from the cache (P-23).
#[tokio::test(start_paused = true)]
async fn after_an_expired_watch_only_the_difference_is_delivered() {
    let script = Script::new();
    script.list(Answer::list("10", &[pod("a", "1"), pod("b", "2"), pod("c", "3")]));
    script.watch(Answer::watch(&[event("MODIFIED", pod("c", "11")), gone()]));
    script.list(Answer::list("20", &[pod("d", "18"), pod("a", "1"), pod("c", "15")]));
    let world = World::start(script);

    world.watches(2).await;

    assert_eq!(world.list_versions(), ["0", "11"]);
    assert_eq!(world.script.lists()[1].get("limit"), "");
    assert_eq!(world.watch_versions(), ["10", "20"]);
    assert_eq!(world.cached(), ["shop/a@1", "shop/c@15", "shop/d@18"]);
    assert_eq!(
        world.received()[3..],
        [
            "update shop/c@3->11 live",
            "delete shop/b@2 relist?",
            "add shop/d@18 relist",
            "update shop/c@11->15 relist",
        ]
    );
}

/// Scenario 68: a list first deletes and then adds and updates (C-6), and its version is applied with it (I-11).
#[tokio::test(start_paused = true)]
async fn a_list_adds_and_deletes_any_objects_together_with_its_version() {
    let script = Script::new();
    script.list(Answer::list("10", &[pod("a", "1"), pod("b", "2")]));
    for (version, objects) in [
        ("20", vec![]),
        ("30", vec![pod("a", "21"), pod("b", "22")]),
        ("40", vec![pod("b", "31"), pod("c", "32")]),
    ] {
        script.watch(Answer::watch(&[gone()]));
        script.list(Answer::list(version, &objects));
    }
    let world = World::start(script);

    for (version, cached) in
        [("20", &[][..]), ("30", &["shop/a@21", "shop/b@22"]), ("40", &["shop/b@31", "shop/c@32"])]
    {
        world.informer.wait_for_version(version, None).await.unwrap();
        assert_eq!(world.cached(), cached, "{version}");
    }

    let mut received = world.received().split_off(2);
    // The deletions of one list have no order.
    received[..2].sort();
    assert_eq!(
        received,
        [
            "delete shop/a@1 relist?",
            "delete shop/b@2 relist?",
            "add shop/a@21 relist",
            "add shop/b@22 relist",
            "delete shop/a@21 relist?",
            "update shop/b@22->31 relist",
            "add shop/c@32 relist",
        ]
    );
}

/// Scenario 22: a watch that cannot be opened ends the run.
#[tokio::test(start_paused = true)]
async fn a_410_when_opening_the_watch_leads_to_a_list_after_a_backoff() {
    let script = Script::new();
    script.list(Answer::list("10", &[pod("a", "1")]));
    script.watch(Answer::error(410, "Expired", "too old resource version: 10"));
    script.list(Answer::list("20", &[pod("a", "1")]));
    let world = World::start(script);

    assert!(world.fails(ErrorClass::Expired).await.contains("410"));
    world.watches(2).await;

    let requests = world.script.requests();
    assert_eq!(world.list_versions(), ["0", "10"]);
    assert!(requests[2].at - requests[1].at >= Duration::from_millis(800));
}

/// Scenario 23: if the version has expired, the newest state is listed at once.
#[tokio::test(start_paused = true)]
async fn a_list_at_an_expired_version_is_followed_at_once_by_a_list_of_the_newest_state() {
    let script = Script::new();
    script.list(Answer::list("10", &[pod("a", "1")]));
    script.watch(Answer::watch(&[gone()]));
    script.list(Answer::error(410, "Expired", "too old"));
    script.list(Answer::list("20", &[pod("b", "2")]));
    let world = World::start(script);

    world.caches(&["shop/b@2"]).await;

    assert_eq!(world.list_versions(), ["0", "10", ""]);
    let lists = world.script.lists();
    assert_eq!(lists[1].at, lists[2].at);
}

/// Scenario 25: a version that is too large for the server is not available.
#[tokio::test(start_paused = true)]
async fn a_version_that_the_server_has_not_reached_leads_at_once_to_a_list_of_the_newest_state() {
    let too_large = serde_json::json!({"kind": "Status", "reason": "Timeout", "code": 504,
        "message": "Too large resource version: 10, current: 3"});
    let script = Script::new();
    script.list(Answer::list("10", &[]));
    script.watch(Answer::watch(&[gone()]));
    script.list(Answer::status(504, too_large.to_string()));
    script.list(Answer::list("4", &[pod("b", "2")]));
    let world = World::start(script);

    world.caches(&["shop/b@2"]).await;

    assert_eq!(world.list_versions(), ["0", "10", ""]);
    world.watches(2).await;
    assert_eq!(world.watch_versions(), ["10", "4"]);
}

/// The newest state is requested until a list succeeds.
#[tokio::test(start_paused = true)]
async fn after_another_failure_the_newest_state_is_still_requested() {
    let script = Script::new();
    script.list(Answer::list("10", &[]));
    script.watch(Answer::watch(&[gone()]));
    script.list(Answer::error(410, "Expired", "too old"));
    script.list(Answer::error(500, "InternalError", "etcd"));
    script.list(Answer::list("20", &[]));
    script.watch(Answer::watch(&[gone()]));
    script.list(Answer::list("30", &[]));
    let world = World::start(script);

    world.watches(3).await;

    assert_eq!(world.list_versions(), ["0", "10", "", "", "20"]);
}

/// Scenario 82: a relist does not deliver unchanged objects, except to listeners with `relist_all` (D-5).
/// The resync period of the informer does not matter (P-7).
#[tokio::test(start_paused = true)]
async fn unchanged_objects_are_delivered_only_to_listeners_that_requested_them() {
    let script = Script::new();
    script.list(Answer::list("10", &[pod("a", "1"), pod("b", "2")]));
    let watch = script.live_watch();
    script.list(Answer::list("20", &[pod("a", "1"), pod("b", "12")]));
    let world = World::start(script);
    world.informer.wait_synced().await;
    let all = Arc::new(Recorder::default());
    let config = ListenerConfig { relist_all: true, ..listener("all") };
    world.informer.add_listener(config, Arc::clone(&all) as _).unwrap();

    watch.frame(&gone());
    world.watches(2).await;

    assert_eq!(world.received()[2..], ["update shop/b@2->12 relist"]);
    let mut received = all.received();
    received[..2].sort();
    assert_eq!(
        received,
        [
            "add shop/a@1 initial",
            "add shop/b@2 initial",
            "update shop/a@1->1 relist",
            "update shop/b@2->12 relist"
        ]
    );
}

/// After a change of a CRD the server sends stored objects with new defaults, at the versions that they have (D-5). The cache has
/// to equal the collection (C-17).
#[tokio::test(start_paused = true)]
async fn an_object_that_a_relist_brings_in_another_form_at_the_same_version_is_updated() {
    let script = Script::new();
    script.list(Answer::list("10", &[pod("a", "1"), pod("b", "2")]));
    let watch = script.live_watch();
    let mut defaulted = pod("b", "2");
    defaulted["spec"] = serde_json::json!({"added": "default"});
    script.list(Answer::list("20", &[pod("a", "1"), defaulted.clone()]));
    let world = World::start(script);
    world.informer.wait_synced().await;

    watch.frame(&gone());

    world.receives(&["add shop/a@1 initial", "add shop/b@2 initial", "update shop/b@2->2 relist"]).await;
    let cached: serde_json::Value = serde_json::from_str(&world.objects()[1].json().unwrap()).unwrap();
    assert_eq!(cached, defaulted);
    assert_eq!(world.informer.status().counters.suppressed_unchanged, 1);
}

/// An object with another UID is another object (D-6).
#[tokio::test(start_paused = true)]
async fn an_object_with_another_uid_is_delivered_as_a_deletion_and_an_addition() {
    let script = Script::new();
    script.list(Answer::list("10", &[pod_of("a", "1", "old"), pod_of("b", "2", "old")]));
    script.watch(Answer::watch(&[event("MODIFIED", pod_of("b", "11", "new")), gone()]));
    script.list(Answer::list("20", &[pod_of("a", "15", "new"), pod_of("b", "11", "new")]));
    let world = World::start(script);

    world.watches(2).await;

    assert_eq!(
        world.received()[2..],
        ["delete shop/b@2 live?", "add shop/b@11 live", "delete shop/a@1 relist?", "add shop/a@15 relist",]
    );
}

/// An object is unchanged only if both its UID and its version are (D-6).
#[tokio::test(start_paused = true)]
async fn the_same_version_with_another_uid_is_a_change() {
    let script = Script::new();
    script.list(Answer::list("10", &[pod_of("a", "1", "old")]));
    script.watch(Answer::watch(&[gone()]));
    script.list(Answer::list("20", &[pod_of("a", "1", "new")]));
    let world = World::start(script);

    world.receives(&["add shop/a@1 initial", "delete shop/a@1 relist?", "add shop/a@1 relist"]).await;
}

/// Failures do not change the cache.
#[tokio::test(start_paused = true)]
async fn the_cache_stays_readable_while_all_requests_fail() {
    let script = Script::new();
    script.list(Answer::list("10", &[pod("a", "1")]));
    script.watch(Answer::watch(&[gone()]));
    let world = World::start(script);

    world.lists(5).await;

    assert_eq!(world.cached(), ["shop/a@1"]);
    assert!(world.informer.has_synced());
    assert!(world.informer.status().reflectors[0].consecutive_failures >= 3);
}

/// Scenario 21: a paged answer to the first list means that the server has no watch cache. A later list with
/// pages requests the most recent state (D-15).
#[tokio::test(start_paused = true)]
async fn a_paged_answer_to_the_first_list_makes_later_lists_paged() {
    let script = Script::new();
    script.list(Answer::page("10", "t", &[pod("a", "1")]));
    script.list(Answer::page("10", "", &[pod("b", "2")]));
    script.watch(Answer::watch(&[gone()]));
    script.list(Answer::list("20", &[pod("a", "1")]));
    let world = World::start(script);

    world.caches(&["shop/a@1"]).await;

    let last = world.script.lists().pop().unwrap();
    assert_eq!((last.get("resourceVersion"), last.get("limit")), ("", "500"));
    assert!(Instant::now() > last.at || world.informer.has_synced());
}
