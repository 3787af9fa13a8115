//! Silent servers: stalled answers and half-open connections.

use std::time::Duration;

use informer_cache::{ErrorClass, FactoryConfig};
use informer_faults::{Call, Cut, Fault, HttpVersion, On};

use crate::world::{PATIENCE, World, at_once, config, gaps, server, server_with};

/// The cuts that silence an answer. On HTTP/2 a half-open connection needs pings to be detected, or the next request
/// uses the same connection: the module `http2` tests that.
const SILENCES: [(HttpVersion, Cut); 3] =
    [(HttpVersion::Http1, Cut::Stall), (HttpVersion::Http1, Cut::HalfOpen), (HttpVersion::Http2, Cut::Stall)];

fn impatient() -> FactoryConfig {
    FactoryConfig { request_timeout: PATIENCE, idle_watch_timeout: Duration::from_secs(60), ..config() }
}

/// Like [`impatient`], with the same timeout for idle watches.
fn restless() -> FactoryConfig {
    FactoryConfig { idle_watch_timeout: PATIENCE, ..impatient() }
}

/// A list without an answer, or whose answer stops, fails and is retried.
#[tokio::test]
async fn a_silent_list_is_abandoned_and_retried() {
    let faults =
        |(http, cut)| [(http, Fault::no_answer(cut)), (http, Fault::good().cut_after_bytes(250, cut))];
    at_once(SILENCES.into_iter().flat_map(faults), async |(http, fault)| {
        let name = format!("{http:?} {fault:?}");
        let world = World::start_with(server_with(On::list(), fault), http, impatient());

        let text = world.fails(ErrorClass::Silent).await;
        world.settles().await;

        assert!(text.contains("sent nothing for 1 s"), "{text}");
        assert_eq!(world.requested(), ["list 0", "list 0", "watch 12"], "{name}");
        // The client's timeout starts before the server receives the request.
        assert!(gaps(&world.requests(Call::List, 2).await)[0] >= PATIENCE / 2);
    })
    .await;
}

/// A watch that cannot be opened, except by a refusal, leads to a list.
#[tokio::test]
async fn a_watch_without_response_headers_is_abandoned_and_leads_to_a_list() {
    at_once(SILENCES, async |(http, cut)| {
        let world = World::start_with(server_with(On::watch(), Fault::no_answer(cut)), http, impatient());

        world.fails(ErrorClass::Silent).await;
        world.settles().await;

        assert_eq!(world.requested(), ["list 0", "watch 12", "list 12", "watch 12"], "{http:?} {cut:?}");
    })
    .await;
}

#[tokio::test]
async fn an_error_status_without_a_body_is_still_an_error() {
    let fault = Fault::status(403).cut_after_bytes(10, Cut::Stall);
    let world = World::start_with(server_with(On::list(), fault), HttpVersion::Http1, impatient());

    world.fails(ErrorClass::Forbidden).await;
    world.settles().await;
}

/// A watch that is silent for too long is reopened at the last version without a list.
#[tokio::test]
async fn a_silent_watch_is_resumed_at_its_last_version() {
    at_once(SILENCES, async |(http, cut)| {
        let world = World::start_with(server(), http, restless());
        world.watches().await;
        world.server.collection().put("shop/c");
        world.catches_up().await;
        assert_eq!(world.server.cut(cut), 1);
        // The old connection never delivers this change.
        world.server.collection().delete("shop/a");

        world.catches_up().await;

        world.history.check(world.server.collection());
        let requested = world.requested();
        assert_eq!(requested[..2], ["list 0", "watch 12"], "{http:?} {cut:?}");
        assert!(
            requested[2..].iter().all(|requested| requested == "watch 13" || requested == "watch 14"),
            "{requested:?}"
        );
        assert!(requested.contains(&"watch 13".to_owned()), "{requested:?}");
    })
    .await;
}

/// An event that was cut off arrives again after the watch is resumed.
#[tokio::test]
async fn a_watch_that_stalls_within_an_event_loses_no_event() {
    at_once(SILENCES, async |(http, cut)| {
        let fault = Fault::good().joined(2).cut_after_bytes(200, cut);
        let world = World::start_with(server_with(On::watch(), fault), http, restless());
        world.watches().await;
        world.server.collection().put("shop/a");
        world.server.collection().delete("shop/b");

        world.catches_up().await;

        world.history.check(world.server.collection());
        assert_eq!(world.requested()[..3], ["list 0", "watch 12", "watch 13"], "{http:?} {cut:?}");
    })
    .await;
}
