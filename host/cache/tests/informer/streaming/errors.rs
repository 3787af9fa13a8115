//! Errors while a streaming list opens or runs.

use std::time::Duration;

use informer_cache::{ErrorClass, WatchListMode};
use tokio::time::Instant;

use super::{asked, asks, end, start, start_in};
use crate::{
    server::{Answer, Script},
    world::{World, event, pod, status},
};

fn frames() -> [serde_json::Value; 2] {
    [event("ADDED", pod("a", "1")), end("10")]
}

fn at(world: &World, request: usize) -> Instant {
    world.script.requests()[request].at
}

/// Scenario 40: throttling and a refused connection do not lead to a plain list.
#[tokio::test(start_paused = true)]
async fn a_throttled_or_refused_stream_is_requested_again_after_a_backoff() {
    let script = Script::new();
    script.watch(Answer::error(429, "TooManyRequests", "slow down"));
    script.watch(Answer::Refused);
    script.watch(Answer::watch(&[
        event("ADDED", pod("b", "1")),
        event("ERROR", status(429, "TooManyRequests", "slow down")),
    ]));
    script.watch(Answer::watch(&frames()));
    let world = start(script);

    world.caches(&["shop/a@1"]).await;

    assert_eq!(asked(&world)[..4], ["stream@"; 4]);
    assert!(world.script.lists().is_empty());
    for (request, delay) in [(1, 800), (2, 1_600), (3, 3_200)] {
        assert_eq!(at(&world, request) - at(&world, request - 1), Duration::from_millis(delay), "{request}");
    }
    assert_eq!(world.received(), ["add shop/a@1 initial"], "each stream starts from nothing");
}

/// A stop ends the wait after a throttled stream like every other wait (R-37, D-4).
#[tokio::test(start_paused = true)]
async fn a_stop_ends_the_wait_of_a_throttled_stream() {
    let script = Script::new();
    script.watch(Answer::error(429, "TooManyRequests", "slow down").with_header("Retry-After", "200"));
    let world = start(script);
    world.fails(ErrorClass::Throttled).await;
    let before = Instant::now();

    world.factory.shutdown().await;

    assert!(before.elapsed() < Duration::from_secs(1));
}

/// An unavailable version is no reason for a plain list.
#[tokio::test(start_paused = true)]
async fn an_unavailable_version_leads_at_once_to_a_stream_of_the_newest_state() {
    for (code, reason, message) in
        [(410, "Expired", "too old"), (504, "Timeout", "Too large resource version: 10, current: 3")]
    {
        for inside in [false, true] {
            let script = Script::new();
            let gone = event("ERROR", status(410, "Expired", "too old"));
            script.watch(Answer::watch(&[end("10"), gone]));
            script.watch(if inside {
                Answer::watch(&[event("ADDED", pod("b", "1")), event("ERROR", status(code, reason, message))])
            } else {
                Answer::error(code, reason, message)
            });
            script.watch(Answer::watch(&frames()));
            let world = start(script);

            world.caches(&["shop/a@1"]).await;

            assert_eq!(asked(&world)[..3], ["stream@", "stream@10", "stream@"], "{reason}");
            assert!(at(&world, 2) - at(&world, 1) < Duration::from_millis(100), "{reason}");
        }
    }
}

/// A second unavailable version leads to a plain list.
#[tokio::test(start_paused = true)]
async fn an_unavailable_newest_version_leads_to_a_plain_list() {
    let script = Script::new();
    script.watch(Answer::error(410, "Expired", "too old"));
    script.watch(Answer::error(410, "Expired", "too old"));
    script.list(Answer::list("10", &[pod("a", "1")]));
    let world = start(script);

    world.caches(&["shop/a@1"]).await;

    assert_eq!(asked(&world)[..3], ["stream@", "stream@", "list@"]);
}

/// Scenarios 37 and 38: a plain list replaces a streaming list that fails.
#[tokio::test(start_paused = true)]
async fn any_other_error_leads_at_once_to_a_plain_list_in_the_same_run() {
    type Make = fn() -> Answer;
    let html = || Answer::status(200, "<html>\n");
    let unknown = || Answer::watch(&[serde_json::json!({"type": "CHANGED", "object": {}})]);
    let internal =
        || Answer::watch(&[event("ADDED", pod("b", "1")), event("ERROR", status(500, "InternalError", "x"))]);
    let answers: [(&str, Make); 8] = [
        ("invalid", || Answer::error(422, "Invalid", "sendInitialEvents is forbidden")),
        ("bad request", || Answer::error(400, "BadRequest", "unknown parameter")),
        ("forbidden", || Answer::error(403, "Forbidden", "no")),
        ("unavailable", || Answer::error(503, "ServiceUnavailable", "x")),
        ("very short", || Answer::watch(&[])),
        ("html", html),
        ("unknown type", unknown),
        ("internal", internal),
    ];
    for (what, answer) in answers {
        let script = Script::new();
        script.watch(answer());
        script.list(Answer::list("10", &[pod("a", "1")]));
        let world = start(script);

        asks(&world, &["stream@", "list@0", "watch@10"]).await;

        world.caches(&["shop/a@1"]).await;
        assert_eq!(world.script.lists()[0].get("limit"), "500", "{what}");
        assert!(at(&world, 1) - at(&world, 0) < Duration::from_millis(100), "{what}");
        assert_eq!(world.received(), ["add shop/a@1 initial"], "{what}");
    }
}

/// A plain list replaces the streaming list of one run.
#[tokio::test(start_paused = true)]
async fn the_run_after_a_fallback_streams_again() {
    for mode in [WatchListMode::Auto, WatchListMode::On] {
        let script = Script::new();
        script.watch(Answer::error(500, "InternalError", "etcd"));
        script.list(Answer::list("10", &[pod("b", "1")]));
        script.watch(Answer::watch(&[event("ERROR", status(410, "Expired", "too old"))]));
        script.watch(Answer::watch(&frames()));
        let world = start_in(mode, script);

        world.caches(&["shop/a@1"]).await;

        assert_eq!(asked(&world)[..4], ["stream@", "list@0", "watch@10", "stream@10"]);
        assert_eq!(world.informer.status().reflectors[0].plain_lists_because, None);
    }
}

/// Scenario 43.
#[tokio::test(start_paused = true)]
async fn an_expired_watch_after_the_mark_ends_the_run_and_keeps_the_cache() {
    let script = Script::new();
    script.watch(Answer::watch(&frames()));
    script.watch(Answer::error(410, "Expired", "too old"));
    let stream = script.live_watch();
    let world = start(script);

    assert!(world.fails(ErrorClass::Expired).await.contains("cannot watch v1/pods"));
    assert_eq!(world.cached(), ["shop/a@1"]);
    world.watches(3).await;

    assert_eq!(asked(&world), ["stream@", "watch@10", "stream@10"]);
    assert!(at(&world, 2) - at(&world, 1) >= Duration::from_millis(800));
    assert!(!stream.is_closed());
}
