//! Requests of plugins to the API server, and their answers.

mod arguments;
mod audit;
mod grants;
mod limits;

use informer_runtime::capabilities::ApiFailure;
use informer_types::Outcome;
use serde_json::{Value, json};

use crate::host::{Running, Setup, object};

/// A plugin that makes these requests.
pub(crate) fn writer(steps: &Value) -> Setup {
    // Its component imports the lister too.
    Setup::new(&json!({"steps": steps}).to_string()).read(&[])
}

/// The line that the plugin logs for each request.
pub(crate) async fn answers(running: &Running) -> Vec<String> {
    assert_eq!(running.add("web").await, Outcome::Acknowledged);
    running.log.messages()
}

const ALL: &[&str] = &["* v1/pods", "* v1/pods/status", "* v1/configmaps", "* v1/nodes"];

#[tokio::test]
async fn each_verb_makes_the_request_that_kubernetes_documents() {
    let body = json!({"spec": {"a": 1}});
    let steps = json!([
        {"do": "get"},
        {"do": "create", "body": body},
        {"do": "update", "body": body},
        {"do": "merge", "body": body},
        {"do": "json", "body": [{"op": "remove", "path": "/spec"}]},
        {"do": "strategic", "body": body},
        {"do": "apply", "body": body, "force": true},
        {"do": "merge", "body": body, "subresource": "status", "dry-run": true},
        {"do": "delete", "uid": "u", "resource-version": "7", "dry-run": true},
        {"do": "get", "gvr": "v1/nodes", "namespace": "", "name": "node-1"},
    ]);
    let running = writer(&steps).read(&["v1/pods", "v1/nodes"]).write(ALL).load("writer").await;

    let answers = answers(&running).await;

    assert!(answers.iter().all(|line| line.contains(" ok ")), "{answers:#?}");
    assert_eq!(
        running.api.asked(),
        [
            "GET /api/v1/namespaces/default/pods/web",
            "POST /api/v1/namespaces/default/pods?fieldManager=informer%2Ffixture",
            "PUT /api/v1/namespaces/default/pods/web?fieldManager=informer%2Ffixture",
            "PATCH /api/v1/namespaces/default/pods/web?fieldManager=informer%2Ffixture",
            "PATCH /api/v1/namespaces/default/pods/web?fieldManager=informer%2Ffixture",
            "PATCH /api/v1/namespaces/default/pods/web?fieldManager=informer%2Ffixture",
            "PATCH /api/v1/namespaces/default/pods/web?fieldManager=informer%2Ffixture&force=true",
            "PATCH /api/v1/namespaces/default/pods/web/status?fieldManager=informer%2Ffixture&dryRun=All",
            "DELETE /api/v1/namespaces/default/pods/web",
            "GET /api/v1/nodes/node-1",
        ]
    );
    let requests = running.api.requests.lock();
    let types: Vec<_> = requests.iter().map(|request| request.content_type.unwrap_or_default()).collect();
    assert_eq!(
        types,
        [
            "",
            "application/json",
            "application/json",
            "application/merge-patch+json",
            "application/json-patch+json",
            "application/strategic-merge-patch+json",
            "application/apply-patch+yaml",
            "application/merge-patch+json",
            "application/json",
            "",
        ]
    );
    let deletion: Value = serde_json::from_slice(&requests[8].body).unwrap();
    assert_eq!(deletion["preconditions"], json!({"uid": "u", "resourceVersion": "7"}));
    assert_eq!(deletion["dryRun"], json!(["All"]), "the server reads the body and nothing else");
}

#[tokio::test]
async fn a_list_is_read_in_pages_and_each_object_has_its_kind() {
    let steps = json!([{"do": "list", "namespace": "shop", "labels": "app in (a,b)", "page-size": 2, "pointer": "/kind"}]);
    let running = writer(&steps).read(&["v1/pods @shop"]).write(&[]).idle();
    running.api.answer(200, r#"{"kind":"PodList","apiVersion":"v1","metadata":{"continue":"a/b=","resourceVersion":"9"},"items":[{"metadata":{"name":"a"}},{"metadata":{"name":"b"}}]}"#);
    running.api.answer(200, r#"{"kind":"PodList","apiVersion":"v1","metadata":{},"items":[{"kind":"Other","metadata":{"name":"c"}}]}"#);
    running.load("writer").await.unwrap();

    assert_eq!(answers(&running).await, [r#"list ok "Pod" "Pod" "Other""#]);

    assert_eq!(
        running.api.asked(),
        [
            "GET /api/v1/namespaces/shop/pods?limit=2&labelSelector=app+in+%28a%2Cb%29",
            "GET /api/v1/namespaces/shop/pods?limit=2&labelSelector=app+in+%28a%2Cb%29&continue=a%2Fb%3D",
        ]
    );
}

#[tokio::test]
async fn an_error_of_the_server_has_a_code_and_the_servers_message() {
    let steps = json!([{"do": "merge", "body": {}, "times": 4}]);
    let running = writer(&steps).write(ALL).idle();
    running
        .api
        .answer(409, r#"{"kind":"Status","reason":"Conflict","message":"the object has been modified"}"#);
    running.api.answer(422, r#"{"kind":"Status","reason":"Invalid","message":"spec.a: Invalid value"}"#);
    running.api.answer(403, r#"{"kind":"Status","reason":"Forbidden","message":"informer may not patch"}"#);
    running.api.fail(ApiFailure::Unavailable("connection refused".to_owned()));
    running.load("writer").await.unwrap();

    assert_eq!(
        answers(&running).await,
        [
            "merge error conflict: the object has been modified",
            "merge error invalid: spec.a: Invalid value",
            "merge error forbidden: informer may not patch",
            "merge error unavailable: connection refused",
        ]
    );
    let stats = running.plugin.stats().client;
    assert_eq!((stats.requests, stats.failed, stats.refused, stats.limited), (4, 4, 0, 0));
}

#[tokio::test]
async fn events_about_one_object_are_limited_like_in_client_gos_spam_filter() {
    let steps = json!([{"do": "event", "times": 40}]);
    let pod = object("default", "web", "7", r#"{"apiVersion":"v1","kind":"Pod","metadata":{"name":"web"}}"#);
    let grants = ["create events.k8s.io/v1/events @default"];
    let setup = writer(&steps).cache("v1/pods", vec![pod]).write(&grants);
    let running = setup.limits(|limits| limits.requests = 1000.try_into().unwrap()).load("writer").await;

    assert_eq!(answers(&running).await, vec!["event ok "; 40], "the plugin receives no error");

    assert_eq!(running.api.requests.lock().len(), 25);
    let stats = running.plugin.stats().client;
    assert_eq!((stats.requests, stats.events_suppressed), (25, 15));
}

#[tokio::test]
async fn an_event_that_could_not_be_written_does_not_count_against_the_limit() {
    let steps = json!([{"do": "event", "times": 60}]);
    let pod = object("default", "web", "7", r#"{"apiVersion":"v1","kind":"Pod","metadata":{"name":"web"}}"#);
    let setup =
        writer(&steps).cache("v1/pods", vec![pod]).write(&["create events.k8s.io/v1/events @default"]);
    let running = setup.limits(|limits| limits.requests = 1000.try_into().unwrap()).idle();
    for _ in 0..30 {
        running.api.answer(403, r#"{"kind":"Status","reason":"Forbidden","message":"no"}"#);
    }
    running.load("writer").await.unwrap();

    let answers = answers(&running).await;

    assert_eq!(answers[..30], vec!["event error forbidden: no"; 30]);
    assert_eq!(answers[30..], vec!["event ok "; 30]);
    let stats = running.plugin.stats().client;
    assert_eq!((stats.requests, stats.failed, stats.events_suppressed), (30 + 25, 30, 5));
}

#[tokio::test]
async fn a_repeated_event_raises_the_count_of_the_first_one() {
    let steps = json!([{"do": "event", "times": 3}]);
    let pod = object("default", "web", "7", r#"{"apiVersion":"v1","kind":"Pod","metadata":{"name":"web"}}"#);
    let grants = ["create events.k8s.io/v1/events @default"];
    let running = writer(&steps).cache("v1/pods", vec![pod]).write(&grants).load("writer").await;

    assert_eq!(answers(&running).await, ["event ok ", "event ok ", "event ok "]);

    let requests = running.api.requests.lock();
    let methods: Vec<_> = requests.iter().map(|request| request.method.as_str()).collect();
    assert_eq!(methods, ["POST", "PATCH", "PATCH"]);
    let event: Value = serde_json::from_slice(&requests[0].body).unwrap();
    assert_eq!(event["regarding"]["kind"], "Pod");
    assert_eq!(event["regarding"]["uid"], "uid-web");
    assert_eq!((&event["reason"], &event["type"]), (&json!("Tested"), &json!("Normal")));
    assert_eq!(event["reportingController"], "informer/fixture");
    let name = event["metadata"]["name"].as_str().unwrap();
    assert!(
        requests[1].path.starts_with(&format!("/apis/events.k8s.io/v1/namespaces/default/events/{name}?"))
    );
    let counted: Value = serde_json::from_slice(&requests[2].body).unwrap();
    assert_eq!(counted["series"]["count"], 3);
}
