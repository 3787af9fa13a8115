//! Faulty events on watches: ERROR events, garbage, repetitions and gaps.

use std::time::Duration;

use informer_cache::ErrorClass;
use informer_faults::{Call, Cut, Fault, Frame, HttpVersion, On, Status};
use serde_json::json;

use crate::world::{BACKOFF, World, at_once, gaps, server, server_with};

/// An ERROR event ends the stream and leads to a list.
#[tokio::test]
async fn an_error_event_leads_to_a_list_at_the_last_version() {
    let storage = Status::of(500).with_message("unable to transform key: object not decryptable");
    for (status, class) in [
        (Status::of(410), ErrorClass::Expired),
        (Status::of(410).with_reason("Gone"), ErrorClass::Expired),
        (Status::of(500), ErrorClass::Server),
        (storage, ErrorClass::Server),
        (Status::of(503), ErrorClass::Server),
        (Status::of(418).with_reason("Teapot"), ErrorClass::Server),
    ] {
        for http in HttpVersion::ALL {
            let world = World::start(server(), http);
            world.watches().await;
            world.server.collection().put("shop/c");
            world.server.fail(&status);
            world.server.collection().delete("shop/a");

            let text = world.fails(class).await;
            world.settles().await;

            assert!(text.contains("cannot watch v1/pods"), "{text}");
            let requested = world.requested();
            assert_eq!(requested[..3], ["list 0", "watch 12", "list 13"], "{status:?}");
            assert_eq!(requested.len(), 4, "{requested:?}");
        }
    }
}

/// The list after the ERROR event removes an object that the server could not read.
#[tokio::test]
async fn an_unreadable_deleted_object_is_removed_by_the_next_list() {
    let world = World::start(server(), HttpVersion::Http1);
    world.watches().await;
    world.server.collection().delete_hidden("shop/a");
    world
        .server
        .send(Frame::error(&Status::of(500).with_message("unable to decode the object: store read error")));

    world.settles().await;

    assert_eq!(world.history.received()[2], "delete shop/a@11 relist?");
}

/// After 429 in the stream the watch is reopened at the last version.
#[tokio::test]
async fn a_429_event_reopens_the_watch_without_a_list() {
    let world = World::start(server(), HttpVersion::Http1);
    world.watches().await;
    world.server.collection().put("shop/c");
    world.server.fail(&Status::of(429));

    world.fails(ErrorClass::Throttled).await;
    world.settles().await;

    assert_eq!(world.requested(), ["list 0", "watch 12", "watch 13"]);
    assert!(gaps(&world.requests(Call::Watch, 2).await)[0] >= BACKOFF);
}

/// An ERROR event without a `Status` leads to a list, and so does a frame that cannot be decoded.
#[tokio::test]
async fn invalid_error_events_and_invalid_frames_lead_to_a_list() {
    let pod = json!({"kind": "Pod", "apiVersion": "v1", "metadata": {"name": "x", "resourceVersion": "99"}});
    for frame in [
        Frame::event("ERROR", &pod),
        Frame::event("ERROR", &json!("no")),
        Frame::event("SURPRISE", &pod),
        Frame::raw("{\"type\":\"ADDED\",\"object\":\n"),
        Frame::raw("<html>Bad Gateway</html>\n"),
        Frame::raw("\u{0}\u{1}\n"),
    ] {
        let world = World::start(server(), HttpVersion::Http2);
        world.watches().await;
        world.server.collection().put("shop/c");
        world.server.send(frame.clone());

        world.requests(Call::List, 2).await;
        world.settles().await;

        assert_eq!(world.requested(), ["list 0", "watch 12", "list 13", "watch 13"], "{frame:?}");
    }
}

/// If each watch starts with an ERROR event, each run waits for the backoff.
#[tokio::test]
async fn repeated_error_events_are_retried_with_a_backoff() {
    for code in [410, 500] {
        let fault = Fault::error_event(&Status::of(code));
        let world = World::start(server_with(On::watch().times(4), fault), HttpVersion::Http1);

        world.settles().await;

        let gaps = gaps(&world.requests(Call::Watch, 5).await);
        assert!(
            gaps.iter().zip([1, 2, 4, 4]).all(|(gap, factor)| *gap >= BACKOFF * factor),
            "{code}: {gaps:?}"
        );
        assert_eq!(world.requests(Call::List, 5).await.len(), 5);
    }
}

/// An update between equal versions is not notified (P-6).
#[tokio::test]
async fn repeated_events_are_notified_once() {
    let world = World::start(server_with(On::watch(), Fault::good().twice()), HttpVersion::Http1);
    world.watches().await;
    world.server.collection().put("shop/a");
    world.server.collection().put("shop/c");

    world.settles().await;

    let received = world.history.received();
    assert_eq!(received[2..], ["update shop/a@11->13 live", "add shop/c@14 live", "add shop/last@15 live"]);
}

/// The deletion of an object that is not cached is delivered too (D-11).
#[tokio::test]
async fn a_repeated_deletion_is_notified_twice() {
    let world = World::start(server_with(On::watch(), Fault::good().twice()), HttpVersion::Http1);
    world.watches().await;
    world.server.collection().delete("shop/a");
    world.catches_up().await;

    let received = || world.history.received_by_cause("live");
    world.eventually("both", || received() == ["delete shop/a@13 live", "delete shop/a@13 live"]).await;
}

#[tokio::test]
async fn swapped_events_of_two_objects_do_no_harm() {
    let world = World::start(server_with(On::watch(), Fault::good().swapped()), HttpVersion::Http1);
    world.watches().await;
    world.server.collection().put("shop/c");
    world.server.collection().delete("shop/a");
    world.catches_up().await;
    world.server.collection().put("shop/d");

    world.settles().await;

    assert_eq!(world.history.received()[2..4], ["delete shop/a@14 live", "add shop/c@13 live"]);
    assert_eq!(world.requested(), ["list 0", "watch 12"]);
}

/// Versions are not compared, so swapped events are applied as they arrive. The resumed watch sends the
/// newer state again.
#[tokio::test]
async fn swapped_events_of_one_object_are_corrected_when_the_watch_resumes() {
    let fault = Fault::good().swapped().cut_after_frames(2, Cut::End);
    let server = server_with(On::watch(), fault);
    let world = World::start(server, HttpVersion::Http1);
    world.watches().await;
    world.server.collection().put("shop/a");
    world.server.collection().put("shop/a");

    world.requests(Call::Watch, 2).await;
    world.catches_up().await;

    // 14 arrived before 13, so 13 is the last version and the resumed watch sends 14 again.
    assert_eq!(world.requested(), ["list 0", "watch 12", "watch 13"]);
    assert_eq!(world.cached(), ["shop/a@14", "shop/b@12"]);
}

/// A list after a gap yields deletions, updates and additions.
#[tokio::test]
async fn changes_that_no_watch_sends_are_found_by_the_next_list() {
    let world = World::start(server(), HttpVersion::Http2);
    world.watches().await;
    let collection = world.server.collection();
    collection.delete_hidden("shop/a");
    collection.put_hidden("shop/b");
    collection.put_hidden("shop/c");
    // Another object with the same name (D-6).
    collection.delete_hidden("shop/c");
    collection.put_hidden("shop/c");
    collection.put("shop/d");
    world.eventually("d", || world.cached().contains(&"shop/d@18".to_owned())).await;
    assert_eq!(world.cached(), ["shop/a@11", "shop/b@12", "shop/d@18"]);
    world.server.fail(&Status::of(410));

    world.settles().await;

    assert_eq!(world.requested(), ["list 0", "watch 12", "list 18", "watch 18"]);
    let mut relisted = world.history.received_by_cause("relist");
    relisted.sort();
    assert_eq!(relisted, ["add shop/c@17 relist", "delete shop/a@11 relist?", "update shop/b@12->14 relist"]);
}

/// An object that was deleted and created again unseen is a deletion and an addition (D-6).
#[tokio::test]
async fn an_object_replaced_unseen_is_notified_as_deleted_and_added() {
    let world = World::start(server(), HttpVersion::Http1);
    world.watches().await;
    world.server.collection().delete_hidden("shop/a");
    world.server.collection().put_hidden("shop/a");
    world.server.fail(&Status::of(410));

    world.settles().await;

    assert_eq!(world.history.received()[2..4], ["delete shop/a@11 relist?", "add shop/a@14 relist"]);
}

/// A bookmark advances the last version. Scenario 116.
#[tokio::test]
async fn a_bookmark_advances_the_version_at_which_a_watch_resumes() {
    at_once(HttpVersion::ALL, async |http| {
        let world = World::start(server(), http);
        world.watches().await;
        world.server.collection().pass_time();
        let version = world.server.collection().pass_time();
        world.server.send_bookmark();
        let applied = || world.informer.status().reflectors[0].applied_version == version.to_string();
        world.eventually("the bookmark", applied).await;
        // Without the bookmark the watch would be expired and a list would follow.
        world.server.collection().compact();
        world.server.cut(Cut::Reset);

        world.settles().await;

        assert_eq!(world.requested(), ["list 0", "watch 12", "watch 14"]);
        assert_eq!(world.history.received().len(), 3);
        // A watch that brought no object is reopened at most once a second.
        let opened = gaps(&world.requests(Call::Watch, 2).await)[0];
        assert!(opened >= Duration::from_millis(900), "{opened:?}");
    })
    .await;
}

/// On a plain watch the end mark of a streaming list is a bookmark.
#[tokio::test]
async fn an_end_mark_on_a_plain_watch_is_a_bookmark() {
    let world = World::start(server(), HttpVersion::Http1);
    world.watches().await;
    for value in ["true", "false", ""] {
        let version = world.server.collection().pass_time();
        world.server.send(Frame::end_mark(version, value));
    }
    world.eventually("3 bookmarks", || world.informer.status().counters.bookmarks == 3).await;
    world.server.cut(Cut::Close);

    world.settles().await;

    assert_eq!(world.requested(), ["list 0", "watch 12", "watch 15"]);
}

/// Events with objects of another kind and tables do not advance the version.
#[tokio::test]
async fn objects_of_another_kind_and_tables_are_skipped() {
    let world = World::start(server(), HttpVersion::Http1);
    world.watches().await;
    let node =
        json!({"kind": "Node", "apiVersion": "v1", "metadata": {"name": "n", "resourceVersion": "99"}});
    let table = json!({"kind": "Table", "apiVersion": "meta.k8s.io/v1", "metadata": {"resourceVersion": "98"}, "rows": []});
    for frame in
        [Frame::event("ADDED", &node), Frame::event("BOOKMARK", &node), Frame::event("MODIFIED", &table)]
    {
        world.server.send(frame);
    }
    world.server.collection().put("shop/c");
    world.catches_up().await;
    world.server.cut(Cut::Reset);

    world.settles().await;

    assert_eq!(world.requested(), ["list 0", "watch 12", "watch 13"]);
    assert_eq!(world.informer.status().counters.skipped, 3);
}
