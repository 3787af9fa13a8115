//! Servers that say nothing: stalls and half-open connections.

use std::time::Duration;

use informer_cache::{ErrorClass, FactoryConfig};
use informer_faults::{Call, Cut, Fault, HttpVersion, On};

use crate::world::{PATIENCE, World, at_once, config, gaps, server, server_with};

/// On HTTP/2 only a ping can tell a half-open connection from a quiet one, and without it the next request goes
/// the same way: see `http2`.
const SILENCES: [(HttpVersion, Cut); 3] =
    [(HttpVersion::Http1, Cut::Stall), (HttpVersion::Http1, Cut::HalfOpen), (HttpVersion::Http2, Cut::Stall)];

fn impatient() -> FactoryConfig {
    FactoryConfig { request_timeout: PATIENCE, idle_watch_timeout: Duration::from_secs(60), ..config() }
}

/// Watches are given up after [`PATIENCE`] too, so they do not stay open.
fn restless() -> FactoryConfig {
    FactoryConfig { idle_watch_timeout: PATIENCE, ..impatient() }
}

#[tokio::test]
async fn a_list_whose_answer_does_not_come_or_stops_is_given_up_and_retried_r16() {
    let faults =
        |(http, cut)| [(http, Fault::no_answer(cut)), (http, Fault::good().cut_after_bytes(250, cut))];
    at_once(SILENCES.into_iter().flat_map(faults), async |(http, fault)| {
        let name = format!("{http:?} {fault:?}");
        let world = World::start_with(server_with(On::list(), fault), http, impatient());

        let text = world.fails(ErrorClass::Silent).await;
        world.settles().await;

        assert!(text.contains("was silent for 1 s"), "{text}");
        assert_eq!(world.asked(), ["list 0", "list 0", "watch 12"], "{name}");
        // The client's patience begins before the server has the request.
        assert!(gaps(&world.requests(Call::List, 2).await)[0] >= PATIENCE / 2);
    })
    .await;
}

#[tokio::test]
async fn a_watch_whose_headers_do_not_come_is_given_up_and_leads_to_a_list_r21() {
    at_once(SILENCES, async |(http, cut)| {
        let world = World::start_with(server_with(On::watch(), Fault::no_answer(cut)), http, impatient());

        world.fails(ErrorClass::Silent).await;
        world.settles().await;

        assert_eq!(world.asked(), ["list 0", "watch 12", "list 12", "watch 12"], "{http:?} {cut:?}");
    })
    .await;
}

#[tokio::test]
async fn an_error_answer_whose_body_does_not_come_is_an_error_nevertheless() {
    let fault = Fault::status(403).cut_after_bytes(10, Cut::Stall);
    let world = World::start_with(server_with(On::list(), fault), HttpVersion::Http1, impatient());

    world.fails(ErrorClass::Forbidden).await;
    world.settles().await;
}

#[tokio::test]
async fn a_watch_that_falls_silent_is_resumed_where_it_was_r18() {
    at_once(SILENCES, async |(http, cut)| {
        let world = World::start_with(server(), http, restless());
        world.watches().await;
        world.server.collection().put("shop/c");
        world.catches_up().await;
        assert_eq!(world.server.cut(cut), 1);
        // The old connection will never tell.
        world.server.collection().delete("shop/a");

        world.catches_up().await;

        world.history.check(world.server.collection());
        let asked = world.asked();
        assert_eq!(asked[..2], ["list 0", "watch 12"], "{http:?} {cut:?}");
        assert!(asked[2..].iter().all(|asked| asked == "watch 13" || asked == "watch 14"), "{asked:?}");
        assert!(asked.contains(&"watch 13".to_owned()), "{asked:?}");
    })
    .await;
}

#[tokio::test]
async fn a_watch_that_falls_silent_in_the_middle_of_an_event_loses_nothing_r18() {
    at_once(SILENCES, async |(http, cut)| {
        let fault = Fault::good().joined(2).cut_after_bytes(200, cut);
        let world = World::start_with(server_with(On::watch(), fault), http, restless());
        world.watches().await;
        world.server.collection().put("shop/a");
        world.server.collection().delete("shop/b");

        world.catches_up().await;

        world.history.check(world.server.collection());
        assert_eq!(world.asked()[..3], ["list 0", "watch 12", "watch 13"], "{http:?} {cut:?}");
    })
    .await;
}
