//! Watches: where they start, streaming lists, forgotten versions, bookmarks and selectors
//!

use std::time::Duration;

use informer_devserver::{Config, GoneStyle};
use serde_json::json;

use crate::{
    client::{Cluster, DEADLINE, JSON_PATCH, MERGE, event, version},
    fixtures::{CONFIG_MAPS, config_map, labelled},
};

const STREAMING_LIST: &str =
    "watch=true&sendInitialEvents=true&resourceVersionMatch=NotOlderThan&allowWatchBookmarks=true";

#[tokio::test]
async fn a_watch_from_a_version_sends_exactly_the_later_changes() {
    let cluster = Cluster::start().await;
    let before = cluster.create(CONFIG_MAPS, &config_map("before")).await;
    let rv = version(&before);
    let mut watch = cluster.watch(&format!("{CONFIG_MAPS}?watch=1&resourceVersion={rv}")).await;

    let path = format!("{CONFIG_MAPS}/a");
    cluster.create(CONFIG_MAPS, &config_map("a")).await;
    cluster.patch(&path, MERGE, &json!({"data": {"a": "2"}})).await;
    cluster.delete(&path).await;

    let added = watch.next().await.unwrap();
    let modified = watch.next().await.unwrap();
    let deleted = watch.next().await.unwrap();
    assert_eq!(
        (&added["type"], &modified["type"], &deleted["type"]),
        (&json!("ADDED"), &json!("MODIFIED"), &json!("DELETED"))
    );
    assert_eq!(added["object"]["kind"], "ConfigMap");
    assert_eq!(modified["object"]["data"]["a"], "2");
    assert_eq!(deleted["object"]["data"]["a"], "2", "a deletion carries the last state");
    let versions = [&added, &modified, &deleted].map(|event| version(&event["object"]));
    assert_eq!(versions, [rv + 1, rv + 2, rv + 3], "and the version of the deletion");
}

#[tokio::test]
async fn a_watch_without_a_version_or_from_zero_starts_with_the_current_objects() {
    let cluster = Cluster::start().await;
    cluster.create(CONFIG_MAPS, &config_map("a")).await;
    for query in ["watch=1", "watch=1&resourceVersion=0"] {
        let mut watch = cluster.watch(&format!("{CONFIG_MAPS}?{query}")).await;
        assert_eq!(watch.event().await, event("ADDED", "a"), "{query}");
    }
}

#[tokio::test]
async fn a_streaming_list_ends_with_a_mark_and_continues_as_a_watch() {
    let cluster = Cluster::start().await;
    cluster.create(CONFIG_MAPS, &config_map("a")).await;
    cluster.create(CONFIG_MAPS, &config_map("b")).await;
    let mut watch = cluster.watch(&format!("{CONFIG_MAPS}?{STREAMING_LIST}")).await;

    let (events, mark) = watch.until_bookmark().await;

    assert_eq!(events.len(), 2);
    assert_eq!(mark["object"]["metadata"]["annotations"]["k8s.io/initial-events-end"], "true");
    assert_eq!(version(&mark["object"]), cluster.server.resource_version());
    cluster.create(CONFIG_MAPS, &config_map("c")).await;
    assert_eq!(watch.event().await, event("ADDED", "c"));
}

#[tokio::test]
async fn a_streaming_list_of_an_empty_collection_has_only_the_mark() {
    let cluster = Cluster::start().await;
    let mut watch = cluster.watch(&format!("{CONFIG_MAPS}?{STREAMING_LIST}&resourceVersion=0")).await;
    let (events, mark) = watch.until_bookmark().await;
    assert!(events.is_empty());
    assert_eq!(mark["object"]["metadata"]["annotations"]["k8s.io/initial-events-end"], "true");
}

#[tokio::test]
async fn send_initial_events_false_starts_with_live_changes() {
    let cluster = Cluster::start().await;
    cluster.create(CONFIG_MAPS, &config_map("a")).await;
    let query = "watch=1&sendInitialEvents=false&resourceVersionMatch=NotOlderThan";
    let mut watch = cluster.watch(&format!("{CONFIG_MAPS}?{query}")).await;
    cluster.create(CONFIG_MAPS, &config_map("b")).await;
    assert_eq!(watch.event().await, event("ADDED", "b"));
}

#[tokio::test]
async fn requested_bookmarks_carry_versions_of_writes_to_other_resources() {
    let config = Config { bookmark_interval: Duration::from_millis(20), ..Config::default() };
    let cluster = Cluster::with(config).await;
    let rv = cluster.server.resource_version();
    let mut asking =
        cluster.watch(&format!("{CONFIG_MAPS}?watch=1&resourceVersion={rv}&allowWatchBookmarks=true")).await;
    let mut silent = cluster.watch(&format!("{CONFIG_MAPS}?watch=1&resourceVersion={rv}")).await;
    cluster.create("/api/v1/namespaces", &crate::fixtures::namespace("other")).await;

    loop {
        let (events, bookmark) = asking.until_bookmark().await;
        assert!(events.is_empty());
        assert_eq!(bookmark["object"]["kind"], "ConfigMap");
        assert_eq!(bookmark["object"]["metadata"].get("annotations"), None);
        if version(&bookmark["object"]) == cluster.server.resource_version() {
            break;
        }
    }

    cluster.create(CONFIG_MAPS, &config_map("a")).await;
    assert_eq!(silent.event().await, event("ADDED", "a"), "no bookmark came before it");
}

#[tokio::test]
async fn objects_that_enter_or_leave_a_selector_are_added_or_deleted() {
    let cluster = Cluster::start().await;
    let rv = cluster.server.resource_version();
    let mut watch =
        cluster.watch(&format!("{CONFIG_MAPS}?watch=1&resourceVersion={rv}&labelSelector=app%3Dweb")).await;
    let path = format!("{CONFIG_MAPS}/a");

    cluster.create(CONFIG_MAPS, &labelled("a", &json!({"app": "db"}))).await;
    cluster.patch(&path, MERGE, &json!({"metadata": {"labels": {"app": "web"}}})).await;
    cluster.patch(&path, MERGE, &json!({"data": {"k": "v"}})).await;
    let left = cluster.patch(&path, MERGE, &json!({"metadata": {"labels": {"app": "db"}}})).await;
    cluster.delete(&path).await;
    cluster.create(CONFIG_MAPS, &labelled("end", &json!({"app": "web"}))).await;

    assert_eq!(watch.event().await, event("ADDED", "a"));
    assert_eq!(watch.event().await, event("MODIFIED", "a"));
    let gone = watch.next().await.unwrap();
    assert_eq!(gone["type"], "DELETED");
    assert_eq!(gone["object"]["metadata"]["labels"]["app"], "web", "as it was when it last matched");
    assert_eq!(version(&gone["object"]), left.version(), "under the version of the change");
    assert_eq!(watch.event().await, event("ADDED", "end"));
}

#[tokio::test]
async fn a_watch_from_a_forgotten_version_fails_in_the_configured_way() {
    for gone in [GoneStyle::InStream, GoneStyle::HttpStatus] {
        let cluster = Cluster::with(Config { gone, ..Config::default() }).await;
        let old = version(&cluster.create(CONFIG_MAPS, &config_map("a")).await);
        cluster.create(CONFIG_MAPS, &config_map("b")).await;
        cluster.server.compact(old + 1);
        let path = format!("{CONFIG_MAPS}?watch=1&resourceVersion={old}");

        match gone {
            GoneStyle::InStream => {
                let mut watch = cluster.watch(&path).await;
                let error = watch.next().await.unwrap();
                assert_eq!((watch.code, &error["type"]), (200, &json!("ERROR")));
                assert_eq!(error["object"]["code"], 410);
                assert_eq!(error["object"]["reason"], "Expired");
                assert_eq!(watch.next().await, None, "the error is the last event");
            }
            GoneStyle::HttpStatus => {
                cluster.get(&path).await.failure(410, "Expired");
            }
        }
        let mut watch = cluster.watch(&format!("{CONFIG_MAPS}?watch=1&resourceVersion={}", old + 1)).await;
        cluster.create(CONFIG_MAPS, &config_map("c")).await;
        assert_eq!(
            watch.event().await,
            event("ADDED", "c"),
            "the compacted version itself can be watched from"
        );
    }
}

#[tokio::test]
async fn a_short_history_limits_new_watches_but_not_open_ones() {
    let cluster = Cluster::with(Config { history_limit: 2, ..Config::default() }).await;
    let rv = cluster.server.resource_version();
    let mut open = cluster.watch(&format!("{CONFIG_MAPS}?watch=1&resourceVersion={rv}")).await;
    for name in ["a", "b", "c"] {
        cluster.create(CONFIG_MAPS, &config_map(name)).await;
    }

    for name in ["a", "b", "c"] {
        assert_eq!(open.event().await, event("ADDED", name));
    }
    let mut late = cluster.watch(&format!("{CONFIG_MAPS}?watch=1&resourceVersion={rv}")).await;
    assert_eq!(late.next().await.unwrap()["object"]["code"], 410);
    let mut recent = cluster.watch(&format!("{CONFIG_MAPS}?watch=1&resourceVersion={}", rv + 1)).await;
    assert_eq!(recent.event().await, event("ADDED", "b"));
}

#[tokio::test]
async fn watches_end_at_their_timeout_at_end_watches_and_at_shutdown() {
    let cluster = Cluster::start().await;
    let rv = cluster.server.resource_version();
    let path = format!("{CONFIG_MAPS}?watch=1&resourceVersion={rv}");

    let mut timed = cluster.watch(&format!("{path}&timeoutSeconds=1")).await;
    assert_eq!(timed.next().await, None);

    let mut open = cluster.watch(&path).await;
    cluster.server.end_watches();
    assert_eq!(open.next().await, None);

    let mut open = cluster.watch(&path).await;
    tokio::time::timeout(DEADLINE, cluster.server.shutdown()).await.expect("shutdown is prompt");
    assert_eq!(open.next().await, None);
}

#[tokio::test]
async fn a_watch_of_one_name_sends_only_that_object() {
    let cluster = Cluster::start().await;
    let rv = cluster.server.resource_version();
    let field = format!("{CONFIG_MAPS}?watch=1&resourceVersion={rv}&fieldSelector=metadata.name%3Db");
    let mut by_field = cluster.watch(&field).await;
    let mut by_path = cluster.watch(&format!("{CONFIG_MAPS}/b?watch=1&resourceVersion={rv}")).await;
    cluster.create(CONFIG_MAPS, &config_map("a")).await;
    cluster.create(CONFIG_MAPS, &config_map("b")).await;
    assert_eq!(by_field.event().await, event("ADDED", "b"));
    assert_eq!(by_path.event().await, event("ADDED", "b"));
}

#[tokio::test]
async fn a_watch_for_metadata_sends_only_metadata() {
    let cluster = Cluster::start().await;
    cluster.create(CONFIG_MAPS, &config_map("a")).await;
    let accept = "application/json;as=PartialObjectMetadata;g=meta.k8s.io;v=v1";
    let mut watch = cluster.watch_as(&format!("{CONFIG_MAPS}?{STREAMING_LIST}"), accept).await;

    let (events, mark) = watch.until_bookmark().await;

    assert_eq!(events[0]["object"]["kind"], "PartialObjectMetadata");
    assert_eq!(events[0]["object"]["metadata"]["name"], "a");
    assert_eq!(events[0]["object"].get("data"), None);
    assert_eq!(mark["object"]["kind"], "PartialObjectMetadata");
}

#[tokio::test]
async fn invalid_parameters_of_a_watch_are_refused() {
    let cluster = Cluster::start().await;
    for query in [
        "watch=1&resourceVersionMatch=NotOlderThan",
        "watch=1&sendInitialEvents=true",
        "watch=1&sendInitialEvents=true&resourceVersionMatch=Exact",
    ] {
        cluster.get(&format!("{CONFIG_MAPS}?{query}")).await.failure(422, "Invalid");
    }
    cluster.get(&format!("{CONFIG_MAPS}?watch=1&resourceVersion=x")).await.failure(400, "BadRequest");
}

#[tokio::test]
async fn a_write_that_changes_nothing_sends_no_event() {
    let cluster = Cluster::start().await;
    let rv = version(&cluster.create(CONFIG_MAPS, &config_map("a")).await);
    let mut watch = cluster.watch(&format!("{CONFIG_MAPS}?watch=1&resourceVersion={rv}")).await;
    let nothing = json!([{"op": "test", "path": "/metadata/name", "value": "a"}]);
    cluster.patch(&format!("{CONFIG_MAPS}/a"), JSON_PATCH, &nothing).await;
    cluster.create(CONFIG_MAPS, &config_map("b")).await;
    assert_eq!(watch.event().await, event("ADDED", "b"));
}

#[tokio::test]
async fn a_watch_from_a_future_version_is_silent_until_the_server_reaches_it() {
    let config = Config { bookmark_interval: Duration::from_millis(10), ..Config::default() };
    let cluster = Cluster::with(config).await;
    let future = cluster.server.resource_version() + 2;
    let path = format!("{CONFIG_MAPS}?watch=1&resourceVersion={future}&allowWatchBookmarks=true");
    let mut watch = cluster.watch(&path).await;

    for name in ["a", "b", "c"] {
        cluster.create(CONFIG_MAPS, &config_map(name)).await;
    }

    loop {
        let event = watch.next().await.unwrap();
        let seen = version(&event["object"]);
        assert!((future..=cluster.server.resource_version()).contains(&seen), "{event}");
        if event["type"] == "ADDED" {
            assert_eq!(event["object"]["metadata"]["name"], "c");
            break;
        }
    }
}
