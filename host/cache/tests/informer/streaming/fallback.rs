//! Servers and proxies that never send the end mark, D-3.

use std::time::Duration;

use informer_cache::{ErrorClass, FactoryConfig, WatchListMode};
use serde_json::json;
use tokio::time::Instant;

use super::{asked, asks, end, start, start_in};
use crate::{
    server::{Answer, Script},
    world::{config, event, listener, pod, pods, status},
};

/// Scenario 41: an unfinished stream is discarded.
#[tokio::test(start_paused = true)]
async fn a_stream_that_ends_before_its_mark_is_followed_by_a_new_one() {
    let script = Script::new();
    script.watch(Answer::watch(&[event("ADDED", pod("gone", "1"))]));
    script.watch(Answer::watch(&[event("ADDED", pod("a", "2")), end("10")]));
    let world = start(script);

    assert!(world.fails(ErrorClass::UnfinishedList).await.contains("v1/pods"));
    world.caches(&["shop/a@2"]).await;

    assert_eq!(asked(&world)[..2], ["stream@", "stream@"]);
    let requests = world.script.requests();
    assert_eq!(requests[1].at - requests[0].at, Duration::from_millis(800), "with a backoff (D-3)");
    assert_eq!(world.received(), ["add shop/a@2 initial"]);
}

/// At most two streams may end early (D-3).
#[tokio::test(start_paused = true)]
async fn after_two_unfinished_streams_a_plain_list_is_used() {
    let script = Script::new();
    script.watch(Answer::watch(&[event("ADDED", pod("x", "1"))]));
    script.watch(Answer::watch(&[event("ADDED", pod("y", "2"))]));
    script.list(Answer::list("10", &[pod("a", "3")]));
    let world = start(script);

    world.caches(&["shop/a@3"]).await;
    asks(&world, &["stream@", "stream@", "list@0", "watch@10"]).await;

    let why = world.informer.status().reflectors[0].plain_lists_because.clone().unwrap();
    assert!(why.contains("before marking the end of the initial events"), "{why}");
    let counters = world.informer.status().counters;
    assert_eq!((counters.streaming_lists, counters.streaming_fallbacks, counters.lists), (0, 1, 1));
}

/// The wait for the end mark is bounded, and the status reports the fallback (D-3).
#[tokio::test(start_paused = true)]
async fn a_stream_without_a_mark_for_30_s_is_replaced_by_a_plain_list() {
    let script = Script::new();
    let stream = script.live_watch();
    let (list, answer) = Answer::live(200);
    script.list(answer);
    let world = start(script);
    stream.event("ADDED", &pod("a", "1"));

    world.lists(1).await;
    assert!(stream.is_closed());
    let requests = world.script.requests();
    let waited = requests[1].at - requests[0].at;
    assert!((30_000..30_100).contains(&waited.as_millis()), "{waited:?}");
    let text = world.informer.status().to_string();
    assert!(
        text.contains("unsynced because the streaming list failed: the server did not mark the end of the initial events within 30 s"),
        "{text}"
    );

    list.bytes(json!({"metadata": {"resourceVersion": "10"}, "items": [pod("a", "1")]}).to_string());
    list.end();
    world.caches(&["shop/a@1"]).await;
    let text = world.informer.status().to_string();
    assert!(!text.contains("unsynced") && text.contains("plain lists because"), "{text}");
}

/// The bound includes the time before the answer (D-3).
#[tokio::test(start_paused = true)]
async fn a_server_that_does_not_answer_is_waited_for_at_most_30_s() {
    let script = Script::new();
    script.watch(Answer::Silent);
    script.list(Answer::list("10", &[pod("a", "1")]));
    let world = start(script);

    world.caches(&["shop/a@1"]).await;

    let requests = world.script.requests();
    assert_eq!((requests[1].at - requests[0].at).as_secs(), 30);
}

/// Each event extends the wait by 10 ms (D-3).
#[tokio::test(start_paused = true)]
async fn a_long_list_extends_the_wait_and_a_few_changes_do_not() {
    let script = Script::new();
    let stream = script.live_watch();
    script.list(Answer::list("10", &[pod("a", "1")]));
    let world = start(script);
    let begun = Instant::now();
    for version in 1..100 {
        stream.event("MODIFIED", &pod("a", &version.to_string()));
        tokio::time::sleep(Duration::from_secs(1)).await;
        if !world.script.lists().is_empty() {
            break;
        }
    }
    assert!(begun.elapsed() < Duration::from_secs(33), "{:?}", begun.elapsed());

    let script = Script::new();
    let stream = script.live_watch();
    let world = start(script);
    for round in 0..60 {
        for item in 0..200 {
            stream.event("ADDED", &pod(&format!("p{round}-{item}"), "1"));
        }
        tokio::time::sleep(Duration::from_secs(1)).await;
    }
    stream.frame(&end("10"));
    crate::world::eventually(
        "12,000 pods",
        || world.objects().len() == 12_000,
        || format!("{:?}", asked(&world)),
    )
    .await;
    assert_eq!(asked(&world).len(), 1);
}

/// Scenario 34: a slow end mark is reported.
#[tokio::test(start_paused = true)]
async fn after_10_s_without_an_event_the_status_reports_the_wait() {
    let script = Script::new();
    let stream = script.live_watch();
    let world = start(script);
    let why = || world.informer.status().reflectors[0].unsynced_because.clone();
    tokio::time::sleep(Duration::from_secs(9)).await;
    assert_eq!(why(), None);
    tokio::time::sleep(Duration::from_secs(2)).await;
    assert_eq!(why().unwrap(), "the streaming list has not ended: 0 events so far, and none for 10 s");
    for version in 1..10 {
        stream.event("ADDED", &pod("a", &version.to_string()));
        tokio::time::sleep(Duration::from_secs(1)).await;
    }
    tokio::time::sleep(Duration::from_millis(9_500)).await;
    assert_eq!(why().unwrap(), "the streaming list has not ended: 9 events so far, and none for 10 s");

    stream.frame(&end("10"));
    world.informer.wait_synced().await;

    assert_eq!((why(), asked(&world).len()), (None, 1));
}

/// The first request of a second informer of the factory, after the streams of the first informer ended with `answers`.
async fn second_informer_asks(mode: WatchListMode, answers: Vec<Answer>) -> String {
    let script = Script::new();
    answers.into_iter().for_each(|answer| script.watch(answer));
    script.list(Answer::list("10", &[]));
    script.list(Answer::list("10", &[]));
    let world = start_in(mode, script);
    assert!(world.informer.wait_synced().await);
    world.watches(1).await;
    let first = asked(&world).len();

    let resource = json!({"name": "nodes", "kind": "Node", "verbs": ["list", "watch"]});
    world.script.path("/api/v1", Answer::json(&json!({"resources": [resource]})));
    let nodes = informer_cache::WatchConfig::new(informer_types::Gvr::new("", "v1", "nodes"));
    let nodes = world.factory.informer(nodes);
    nodes.add_listener(listener("nodes"), std::sync::Arc::clone(&world.recorder) as _).unwrap();
    world.factory.start();
    let of_nodes = || world.script.requests().into_iter().position(|request| request.path.ends_with("nodes"));
    crate::world::eventually("a request for nodes", || of_nodes().is_some(), || nodes.status().to_string())
        .await;
    assert!(of_nodes().unwrap() >= first);
    asked(&world)[of_nodes().unwrap()].clone()
}

/// In the mode `Auto`, a server that lacks streaming lists is remembered (D-3).
#[tokio::test(start_paused = true)]
async fn missing_support_is_remembered_for_all_informers_of_the_server() {
    let unfinished = || Answer::watch(&[event("ADDED", pod("x", "1"))]);
    let invalid = || Answer::error(422, "Invalid", "sendInitialEvents is forbidden");
    let broken = || Answer::error(500, "InternalError", "etcd");
    for (mode, answers, second) in [
        (WatchListMode::Auto, vec![unfinished(), unfinished()], "list@0"),
        (WatchListMode::Auto, vec![invalid()], "list@0"),
        (WatchListMode::On, vec![invalid()], "stream@"),
        (WatchListMode::Auto, vec![broken()], "stream@"),
    ] {
        assert_eq!(second_informer_asks(mode, answers).await, second, "{mode:?}");
    }
}

/// The end mark has a version, so a server without versions never ends a streaming list.
#[tokio::test(start_paused = true)]
async fn a_server_that_sends_no_versions_receives_no_further_request_for_a_streaming_list() {
    for mode in [WatchListMode::Auto, WatchListMode::On] {
        let script = Script::new();
        script.watch(Answer::error(500, "InternalError", "busy"));
        script.list(Answer::list("", &[pod("a", "")]));
        script.watch(Answer::watch(&[event("ADDED", pod("a", ""))]));
        script.list(Answer::list("", &[pod("a", "")]));
        let world = start_in(mode, script);

        asks(&world, &["stream@", "list@0", "watch@", "list@0", "watch@"]).await;

        let why = world.informer.status().reflectors[0].plain_lists_because.clone().unwrap();
        assert!(why.contains("no resource versions"), "{why}");
    }
}

/// Missing support is remembered for an hour (D-3).
#[tokio::test(start_paused = true)]
async fn after_an_hour_streaming_lists_are_tried_again() {
    let script = Script::new();
    script.watch(Answer::error(422, "Invalid", "no"));
    script.list(Answer::list("10", &[pod("a", "1")]));
    let watch = script.live_watch();
    script.watch(Answer::watch(&[event("ADDED", pod("a", "2")), end("20")]));
    let config = FactoryConfig {
        watch_list: WatchListMode::Auto,
        idle_watch_timeout: Duration::MAX,
        min_watch_timeout: Duration::from_secs(2 * 60 * 60),
        ..config()
    };
    let world = crate::world::World::start_with(script, config, pods());
    world.caches(&["shop/a@1"]).await;

    tokio::time::sleep(Duration::from_secs(60 * 60)).await;
    watch.frame(&event("ERROR", status(410, "Expired", "too old")));
    world.caches(&["shop/a@2"]).await;

    assert_eq!(asked(&world)[..4], ["stream@", "list@0", "watch@10", "stream@10"]);
}
