//! Refused lists and watches, and unavailable versions.

use std::time::Duration;

use informer_cache::ErrorClass;
use informer_faults::{Call, Fault, HttpVersion, On, Status};

use crate::world::{BACKOFF, World, at_once, config, gaps, server, server_with};

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

/// A failed list is retried after a backoff delay.
#[tokio::test]
async fn a_refused_list_is_retried_at_the_same_version_with_backoff() {
    at_once(REFUSALS, async |(code, class)| {
        let world = World::start(server_with(On::list().times(2), Fault::status(code)), HttpVersion::Http2);

        let text = world.fails(class).await;
        world.settles().await;

        assert!(text.contains(&code.to_string()) && text.contains("cannot list v1/pods"), "{text}");
        assert_eq!(world.requested(), ["list 0", "list 0", "list 0", "watch 12"], "{code}");
        let gaps = gaps(&world.requests(Call::List, 3).await);
        assert!(gaps[0] >= BACKOFF && gaps[1] >= 2 * BACKOFF, "{code}: {gaps:?}");
    })
    .await;
}

/// A watch that is refused with another code than 429 leads to a list at the last version.
#[tokio::test]
async fn a_watch_refused_with_another_code_than_429_leads_to_a_list() {
    for (code, class) in REFUSALS.into_iter().chain([(410, ErrorClass::Expired)]) {
        let world = World::start(server_with(On::watch(), Fault::status(code)), HttpVersion::Http1);

        let text = world.fails(class).await;
        world.settles().await;

        assert!(text.contains("cannot watch v1/pods"), "{text}");
        assert_eq!(world.requested(), ["list 0", "watch 12", "list 12", "watch 12"], "{code}");
    }
}

/// A watch answered with 429 is opened again at the same version. Scenario 115.
#[tokio::test]
async fn a_throttled_watch_is_reopened_after_the_requested_wait() {
    at_once(HttpVersion::ALL, async |http| {
        let world = World::start(server_with(On::watch(), Fault::status(429).retry_after(1)), http);

        world.fails(ErrorClass::Throttled).await;
        world.settles().await;

        assert_eq!(world.requested(), ["list 0", "watch 12", "watch 12"], "{http:?}");
        let gap = gaps(&world.requests(Call::Watch, 2).await)[0];
        assert!(gap >= Duration::from_secs(1), "{gap:?}");
    })
    .await;
}

#[tokio::test]
async fn a_throttled_list_is_retried_after_the_requested_wait() {
    at_once([429, 503], async |code| {
        let world =
            World::start(server_with(On::list(), Fault::status(code).retry_after(1)), HttpVersion::Http1);

        world.settles().await;

        assert_eq!(world.requested(), ["list 0", "list 0", "watch 12"]);
        let gap = gaps(&world.requests(Call::List, 2).await)[0];
        assert!(gap >= Duration::from_secs(1), "{code}: {gap:?}");
    })
    .await;
}

/// If the version of a list has expired or is too large, a list at the newest version follows at
/// once.
#[tokio::test]
async fn an_unavailable_version_leads_at_once_to_a_list_at_the_newest_version() {
    // Far more than a request takes on a busy machine.
    const DELAY: Duration = Duration::from_secs(1);
    let unknown_410 = Status { reason: String::new(), ..Status::of(410) };
    let timeout = Status::of(504).with_message("Timeout: Too large resource version: 12, current: 3");
    let refusals = [
        Status::of(410),
        Status::of(410).with_reason("Gone"),
        unknown_410,
        Status::too_large(12, 3),
        timeout,
    ];
    at_once(refusals, async |refusal| {
        let server = server_with(On::watch(), Fault::error_event(&Status::of(410)));
        server.plan(On::list().nth(2), Fault::refusal(&refusal));
        let mut config = config();
        (config.backoff.backoff.min, config.backoff.backoff.max) = (DELAY, 2 * DELAY);
        let world = World::start_with(server, HttpVersion::Http1, config);
        world.settles().await;

        assert_eq!(world.requested(), ["list 0", "watch 12", "list 12", "list ", "watch 12"], "{refusal:?}");
        let lists = world.requests(Call::List, 3).await;
        // The backoff delay after the second failure is twice the first one.
        assert!(lists[2].at - lists[1].at < 2 * DELAY, "{:?}", gaps(&lists));
    })
    .await;
}

/// The reflector lists at the newest version until a list succeeds.
#[tokio::test]
async fn after_an_unavailable_version_lists_stay_at_the_newest_until_one_succeeds() {
    let server = server_with(On::watch(), Fault::error_event(&Status::of(410)));
    server.plan(On::list().nth(2), Fault::status(410));
    server.plan(On::list().nth(2), Fault::status(500));
    let world = World::start(server, HttpVersion::Http1);

    world.settles().await;

    assert_eq!(world.requested(), ["list 0", "watch 12", "list 12", "list ", "list ", "watch 12"]);
}

/// A timeout means a too large version only with the cause or the words.
#[tokio::test]
async fn a_timeout_without_the_cause_of_a_too_large_version_is_an_ordinary_failure() {
    let server = server_with(On::watch(), Fault::error_event(&Status::of(410)));
    server.plan(On::list().nth(2), Fault::status(504));
    let world = World::start(server, HttpVersion::Http1);

    world.settles().await;

    assert_eq!(world.requested(), ["list 0", "watch 12", "list 12", "list 12", "watch 12"]);
}

#[tokio::test]
async fn refused_discovery_is_retried() {
    let server = server();
    for code in [403, 500, 429] {
        server.plan(On::discovery(), Fault::status(code));
    }
    let world = World::start(server, HttpVersion::Http2);

    world.settles().await;

    assert!(world.requests(Call::Discovery, 4).await.len() >= 4);
    assert_eq!(world.requested(), ["list 0", "watch 12"]);
}
