//! Streaming lists over a faulty wire. Rules with long waits (D-3, R-48) are tested with a paused
//! clock in `host/cache/tests/informer/streaming`.

use std::time::Duration;

use informer_cache::{ErrorClass, FactoryConfig, WatchListMode};
use informer_faults::{Cut, Fault, FaultServer, Frame, HttpVersion, On, Reason, Status, StreamingLists};
use serde_json::json;

use crate::world::{World, at_once, config, server, server_with};

fn start(server: FaultServer, http: HttpVersion) -> World {
    World::start_with(server, http, FactoryConfig { watch_list: WatchListMode::Auto, ..config() })
}

/// The first streaming list meets this fault.
fn start_with(fault: Fault, http: HttpVersion) -> World {
    start(server_with(On::streaming_list(), fault), http)
}

/// A streaming list is a watch for initial events that goes on as the watch.
#[tokio::test]
async fn one_request_delivers_the_state_and_the_live_changes() {
    for http in HttpVersion::ALL {
        let world = start(server(), http);

        world.settles().await;

        assert_eq!(world.requested(), ["stream "], "{http:?}");
        let request = world.server.requests().pop().unwrap();
        assert_eq!(request.get("resourceVersionMatch"), "NotOlderThan");
        assert_eq!(request.get("allowWatchBookmarks"), "true");
        assert!((300..=600).contains(&request.get("timeoutSeconds").parse().unwrap()));
        assert_eq!(world.history.received_by_cause("initial").len(), 2);
    }
}

/// If the connection breaks after the mark, the next request is a plain watch.
#[tokio::test]
async fn after_a_broken_streaming_list_with_mark_a_plain_watch_follows() {
    let cuts =
        |http| [Cut::End, Cut::Close, Cut::Reset, Cut::Stream(Reason::INTERNAL_ERROR)].map(|cut| (http, cut));
    at_once(HttpVersion::ALL.into_iter().flat_map(cuts), async |(http, cut)| {
        let world = start(server(), http);
        world.watches().await;
        world.server.cut(cut);
        world.server.collection().delete("shop/a");

        world.settles().await;

        assert_eq!(world.requested(), ["stream ", "watch 12"], "{http:?} {cut:?}");
    })
    .await;
}

/// Events before the mark change a temporary store only. A stream without a mark is requested again
///
#[tokio::test]
async fn a_streaming_list_that_breaks_before_the_mark_changes_nothing() {
    for http in HttpVersion::ALL {
        for cut in [Cut::End, Cut::Close, Cut::Reset, Cut::Stream(Reason::CANCEL)] {
            // A complete object that is gone at the next attempt, and half of another one.
            let ghost = json!({"kind": "Pod", "apiVersion": "v1", "metadata":
                {"namespace": "shop", "name": "ghost", "uid": "uid-5", "resourceVersion": "5"}});
            let ghost = Frame::event("ADDED", &ghost);
            let bytes = ghost.bytes().len() + 70;
            let world = start_with(Fault::good().first([ghost]).cut_after_bytes(bytes, cut), http);

            world.settles().await;

            assert_eq!(world.requested(), ["stream ", "stream "], "{http:?} {cut:?}");
            assert!(!world.history.received().iter().any(|received| received.contains("ghost")));
        }
    }
}

/// After two streaming lists without a mark the informer uses plain lists (R-47, D-3).
#[tokio::test]
async fn two_streams_without_a_mark_lead_to_a_plain_list() {
    for cut in [Cut::End, Cut::Reset] {
        let fault = Fault::good().cut_after_frames(2, cut);
        let world = start(server_with(On::streaming_list().times(2), fault), HttpVersion::Http2);

        world.settles().await;
        assert_eq!(world.requested(), ["stream ", "stream ", "list 0", "watch 12"], "{cut:?}");

        // The informer remembers that this server does not complete streaming lists.
        world.server.fail(&Status::of(410));
        world.settles().await;
        assert_eq!(world.requested()[4..], ["list 13", "watch 13"], "{cut:?}");
    }
}

/// A refused streaming list leads to a plain list in the same run, and later runs list plainly too
/// (D-3). Scenario 111.
#[tokio::test]
async fn a_refused_streaming_list_leads_to_plain_lists_from_then_on() {
    for http in HttpVersion::ALL {
        let server = server();
        server.set_streaming_lists(StreamingLists::Refused);
        let world = start(server, http);
        world.settles().await;
        assert_eq!(world.informer.status().counters.failures, 0);
        world.server.fail(&Status::of(410));

        world.settles().await;

        assert_eq!(world.requested(), ["stream ", "list 0", "watch 12", "list 13", "watch 13"], "{http:?}");
    }
}

/// Any failure other than an unavailable version or 429 leads to a plain list in the same run.
#[tokio::test]
async fn other_failures_of_a_streaming_list_lead_to_a_plain_list_in_the_same_run() {
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

        assert_eq!(world.requested(), ["stream ", "list 0", "watch 12"], "{name}");
    }
}

/// 429 waits one delay and starts a new streaming list.
#[tokio::test]
async fn a_throttled_streaming_list_is_requested_again_after_the_wait() {
    let world = start_with(Fault::status(429).retry_after(1), HttpVersion::Http2);

    world.fails(ErrorClass::Throttled).await;
    world.settles().await;

    assert_eq!(world.requested(), ["stream ", "stream "]);
    let requests = world.server.requests();
    let streams: Vec<_> = requests.iter().filter(|request| request.wants_initial_events()).collect();
    assert!(streams[1].at - streams[0].at >= Duration::from_secs(1));
}

/// After a gap a streaming list at the last version follows; if that version expired, one at no version (R-7,
/// The result yields the missed deletions.
#[tokio::test]
async fn after_a_gap_a_stream_at_the_last_version_and_then_at_the_newest_recovers() {
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

        assert_eq!(world.requested(), ["stream ", "stream 13", "stream "]);
        assert_eq!(world.history.received_by_cause("relist"), ["delete shop/a@11 relist?"]);
    }
}

/// Events before the mark change a temporary store, which replaces the cache at the mark.
#[tokio::test]
async fn before_the_mark_only_the_last_state_of_each_object_counts() {
    let pod = |version: &str| {
        json!({"kind": "Pod", "apiVersion": "v1", "metadata":
            {"namespace": "shop", "name": "brief", "uid": "uid-5", "resourceVersion": version}})
    };
    let before = [
        Frame::event("ADDED", &pod("5")),
        // This bookmark is not the end mark, because its value is not "true".
        Frame::end_mark(6, "false"),
        Frame::event("MODIFIED", &pod("7")),
        Frame::bookmark(8),
        Frame::event("DELETED", &pod("9")),
    ];
    for http in HttpVersion::ALL {
        let world = start_with(Fault::good().first(before.clone()), http);

        world.settles().await;

        assert_eq!(world.requested(), ["stream "]);
        assert!(!world.history.received().iter().any(|received| received.contains("brief")));
    }
}

/// Initial events only change the temporary store. A mark after the first one is a plain bookmark
///
#[tokio::test]
async fn repeated_initial_events_count_once_and_a_second_mark_is_a_bookmark() {
    let world = start_with(Fault::good().twice(), HttpVersion::Http2);
    world.watches().await;
    world.server.collection().put("shop/a");

    world.settles().await;

    assert_eq!(world.requested(), ["stream "]);
    assert_eq!(world.history.received().len(), 4);
}

#[tokio::test]
async fn chunk_sizes_and_pauses_do_not_change_a_streaming_list() {
    let slowly = Fault::good().chunks(50).pause(Duration::from_millis(5));
    for fault in [Fault::good().chunks(1), Fault::good().joined(3), slowly] {
        for http in HttpVersion::ALL {
            let world = start_with(fault.clone(), http);
            world.watches().await;
            world.server.collection().delete("shop/b");
            // Together with the pod that `settles` adds, chunks of three are full.
            world.server.collection().put("shop/c");

            world.settles().await;

            assert_eq!(world.requested(), ["stream "], "{http:?} {fault:?}");
        }
    }
}
