//! What watches say that is not simply true: ERROR events, garbage, repetitions, gaps.

use std::time::Duration;

use informer_cache::ErrorClass;
use informer_faults::{Call, Cut, Fault, Frame, HttpVersion, On, Status};
use serde_json::json;

use crate::world::{BACKOFF, World, at_once, gaps, server, server_with};

#[tokio::test]
async fn an_error_event_relists_at_the_last_version_seen_r22() {
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
            let asked = world.asked();
            assert_eq!(asked[..3], ["list 0", "watch 12", "list 13"], "{status:?}");
            assert_eq!(asked.len(), 4, "{asked:?}");
        }
    }
}

#[tokio::test]
async fn an_object_that_a_store_read_error_hides_is_removed_by_the_list_r34() {
    let world = World::start(server(), HttpVersion::Http1);
    world.watches().await;
    world.server.collection().delete_hidden("shop/a");
    world
        .server
        .send(Frame::error(&Status::of(500).with_message("unable to decode the object: store read error")));

    world.settles().await;

    assert_eq!(world.history.told()[2], "delete shop/a@11 relist?");
}

#[tokio::test]
async fn a_429_in_the_stream_reopens_where_it_was_without_a_list_r22() {
    let world = World::start(server(), HttpVersion::Http1);
    world.watches().await;
    world.server.collection().put("shop/c");
    world.server.fail(&Status::of(429));

    world.fails(ErrorClass::Throttled).await;
    world.settles().await;

    assert_eq!(world.asked(), ["list 0", "watch 12", "watch 13"]);
    assert!(gaps(&world.requests(Call::Watch, 2).await)[0] >= BACKOFF);
}

#[tokio::test]
async fn an_error_without_a_status_and_frames_that_are_none_relist_r22_a11() {
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

        assert_eq!(world.asked(), ["list 0", "watch 12", "list 13", "watch 13"], "{frame:?}");
    }
}

#[tokio::test]
async fn a_watch_that_begins_with_an_error_again_and_again_is_not_asked_without_pause_r1_r22() {
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

#[tokio::test]
async fn events_that_come_twice_are_told_once_p6() {
    let world = World::start(server_with(On::watch(), Fault::good().twice()), HttpVersion::Http1);
    world.watches().await;
    world.server.collection().put("shop/a");
    world.server.collection().put("shop/c");

    world.settles().await;

    let told = world.history.told();
    assert_eq!(told[2..], ["update shop/a@11->13 live", "add shop/c@14 live", "add shop/last@15 live"]);
}

#[tokio::test]
async fn a_deletion_that_comes_twice_is_told_twice_d11() {
    let world = World::start(server_with(On::watch(), Fault::good().twice()), HttpVersion::Http1);
    world.watches().await;
    world.server.collection().delete("shop/a");
    world.catches_up().await;

    let told = || world.history.told_by("live");
    world.eventually("both", || told() == ["delete shop/a@13 live", "delete shop/a@13 live"]).await;
}

#[tokio::test]
async fn events_of_two_objects_in_the_wrong_order_do_no_harm() {
    let world = World::start(server_with(On::watch(), Fault::good().swapped()), HttpVersion::Http1);
    world.watches().await;
    world.server.collection().put("shop/c");
    world.server.collection().delete("shop/a");
    world.catches_up().await;
    world.server.collection().put("shop/d");

    world.settles().await;

    assert_eq!(world.history.told()[2..4], ["delete shop/a@14 live", "add shop/c@13 live"]);
    assert_eq!(world.asked(), ["list 0", "watch 12"]);
}

#[tokio::test]
async fn events_of_one_object_in_the_wrong_order_are_taken_as_they_come_and_mended_by_resuming_r28() {
    let fault = Fault::good().swapped().cut_after_frames(2, Cut::End);
    let server = server_with(On::watch(), fault);
    let world = World::start(server, HttpVersion::Http1);
    world.watches().await;
    world.server.collection().put("shop/a");
    world.server.collection().put("shop/a");

    world.requests(Call::Watch, 2).await;
    world.catches_up().await;

    // 14 came before 13, so 13 was the last seen: the resumed watch tells 14 again.
    assert_eq!(world.asked(), ["list 0", "watch 12", "watch 13"]);
    assert_eq!(world.cached(), ["shop/a@14", "shop/b@12"]);
}

#[tokio::test]
async fn changes_that_no_watch_tells_are_found_by_the_next_list_r33() {
    let world = World::start(server(), HttpVersion::Http2);
    world.watches().await;
    let collection = world.server.collection();
    collection.delete_hidden("shop/a");
    collection.put_hidden("shop/b");
    collection.put_hidden("shop/c");
    // The same name, another object (D-6).
    collection.delete_hidden("shop/c");
    collection.put_hidden("shop/c");
    collection.put("shop/d");
    world.eventually("d", || world.cached().contains(&"shop/d@18".to_owned())).await;
    assert_eq!(world.cached(), ["shop/a@11", "shop/b@12", "shop/d@18"]);
    world.server.fail(&Status::of(410));

    world.settles().await;

    assert_eq!(world.asked(), ["list 0", "watch 12", "list 18", "watch 18"]);
    let mut relisted = world.history.told_by("relist");
    relisted.sort();
    assert_eq!(relisted, ["add shop/c@17 relist", "delete shop/a@11 relist?", "update shop/b@12->14 relist"]);
}

#[tokio::test]
async fn an_object_that_was_replaced_unseen_is_told_as_deleted_and_added_d6() {
    let world = World::start(server(), HttpVersion::Http1);
    world.watches().await;
    world.server.collection().delete_hidden("shop/a");
    world.server.collection().put_hidden("shop/a");
    world.server.fail(&Status::of(410));

    world.settles().await;

    assert_eq!(world.history.told()[2..4], ["delete shop/a@11 relist?", "add shop/a@14 relist"]);
}

/// Scenario 116.
#[tokio::test]
async fn a_bookmark_moves_the_place_a_watch_is_resumed_at_r30() {
    at_once(HttpVersion::ALL, async |http| {
        let world = World::start(server(), http);
        world.watches().await;
        world.server.collection().pass_time();
        let version = world.server.collection().pass_time();
        world.server.send_bookmark();
        let applied = || world.informer.status().reflectors[0].applied_version == version.to_string();
        world.eventually("the bookmark", applied).await;
        // Without the bookmark this would be an expired watch, and a list.
        world.server.collection().compact();
        world.server.cut(Cut::Reset);

        world.settles().await;

        assert_eq!(world.asked(), ["list 0", "watch 12", "watch 14"]);
        assert_eq!(world.history.told().len(), 3);
        // A watch that brought no object is not reopened sooner.
        let opened = gaps(&world.requests(Call::Watch, 2).await)[0];
        assert!(opened >= Duration::from_millis(900), "{opened:?}");
    })
    .await;
}

#[tokio::test]
async fn bookmarks_with_the_end_mark_of_a_streaming_list_are_bookmarks_on_a_plain_watch_r30_r43() {
    let world = World::start(server(), HttpVersion::Http1);
    world.watches().await;
    for value in ["true", "false", ""] {
        let version = world.server.collection().pass_time();
        world.server.send(Frame::end_mark(version, value));
    }
    world.eventually("3 bookmarks", || world.informer.status().counters.bookmarks == 3).await;
    world.server.cut(Cut::Close);

    world.settles().await;

    assert_eq!(world.asked(), ["list 0", "watch 12", "watch 15"]);
}

#[tokio::test]
async fn objects_of_another_kind_and_tables_are_skipped_and_move_nothing_r26_r27() {
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

    assert_eq!(world.asked(), ["list 0", "watch 12", "watch 13"]);
    assert_eq!(world.informer.status().counters.skipped, 3);
}
