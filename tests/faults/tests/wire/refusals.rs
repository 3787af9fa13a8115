//! Answers that say no, and what make of them.

use std::time::Duration;

use informer_cache::ErrorClass;
use informer_faults::{Call, Fault, HttpVersion, On, Status};

use crate::world::{BACKOFF, World, at_once, gaps, server, server_with};

const REFUSALS: [(u16, ErrorClass); 8] = [
    (400, ErrorClass::Server),
    (401, ErrorClass::Unauthorized),
    (403, ErrorClass::Forbidden),
    (404, ErrorClass::NotFound),
    (422, ErrorClass::Server),
    (500, ErrorClass::Server),
    (503, ErrorClass::Server),
    (504, ErrorClass::Server),
];

#[tokio::test]
async fn a_list_that_is_refused_is_retried_at_the_same_version_with_backoff_r16() {
    at_once(REFUSALS, async |(code, class)| {
        let world = World::start(server_with(On::list().times(2), Fault::status(code)), HttpVersion::Http2);

        let text = world.fails(class).await;
        world.settles().await;

        assert!(text.contains(&code.to_string()) && text.contains("cannot list v1/pods"), "{text}");
        assert_eq!(world.asked(), ["list 0", "list 0", "list 0", "watch 12"], "{code}");
        let gaps = gaps(&world.requests(Call::List, 3).await);
        assert!(gaps[0] >= BACKOFF && gaps[1] >= 2 * BACKOFF, "{code}: {gaps:?}");
    })
    .await;
}

#[tokio::test]
async fn a_watch_that_is_refused_with_anything_but_429_relists_at_the_last_version_r21() {
    for (code, class) in REFUSALS.into_iter().chain([(410, ErrorClass::Expired)]) {
        let world = World::start(server_with(On::watch(), Fault::status(code)), HttpVersion::Http1);

        let text = world.fails(class).await;
        world.settles().await;

        assert!(text.contains("cannot watch v1/pods"), "{text}");
        assert_eq!(world.asked(), ["list 0", "watch 12", "list 12", "watch 12"], "{code}");
    }
}

/// Scenario 115.
#[tokio::test]
async fn a_watch_that_is_throttled_is_reopened_after_the_wait_the_server_asks_for_r21() {
    at_once(HttpVersion::ALL, async |http| {
        let world = World::start(server_with(On::watch(), Fault::status(429).retry_after(1)), http);

        world.fails(ErrorClass::Throttled).await;
        world.settles().await;

        assert_eq!(world.asked(), ["list 0", "watch 12", "watch 12"], "{http:?}");
        let gap = gaps(&world.requests(Call::Watch, 2).await)[0];
        assert!(gap >= Duration::from_secs(1), "{gap:?}");
    })
    .await;
}

#[tokio::test]
async fn a_list_that_is_throttled_is_retried_after_the_wait_the_server_asks_for() {
    at_once([429, 503], async |code| {
        let world =
            World::start(server_with(On::list(), Fault::status(code).retry_after(1)), HttpVersion::Http1);

        world.settles().await;

        assert_eq!(world.asked(), ["list 0", "list 0", "watch 12"]);
        let gap = gaps(&world.requests(Call::List, 2).await)[0];
        assert!(gap >= Duration::from_secs(1), "{code}: {gap:?}");
    })
    .await;
}

#[tokio::test]
async fn a_version_that_is_not_to_be_had_is_followed_at_once_by_a_list_of_the_newest_r7_r8_r9() {
    let unknown_410 = Status { reason: String::new(), ..Status::of(410) };
    let timeout = Status::of(504).with_message("Timeout: Too large resource version: 12, current: 3");
    for refusal in
        [Status::of(410), Status::of(410).with_reason("Gone"), unknown_410, Status::too_large(12, 3), timeout]
    {
        let server = server_with(On::watch(), Fault::error_event(&Status::of(410)));
        server.plan(On::list().nth(2), Fault::refusal(&refusal));
        let world = World::start(server, HttpVersion::Http1);
        world.settles().await;

        assert_eq!(world.asked(), ["list 0", "watch 12", "list 12", "list ", "watch 12"], "{refusal:?}");
        let lists = world.requests(Call::List, 3).await;
        // Far below the wait that is due after a failure, which is the second by then.
        assert!(lists[2].at - lists[1].at < 2 * BACKOFF, "{:?}", gaps(&lists));
    }
}

#[tokio::test]
async fn a_second_failure_keeps_asking_for_the_newest_r7() {
    let server = server_with(On::watch(), Fault::error_event(&Status::of(410)));
    server.plan(On::list().nth(2), Fault::status(410));
    server.plan(On::list().nth(2), Fault::status(500));
    let world = World::start(server, HttpVersion::Http1);

    world.settles().await;

    assert_eq!(world.asked(), ["list 0", "watch 12", "list 12", "list ", "list ", "watch 12"]);
}

#[tokio::test]
async fn a_plain_timeout_is_an_ordinary_failure_r9() {
    let server = server_with(On::watch(), Fault::error_event(&Status::of(410)));
    server.plan(On::list().nth(2), Fault::status(504));
    let world = World::start(server, HttpVersion::Http1);

    world.settles().await;

    assert_eq!(world.asked(), ["list 0", "watch 12", "list 12", "list 12", "watch 12"]);
}

#[tokio::test]
async fn discovery_that_is_refused_is_retried() {
    let server = server();
    for code in [403, 500, 429] {
        server.plan(On::discovery(), Fault::status(code));
    }
    let world = World::start(server, HttpVersion::Http2);

    world.settles().await;

    assert!(world.requests(Call::Discovery, 4).await.len() >= 4);
    assert_eq!(world.asked(), ["list 0", "watch 12"]);
}
