//! How a watch is read and what follows its end: R-18 to R-30.

use std::time::Duration;

use informer_cache::ErrorClass;
use serde_json::json;
use tokio::time::Instant;

use crate::{
    server::{Answer, Script},
    world::{World, bookmark, config, event, pod, pods},
};

/// Scenarios 50, 72 and 110.
#[tokio::test(start_paused = true)]
async fn events_are_applied_and_told_in_order_r25_c3() {
    let script = Script::new();
    script.list(Answer::list("10", &[pod("a", "3")]));
    let watch = script.live_watch();
    let world = World::start(script);

    watch.event("ADDED", &pod("b", "11"));
    watch.event("MODIFIED", &pod("a", "12"));
    // The store decides: these two are the other way round for it (C-3).
    watch.event("ADDED", &pod("a", "13"));
    watch.event("MODIFIED", &pod("c", "14"));
    watch.event("DELETED", &pod("b", "15"));

    world
        .tells(&[
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

/// Scenario 116.
#[tokio::test(start_paused = true)]
async fn a_watch_that_ends_normally_is_resumed_at_once_and_without_a_list_r18() {
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

#[tokio::test(start_paused = true)]
async fn a_connection_that_breaks_is_a_normal_end_a11() {
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

#[tokio::test(start_paused = true)]
async fn a_bookmark_moves_the_version_and_tells_nobody_r30() {
    let script = Script::new();
    script.list(Answer::list("10", &[]));
    script.watch(Answer::watch(&[bookmark("30")]));
    let world = World::start(script);

    world.watches(2).await;

    assert_eq!(world.watch_versions(), ["10", "30"]);
    assert!(world.told().is_empty());
    let status = world.informer.status();
    assert_eq!(status.reflectors[0].applied_version, "30");
    assert_eq!((status.counters.bookmarks, status.counters.events), (1, 0));
}

#[tokio::test(start_paused = true)]
async fn watches_that_bring_only_bookmarks_are_not_reopened_more_than_once_a_second() {
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

/// Scenario 13.
#[tokio::test(start_paused = true)]
async fn a_watch_that_ends_within_a_second_and_without_events_backs_off_and_relists_r20() {
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

/// Scenarios 14, 26 and 32.
#[tokio::test(start_paused = true)]
async fn objects_of_another_type_are_skipped_and_do_not_move_the_version_r26_r27() {
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

/// Scenario 14.
#[tokio::test(start_paused = true)]
async fn the_version_is_taken_verbatim_even_backwards_r28() {
    let script = Script::new();
    script.list(Answer::list("10", &[]));
    script.watch(Answer::watch(&[event("MODIFIED", pod("a", "55")), event("ADDED", pod("b", "32"))]));
    let world = World::start(script);

    world.watches(2).await;

    assert_eq!(world.watch_versions(), ["10", "32"]);
}

#[tokio::test(start_paused = true)]
async fn a_synthetic_snapshot_does_not_move_the_version_r29() {
    let script = Script::new();
    script.list(Answer::list("", &[]));
    script.watch(Answer::watch(&[event("ADDED", pod("a", "55")), event("ADDED", pod("b", "32"))]));
    script.watch(Answer::watch(&[event("ADDED", pod("a", "55")), event("MODIFIED", pod("b", "56"))]));
    let world = World::start(script);

    world.watches(3).await;

    assert_eq!(world.watch_versions(), ["", "", "56"]);
}

#[tokio::test(start_paused = true)]
async fn an_event_that_the_cache_knows_already_is_not_told_p6() {
    let script = Script::new();
    script.list(Answer::list("10", &[pod("a", "3")]));
    let watch = script.live_watch();
    let world = World::start(script);

    watch.event("ADDED", &pod("a", "3"));
    watch.event("ADDED", &pod("b", "4"));

    world.tells(&["add shop/a@3 initial", "add shop/b@4 live"]).await;
    assert_eq!(world.informer.status().counters.suppressed_unchanged, 1);
}

/// Scenarios 50, 59 and 76.
#[tokio::test(start_paused = true)]
async fn a_deletion_of_an_object_never_seen_is_told_d11() {
    let script = Script::new();
    script.list(Answer::list("10", &[]));
    let watch = script.live_watch();
    let world = World::start(script);

    watch.event("DELETED", &pod("ghost", "11"));

    world.tells(&["delete shop/ghost@11 live"]).await;
}

#[tokio::test(start_paused = true)]
async fn a_watch_that_the_server_does_not_end_is_given_up_a_little_after_its_timeout_and_resumed() {
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
async fn a_watch_may_be_idle_no_longer_than_configured() {
    let script = Script::new();
    script.list(Answer::list("10", &[]));
    let idle = Duration::from_secs(60);
    let config = informer_cache::FactoryConfig { idle_watch_timeout: idle, ..config() };
    let world = World::start_with(script, config, pods());
    world.watches(1).await;

    tokio::time::sleep(Duration::from_secs(61)).await;

    assert_eq!(world.watch_versions(), ["10", "10"]);
}

#[tokio::test(start_paused = true)]
async fn bookmarks_keep_a_quiet_watch_and_three_minutes_without_one_end_it_weakness_23() {
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

#[tokio::test(start_paused = true)]
async fn a_watch_given_up_within_a_second_is_not_one_that_ended_within_a_second_r20() {
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
async fn a_last_frame_without_its_newline_counts() {
    let script = Script::new();
    script.list(Answer::list("10", &[]));
    script.watch(Answer::ok(event("ADDED", pod("a", "11")).to_string()));
    let world = World::start(script);

    world.caches(&["shop/a@11"]).await;
    world.watches(2).await;

    assert_eq!(world.watch_versions(), ["10", "11"]);
}

/// Scenario 27.
#[tokio::test(start_paused = true)]
async fn the_timeout_asked_for_is_between_the_minimum_and_twice_that_and_never_below_five_minutes_r19() {
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
