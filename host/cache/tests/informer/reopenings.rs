//! Watches that are reopened repeatedly, scenarios 4 to 8, 15, 28 and 30.

use std::time::Duration;

use informer_cache::{ErrorClass, FactoryConfig};
use serde_json::json;

use crate::{
    server::{Answer, Script},
    world::{World, bookmark, config, event, pod, pods, status},
};

fn internal() -> Answer {
    Answer::watch(&[event("ERROR", status(500, "InternalError", "etcd"))])
}

/// The waits between the watches so far, in milliseconds.
fn waits(world: &World) -> Vec<u128> {
    let watches = world.script.watches();
    watches.windows(2).map(|pair| (pair[1].at - pair[0].at).as_millis()).collect()
}

/// Scenario 4: the waits double, and a refused watch is resumed without a list.
#[tokio::test(start_paused = true)]
async fn refused_connections_lead_to_growing_waits_without_a_list() {
    let script = Script::new();
    script.list(Answer::list("10", &[]));
    (0..9).for_each(|_| script.watch(Answer::Refused));
    let world = World::start(script);

    world.watches(10).await;

    assert_eq!(waits(&world), [800, 1_600, 3_200, 6_400, 12_800, 25_600, 30_000, 30_000, 30_000]);
    assert_eq!(world.list_versions(), ["0"]);
}

/// Scenario 5.
#[tokio::test(start_paused = true)]
async fn the_waits_follow_the_configured_backoff() {
    let script = Script::new();
    script.list(Answer::list("10", &[]));
    (0..5).for_each(|_| script.watch(Answer::Refused));
    let mut backoff = config().backoff;
    backoff.backoff.min = Duration::from_millis(10);
    backoff.backoff.max = Duration::from_millis(100);
    let world = World::start_with(script, FactoryConfig { backoff, ..config() }, pods());

    world.watches(6).await;

    assert_eq!(waits(&world).iter().sum::<u128>(), 10 + 20 + 40 + 80 + 100);
}

/// Scenarios 6 and 7: one sequence of waits serves all failures, for a 429 on opening and in the stream
///
#[tokio::test(start_paused = true)]
async fn each_429_extends_the_same_backoff_and_none_leads_to_a_list() {
    let script = Script::new();
    script.list(Answer::list("10", &[]));
    (0..3).for_each(|_| script.watch(Answer::error(429, "TooManyRequests", "slow down")));
    script.watch(Answer::watch(&[event("ERROR", status(429, "TooManyRequests", "slow down"))]));
    let world = World::start(script);

    world.watches(5).await;

    assert_eq!(waits(&world), [800, 1_600, 3_200, 6_400]);
    assert_eq!(world.list_versions(), ["0"]);
}

/// Scenario 8: the window limits the time of the retries.
#[tokio::test(start_paused = true)]
async fn internal_errors_are_retried_within_the_window() {
    for (window, retries) in [(0, 0), (30, 31)] {
        let script = Script::new();
        script.list(Answer::list("10", &[]));
        (0..=retries).for_each(|_| script.watch(internal()));
        script.list(Answer::list("20", &[]));
        let internal_error_retry = Duration::from_secs(window);
        let world = World::start_with(script, FactoryConfig { internal_error_retry, ..config() }, pods());

        world.lists(2).await;
        world.watches(retries + 2).await;

        let versions = world.watch_versions();
        assert!(versions[..=retries].iter().all(|version| version == "10"), "{versions:?}");
        assert_eq!(versions[retries + 1], "20");
        // client-go does not wait at all.
        assert!(waits(&world)[..retries].iter().all(|wait| *wait >= 1_000));
    }
}

/// Scenario 30: after a StoreReadError, a relist removes the corrupt object.
#[tokio::test(start_paused = true)]
async fn a_force_deleted_corrupt_object_is_deleted_by_the_relist() {
    let script = Script::new();
    script.list(Answer::list("10", &[pod("corrupt", "1"), pod("a", "2")]));
    let unreadable = "unable to transform or decode the object: the object was deleted";
    script.watch(Answer::watch(&[
        event("ADDED", pod("b", "11")),
        event("ERROR", status(500, "StoreReadError", unreadable)),
    ]));
    script.list(Answer::list("20", &[pod("a", "2"), pod("b", "11")]));
    let world = World::start(script);

    assert!(world.fails(ErrorClass::Server).await.contains(unreadable));
    world.watches(2).await;

    assert_eq!(world.cached(), ["shop/a@2", "shop/b@11"]);
    assert_eq!(world.watch_versions(), ["10", "20"]);
    assert_eq!(world.received()[3..], ["delete shop/corrupt@1 relist?"]);
}

/// Scenario 15: an ERROR event without a Status is an error nevertheless.
#[tokio::test(start_paused = true)]
async fn an_error_event_without_a_status_only_ends_the_run() {
    for payload in
        [pod("x", "1"), json!(null), json!("text"), json!([1]), json!({"kind": "Status", "code": "x"})]
    {
        let script = Script::new();
        script.list(Answer::list("10", &[pod("a", "1")]));
        let watch = script.live_watch();
        script.list(Answer::list("20", &[pod("a", "1")]));
        let world = World::start(script);
        watch.frame(&event("ERROR", payload));

        world.watches(2).await;

        assert!(watch.is_closed());
        assert_eq!((world.list_versions(), world.cached().len()), (vec!["0".to_owned(), "10".to_owned()], 1));
    }
}

/// Scenarios 28 and 114: the last version received is recorded verbatim, also of bookmarks, and shown
///
#[tokio::test(start_paused = true)]
async fn the_observed_version_follows_every_kind_of_event() {
    let script = Script::new();
    script.list(Answer::list("5", &[]));
    let watch = script.live_watch();
    let world = World::start(script);
    world.watches(1).await;
    let steps = [
        (event("ADDED", pod("a", "10")), "10"),
        (event("MODIFIED", pod("a", "20")), "20"),
        (bookmark("30"), "30"),
        (event("DELETED", pod("a", "40")), "40"),
    ];
    for (frame, expected) in steps {
        watch.frame(&frame);
        tokio::time::sleep(Duration::from_millis(10)).await;

        assert_eq!(world.informer.status().reflectors[0].observed_version, expected);
    }
}
