//! Streaming lists over a wire that fails. What takes more patience than a test has (D-3, R-48) is
//! tested on a clock that stands still, in `host/cache/tests/informer/streaming`.

use std::time::Duration;

use informer_cache::{ErrorClass, FactoryConfig, WatchListMode};
use informer_faults::{Cut, Fault, FaultServer, Frame, HttpVersion, On, Reason, Status, StreamingLists};
use serde_json::json;

use crate::world::{World, at_once, config, server, server_with};

fn start(server: FaultServer, http: HttpVersion) -> World {
    World::start_with(server, http, FactoryConfig { watch_list: WatchListMode::Auto, ..config() })
}

/// Streaming lists meet this fault, once.
fn start_with(fault: Fault, http: HttpVersion) -> World {
    start(server_with(On::streaming_list(), fault), http)
}

#[tokio::test]
async fn one_request_brings_the_state_and_what_follows_r41_r44() {
    for http in HttpVersion::ALL {
        let world = start(server(), http);

        world.settles().await;

        assert_eq!(world.asked(), ["stream "], "{http:?}");
        let request = world.server.requests().pop().unwrap();
        assert_eq!(request.get("resourceVersionMatch"), "NotOlderThan");
        assert_eq!(request.get("allowWatchBookmarks"), "true");
        assert!((300..=600).contains(&request.get("timeoutSeconds").parse().unwrap()));
        assert_eq!(world.history.told_by("initial").len(), 2);
    }
}

#[tokio::test]
async fn a_connection_that_breaks_after_the_mark_is_followed_by_a_plain_watch_r44() {
    let cuts =
        |http| [Cut::End, Cut::Close, Cut::Reset, Cut::Stream(Reason::INTERNAL_ERROR)].map(|cut| (http, cut));
    at_once(HttpVersion::ALL.into_iter().flat_map(cuts), async |(http, cut)| {
        let world = start(server(), http);
        world.watches().await;
        world.server.cut(cut);
        world.server.collection().delete("shop/a");

        world.settles().await;

        assert_eq!(world.asked(), ["stream ", "watch 12"], "{http:?} {cut:?}");
    })
    .await;
}

#[tokio::test]
async fn a_connection_that_breaks_before_the_mark_leaves_nothing_behind_r42_r47() {
    for http in HttpVersion::ALL {
        for cut in [Cut::End, Cut::Close, Cut::Reset, Cut::Stream(Reason::CANCEL)] {
            // An object that is gone by the next try, whole, and half of the one after it.
            let ghost = json!({"kind": "Pod", "apiVersion": "v1", "metadata":
                {"namespace": "shop", "name": "ghost", "uid": "uid-5", "resourceVersion": "5"}});
            let ghost = Frame::event("ADDED", &ghost);
            let bytes = ghost.bytes().len() + 70;
            let world = start_with(Fault::good().first([ghost]).cut_after_bytes(bytes, cut), http);

            world.settles().await;

            assert_eq!(world.asked(), ["stream ", "stream "], "{http:?} {cut:?}");
            assert!(!world.history.told().iter().any(|told| told.contains("ghost")));
        }
    }
}

#[tokio::test]
async fn two_streams_that_end_before_their_mark_give_way_to_a_plain_list_r47_d3() {
    for cut in [Cut::End, Cut::Reset] {
        let fault = Fault::good().cut_after_frames(2, cut);
        let world = start(server_with(On::streaming_list().times(2), fault), HttpVersion::Http2);

        world.settles().await;
        assert_eq!(world.asked(), ["stream ", "stream ", "list 0", "watch 12"], "{cut:?}");

        // And it is remembered.
        world.server.fail(&Status::of(410));
        world.settles().await;
        assert_eq!(world.asked()[4..], ["list 13", "watch 13"], "{cut:?}");
    }
}

/// Scenario 111.
#[tokio::test]
async fn a_server_that_refuses_streaming_lists_is_listed_in_the_same_run_and_not_asked_again_r45_d3() {
    for http in HttpVersion::ALL {
        let server = server();
        server.set_streaming_lists(StreamingLists::Refused);
        let world = start(server, http);
        world.settles().await;
        assert_eq!(world.informer.status().counters.failures, 0);
        world.server.fail(&Status::of(410));

        world.settles().await;

        assert_eq!(world.asked(), ["stream ", "list 0", "watch 12", "list 13", "watch 13"], "{http:?}");
    }
}

#[tokio::test]
async fn other_failures_lead_to_a_plain_list_in_the_same_run_r45() {
    let failures = [
        Fault::status(400),
        Fault::status(403),
        Fault::status(500),
        Fault::status(503),
        Fault::no_answer(Cut::Reset),
        Fault::no_answer(Cut::Stream(Reason::REFUSED_STREAM)),
        Fault::good().cut_after_frames(0, Cut::End),
        Fault::error_event(&Status::of(500)),
        Fault::good().first([Frame::raw("<html>\n")]),
        Fault::good().first([Frame::event("SURPRISE", &json!({}))]),
        Fault::body("text/html", "<html>\n</html>\n"),
    ];
    for fault in failures {
        let name = format!("{fault:?}");
        let world = start_with(fault, HttpVersion::Http1);

        world.settles().await;

        assert_eq!(world.asked(), ["stream ", "list 0", "watch 12"], "{name}");
    }
}

#[tokio::test]
async fn a_stream_that_is_throttled_is_asked_for_again_after_the_wait_r46() {
    let world = start_with(Fault::status(429).retry_after(1), HttpVersion::Http2);

    world.fails(ErrorClass::Throttled).await;
    world.settles().await;

    assert_eq!(world.asked(), ["stream ", "stream "]);
    let requests = world.server.requests();
    let streams: Vec<_> = requests.iter().filter(|request| request.wants_initial_events()).collect();
    assert!(streams[1].at - streams[0].at >= Duration::from_secs(1));
}

#[tokio::test]
async fn a_gap_is_closed_by_a_stream_at_the_last_version_and_then_at_the_newest_r7_r33_r45() {
    for refusal in
        [Fault::status(410), Fault::refusal(&Status::too_large(13, 5)), Fault::error_event(&Status::of(410))]
    {
        let world = start(server(), HttpVersion::Http1);
        world.watches().await;
        world.server.collection().put("shop/c");
        world.catches_up().await;
        world.server.plan(On::streaming_list(), refusal);
        world.server.fail(&Status::of(410));
        world.server.collection().delete("shop/a");

        world.settles().await;

        assert_eq!(world.asked(), ["stream ", "stream 13", "stream "]);
        assert_eq!(world.history.told_by("relist"), ["delete shop/a@11 relist?"]);
    }
}

#[tokio::test]
async fn until_the_mark_only_the_last_state_counts_r42_r43() {
    let pod = |version: &str| {
        json!({"kind": "Pod", "apiVersion": "v1", "metadata":
            {"namespace": "shop", "name": "brief", "uid": "uid-5", "resourceVersion": version}})
    };
    let before = [
        Frame::event("ADDED", &pod("5")),
        // No mark: the value is not "true".
        Frame::end_mark(6, "false"),
        Frame::event("MODIFIED", &pod("7")),
        Frame::bookmark(8),
        Frame::event("DELETED", &pod("9")),
    ];
    for http in HttpVersion::ALL {
        let world = start_with(Fault::good().first(before.clone()), http);

        world.settles().await;

        assert_eq!(world.asked(), ["stream "]);
        assert!(!world.history.told().iter().any(|told| told.contains("brief")));
    }
}

#[tokio::test]
async fn what_comes_twice_counts_once_and_a_second_mark_is_a_bookmark_r30_r42() {
    let world = start_with(Fault::good().twice(), HttpVersion::Http2);
    world.watches().await;
    world.server.collection().put("shop/a");

    world.settles().await;

    assert_eq!(world.asked(), ["stream "]);
    assert_eq!(world.history.told().len(), 4);
}

#[tokio::test]
async fn chunks_and_slowness_make_no_difference() {
    let slowly = Fault::good().chunks(50).pause(Duration::from_millis(5));
    for fault in [Fault::good().chunks(1), Fault::good().joined(3), slowly] {
        for http in HttpVersion::ALL {
            let world = start_with(fault.clone(), http);
            world.watches().await;
            world.server.collection().delete("shop/b");
            // With the one that settling adds: chunks of three are full.
            world.server.collection().put("shop/c");

            world.settles().await;

            assert_eq!(world.asked(), ["stream "], "{http:?} {fault:?}");
        }
    }
}
