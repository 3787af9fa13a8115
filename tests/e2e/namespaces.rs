//! Subscriptions by the labels of namespaces.

use std::fs;

use informer::{config::Access, connect::connect};
use informer_devserver::DevServer;
use informer_guests::guest;
use informer_tests::{
    host::TestHost,
    toml::{plugin, watch},
};
use k8s_openapi::api::core::v1::{ConfigMap, Namespace};
use kube::{
    Client,
    api::{Api, DeleteParams, Patch, PatchParams, PostParams},
};
use serde_json::{Value, json};
use tempfile::TempDir;

/// Namespaces with ConfigMaps.
struct Cluster {
    client: Client,
    server: DevServer,
}

impl Cluster {
    async fn start() -> Self {
        let server = DevServer::start(informer_devserver::Config::default()).await.unwrap();
        let connection = connect(&Access::Server(server.url().parse().unwrap())).await.unwrap();
        Self { client: connection.client, server }
    }

    /// Creates a namespace with a label `team`, and a ConfigMap of the same name in it.
    async fn create(&self, name: &str, team: &str) {
        let namespace = json!({"metadata": {"name": name, "labels": {"team": team}}});
        let api: Api<Namespace> = Api::all(self.client.clone());
        api.create(&PostParams::default(), &serde_json::from_value(namespace).unwrap()).await.unwrap();
        let object = json!({"metadata": {"name": name}, "data": {"n": "0"}});
        let api: Api<ConfigMap> = Api::namespaced(self.client.clone(), name);
        api.create(&PostParams::default(), &serde_json::from_value(object).unwrap()).await.unwrap();
    }

    async fn label(&self, name: &str, team: &str) {
        let api: Api<Namespace> = Api::all(self.client.clone());
        let patch = Patch::Merge(json!({"metadata": {"labels": {"team": team}}}));
        api.patch(name, &PatchParams::default(), &patch).await.unwrap();
    }

    async fn change(&self, name: &str, n: &str) {
        let api: Api<ConfigMap> = Api::namespaced(self.client.clone(), name);
        let patch = Patch::Merge(json!({"data": {"n": n}}));
        api.patch(name, &PatchParams::default(), &patch).await.unwrap();
    }

    async fn delete(&self, name: &str) {
        Api::<Namespace>::all(self.client.clone()).delete(name, &DeleteParams::default()).await.unwrap();
    }
}

fn configuration(lines: &str) -> String {
    watch("v1/configmaps") + &plugin("echo", &guest("echo"), "v1/configmaps", lines)
}

/// The calls as `verb key cause`.
fn delivered(host: &TestHost) -> Vec<String> {
    let lines = host.lines.of("echo");
    let words = lines.iter().map(|line| line.split(' ').collect::<Vec<_>>());
    let calls = words.filter(|words| words.len() == 6);
    calls.map(|words| format!("{} {} {}", words[0], words[1], words[3])).collect()
}

/// The objects that exist at the start are initial, and all others come and go with the labels of their namespace (D-20).
#[tokio::test(flavor = "multi_thread")]
async fn objects_come_and_go_with_the_labels_of_their_namespace() {
    let cluster = Cluster::start().await;
    cluster.create("a", "shop").await;
    cluster.create("b", "bank").await;
    let text = configuration("namespaces-labels = \"team=shop\"");
    let host = TestHost::start(&cluster.server.url(), &text).await.unwrap();
    host.synced().await;

    host.lines.said("echo", "add a/a", "").await;
    cluster.change("b", "1").await;
    // Two watches have no common order.
    let has_changed = |object: &Value| object["metadata"]["name"] == "b" && object["data"]["n"] == "1";
    host.until("the change in the cache", |_| host.cached("v1/configmaps").iter().any(has_changed)).await;
    cluster.label("b", "shop").await;
    host.lines.said("echo", "add b/b", "").await;
    cluster.change("b", "2").await;
    host.lines.said("echo", "update b/b", "").await;
    cluster.label("a", "bank").await;
    host.lines.said("echo", "delete a/a", "").await;
    cluster.change("a", "1").await;
    cluster.create("c", "shop").await;
    host.lines.said("echo", "add c/c", "").await;
    cluster.delete("c").await;
    host.lines.said("echo", "delete c/c", "").await;
    cluster.label("a", "shop").await;
    host.until("the second addition", |_| delivered(&host).len() == 7).await;

    assert_eq!(
        delivered(&host),
        [
            "add a/a initial",
            "add b/b live",
            "update b/b live",
            "delete a/a known",
            "add c/c live",
            "delete c/c known",
            "add a/a live",
        ]
    );
    let informers = host.status()["informers"].clone();
    let watches = informers.as_array().unwrap().iter().map(|informer| informer["watch"].clone());
    assert_eq!(watches.collect::<Vec<Value>>(), ["v1/configmaps", "v1/namespaces, metadata only"]);
    host.stop().await;
}

/// A namespace that cannot be decoded exists, although no cache has its labels (D-2).
#[tokio::test(flavor = "multi_thread")]
async fn a_restart_deletes_no_objects_of_a_namespace_that_cannot_be_decoded() {
    let state = TempDir::new().unwrap();
    let text = configuration("initial = \"changed\"\nnamespaces-labels = \"team=shop\"");
    // Both clusters have the same objects, with the same versions.
    let cluster = async |created: Value| {
        let cluster = Cluster::start().await;
        let metadata = json!({"name": "a", "labels": {"team": "shop"}, "creationTimestamp": created});
        let namespace = json!({"apiVersion": "v1", "kind": "Namespace", "metadata": metadata});
        let metadata = json!({"namespace": "a", "name": "a", "uid": "u"});
        let object = json!({"apiVersion": "v1", "kind": "ConfigMap", "metadata": metadata});
        cluster.server.load(vec![namespace, object]).unwrap();
        cluster
    };
    let before = cluster(json!("2026-01-01T00:00:00Z")).await;
    let host = TestHost::start_in(&before.server.url(), state.path(), &text).await.unwrap();
    host.synced().await;
    assert_eq!(delivered(&host), ["add a/a initial"]);
    host.stop().await;

    let after = cluster(json!(7)).await;
    let host = TestHost::start_in(&after.server.url(), state.path(), &text).await.unwrap();
    host.synced().await;
    after.change("a", "1").await;
    host.lines.said("echo", "update a/a", "").await;

    assert_eq!(delivered(&host), ["update a/a live"]);
    host.stop().await;
}

/// The difference is delivered, and nothing else.
#[tokio::test(flavor = "multi_thread")]
async fn a_reload_that_changes_the_labels_delivers_the_difference() {
    let cluster = Cluster::start().await;
    for (name, team) in [("a", "shop"), ("b", "bank"), ("c", "mail")] {
        cluster.create(name, team).await;
    }
    let directory = TempDir::new().unwrap();
    let file = directory.path().join("informer.toml");
    let write = |lines: &str| fs::write(&file, configuration(lines)).unwrap();
    write("");
    let host = TestHost::start_file(&cluster.server.url(), &file).await.unwrap();
    host.synced().await;
    let until = async |count: usize| {
        host.until("the calls", |_| delivered(&host).len() >= count).await;
        let mut calls = delivered(&host).split_off(count - 2);
        calls.sort();
        calls
    };
    host.until("the first list", |_| delivered(&host).len() == 3).await;

    write("namespaces-labels = \"team=shop\"");
    host.app().reload(None).await.unwrap();
    assert_eq!(until(5).await, ["delete b/b unknown", "delete c/c unknown"]);
    write("namespaces-labels = \"team=bank\"");
    host.app().reload(None).await.unwrap();
    assert_eq!(until(7).await, ["add b/b replay", "delete a/a unknown"]);
    // Another informer of namespaces is followed, too.
    fs::write(&file, watch("v1/namespaces") + &configuration("namespaces-labels = \"team=bank\"")).unwrap();
    host.app().reload(None).await.unwrap();
    host.until("the whole namespaces", |status| {
        let informers = status["informers"].as_array().unwrap();
        informers.len() == 2 && informers.iter().any(|informer| informer["watch"] == "v1/namespaces")
    })
    .await;
    cluster.label("a", "bank").await;
    host.lines.said("echo", "add a/a", "").await;
    host.until("the addition", |_| delivered(&host).len() == 8).await;
    cluster.label("a", "shop").await;
    assert_eq!(until(9).await, ["add a/a live", "delete a/a known"]);
    write("");
    host.app().reload(None).await.unwrap();
    assert_eq!(until(11).await, ["add a/a replay", "add c/c replay"]);
    cluster.label("b", "none").await;
    cluster.change("b", "1").await;
    host.lines.said("echo", "update b/b", "").await;
    assert_eq!(delivered(&host).len(), 12);
    host.stop().await;
}
