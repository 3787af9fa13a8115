use std::{pin::pin, sync::Arc, time::Duration};

use futures::{AsyncBufReadExt, TryStreamExt};
use k8s_openapi::api::core::v1::Pod;
use kube::{
    Client,
    api::{Api, ListParams},
};
use serde_json::Value;
use tokio::{net::TcpListener, time::timeout};

use super::{Served, serve};
use crate::{
    client,
    collection::{Collection, Kind, LISTED_AT, Recipe},
};

/// Serves pods in pages of ten until the test ends.
async fn start(pods: usize) -> Client {
    start_with(Kind::Pods, pods).await
}

async fn start_with(kind: Kind, objects: usize) -> Client {
    let listener = TcpListener::bind("127.0.0.1:0").await.unwrap();
    let url = format!("http://{}", listener.local_addr().unwrap());
    let recipe = Recipe { kind, objects, page_size: 10, seed: 1, churn: false };
    let collection = Arc::new(Collection::generate(recipe).unwrap());
    tokio::spawn(serve(listener, Served::new(collection, 10)));
    client::connect(&url.parse().unwrap()).unwrap()
}

async fn get(client: &Client, path: &str) -> Result<Value, kube::Error> {
    client.request(http::Request::get(path).body(Vec::new()).unwrap()).await
}

#[tokio::test]
async fn continue_tokens_lead_through_all_pages() {
    let api: Api<Pod> = Api::all(start(25).await);

    let mut seen = Vec::new();
    let mut parameters = ListParams::default().limit(10);
    loop {
        let page = api.list(&parameters).await.unwrap();
        seen.push((page.items.len(), page.metadata.remaining_item_count));
        match page.metadata.continue_ {
            Some(token) => parameters = ListParams::default().limit(10).continue_token(&token),
            None => break,
        }
    }

    assert_eq!(seen, [(10, Some(15)), (10, Some(5)), (5, None)]);
}

#[tokio::test]
async fn a_list_without_a_limit_has_all_pods() {
    let api: Api<Pod> = Api::all(start(25).await);

    let list = api.list(&ListParams::default()).await.unwrap();

    assert_eq!(list.items.len(), 25);
    assert_eq!(list.metadata.resource_version, Some(LISTED_AT.to_string()));
}

#[tokio::test]
async fn pages_of_another_size_and_unknown_tokens_are_refused() {
    let client = start(25).await;

    for path in
        ["/api/v1/pods?limit=7", "/api/v1/pods?limit=10&continue=3", "/api/v1/pods?limit=10&continue=x"]
    {
        let Err(kube::Error::Api(status)) = get(&client, path).await else { panic!("{path} was answered") };
        assert_eq!(status.code, 400, "{path}");
    }
}

#[tokio::test]
async fn discovery_lists_pods() {
    let resources = get(&start(1).await, "/api/v1").await.unwrap();

    assert_eq!(resources["resources"][0]["name"], "pods");
    assert_eq!(resources["resources"][0]["kind"], "Pod");
}

#[tokio::test]
async fn custom_objects_have_a_group_of_their_own() {
    let client = start_with(Kind::Workflows, 3).await;

    let groups = get(&client, "/apis").await.unwrap();
    let list = get(&client, "/apis/bench.example.com/v1/workflows").await.unwrap();
    let resources = get(&client, "/apis/bench.example.com/v1").await.unwrap();

    assert_eq!(groups["groups"][0]["name"], "bench.example.com");
    assert_eq!(resources["resources"][0]["kind"], "Workflow");
    assert_eq!((&list["kind"], list["items"].as_array().unwrap().len()), (&"WorkflowList".into(), 3));
}

#[tokio::test]
async fn a_watch_sends_the_emitted_events_and_then_a_bookmark() {
    let client = start(3).await;
    let path = format!("/api/v1/pods?watch=true&resourceVersion={LISTED_AT}");
    let request = http::Request::get(path).body(Vec::new()).unwrap();
    let lines = client.request_stream(request).await.unwrap().lines();
    let mut lines = pin!(lines);

    client::emit(&client, 5).await.unwrap();

    let mut seen = Vec::new();
    while seen.last().is_none_or(|(kind, _)| kind != "BOOKMARK") {
        let line = timeout(Duration::from_secs(10), lines.try_next()).await.unwrap().unwrap().unwrap();
        let frame: Value = serde_json::from_str(&line).unwrap();
        let version =
            frame["object"]["metadata"]["resourceVersion"].as_str().unwrap().parse::<u64>().unwrap();
        seen.push((frame["type"].as_str().unwrap().to_owned(), version - LISTED_AT));
    }
    let modified = (1..=5).map(|version| ("MODIFIED".to_owned(), version));
    assert_eq!(seen, modified.chain([("BOOKMARK".to_owned(), 5)]).collect::<Vec<_>>());
}

#[tokio::test]
async fn a_watch_resumes_at_the_requested_version() {
    let client = start(3).await;
    client::emit(&client, 4).await.unwrap();
    let path = format!("/api/v1/pods?watch=1&resourceVersion={}", LISTED_AT + 3);
    let request = http::Request::get(path).body(Vec::new()).unwrap();
    let lines = client.request_stream(request).await.unwrap().lines();
    let mut lines = pin!(lines);

    let line = timeout(Duration::from_secs(10), lines.try_next()).await.unwrap().unwrap().unwrap();

    let frame: Value = serde_json::from_str(&line).unwrap();
    assert_eq!(frame["object"]["metadata"]["resourceVersion"], (LISTED_AT + 4).to_string());
}

#[tokio::test]
async fn a_watch_from_before_the_list_is_refused() {
    let client = start(1).await;

    for version in ["", "0", "x"] {
        let answer = get(&client, &format!("/api/v1/pods?watch=true&resourceVersion={version}")).await;
        assert!(matches!(answer, Err(kube::Error::Api(status)) if status.code == 400), "`{version}`");
    }
}

#[tokio::test]
async fn paced_events_are_sent_with_their_times() {
    let client = start(3).await;
    let path = format!("/api/v1/pods?watch=1&resourceVersion={LISTED_AT}");
    let lines =
        client.request_stream(http::Request::get(path).body(Vec::new()).unwrap()).await.unwrap().lines();
    let mut lines = pin!(lines);

    client::emit(&client, 2).await.unwrap();
    client::pace(&client, 20).await.unwrap();

    let mut modified = 0;
    while modified < 22 {
        let line = timeout(Duration::from_secs(10), lines.try_next()).await.unwrap().unwrap().unwrap();
        modified += usize::from(line.contains(r#""type":"MODIFIED""#));
    }
    let sent = client::sent(&client).await.unwrap();
    assert_eq!(sent.len(), 20);
    assert!(sent.is_sorted());
}
