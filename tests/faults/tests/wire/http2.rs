//! Faults that only HTTP/2 has, because it carries many answers on one connection.

use std::time::Duration;

use informer_cache::{ErrorClass, FactoryConfig, WatchConfig};
use informer_faults::{Call, Cut, Fault, HttpVersion, On, Reason};

use crate::world::{PATIENCE, World, config, pods, server, server_with};

const HTTP: HttpVersion = HttpVersion::Http2;

#[tokio::test]
async fn all_requests_share_a_connection_that_survives_a_reset_stream() {
    for reason in [Reason::NO_ERROR, Reason::INTERNAL_ERROR, Reason::CANCEL, Reason::ENHANCE_YOUR_CALM] {
        let world = World::start(server(), HTTP);
        world.watches().await;
        world.server.collection().put("shop/c");
        world.catches_up().await;
        world.server.cut(Cut::Stream(reason));
        world.server.collection().delete("shop/a");

        world.settles().await;

        assert_eq!(world.requested(), ["list 0", "watch 12", "watch 13"], "{reason:?}");
        assert!(world.server.requests().iter().all(|request| request.connection == 1), "{reason:?}");
    }
}

#[tokio::test]
async fn after_goaway_the_watch_continues_and_the_next_one_uses_another_connection() {
    let world = World::start(server(), HTTP);
    world.watches().await;
    world.server.cut(Cut::GoAway);
    world.server.collection().put("shop/c");
    world.catches_up().await;
    assert_eq!(world.requested(), ["list 0", "watch 12"]);
    world.server.cut(Cut::End);

    world.settles().await;

    assert_eq!(world.requested(), ["list 0", "watch 12", "watch 13"]);
    assert_eq!(world.requests(Call::Watch, 2).await[1].connection, 2);
    assert_eq!(world.informer.status().counters.failures, 0);
}

#[tokio::test]
async fn goaway_before_and_during_a_list_does_no_harm() {
    for fault in [
        Fault::no_answer(Cut::GoAway),
        Fault::good().cut_after_bytes(0, Cut::GoAway),
        Fault::good().cut_after_bytes(100, Cut::GoAway),
    ] {
        let world = World::start(server_with(On::list(), fault), HTTP);

        world.settles().await;

        assert_eq!(world.requested(), ["list 0", "watch 12"]);
        assert_eq!(world.requests(Call::Watch, 1).await[0].connection, 2);
    }
}

/// A connection that closes ends a watch normally.
#[tokio::test]
async fn a_goaway_followed_by_a_close_is_a_normal_end_of_a_watch() {
    let world = World::start(server(), HTTP);
    world.watches().await;
    world.server.collection().put("shop/c");
    world.catches_up().await;
    world.server.cut(Cut::GoAway);
    world.server.cut(Cut::Close);
    world.server.collection().delete("shop/b");

    world.settles().await;

    assert_eq!(world.requested(), ["list 0", "watch 12", "watch 13"]);
}

#[tokio::test]
async fn a_stalled_answer_does_not_delay_others_on_its_connection() {
    let config = FactoryConfig { request_timeout: PATIENCE, ..config() };
    let world = World::start_with(server_with(On::list(), Fault::no_answer(Cut::Stall)), HTTP, config);

    world.fails(ErrorClass::Silent).await;
    world.settles().await;

    assert!(world.server.requests().iter().all(|request| request.connection == 1));
}

/// A ping detects a dead connection.
#[tokio::test]
async fn after_a_ping_detects_a_half_open_connection_the_watch_resumes_on_another() {
    let server = server();
    // A busy machine answers a ping late, which must not end a connection that works.
    let client = server.pinging_client(Duration::from_secs(1));
    let world = World::start_on(server, client, config());
    world.watches().await;
    world.server.collection().put("shop/c");
    world.catches_up().await;
    assert_eq!(world.server.cut(Cut::HalfOpen), 1);
    world.server.collection().delete("shop/a");

    world.settles().await;

    assert_eq!(world.requested(), ["list 0", "watch 12", "watch 13"]);
    assert_eq!(world.requests(Call::Watch, 2).await[1].connection, 2);
}

/// A broken connection ends each of its watches normally.
#[tokio::test]
async fn a_broken_connection_ends_all_its_watches_and_each_is_resumed() {
    let server = server();
    server.collection().put("ship/c");
    let watch = WatchConfig { namespaces: vec!["shop".to_owned(), "ship".to_owned()], ..pods() };
    let client = server.client(HTTP).unwrap();
    let world = World::start_watch(server, client, config(), watch);
    let watches = || world.requested().iter().filter(|requested| requested.starts_with("watch")).count();
    world.eventually("two watches", || watches() == 2 && world.server.open_watches() == 2).await;
    world.server.collection().put("shop/a");
    world.server.collection().put("ship/c");
    world.catches_up().await;
    assert_eq!(world.server.cut(Cut::Reset), 2);
    world.server.collection().delete("shop/b");
    world.server.collection().delete("ship/c");

    world.eventually("two more", || watches() == 4 && world.server.open_watches() == 2).await;
    world.catches_up().await;

    world.history.check(world.server.collection());
    let mut requested = world.requested();
    requested.sort();
    assert_eq!(requested, ["list 0", "list 0", "watch 13", "watch 13", "watch 14", "watch 15"]);
}
