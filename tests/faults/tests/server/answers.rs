//! The server without faults: lists, watches, and the refusals of bad requests.

use informer_faults::{FaultServer, HttpVersion, StreamingLists};
use serde_json::Value;

use crate::caller::{Answer, call, json, name};

const WATCH: &str = "/api/v1/pods?watch=true&allowWatchBookmarks=true&resourceVersion=";
const STREAM: &str = "/api/v1/pods?watch=true&sendInitialEvents=true&allowWatchBookmarks=true";

/// A server with pods at versions 11, 12 and 13.
fn server() -> FaultServer {
    let server = FaultServer::start().unwrap();
    for key in ["shop/a", "shop/b", "ship/c"] {
        server.collection().put(key);
    }
    server
}

fn names(list: &Value) -> Vec<String> {
    list["items"].as_array().unwrap().iter().map(name).collect()
}

async fn get(server: &FaultServer, target: &str) -> Answer {
    call(server, HttpVersion::Http2, target).await.unwrap()
}

async fn watch(server: &FaultServer, version: &str) -> Answer {
    get(server, &format!("{WATCH}{version}")).await
}

#[tokio::test]
async fn a_list_has_all_pods_and_a_namespaced_list_those_of_its_namespace() {
    let server = server();

    let all = json(&server, "/api/v1/pods?resourceVersion=0").await;
    let shop = json(&server, "/api/v1/namespaces/shop/pods?resourceVersion=11").await;

    assert_eq!(names(&all), ["ship/c", "shop/a", "shop/b"]);
    assert_eq!(all["metadata"]["resourceVersion"], "13");
    assert_eq!(names(&shop), ["shop/a", "shop/b"]);
}

/// All pages show the state at the version of the first page.
#[tokio::test]
async fn all_pages_have_the_version_of_the_first_page() {
    let server = server();

    let first = json(&server, "/api/v1/pods?limit=2").await;
    server.collection().put("shop/d");
    server.collection().delete("shop/b");
    let token = first["metadata"]["continue"].as_str().unwrap().to_owned();
    let second = json(&server, &format!("/api/v1/pods?limit=2&continue={token}")).await;

    assert_eq!(
        (names(&first), names(&second)),
        (vec!["ship/c".into(), "shop/a".into()], vec!["shop/b".into()])
    );
    assert_eq!(
        (&second["metadata"]["resourceVersion"], &second["metadata"]["continue"]),
        (&"13".into(), &"".into())
    );
    assert_eq!(server.requests().iter().map(|request| request.page()).collect::<Vec<_>>(), [1, 2]);

    server.collection().compact();
    assert_eq!(get(&server, &format!("/api/v1/pods?continue={token}")).await.code, 410);
}

/// A list with an exact match answers with that version, or 410 if it is forgotten.
#[tokio::test]
async fn an_exact_list_has_the_requested_version_or_fails_with_410() {
    let server = server();
    let target = "/api/v1/pods?resourceVersionMatch=Exact&resourceVersion=12";

    assert_eq!(names(&json(&server, target).await), ["shop/a", "shop/b"]);

    server.collection().compact();
    assert_eq!(get(&server, target).await.code, 410);
}

/// A version that the server has not reached yet is refused.
#[tokio::test]
async fn a_version_newer_than_the_server_is_too_large() {
    let server = server();

    for target in [format!("{WATCH}14"), "/api/v1/pods?resourceVersion=14".to_owned()] {
        let mut answer = get(&server, &target).await;

        assert_eq!(answer.code, 504);
        assert!(answer.text().await.unwrap().contains("ResourceVersionTooLarge"));
    }
}

/// A watch from a version sends all later changes, and bookmarks if they were requested.
#[tokio::test]
async fn a_watch_sends_past_and_live_changes_after_its_version_and_bookmarks() {
    let server = server();
    let mut watch = watch(&server, "12").await;
    assert_eq!(watch.event().await, "ADDED ship/c@13");

    server.collection().put("shop/a");
    server.collection().put_hidden("shop/b");
    server.collection().delete("shop/a");
    server.send_bookmark();

    assert_eq!(watch.event().await, "MODIFIED shop/a@14");
    assert_eq!(watch.event().await, "DELETED shop/a@16");
    assert_eq!(watch.event().await, "BOOKMARK @16");
    assert_eq!(server.collection().state(), ["ship/c@13", "shop/b@15"]);
}

/// A watch without a version starts with an ADDED event for each object.
#[tokio::test]
async fn a_watch_without_a_version_starts_with_the_current_state() {
    let server = server();
    let mut watch = watch(&server, "").await;

    assert_eq!(watch.event().await, "ADDED ship/c@13");
    assert_eq!(watch.event().await, "ADDED shop/a@11");
    assert_eq!(watch.event().await, "ADDED shop/b@12");
    server.collection().put("shop/b");
    assert_eq!(watch.event().await, "MODIFIED shop/b@14");
}

/// The refusal of a forgotten version is an ERROR event in the stream.
#[tokio::test]
async fn a_watch_from_a_compacted_version_gets_410_in_the_stream_and_ends() {
    let server = server();
    server.collection().compact();

    let mut expired = watch(&server, "12").await;
    let mut good = watch(&server, "13").await;

    assert_eq!((expired.code, expired.event().await), (200, "ERROR 410".to_owned()));
    assert_eq!(expired.chunk().await.unwrap(), None);
    assert!(good.is_silent().await);
}

#[tokio::test]
async fn a_watch_ends_after_the_requested_timeout() {
    let server = server();

    let mut watch = get(&server, &format!("{WATCH}13&timeoutSeconds=0")).await;

    assert_eq!(watch.chunk().await.unwrap(), None);
}

/// A bookmark with an annotation ends the initial events.
#[tokio::test]
async fn a_streaming_list_marks_the_end_of_its_initial_events() {
    let server = server();
    let mut stream = get(&server, &format!("{STREAM}&resourceVersionMatch=NotOlderThan")).await;

    for expected in ["ADDED ship/c@13", "ADDED shop/a@11", "ADDED shop/b@12", "BOOKMARK @13 end"] {
        assert_eq!(stream.event().await, expected);
    }
    server.collection().put("shop/d");
    assert_eq!(stream.event().await, "ADDED shop/d@14");
}

/// Servers without the feature answer a streaming list in three ways.
#[tokio::test]
async fn servers_without_streaming_lists_refuse_ignore_or_never_complete_them() {
    let server = server();
    let target = format!("{STREAM}&resourceVersionMatch=NotOlderThan&resourceVersion=12");
    assert_eq!(get(&server, STREAM).await.code, 422);

    server.set_streaming_lists(StreamingLists::Refused);
    assert_eq!(get(&server, &target).await.code, 422);

    server.set_streaming_lists(StreamingLists::Unknown);
    assert_eq!(get(&server, &target).await.event().await, "ADDED ship/c@13");

    server.set_streaming_lists(StreamingLists::Unmarked);
    let mut unmarked = get(&server, &target).await;
    for _ in 0..3 {
        unmarked.event().await;
    }
    assert!(unmarked.is_silent().await);
}

#[tokio::test]
async fn unknown_paths_and_selectors_are_refused() {
    let server = server();

    for (target, code) in [
        ("/apis/apps/v1/deployments", 404),
        ("/api/v1/pods?labelSelector=a", 400),
        ("/api/v1/pods?resourceVersion=x", 400),
        ("/api/v1/pods?continue=x", 400),
        ("/api/v1/pods?sendInitialEvents=true", 422),
    ] {
        assert_eq!(get(&server, target).await.code, code, "{target}");
    }
}
