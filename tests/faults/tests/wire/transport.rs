//! Connections that are refused, closed, reset: what is a normal end of a watch and what is a failure.

use informer_cache::ErrorClass;
use informer_faults::{Call, Cut, Fault, Frame, HttpVersion, On, Reason};

use crate::world::{BACKOFF, World, gaps, server, server_with};

/// Cuts after which the client knows at once that nothing more comes.
const BREAKS: [Cut; 3] = [Cut::Close, Cut::Reset, Cut::Stream(Reason::INTERNAL_ERROR)];

#[tokio::test]
async fn without_faults_it_lists_once_and_watches_from_there_r5_r19() {
    for http in HttpVersion::ALL {
        let world = World::start(server(), http);

        world.settles().await;

        assert_eq!(world.asked(), ["list 0", "watch 12"], "{http:?}");
        let requests = world.server.requests();
        let (list, watch) = (&requests[requests.len() - 2], &requests[requests.len() - 1]);
        assert_eq!((list.get("limit"), watch.get("limit")), ("500", ""));
        assert_eq!(watch.get("allowWatchBookmarks"), "true");
        assert!((300..=600).contains(&watch.get("timeoutSeconds").parse().unwrap()));
        let version = if http == HttpVersion::Http1 { http::Version::HTTP_11 } else { http::Version::HTTP_2 };
        assert!(requests.iter().all(|request| request.http == version));
    }
}

#[tokio::test]
async fn a_port_where_nobody_listens_is_asked_again_with_growing_delays_r16() {
    let server = server();
    server.close_port().await;
    let world = World::start(server, HttpVersion::Http1);

    let text = world.fails(ErrorClass::Refused).await;
    let failures = || world.informer.status().reflectors[0].consecutive_failures;
    world.eventually("3 failures", || failures() >= 3).await;
    world.server.open_port().unwrap();
    world.settles().await;

    assert!(text.contains("is it running?"), "{text}");
    assert_eq!(world.asked(), ["list 0", "watch 12"]);
}

#[tokio::test]
async fn a_list_whose_connection_breaks_before_the_answer_is_retried_r16() {
    for http in HttpVersion::ALL {
        for cut in BREAKS {
            let world = World::start(server_with(On::list().times(2), Fault::no_answer(cut)), http);

            world.fails(ErrorClass::Unreachable).await;
            world.settles().await;

            assert_eq!(world.asked(), ["list 0", "list 0", "list 0", "watch 12"], "{http:?} {cut:?}");
            let lists = world.requests(Call::List, 3).await;
            let gaps = gaps(&lists);
            assert!(gaps[0] >= BACKOFF && gaps[1] >= 2 * BACKOFF, "{gaps:?}");
        }
    }
}

#[tokio::test]
async fn a_list_that_breaks_off_is_no_list_r16() {
    for http in HttpVersion::ALL {
        for cut in [Cut::End, Cut::Close, Cut::Reset, Cut::Stream(Reason::CANCEL)] {
            // In the middle of the second object: nothing of the first may be seen.
            let fault = Fault::good().cut_after_bytes(250, cut);
            let world = World::start(server_with(On::list(), fault), http);

            let text = world.fails(ErrorClass::Malformed).await;
            world.settles().await;

            assert!(text.contains("broke off its answer after 250 bytes"), "{http:?} {cut:?} {text}");
            assert_eq!(world.asked(), ["list 0", "list 0", "watch 12"], "{http:?} {cut:?}");
        }
    }
}

#[tokio::test]
async fn a_relist_that_breaks_off_leaves_the_cache_as_it_was_r32() {
    let server = server_with(On::watch(), Fault::error_event(&informer_faults::Status::of(500)));
    server.plan(On::list().nth(2).times(3), Fault::good().cut_after_bytes(250, Cut::Reset));
    let world = World::start(server, HttpVersion::Http1);
    world.requests(Call::List, 4).await;

    assert_eq!(world.cached(), ["shop/a@11", "shop/b@12"]);
    world.settles().await;
}

#[tokio::test]
async fn a_watch_whose_connection_breaks_is_resumed_where_it_was_a11_r18() {
    for http in HttpVersion::ALL {
        for cut in [Cut::End, Cut::Close, Cut::Reset, Cut::Stream(Reason::NO_ERROR)] {
            let world = World::start(server(), http);
            world.watches().await;
            world.server.collection().put("shop/c");
            world.catches_up().await;
            world.server.cut(cut);
            world.server.collection().delete("shop/a");

            world.settles().await;

            assert_eq!(world.asked(), ["list 0", "watch 12", "watch 13"], "{http:?} {cut:?}");
            assert_eq!(world.informer.status().counters.failures, 0, "{http:?} {cut:?}");
        }
    }
}

/// Scenario 114.
#[tokio::test]
async fn a_watch_may_break_after_any_byte_of_an_event_a11() {
    let server = server();
    // Versions of three digits: all events are of one length.
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

#[tokio::test]
async fn a_watch_that_cannot_be_opened_but_by_refusal_leads_to_a_list_r21() {
    for http in HttpVersion::ALL {
        for cut in BREAKS {
            let world = World::start(server_with(On::watch(), Fault::no_answer(cut)), http);

            let text = world.fails(ErrorClass::Unreachable).await;
            world.settles().await;

            assert!(text.contains("cannot watch v1/pods"), "{text}");
            assert_eq!(world.asked(), ["list 0", "watch 12", "list 12", "watch 12"], "{http:?} {cut:?}");
        }
    }
}

#[tokio::test]
async fn a_watch_that_is_refused_is_reopened_where_it_was_without_a_list_r21() {
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

    assert_eq!(world.asked(), ["list 0", "watch 12", "watch 13"]);
}

/// Scenario 13.
#[tokio::test]
async fn a_watch_that_ends_at_once_and_empty_is_a_failure_and_relists_r20() {
    for http in HttpVersion::ALL {
        for cut in [Cut::End, Cut::Close, Cut::Reset] {
            let fault = Fault::good().cut_after_bytes(0, cut);
            let world = World::start(server_with(On::watch().times(2), fault.cut_after_frames(0, cut)), http);

            world.fails(ErrorClass::VeryShortWatch).await;
            world.settles().await;

            let expected = ["list 0", "watch 12", "list 12", "watch 12", "list 12", "watch 12"];
            assert_eq!(world.asked(), expected, "{http:?} {cut:?}");
        }
    }
}

#[tokio::test]
async fn a_restart_of_the_server_that_forgot_is_made_up_for_by_a_list_r33() {
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

        assert_eq!(world.asked(), ["list 0", "watch 12", "watch 13", "list 13", "watch 16"], "{http:?}");
        let mut relisted = world.history.told_by("relist");
        relisted.sort();
        let expected = ["add shop/c@16 relist", "delete shop/a@11 relist?", "update shop/b@13->15 relist"];
        assert_eq!(relisted, expected);
    }
}
