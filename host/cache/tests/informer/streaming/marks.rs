//! Streaming lists and what follows their end mark.

use std::time::Duration;

use informer_cache::{Phase, WatchListMode};
use informer_types::ObjectKey;
use serde_json::json;

use super::{asked, asks, end, mark, start, start_in};
use crate::{
    server::{Answer, Script},
    world::{bookmark, event, pod},
};

/// Scenario 1: a streaming list requests initial events, and its connection continues as the watch.
#[tokio::test(start_paused = true)]
async fn one_request_delivers_the_list_and_the_changes_after_it() {
    let script = Script::new();
    let stream = script.live_watch();
    let world = start(script);
    stream.event("ADDED", &pod("a", "3"));
    stream.frame(&end("10"));
    assert!(world.informer.wait_synced().await);
    stream.event("MODIFIED", &pod("a", "11"));
    for (name, version) in [("b", "12"), ("c", "13"), ("d", "14"), ("e", "15")] {
        stream.event("ADDED", &pod(name, version));
    }

    world.caches(&["shop/a@11", "shop/b@12", "shop/c@13", "shop/d@14", "shop/e@15"]).await;

    let requests = world.script.requests();
    assert_eq!(requests.len(), 1);
    let request = &requests[0];
    assert_eq!(request.get("sendInitialEvents"), "true");
    assert_eq!(
        (request.get("resourceVersion"), request.get("resourceVersionMatch")),
        ("", "NotOlderThan"),
        "the newest state, never any"
    );
    assert_eq!((request.get("allowWatchBookmarks"), request.get("limit")), ("true", ""));
    assert!((300..=600).contains(&request.get("timeoutSeconds").parse::<u64>().unwrap()));
    assert_eq!(world.received()[..2], ["add shop/a@3 initial", "update shop/a@3->11 live"]);
    let counters = world.informer.status().counters;
    assert_eq!((counters.lists, counters.streaming_lists, counters.watches), (1, 1, 1));
}

/// Scenario 39: a streaming list is applied as a whole at its end mark.
#[tokio::test(start_paused = true)]
async fn nothing_is_visible_before_the_mark_and_then_only_the_last_states() {
    let script = Script::new();
    let stream = script.live_watch();
    let world = start(script);
    stream.event("ADDED", &pod("a", "3"));
    stream.event("ADDED", &pod("b", "4"));
    stream.event("MODIFIED", &pod("a", "8"));
    stream.event("ADDED", &pod("c", "5"));
    stream.event("DELETED", &pod("c", "9"));
    tokio::time::sleep(Duration::from_secs(1)).await;
    assert!(world.cached().is_empty() && world.received().is_empty() && !world.informer.has_synced());
    assert_eq!(world.informer.status().phase, Phase::Listing);

    stream.frame(&end("10"));
    world.caches(&["shop/a@8", "shop/b@4"]).await;

    let mut received = world.received();
    received.sort();
    assert_eq!(received, ["add shop/a@8 initial", "add shop/b@4 initial"]);
    let status = world.informer.status();
    assert_eq!((status.phase, status.reflectors[0].observed_version.as_str()), (Phase::Watching, "10"));
    assert_eq!(status.reflectors[0].unsynced_because, None);
}

/// The first list counts even if it is empty.
#[tokio::test(start_paused = true)]
async fn the_mark_of_an_empty_collection_makes_the_informer_synced() {
    let script = Script::new();
    let stream = script.live_watch();
    let world = start(script);

    stream.frame(&end("10"));

    assert!(world.informer.wait_synced().await);
    assert!(world.cached().is_empty());
}

/// Scenario 44: the value of the annotation decides.
#[tokio::test(start_paused = true)]
async fn only_the_annotation_value_true_is_an_end_mark() {
    let script = Script::new();
    let stream = script.live_watch();
    let world = start(script);
    stream.event("ADDED", &pod("a", "3"));
    for value in ["false", "", "TRUE"] {
        stream.frame(&mark("8", value));
    }
    stream.frame(&bookmark("8"));
    stream.frame(&json!({"type": "BOOKMARK", "object": {"kind": "Pod", "apiVersion": "v1",
        "metadata": {"resourceVersion": "8", "annotations": {"k8s.io/initial-events-end": null}}}}));
    stream.frame(&json!({"type": "BOOKMARK", "object": {"kind": "Pod", "apiVersion": "v1",
        "metadata": {"resourceVersion": "8", "annotations": "k8s.io/initial-events-end"}}}));
    tokio::time::sleep(Duration::from_secs(5)).await;
    assert!(!world.informer.has_synced());

    stream.frame(&end("9"));

    world.caches(&["shop/a@3"]).await;
}

/// Scenario 42: after its mark a streaming list is an ordinary watch.
#[tokio::test(start_paused = true)]
async fn a_watch_that_ends_after_the_mark_is_resumed_as_a_plain_watch() {
    let script = Script::new();
    script.watch(Answer::watch(&[event("ADDED", pod("a", "1")), end("2"), event("MODIFIED", pod("a", "3"))]));
    let world = start(script);

    world.watches(2).await;

    assert_eq!(asked(&world), ["stream@", "watch@3"]);
    assert_eq!(world.cached(), ["shop/a@3"]);
}

/// A bookmark changes the version and nothing else.
#[tokio::test(start_paused = true)]
async fn an_end_mark_in_an_ordinary_watch_is_a_bookmark() {
    let script = Script::new();
    script.watch(Answer::watch(&[end("2"), event("ADDED", pod("a", "3")), end("4")]));
    let world = start(script);

    world.watches(2).await;

    assert_eq!(asked(&world), ["stream@", "watch@4"]);
    assert_eq!(world.cached(), ["shop/a@3"]);
}

/// A relist by stream is at the last version seen and infers deletions.
#[tokio::test(start_paused = true)]
async fn after_a_gap_a_stream_at_the_last_version_infers_deletions() {
    let script = Script::new();
    let gone = crate::world::status(410, "Expired", "too old resource version");
    script.watch(Answer::watch(&[
        event("ADDED", pod("a", "1")),
        event("ADDED", pod("b", "2")),
        end("10"),
        event("MODIFIED", pod("b", "11")),
        event("ERROR", gone),
    ]));
    let second = script.live_watch();
    let world = start(script);
    world.watches(2).await;
    assert_eq!(asked(&world), ["stream@", "stream@11"]);

    second.event("ADDED", &pod("b", "11"));
    second.event("ADDED", &pod("c", "15"));
    assert_eq!(world.cached(), ["shop/a@1", "shop/b@11"], "the old state serves until the mark");
    second.frame(&end("20"));

    world.caches(&["shop/b@11", "shop/c@15"]).await;
    let mut received = world.received().split_off(3);
    received.sort();
    assert_eq!(received, ["add shop/c@15 relist", "delete shop/a@1 relist?"]);
}

/// Scenario 35.
#[tokio::test(start_paused = true)]
async fn the_observed_version_is_that_of_the_mark_and_empty_before() {
    let script = Script::new();
    let stream = script.live_watch();
    let world = start(script);
    let observed = || world.informer.status().reflectors[0].observed_version.clone();
    world.watches(1).await;
    assert_eq!(observed(), "");
    stream.event("ADDED", &pod("a", "3"));
    tokio::time::sleep(Duration::from_secs(1)).await;
    assert_eq!(observed(), "");

    stream.frame(&end("7"));
    world.informer.wait_synced().await;

    assert_eq!(observed(), "7");
}

/// Scenarios 12 and 36.
#[tokio::test(start_paused = true)]
async fn a_stop_before_the_mark_closes_the_request_and_leaves_the_cache_empty() {
    let script = Script::new();
    let stream = script.live_watch();
    let world = start(script);
    stream.event("ADDED", &pod("a", "3"));
    world.watches(1).await;

    world.factory.shutdown().await;

    assert!(stream.is_closed());
    assert_eq!((asked(&world), world.cached().len()), (vec!["stream@".to_owned()], 0));
}

/// An object that does not decode keeps its last good state (D-2).
#[tokio::test(start_paused = true)]
async fn undecodable_objects_of_a_stream_are_quarantined_with_the_list() {
    let script = Script::new();
    let bad = |name: &str, version: &str| {
        json!({"kind": "Pod", "apiVersion": "v1", "metadata": {"name": name, "namespace": "shop",
            "resourceVersion": version, "labels": [1]}})
    };
    let foreign =
        json!({"kind": "Service", "apiVersion": "v1", "metadata": {"name": "s", "resourceVersion": "1"}});
    script.watch(Answer::watch(&[
        event("ADDED", pod("a", "1")),
        event("ADDED", bad("b", "2")),
        event("ADDED", bad("c", "3")),
        event("ADDED", pod("d", "4")),
        event("ADDED", foreign),
        event("MODIFIED", bad("a", "5")),
        event("MODIFIED", pod("c", "6")),
        event("DELETED", bad("d", "7")),
        event("ADDED", bad("e", "8")),
        event("DELETED", pod("e", "9")),
        end("10"),
        event("MODIFIED", pod("b", "11")),
    ]));
    let world = start(script);

    world.caches(&["shop/a@1", "shop/b@11", "shop/c@6"]).await;

    let status = world.informer.status();
    let quarantined: Vec<String> = status.reflectors[0].quarantined.keys().map(ToString::to_string).collect();
    assert_eq!(quarantined, ["shop/a"]);
    assert_eq!(status.counters.skipped, 1);
    assert!(!world.informer.undecoded().may_have(&ObjectKey::new("shop", "gone")));
}

/// An object that cannot be decoded still exists (D-2).
#[tokio::test(start_paused = true)]
async fn any_object_may_exist_if_a_streamed_object_has_an_unreadable_key() {
    let script = Script::new();
    let nameless = json!({"kind": "Pod", "apiVersion": "v1", "metadata": {"namespace": "shop"}});
    script.watch(Answer::watch(&[
        event("ADDED", nameless.clone()),
        event("ADDED", nameless),
        event("ADDED", pod("a", "1")),
        end("10"),
    ]));
    let world = start(script);

    world.caches(&["shop/a@1"]).await;

    assert!(world.informer.undecoded().may_have(&ObjectKey::new("shop", "gone")));
    let status = world.informer.status();
    assert_eq!((status.counters.quarantined, status.reflectors[0].quarantined.len()), (2, 0));
}

/// Scenarios 33 and 111: a streaming list is tried if the mode is not `Off`.
#[tokio::test(start_paused = true)]
async fn streaming_lists_are_used_as_configured() {
    for (mode, first) in
        [(WatchListMode::Auto, "stream@"), (WatchListMode::On, "stream@"), (WatchListMode::Off, "list@0")]
    {
        let script = Script::new();
        script.list(Answer::list("10", &[pod("a", "1")]));
        script.watch(Answer::watch(&[event("ADDED", pod("a", "1")), end("10")]));
        let world = start_in(mode, script);

        world.caches(&["shop/a@1"]).await;

        assert_eq!(asked(&world)[0], first, "{mode:?}");
    }
}

/// Scenarios 31, 49 and 75: fields are dropped once (D-13). In client-go, a transform runs twice on streamed objects
///
#[tokio::test(start_paused = true)]
async fn each_streamed_object_is_decoded_once() {
    let script = Script::new();
    let mut with_fields = pod("a", "1");
    with_fields["metadata"]["managedFields"] = json!([{"manager": "x"}]);
    script.watch(Answer::watch(&[event("ADDED", with_fields), end("10")]));
    let world = start(script);

    world.caches(&["shop/a@1"]).await;
    asks(&world, &["stream@", "watch@10"]).await;

    let json = world.objects()[0].json().unwrap().into_string();
    assert_eq!(serde_json::from_str::<serde_json::Value>(&json).unwrap(), pod("a", "1"));
}
