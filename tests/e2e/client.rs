//! A component sends requests to the API server through the whole host, within its grants, and reads its own writes.
//! `tests/cluster` checks the field managers with the real server.

use informer::{config::Access, connect::connect};
use informer_devserver::DevServer;
use informer_guests::guest;
use informer_tests::{host::TestHost, writer::Writer};
use k8s_openapi::api::{core::v1::ConfigMap, events::v1::Event};
use kube::{
    Client,
    api::{Api, ListParams, PostParams},
};
use serde_json::{Value, json};

/// A server with the ConfigMaps `trigger` and `target`.
async fn server() -> (DevServer, Client) {
    let server = DevServer::start(informer_devserver::Config::default()).await.unwrap();
    let client = connect(&Access::Server(server.url().parse().unwrap())).await.unwrap().client;
    let api: Api<ConfigMap> = Api::namespaced(client.clone(), "default");
    for name in ["target", "trigger"] {
        let object = serde_json::from_value(json!({"metadata": {"name": name}, "data": {"a": "1"}})).unwrap();
        api.create(&PostParams::default(), &object).await.unwrap();
    }
    (server, client)
}

/// Runs the steps. Returns the line that the plugin logs for each step.
async fn run(server: &DevServer, grant: &str, steps: Value) -> Vec<String> {
    let count = steps.as_array().unwrap().len();
    let writer = Writer { on: "v1/configmaps", grant, steps };
    let toml = format!("[[watch]]\ngvr = \"v1/configmaps\"\n{}", writer.toml(&guest("writer")));
    let host = TestHost::start(&server.url(), &toml).await.unwrap();
    host.lines.until("writer", "a line for each step", |lines| lines.len() >= count).await;
    let lines = host.lines.of("writer");
    let report = host.stop().await;
    assert!(report.undelivered.is_empty(), "{report:?}");
    lines
}

const READ: &str = "read = [\"v1/configmaps\"]\n";

#[tokio::test(flavor = "multi_thread")]
async fn a_plugin_writes_only_what_its_grants_allow() {
    let (server, client) = server().await;
    let merge = |name: &str, namespace: &str| json!({"do": "merge", "name": name, "namespace": namespace, "body": {"data": {"b": "2"}}});

    let lines = run(
        &server,
        &format!("{READ}write = [\"patch v1/configmaps @default\"]"),
        json!([
            merge("target", "default"),
            merge("target", "kube-system"),
            {"do": "delete", "name": "target"},
            {"do": "merge", "gvr": "v1/serviceaccounts", "name": "x", "body": {}},
        ]),
    )
    .await;

    assert_eq!(
        lines,
        [
            "merge ok ",
            "merge error not-granted: patch of v1/configmaps kube-system/target is not granted: add it to `write` under [plugin.grant]",
            "delete error not-granted: delete of v1/configmaps default/target is not granted: add it to `write` under [plugin.grant]",
            "merge error not-granted: patch of v1/serviceaccounts default/x is not granted: add it to `write` under [plugin.grant]",
        ]
    );
    let api: Api<ConfigMap> = Api::namespaced(client, "default");
    let target = api.get("target").await.unwrap();
    assert_eq!(target.data.unwrap()["b"], "2");
}

#[tokio::test(flavor = "multi_thread")]
async fn a_plugin_reads_its_own_write_from_the_cache() {
    let (server, _) = server().await;
    let steps: Vec<Value> = (0..20)
        .map(|round| json!({"do": "read-your-write", "name": "target", "body": {"data": {"a": format!("r{round}")}}, "pointer": "/data/a"}))
        .collect();

    let lines = run(&server, &format!("{READ}write = [\"patch v1/configmaps\"]"), steps.into()).await;

    let expected: Vec<String> =
        (0..20).map(|round| format!("read-your-write ok true \"r{round}\"")).collect();
    assert_eq!(lines, expected);
}

#[tokio::test(flavor = "multi_thread")]
async fn the_answer_of_the_server_reaches_the_plugin() {
    let (server, client) = server().await;
    let new =
        json!({"apiVersion": "v1", "kind": "ConfigMap", "metadata": {"name": "new"}, "data": {"x": "y"}});

    let lines = run(
        &server,
        &format!("{READ}write = [\"* v1/configmaps\"]"),
        json!([
            {"do": "get", "name": "target", "pointer": "/data/a"},
            {"do": "get", "name": "missing"},
            {"do": "create", "body": new, "dry-run": true},
            {"do": "create", "body": new, "pointer": "/data/x"},
            {"do": "create", "body": new},
            {"do": "update", "name": "new", "body": {"apiVersion": "v1", "kind": "ConfigMap", "metadata": {"name": "new", "resourceVersion": "1"}}},
            {"do": "json", "name": "new", "body": [{"op": "replace", "path": "/data/x", "value": "z"}], "pointer": "/data/x"},
            {"do": "merge", "name": "new", "body": {"data": {"x": 3}}},
            {"do": "delete", "name": "new", "uid": "another-uid"},
            {"do": "delete", "name": "new", "dry-run": true},
            {"do": "delete", "name": "new"},
            {"do": "delete", "name": "new"},
            {"do": "list", "page-size": 1, "pointer": "/metadata/name"},
            {"do": "list", "namespace": "default", "pointer": "/kind"},
        ]),
    )
    .await;

    let starts = [
        r#"get ok "1""#,
        "get error not-found: ",
        "create ok",
        r#"create ok "y""#,
        "create error already-exists: ",
        "update error conflict: ",
        r#"json ok "z""#,
        "merge error invalid: ",
        "delete error conflict: ",
        "delete ok",
        "delete ok",
        "delete error not-found: ",
        r#"list ok "target" "trigger""#,
        r#"list ok "ConfigMap" "ConfigMap""#,
    ];
    assert_eq!(lines.len(), starts.len(), "{lines:#?}");
    for (line, start) in lines.iter().zip(starts) {
        assert!(line.starts_with(start), "{line} is not {start}");
    }
    let api: Api<ConfigMap> = Api::namespaced(client, "default");
    assert!(api.get_opt("new").await.unwrap().is_none());
}

#[tokio::test(flavor = "multi_thread")]
async fn a_repeated_event_raises_its_count() {
    let (server, client) = server().await;
    let grant = "write = [\"create events.k8s.io/v1/events @default\"]\nread = [\"v1/configmaps @default\"]";

    let lines = run(
        &server,
        grant,
        json!([
            {"do": "event", "name": "target"},
            {"do": "event", "name": "target"},
            {"do": "event", "name": "trigger"},
            {"do": "event", "name": "missing"},
        ]),
    )
    .await;

    assert_eq!(lines[..3], ["event ok ", "event ok ", "event ok "]);
    assert!(lines[3].starts_with("event error not-found: "), "{}", lines[3]);
    let events: Api<Event> = Api::namespaced(client, "default");
    let found = events.list(&ListParams::default()).await.unwrap().items;
    let mut events: Vec<_> = found
        .iter()
        .map(|event| {
            let regarding = event.regarding.as_ref().unwrap();
            let count = event.series.as_ref().map_or(1, |series| series.count);
            (regarding.kind.clone().unwrap(), regarding.name.clone().unwrap(), count)
        })
        .collect();
    events.sort();
    let config_map = |name: &str, count| ("ConfigMap".to_owned(), name.to_owned(), count);
    assert_eq!(events, [config_map("target", 2), config_map("trigger", 1)]);
    assert_eq!(found[0].reporting_controller.as_deref(), Some("informer/writer"));
}
