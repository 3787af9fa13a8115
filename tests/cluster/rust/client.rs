//! A component sends requests to the real kube-apiserver: with its own field manager, server-side apply, dry runs,
//! preconditions and subresources. The server's refusals become error codes.

use informer::connect::Connection;
use informer_guests::guest;
use informer_tests::{
    cluster::{Options, RealCluster, User},
    host::TestHost,
    writer::Writer,
};
use k8s_openapi::api::{apps::v1::Deployment, core::v1::ConfigMap};
use kube::{
    Client,
    api::{Api, Patch, PatchParams, PostParams},
};
use serde_json::{Value, json};

use crate::support::{config_maps, create};

const DEPLOYMENTS: &str = "apps/v1/deployments";

/// Runs the steps in the plugin and returns its log line for each step. The plugin starts when the ConfigMap `trigger`
/// exists.
async fn run(cluster: &RealCluster, grant: &str, steps: Value) -> Vec<String> {
    let count = steps.as_array().unwrap().len();
    let writer = Writer { on: "v1/configmaps", grant, steps };
    let toml = format!("[[watch]]\ngvr = \"v1/configmaps\"\n{}", writer.toml(&guest("writer")));
    let client = cluster.client(User::Admin).await.unwrap();
    let host = TestHost::start_with(Connection::new(client, cluster.url()), &toml).await.unwrap();
    host.lines.until("writer", "a line for each step", |lines| lines.len() >= count).await;
    let lines = host.lines.of("writer");
    host.stop().await;
    lines
}

fn assert_starts(lines: &[String], starts: &[&str]) {
    assert_eq!(lines.len(), starts.len(), "{lines:#?}");
    for (line, start) in lines.iter().zip(starts) {
        assert!(line.starts_with(start), "{line} is not {start}");
    }
}

async fn deployment(client: Client) -> Api<Deployment> {
    let api: Api<Deployment> = Api::namespaced(client, "default");
    let object = json!({
        "metadata": {"name": "web"},
        "spec": {
            "replicas": 1,
            "selector": {"matchLabels": {"app": "web"}},
            "template": {
                "metadata": {"labels": {"app": "web"}},
                "spec": {"containers": [{"name": "web", "image": "web"}]},
            },
        },
    });
    api.create(&PostParams::default(), &serde_json::from_value(object).unwrap()).await.unwrap();
    api
}

#[tokio::test(flavor = "multi_thread")]
#[ignore = "needs Go: run by cargo xtask test --all"]
async fn a_plugin_patches_granted_resources_as_its_own_field_manager_and_is_refused_others() {
    let cluster = RealCluster::start(Options::default()).await.unwrap();
    let admin = cluster.client(User::Admin).await.unwrap();
    let deployments = deployment(admin.clone()).await;
    create(&config_maps(admin), "trigger").await;
    let scale = |namespace: &str| json!({"do": "merge", "gvr": DEPLOYMENTS, "namespace": namespace, "name": "web", "body": {"spec": {"replicas": 3}}, "pointer": "/spec/replicas"});

    let lines = run(
        &cluster,
        &format!("read = []\nwrite = [\"patch {DEPLOYMENTS} @default\", \"patch {DEPLOYMENTS}/status @default\"]"),
        json!([
            scale("default"),
            scale("kube-system"),
            {"do": "delete", "gvr": DEPLOYMENTS, "name": "web"},
            {"do": "get", "gvr": DEPLOYMENTS, "name": "web"},
            {"do": "merge", "gvr": DEPLOYMENTS, "name": "web", "subresource": "status", "body": {"status": {"observedGeneration": 7}}, "pointer": "/status/observedGeneration"},
            {"do": "merge", "gvr": DEPLOYMENTS, "name": "web", "subresource": "scale", "body": {"spec": {"replicas": 9}}},
        ]),
    )
    .await;

    assert_starts(
        &lines,
        &[
            "merge ok 3",
            "merge error not-granted: ",
            "delete error not-granted: ",
            "get error not-granted: ",
            "merge ok 7",
            "merge error not-granted: ",
        ],
    );
    let web = deployments.get("web").await.unwrap();
    assert_eq!(web.spec.unwrap().replicas, Some(3));
    let mut owned: Vec<_> = web
        .metadata
        .managed_fields
        .unwrap()
        .into_iter()
        .filter(|entry| entry.manager.as_deref() == Some("informer/writer"))
        .map(|entry| (entry.subresource.unwrap_or_default(), entry.fields_v1.unwrap().0))
        .collect();
    owned.sort_by(|one, other| one.0.cmp(&other.0));
    assert_eq!(
        owned,
        [
            (String::new(), json!({"f:spec": {"f:replicas": {}}})),
            ("status".to_owned(), json!({"f:status": {"f:observedGeneration": {}}})),
        ]
    );
    cluster.shutdown().await.unwrap();
}

#[tokio::test(flavor = "multi_thread")]
#[ignore = "needs Go: run by cargo xtask test --all"]
async fn an_apply_conflicts_with_other_managers_unless_forced() {
    let cluster = RealCluster::start(Options::default()).await.unwrap();
    let maps = config_maps(cluster.client(User::Admin).await.unwrap());
    let object = |value: &str| json!({"apiVersion": "v1", "kind": "ConfigMap", "metadata": {"name": "target"}, "data": {"a": value}});
    let other = PatchParams::apply("other-manager");
    maps.patch("target", &other, &Patch::Apply(object("1"))).await.unwrap();
    create(&maps, "trigger").await;
    let apply =
        |value: &str| json!({"do": "apply", "name": "target", "body": object(value), "pointer": "/data/a"});
    let mut forced = apply("2");
    forced["force"] = true.into();
    let mut rehearsed = forced.clone();
    rehearsed["dry-run"] = true.into();
    let mut new = object("9");
    new["metadata"]["name"] = "new".into();

    let lines = run(
        &cluster,
        "read = [\"v1/configmaps\"]\nwrite = [\"apply v1/configmaps @default\"]",
        json!([
            apply("2"),
            rehearsed,
            {"do": "get", "name": "target", "pointer": "/data/a"},
            forced,
            {"do": "get", "name": "target", "pointer": "/data/a"},
            {"do": "apply", "name": "new", "body": new, "pointer": "/data/a"},
        ]),
    )
    .await;

    assert_starts(
        &lines,
        &[
            "apply error conflict: Apply failed with 1 conflict: conflict with \"other-manager\"",
            "apply ok \"2\"",
            "get ok \"1\"",
            "apply ok \"2\"",
            "get ok \"2\"",
            "apply ok \"9\"",
        ],
    );
    let target: ConfigMap = maps.get("target").await.unwrap();
    let managers: Vec<_> = target
        .metadata
        .managed_fields
        .unwrap()
        .into_iter()
        .map(|entry| (entry.manager, entry.operation))
        .collect();
    assert!(
        managers.contains(&(Some("informer/writer".to_owned()), Some("Apply".to_owned()))),
        "{managers:?}"
    );
    cluster.shutdown().await.unwrap();
}

#[tokio::test(flavor = "multi_thread")]
#[ignore = "needs Go: run by cargo xtask test --all"]
async fn refusals_of_the_real_server_become_error_codes() {
    let cluster = RealCluster::start(Options::default()).await.unwrap();
    let maps = config_maps(cluster.client(User::Admin).await.unwrap());
    create(&maps, "trigger").await;
    let new = json!({"metadata": {"name": "new"}, "data": {"x": "y"}});

    let lines = run(
        &cluster,
        "read = [\"v1/configmaps\"]\nwrite = [\"* v1/configmaps\", \"* v1/pods\", \"* shop.example.com/v1/nothing\"]",
        json!([
            {"do": "get", "name": "missing"},
            {"do": "create", "body": new, "dry-run": true},
            {"do": "create", "body": new},
            {"do": "create", "body": new},
            {"do": "update", "name": "new", "body": {"metadata": {"name": "new", "resourceVersion": "1"}}},
            {"do": "create", "gvr": "v1/pods", "body": {"metadata": {"name": "p"}, "spec": {}}},
            {"do": "create", "body": {"kind": "Secret", "apiVersion": "v1", "metadata": {"name": "s"}}},
            {"do": "create", "namespace": "nowhere", "body": new},
            {"do": "merge", "gvr": "shop.example.com/v1/nothing", "name": "x", "body": {}},
            {"do": "json", "name": "new", "body": [{"op": "test", "path": "/data/x", "value": "other"}]},
            {"do": "strategic", "name": "new", "body": {"data": {"x": "z"}}, "pointer": "/data/x"},
            {"do": "delete", "name": "new", "uid": "other-manager"},
            {"do": "delete", "name": "new", "resource-version": "1"},
            {"do": "delete", "name": "new", "dry-run": true},
            {"do": "delete", "name": "new"},
            {"do": "delete", "name": "new"},
            {"do": "list", "namespace": "default", "page-size": 1, "pointer": "/kind"},
            {"do": "read-your-write", "name": "trigger", "body": {"data": {"a": "b"}}, "pointer": "/data/a"},
        ]),
    )
    .await;

    assert_starts(
        &lines,
        &[
            "get error not-found: configmaps \"missing\" not found",
            "create ok",
            "create ok",
            "create error already-exists: configmaps \"new\" already exists",
            "update error conflict: ",
            "create error invalid: ",
            "create error invalid: ",
            "create error not-found: namespaces \"nowhere\" not found",
            "merge error not-found: ",
            "json error invalid: ",
            "strategic ok \"z\"",
            "delete error conflict: ",
            "delete error conflict: ",
            "delete ok",
            "delete ok",
            "delete error not-found: ",
            "list ok \"ConfigMap\"",
            "read-your-write ok true \"b\"",
        ],
    );
    cluster.shutdown().await.unwrap();
}
