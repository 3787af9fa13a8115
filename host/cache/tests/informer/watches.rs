//! Watches and their ends: R-18 to R-30.

use std::time::Duration;

use informer_cache::ErrorClass;
use serde_json::json;
use tokio::time::Instant;

use crate::{
    server::{Answer, Script},
    world::{World, bookmark, config, event, pod, pods},
};

/// Scenarios 50, 72 and 110: each event is applied in order (R-25), and the store decides its kind (C-3). A
/// deletion delivers the state of its event (C-4).
#[tokio::test(start_paused = true)]
async fn events_are_applied_and_delivered_in_order() {
    let script = Script::new();
    script.list(Answer::list("10", &[pod("a", "3")]));
    let watch = script.live_watch();
    let world = World::start(script);

    watch.event("ADDED", &pod("b", "11"));
    watch.event("MODIFIED", &pod("a", "12"));
    // The store decides: it treats these two the other way round (C-3).
    watch.event("ADDED", &pod("a", "13"));
    watch.event("MODIFIED", &pod("c", "14"));
    watch.event("DELETED", &pod("b", "15"));

    world
        .receives(&[
            "add shop/a@3 initial",
            "add shop/b@11 live",
            "update shop/a@3->12 live",
            "update shop/a@12->13 live",
            "add shop/c@14 live",
            "delete shop/b@15 live",
        ])
        .await;
    world.caches(&["shop/a@13", "shop/c@14"]).await;
}

/// Scenario 116: the end of a watch is not a gap (R-18).
#[tokio::test(start_paused = true)]
async fn a_watch_that_ends_normally_is_resumed_at_once_without_a_list() {
    let script = Script::new();
    script.list(Answer::list("10", &[]));
    script.watch(Answer::watch(&[event("ADDED", pod("a", "11"))]));
    let second = script.live_watch();
    let world = World::start(script);
    let start = Instant::now();

    world.watches(2).await;
    second.event("ADDED", &pod("b", "12"));
    world.caches(&["shop/a@11", "shop/b@12"]).await;

    assert_eq!(world.watch_versions(), ["10", "11"]);
    assert_eq!(world.list_versions().len(), 1);
    assert!(start.elapsed() < Duration::from_millis(500), "{:?}", start.elapsed());
}

/// A watch may end in the middle of a frame (A-11).
#[tokio::test(start_paused = true)]
async fn a_broken_connection_is_a_normal_end_of_a_watch() {
    let script = Script::new();
    script.list(Answer::list("10", &[]));
    let watch = script.live_watch();
    let world = World::start(script);
    watch.event("ADDED", &pod("a", "11"));
    watch.bytes(r#"{"type":"ADDED","object":{"kind":"Pod","#);
    watch.reset();

    world.watches(2).await;

    assert_eq!(world.watch_versions(), ["10", "11"]);
    assert_eq!(world.cached(), ["shop/a@11"]);
}

/// A bookmark changes the version (R-30) and nothing else in the cache (C-8).
#[tokio::test(start_paused = true)]
async fn a_bookmark_moves_the_version_without_a_notification() {
    let script = Script::new();
    script.list(Answer::list("10", &[]));
    script.watch(Answer::watch(&[bookmark("30")]));
    let world = World::start(script);

    world.watches(2).await;

    assert_eq!(world.watch_versions(), ["10", "30"]);
    assert!(world.received().is_empty());
    let status = world.informer.status();
    assert_eq!(status.reflectors[0].applied_version, "30");
    assert_eq!((status.counters.bookmarks, status.counters.events), (1, 0));
}

#[tokio::test(start_paused = true)]
async fn watches_with_only_bookmarks_are_reopened_at_most_once_a_second() {
    let script = Script::new();
    script.list(Answer::list("10", &[]));
    for version in ["11", "12", "13"] {
        script.watch(Answer::watch(&[bookmark(version)]));
    }
    let world = World::start(script);

    world.watches(4).await;

    let at: Vec<Instant> = world.script.watches().iter().map(|watch| watch.at).collect();
    assert!(at.windows(2).all(|pair| pair[1] - pair[0] >= Duration::from_secs(1)), "{at:?}");
}

/// Scenario 13: a very short watch is an error (R-20).
#[tokio::test(start_paused = true)]
async fn a_watch_that_ends_within_a_second_without_events_leads_to_a_backoff_and_a_relist() {
    let script = Script::new();
    script.list(Answer::list("10", &[]));
    script.watch(Answer::watch(&[]));
    script.list(Answer::list("11", &[pod("a", "11")]));
    let world = World::start(script);

    assert!(world.fails(ErrorClass::VeryShortWatch).await.contains("a proxy"));
    world.caches(&["shop/a@11"]).await;

    assert_eq!(world.list_versions(), ["0", "10"]);
    let requests = world.script.requests();
    assert!(requests[2].at - requests[1].at >= Duration::from_millis(800));
}

/// Scenarios 14, 26 and 32: objects of another type (R-26) and without metadata (R-27) are skipped.
#[tokio::test(start_paused = true)]
async fn objects_of_another_type_are_skipped_and_do_not_move_the_version() {
    let script = Script::new();
    script.list(Answer::list("10", &[]));
    let table = json!({"kind": "Table", "apiVersion": "meta.k8s.io/v1", "rows": []});
    let bare = json!({"kind": "Pod", "apiVersion": "v1"});
    let service =
        json!({"kind": "Service", "apiVersion": "v1", "metadata": {"name": "s", "resourceVersion": "99"}});
    let mark = json!({"type": "BOOKMARK", "object": {"kind": "Service", "apiVersion": "v1", "metadata": {"resourceVersion": "98"}}});
    script.watch(Answer::watch(&[
        event("ADDED", service),
        event("ADDED", table),
        event("MODIFIED", bare),
        mark,
        event("ADDED", pod("a", "11")),
    ]));
    let world = World::start(script);

    world.watches(2).await;

    assert_eq!(world.watch_versions(), ["10", "11"]);
    assert_eq!(world.cached(), ["shop/a@11"]);
    assert_eq!(world.informer.status().counters.skipped, 4);
}

/// Scenario 14: versions are not compared (R-28).
#[tokio::test(start_paused = true)]
async fn the_version_is_recorded_verbatim_even_if_it_goes_back() {
    let script = Script::new();
    script.list(Answer::list("10", &[]));
    script.watch(Answer::watch(&[event("MODIFIED", pod("a", "55")), event("ADDED", pod("b", "32"))]));
    let world = World::start(script);

    world.watches(2).await;

    assert_eq!(world.watch_versions(), ["10", "32"]);
}

/// A watch from no version begins anew, and misses the deletions since the last event (R-18).
#[tokio::test(start_paused = true)]
async fn an_object_without_a_version_leaves_the_last_version_as_it_was() {
    let script = Script::new();
    script.list(Answer::list("10", &[]));
    script.watch(Answer::watch(&[event("MODIFIED", pod("a", "55")), event("ADDED", pod("b", ""))]));
    let world = World::start(script);

    world.watches(2).await;

    assert_eq!(world.watch_versions(), ["10", "55"]);
    world.caches(&["shop/a@55", "shop/b@"]).await;
    assert_eq!(world.informer.last_synced_version(), Ok(Some("55".to_owned())));
}

/// A watch without a version starts with ADDED events in any order (R-29).
#[tokio::test(start_paused = true)]
async fn a_synthetic_snapshot_does_not_move_the_version() {
    let script = Script::new();
    script.list(Answer::list("", &[]));
    script.watch(Answer::watch(&[event("ADDED", pod("a", "55")), event("ADDED", pod("b", "32"))]));
    script.list(Answer::list("", &[pod("a", "55"), pod("b", "32")]));
    script.watch(Answer::watch(&[event("ADDED", pod("a", "55")), event("MODIFIED", pod("b", "56"))]));
    let world = World::start(script);

    world.watches(3).await;

    assert_eq!(world.watch_versions(), ["", "", "56"]);
    assert_eq!(world.list_versions(), ["0", "0"]);
}

/// A watch without a version starts with the current state (R-29), so it shows no deletion before its start.
#[tokio::test(start_paused = true)]
async fn without_versions_a_list_finds_what_was_deleted_between_two_watches() {
    for version in ["", "0"] {
        let script = Script::new();
        script.list(Answer::list(version, &[pod("a", ""), pod("b", "")]));
        script.watch(Answer::watch(&[event("ADDED", pod("a", "")), event("ADDED", pod("b", ""))]));
        script.list(Answer::list(version, &[pod("b", "")]));
        let world = World::start(script);

        world.receives(&["add shop/a@ initial", "add shop/b@ initial", "delete shop/a@ relist?"]).await;
        world.watches(2).await;

        assert_eq!(world.list_versions(), ["0", "0"]);
        assert_eq!(world.cached(), ["shop/b@"]);
        assert_eq!(world.informer.status().counters.failures, 0);
        let requests = world.script.requests();
        assert!(requests[2].at - requests[1].at >= Duration::from_secs(1), "{requests:?}");
    }
}

/// Unchanged objects are not delivered (P-6).
#[tokio::test(start_paused = true)]
async fn an_event_with_a_state_that_is_in_the_cache_is_not_delivered() {
    let script = Script::new();
    script.list(Answer::list("10", &[pod("a", "3")]));
    let watch = script.live_watch();
    let world = World::start(script);

    watch.event("ADDED", &pod("a", "3"));
    watch.event("ADDED", &pod("b", "4"));

    world.receives(&["add shop/a@3 initial", "add shop/b@4 live"]).await;
    assert_eq!(world.informer.status().counters.suppressed_unchanged, 1);
}

/// Scenarios 50, 59 and 76: every deletion of the watch is delivered (D-11).
#[tokio::test(start_paused = true)]
async fn the_deletion_of_an_object_that_was_never_seen_is_delivered() {
    let script = Script::new();
    script.list(Answer::list("10", &[]));
    let watch = script.live_watch();
    let world = World::start(script);

    watch.event("DELETED", &pod("ghost", "11"));

    world.receives(&["delete shop/ghost@11 live"]).await;
}

#[tokio::test(start_paused = true)]
async fn a_watch_that_the_server_does_not_end_is_resumed_soon_after_its_timeout() {
    let script = Script::new();
    script.list(Answer::list("10", &[]));
    let config = informer_cache::FactoryConfig { idle_watch_timeout: Duration::MAX, ..config() };
    let world = World::start_with(script, config, pods());
    world.watches(1).await;
    let opened = Instant::now();
    let timeout: u64 = world.script.watches()[0].get("timeoutSeconds").parse().unwrap();

    tokio::time::sleep(Duration::from_secs(timeout + 31)).await;

    assert_eq!(world.watch_versions(), ["10", "10"]);
    let reopened = world.script.watches()[1].at - opened;
    assert!(reopened >= Duration::from_secs(timeout), "{reopened:?}");
    assert_eq!(world.informer.status().counters.silent_watches, 1);
    assert_eq!(world.list_versions().len(), 1);
}

#[tokio::test(start_paused = true)]
async fn an_idle_watch_is_resumed_after_the_configured_time() {
    let script = Script::new();
    script.list(Answer::list("10", &[]));
    let idle = Duration::from_secs(60);
    let config = informer_cache::FactoryConfig { idle_watch_timeout: idle, ..config() };
    let world = World::start_with(script, config, pods());
    world.watches(1).await;

    tokio::time::sleep(Duration::from_secs(61)).await;

    assert_eq!(world.watch_versions(), ["10", "10"]);
}

/// A half-open connection is detected without HTTP/2 pings, which client-go needs.
#[tokio::test(start_paused = true)]
async fn bookmarks_keep_a_quiet_watch_open_and_three_minutes_without_one_end_it() {
    let script = Script::new();
    script.list(Answer::list("10", &[]));
    let watch = script.live_watch();
    let min_watch_timeout = Duration::from_secs(60 * 60);
    let config = informer_cache::FactoryConfig { min_watch_timeout, ..config() };
    let world = World::start_with(script, config, pods());
    for version in 11..15 {
        tokio::time::sleep(Duration::from_secs(60)).await;
        watch.frame(&bookmark(&version.to_string()));
    }
    tokio::time::sleep(Duration::from_secs(179)).await;
    assert_eq!(world.watch_versions(), ["10"]);

    tokio::time::sleep(Duration::from_secs(2)).await;

    assert_eq!(world.watch_versions(), ["10", "14"]);
    let status = world.informer.status();
    assert_eq!((status.counters.silent_watches, status.counters.failures), (1, 0));
    assert_eq!(world.list_versions().len(), 1);
}

/// Only a watch that the server ends is very short (R-20).
#[tokio::test(start_paused = true)]
async fn a_watch_that_is_given_up_within_a_second_is_not_very_short() {
    let script = Script::new();
    script.list(Answer::list("10", &[]));
    let idle = Duration::from_millis(100);
    let config = informer_cache::FactoryConfig { idle_watch_timeout: idle, ..config() };
    let world = World::start_with(script, config, pods());

    world.watches(3).await;

    assert_eq!((world.list_versions().len(), world.informer.status().counters.failures), (1, 0));
    let watches = world.script.watches();
    assert!(watches[2].at - watches[1].at >= Duration::from_secs(1));
}

#[tokio::test(start_paused = true)]
async fn a_last_frame_without_a_newline_is_accepted() {
    let script = Script::new();
    script.list(Answer::list("10", &[]));
    script.watch(Answer::ok(event("ADDED", pod("a", "11")).to_string()));
    let world = World::start(script);

    world.caches(&["shop/a@11"]).await;
    world.watches(2).await;

    assert_eq!(world.watch_versions(), ["10", "11"]);
}

/// Scenario 27: the timeout is random and at least five minutes (R-19).
#[tokio::test(start_paused = true)]
async fn the_requested_timeout_is_between_the_minimum_and_twice_the_minimum() {
    for (least, expected) in [(None, 300..=600), (Some(1), 300..=600), (Some(30 * 60), 1_800..=3_600)] {
        let script = Script::new();
        script.list(Answer::list("10", &[]));
        let mut config = config();
        config.min_watch_timeout = least.map_or(config.min_watch_timeout, Duration::from_secs);
        let world = World::start_with(script, config, pods());

        world.watches(1).await;

        let timeout: u64 = world.script.watches()[0].get("timeoutSeconds").parse().unwrap();
        assert!(expected.contains(&timeout), "{least:?}: {timeout}");
    }
}
