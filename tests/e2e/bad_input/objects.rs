//! Malformed objects: they are counted and named, and the other objects arrive.

use std::collections::BTreeMap;

use informer_tests::host::TestHost;
use serde_json::{Value, json};

use super::configuration;
use crate::{
    answers::{Answer, Answers, configmap, healthy, is_list, is_watch, list},
    echo::{calls, last_versions},
};

/// An object with malformed labels: its metadata cannot be parsed, but its name can be read.
fn broken(name: &str) -> Value {
    let mut object = configmap(name, "7");
    object["metadata"]["labels"] = json!(["a", "b"]);
    object
}

#[tokio::test(flavor = "multi_thread")]
async fn bad_objects_of_a_list_are_counted_and_the_others_arrive() {
    let server = Answers::with(|uri| match is_list(uri) {
        true => list(&[
            json!({"data": {"a": "b"}}),
            configmap("good", "5"),
            broken("odd"),
            configmap("other", "6"),
        ]),
        false => healthy(uri),
    })
    .await;
    let host = TestHost::start(&server.url(), &configuration()).await.unwrap();
    host.synced().await;

    let lines = host.lines.of("echo");
    let added: Vec<&str> = lines.iter().filter(|line| line.starts_with("add ")).map(String::as_str).collect();
    assert_eq!(added, ["add default/good 5 initial 1 1", "add default/other 6 initial 1 2"]);
    let informer = &host.status()["informers"][0];
    assert_eq!(
        (&informer["counters"]["skipped"], &informer["counters"]["quarantined"]),
        (&json!(1), &json!(1))
    );
    let why = informer["reflectors"][0]["quarantined"]["default/odd"].as_str().unwrap();
    assert!(why.starts_with("its metadata cannot be read: "), "{why}");
    assert!(informer["text"].as_str().unwrap().contains("; default/odd cannot be decoded: "), "{informer:#}");
    host.stop().await;
}

#[tokio::test(flavor = "multi_thread")]
async fn bad_objects_of_a_watch_are_counted_and_the_others_arrive() {
    let server = Answers::with(|uri| match is_watch(uri) {
        true => Answer::watch(&[
            json!({"type": "ADDED", "object": {"kind": "ConfigMap", "apiVersion": "v1"}}),
            json!({"type": "ADDED", "object": {"kind": "Secret", "apiVersion": "v1", "metadata": {"name": "no"}}}),
            json!({"type": "MODIFIED", "object": broken("good")}),
            json!({"type": "ADDED", "object": configmap("late", "11")}),
            json!({"type": "MODIFIED", "object": configmap("good", "12")}),
        ]),
        false => healthy(uri),
    })
    .await;
    let host = TestHost::start(&server.url(), &configuration()).await.unwrap();

    let expected = BTreeMap::from([("default/good".to_owned(), 12), ("default/late".to_owned(), 11)]);
    host.lines.until("echo", "the good objects", |lines| last_versions(&calls(lines)) == expected).await;

    let informer = &host.status()["informers"][0];
    let counters = &informer["counters"];
    assert_eq!((&counters["skipped"], &counters["quarantined"]), (&json!(2), &json!(1)), "{informer:#}");
    assert_eq!((&counters["lists"], &counters["failures"]), (&json!(1), &json!(0)), "{informer:#}");
    // The next good event of the object ends its quarantine (D-2).
    assert_eq!(informer["reflectors"][0]["quarantined"], json!({}));
    host.stop().await;
}
