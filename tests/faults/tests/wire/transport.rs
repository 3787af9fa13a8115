//! Refused, closed and reset connections: some are a normal end of a watch, others are failures.

use informer_cache::ErrorClass;
use informer_faults::{Call, Cut, Fault, Frame, HttpVersion, On, Reason};

use crate::world::{BACKOFF, World, gaps, server, server_with};

/// The cuts that the client notices at once.
const BREAKS: [Cut; 3] = [Cut::Close, Cut::Reset, Cut::Stream(Reason::INTERNAL_ERROR)];

/// The first list requests version "0", and the watch starts at the version of the list.
#[tokio::test]
async fn without_faults_there_is_one_list_and_one_watch_from_its_version() {
    for http in HttpVersion::ALL {
        let world = World::start(server(), http);

        world.settles().await;

        assert_eq!(world.requested(), ["list 0", "watch 12"], "{http:?}");
        let requests = world.server.requests();
        let (list, watch) = (&requests[requests.len() - 2], &requests[requests.len() - 1]);
        assert_eq!((list.get("limit"), watch.get("limit")), ("500", ""));
        assert_eq!(watch.get("allowWatchBookmarks"), "true");
        assert!((300..=600).contains(&watch.get("timeoutSeconds").parse().unwrap()));
        let version = if http == HttpVersion::Http1 { http::Version::HTTP_11 } else { http::Version::HTTP_2 };
        assert!(requests.iter().all(|request| request.http == version));
    }
}

/// A list is retried after a growing backoff delay, without limit.
#[tokio::test]
async fn a_closed_port_is_retried_with_growing_delays() {
    let server = server();
    server.close_port().await;
    let world = World::start(server, HttpVersion::Http1);

    let text = world.fails(ErrorClass::Refused).await;
    let failures = || world.informer.status().reflectors[0].consecutive_failures;
    world.eventually("3 failures", || failures() >= 3).await;
    world.server.open_port().unwrap();
    world.settles().await;

    assert!(text.contains("is it running?"), "{text}");
    assert_eq!(world.requested(), ["list 0", "watch 12"]);
}

/// A failed list is retried whatever the error is.
#[tokio::test]
async fn a_list_whose_connection_breaks_before_the_answer_is_retried() {
    for http in HttpVersion::ALL {
        for cut in BREAKS {
            let world = World::start(server_with(On::list().times(2), Fault::no_answer(cut)), http);

            world.fails(ErrorClass::Unreachable).await;
            world.settles().await;

            assert_eq!(world.requested(), ["list 0", "list 0", "list 0", "watch 12"], "{http:?} {cut:?}");
            let lists = world.requests(Call::List, 3).await;
            let gaps = gaps(&lists);
            assert!(gaps[0] >= BACKOFF && gaps[1] >= 2 * BACKOFF, "{gaps:?}");
        }
    }
}

/// A list that breaks off is a failed list.
#[tokio::test]
async fn a_list_that_breaks_off_is_discarded_and_retried() {
    for http in HttpVersion::ALL {
        for cut in [Cut::End, Cut::Close, Cut::Reset, Cut::Stream(Reason::CANCEL)] {
            // Cut within the second object. The first object must not become visible.
            let fault = Fault::good().cut_after_bytes(250, cut);
            let world = World::start(server_with(On::list(), fault), http);

            let text = world.fails(ErrorClass::Malformed).await;
            world.settles().await;

            assert!(
                text.contains("closed the connection in the middle of its answer, after 250 bytes"),
                "{http:?} {cut:?} {text}"
            );
            assert_eq!(world.requested(), ["list 0", "list 0", "watch 12"], "{http:?} {cut:?}");
        }
    }
}

/// The cache stays readable until the next list succeeds.
#[tokio::test]
async fn a_relist_that_breaks_off_keeps_the_cache() {
    let server = server_with(On::watch(), Fault::error_event(&informer_faults::Status::of(500)));
    server.plan(On::list().nth(2).times(3), Fault::good().cut_after_bytes(250, Cut::Reset));
    let world = World::start(server, HttpVersion::Http1);
    world.requests(Call::List, 4).await;

    assert_eq!(world.cached(), ["shop/a@11", "shop/b@12"]);
    world.settles().await;
}

/// A broken connection is a normal end of a watch, which is reopened at the last version without a list
///
#[tokio::test]
async fn a_watch_whose_connection_breaks_is_resumed_at_its_last_version() {
    for http in HttpVersion::ALL {
        for cut in [Cut::End, Cut::Close, Cut::Reset, Cut::Stream(Reason::NO_ERROR)] {
            let world = World::start(server(), http);
            world.watches().await;
            world.server.collection().put("shop/c");
            world.catches_up().await;
            world.server.cut(cut);
            world.server.collection().delete("shop/a");

            world.settles().await;

            assert_eq!(world.requested(), ["list 0", "watch 12", "watch 13"], "{http:?} {cut:?}");
            assert_eq!(world.informer.status().counters.failures, 0, "{http:?} {cut:?}");
        }
    }
}

/// A break within an event is a normal end too. Scenario 114.
#[tokio::test]
async fn a_watch_may_break_after_any_byte_of_an_event() {
    let server = server();
    // With versions of three digits all events have the same length.
    while server.collection().pass_time() < 100 {}
    server.collection().put("shop/a");
    let object = server.collection().history().pop().unwrap().object;
    let event = Frame::event("MODIFIED", &object).bytes().len();
    for byte in 0..=event {
        server.plan(On::watch(), Fault::good().cut_after_bytes(event + byte, Cut::Reset));
    }
    let world = World::start(server, HttpVersion::Http1);
    for _ in 0..=event + 1 {
        world.server.collection().put("shop/a");
        world.catches_up().await;
    }

    world.settles().await;

    assert!(world.requests(Call::Watch, event).await.len() > event);
    assert_eq!(world.informer.status().counters.lists, 1);
    assert_eq!(world.informer.status().counters.failures, 0);
}

/// A failure to open a watch, other than a refused connection or 429, leads to a list.
#[tokio::test]
async fn a_watch_that_breaks_while_it_opens_leads_to_a_list() {
    for http in HttpVersion::ALL {
        for cut in BREAKS {
            let world = World::start(server_with(On::watch(), Fault::no_answer(cut)), http);

            let text = world.fails(ErrorClass::Unreachable).await;
            world.settles().await;

            assert!(text.contains("cannot watch v1/pods"), "{text}");
            assert_eq!(world.requested(), ["list 0", "watch 12", "list 12", "watch 12"], "{http:?} {cut:?}");
        }
    }
}

/// A watch whose connection is refused is opened again at the same version.
#[tokio::test]
async fn a_watch_whose_connection_is_refused_is_reopened_without_a_list() {
    let world = World::start(server(), HttpVersion::Http1);
    world.watches().await;
    world.server.collection().put("shop/c");
    world.catches_up().await;
    world.server.close_port().await;
    world.server.cut(Cut::Reset);
    world.server.collection().delete("shop/b");

    world.fails(ErrorClass::Refused).await;
    world.server.open_port().unwrap();
    world.settles().await;

    assert_eq!(world.requested(), ["list 0", "watch 12", "watch 13"]);
}

/// A watch that ends within a second and without an event is a failure. Scenario 13.
#[tokio::test]
async fn a_watch_that_ends_at_once_without_events_is_a_failure_and_leads_to_a_list() {
    for http in HttpVersion::ALL {
        for cut in [Cut::End, Cut::Close, Cut::Reset] {
            let fault = Fault::good().cut_after_bytes(0, cut);
            let world = World::start(server_with(On::watch().times(2), fault.cut_after_frames(0, cut)), http);

            world.fails(ErrorClass::VeryShortWatch).await;
            world.settles().await;

            let expected = ["list 0", "watch 12", "list 12", "watch 12", "list 12", "watch 12"];
            assert_eq!(world.requested(), expected, "{http:?} {cut:?}");
        }
    }
}

/// The list after a gap yields deletions, updates and additions.
#[tokio::test]
async fn after_a_restart_that_lost_the_history_a_list_closes_the_gap() {
    for http in HttpVersion::ALL {
        let world = World::start(server(), http);
        world.watches().await;
        world.server.collection().put("shop/b");
        world.catches_up().await;
        world.server.close_port().await;
        world.server.cut(Cut::Reset);
        let collection = world.server.collection();
        collection.delete("shop/a");
        collection.put("shop/b");
        collection.put("shop/c");
        collection.compact();
        world.fails(ErrorClass::Refused).await;
        world.server.open_port().unwrap();

        world.settles().await;

        assert_eq!(world.requested(), ["list 0", "watch 12", "watch 13", "list 13", "watch 16"], "{http:?}");
        let mut relisted = world.history.received_by_cause("relist");
        relisted.sort();
        let expected = ["add shop/c@16 relist", "delete shop/a@11 relist?", "update shop/b@13->15 relist"];
        assert_eq!(relisted, expected);
    }
}
