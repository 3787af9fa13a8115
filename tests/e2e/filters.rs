//! The notifications that a component receives through the filter of its subscription, and the requests that the host
//! sends for it.

use std::sync::Arc;

use informer::{
    config::Access,
    connect::{Connection, connect},
};
use informer_devserver::DevServer;
use informer_guests::guest;
use informer_tests::{
    host::TestHost,
    toml::{plugin, watch},
};
use k8s_openapi::api::apps::v1::Deployment;
use kube::{
    Client,
    api::{Api, DeleteParams, Patch, PatchParams, PostParams},
    client::Body,
};
use parking_lot::Mutex;
use serde_json::{Value, json};

/// The Deployments of a server, which a test can scale.
struct Deployments(Api<Deployment>);

impl Deployments {
    async fn at(server: &DevServer) -> Self {
        Self::of(server, "default").await
    }

    async fn of(server: &DevServer, namespace: &str) -> Self {
        let connection = connect(&Access::Server(server.url().parse().unwrap())).await.unwrap();
        Self(Api::namespaced(connection.client, namespace))
    }

    async fn create(&self, name: &str, replicas: i32) {
        let labels = json!({"app": name});
        let object = json!({
            "metadata": {"name": name, "labels": labels},
            "spec": {
                "replicas": replicas, "selector": {"matchLabels": labels},
                "template": {"metadata": {"labels": labels}, "spec": {"containers": [{"name": "c", "image": "i"}]}},
            },
        });
        self.0.create(&PostParams::default(), &serde_json::from_value(object).unwrap()).await.unwrap();
    }

    async fn patch(&self, name: &str, patch: Value) {
        self.0.patch(name, &PatchParams::default(), &Patch::Merge(patch)).await.unwrap();
    }

    async fn scale(&self, name: &str, replicas: i32) {
        self.patch(name, json!({"spec": {"replicas": replicas}})).await;
    }

    async fn delete(&self, name: &str) {
        self.0.delete(name, &DeleteParams::default()).await.unwrap();
    }
}

/// A configuration with one `echo` plugin for each filter, on Deployments.
fn configuration(filters: &[(&str, &str)]) -> String {
    let plugins =
        filters.iter().map(|(name, lines)| plugin(name, &guest("echo"), "apps/v1/deployments", lines));
    watch("apps/v1/deployments") + &plugins.collect::<String>()
}

async fn start(server: &DevServer, filters: &[(&str, &str)]) -> TestHost {
    let host = TestHost::start(&server.url(), &configuration(filters)).await.unwrap();
    host.synced().await;
    host
}

/// The calls as `verb name cause`, without the marker objects. A marker shows that everything before it was
/// delivered.
fn delivered(host: &TestHost, plugin: &str) -> Vec<String> {
    let lines = host.lines.of(plugin);
    let words = lines.iter().map(|line| line.split(' ').collect::<Vec<_>>());
    words
        .filter(|words| words.len() == 6 && !words[1].contains("marker"))
        .map(|words| format!("{} {} {}", words[0], words[1].trim_start_matches("default/"), words[3]))
        .collect()
}

fn only<'a>(status: &'a Value, path: &str) -> &'a Value {
    status.pointer(path).unwrap_or(&Value::Null)
}

/// An update maps to an addition, an update or a deletion, depending on whether the old and the new state match
/// (P-21).
#[tokio::test(flavor = "multi_thread")]
async fn an_object_that_starts_to_match_is_added_and_an_object_that_stops_matching_is_deleted() {
    let server = DevServer::start(informer_devserver::Config::default()).await.unwrap();
    let deployments = Deployments::at(&server).await;
    deployments.create("web", 1).await;
    deployments.create("db", 3).await;
    let host = start(&server, &[("echo", "when = \"object.spec.replicas > 2\"")]).await;

    // One worker, and the pauses between the changes, keep the changes from merging.
    host.lines.said("echo", "add default/db", "").await;
    deployments.scale("web", 3).await;
    host.lines.said("echo", "add default/web", "").await;
    deployments.scale("web", 4).await;
    host.lines.said("echo", "update default/web", "").await;
    deployments.scale("web", 2).await;
    host.lines.said("echo", "delete default/web", "").await;
    deployments.scale("web", 1).await;
    deployments.delete("web").await;
    deployments.create("marker", 9).await;
    host.lines.said("echo", "add default/marker", "").await;

    assert_eq!(
        delivered(&host, "echo"),
        ["add db initial", "add web live", "update web live", "delete web known"]
    );
    let status = host.plugin("echo");
    let filter = only(&status, "/subscriptions/0");
    assert_eq!(
        (only(filter, "/entered"), only(filter, "/left"), only(filter, "/suppressed/when")),
        (&json!(1), &json!(1), &json!(3))
    );
    assert_eq!((only(filter, "/passed"), only(filter, "/when/errors")), (&json!(5), &json!(0)));
    host.stop().await;
}

/// Changes the Deployments step by step. Before each step, every subscriber of the previous change has received it, so that
/// two changes never merge.
async fn change_and_receive(deployments: &Deployments, host: &TestHost) {
    let receive = |plugins: &'static [&'static str], line: &'static str| async move {
        for plugin in plugins {
            host.lines.said(plugin, line, "").await;
        }
    };

    deployments.patch("web", json!({"metadata": {"labels": {"round": "1"}}})).await;
    receive(&["all", "labels", "fields", "broken"], "update default/web").await;
    deployments.create("db", 2).await;
    receive(&["all", "changed", "broken", "grown"], "add default/db").await;
    deployments.scale("db", 1).await;
    receive(&["all", "changed", "broken"], "update default/db").await;
    receive(&["fields"], "add default/db").await;
    deployments.delete("db").await;
    receive(&["all", "fields", "changed", "broken", "grown"], "delete default/db").await;
    deployments.create("marker", 1).await;
}

#[tokio::test(flavor = "multi_thread")]
async fn each_subscription_has_its_own_filter_on_one_watch() {
    let server = DevServer::start(informer_devserver::Config::default()).await.unwrap();
    let deployments = Deployments::at(&server).await;
    deployments.create("web", 1).await;
    let filters = [
        ("all", ""),
        ("labels", "labels = \"app in (web, marker)\""),
        ("fields", "fields = \"spec.replicas=1\""),
        ("changed", "changed = [\"/spec\"]"),
        ("broken", "when = \"object.spec.nothing > 2\""),
        ("grown", "when = \"old == null || object.spec.replicas > old.spec.replicas\""),
    ];
    let host = start(&server, &filters).await;
    change_and_receive(&deployments, &host).await;
    for (plugin, _) in filters {
        host.lines.said(plugin, "add default/marker", "").await;
    }

    let all = ["add web initial", "update web live", "add db live", "update db live", "delete db known"];
    assert_eq!(delivered(&host, "all"), all);
    assert_eq!(delivered(&host, "labels"), ["add web initial", "update web live"]);
    assert_eq!(
        delivered(&host, "fields"),
        ["add web initial", "update web live", "add db live", "delete db known"]
    );
    assert_eq!(
        delivered(&host, "changed"),
        ["add web initial", "add db live", "update db live", "delete db known"]
    );
    assert_eq!(
        delivered(&host, "broken"),
        all,
        "an expression that fails must not withhold a notification (D-9)"
    );
    assert_eq!(delivered(&host, "grown"), ["add web initial", "add db live", "delete db known"]);
    let broken = host.plugin("broken");
    assert_eq!(
        only(&broken, "/subscriptions/0/when/last-error"),
        "there is no `nothing`; ask with `has(...)` first"
    );
    assert_eq!(only(&host.plugin("all"), "/subscriptions/0/when/evaluations"), &json!(0));
    host.stop().await;
}

/// The queries of all requests for Deployments.
#[derive(Clone, Default)]
struct Queries(Arc<Mutex<Vec<String>>>);

impl Queries {
    /// A connection that records the query of each request.
    async fn connection(&self, server: &DevServer) -> Connection {
        let Connection { client, server, .. } =
            connect(&Access::Server(server.url().parse().unwrap())).await.unwrap();
        let sent = self.clone();
        let noting = tower::service_fn(move |request: http::Request<Body>| {
            if request.uri().path().ends_with("/deployments") {
                sent.0.lock().push(request.uri().query().unwrap_or_default().to_owned());
            }
            let client = client.clone();
            async move { client.send(request).await }
        });
        Connection::new(Client::new(noting, "default"), server)
    }
}

/// The host requests the narrowest selector that covers all subscriptions. The subscriptions receive the same
/// notifications as without it.
#[tokio::test(flavor = "multi_thread")]
async fn the_host_requests_only_the_objects_that_some_subscription_selects() {
    let server = DevServer::start(informer_devserver::Config::default()).await.unwrap();
    let deployments = Deployments::at(&server).await;
    deployments.create("web", 1).await;
    deployments.create("db", 1).await;
    deployments.create("other", 1).await;
    let sent = Queries::default();
    let toml = configuration(&[("web", "labels = \"app=web\""), ("both", "labels = \"app in (web, db)\"")]);
    let host = TestHost::start_with(sent.connection(&server).await, &toml).await.unwrap();
    host.synced().await;

    deployments.patch("other", json!({"metadata": {"labels": {"app": "db"}}})).await;
    host.lines.said("both", "add default/other", "").await;
    deployments.patch("other", json!({"metadata": {"labels": {"app": "none"}}})).await;
    host.lines.said("both", "delete default/other", "").await;
    deployments.patch("web", json!({"metadata": {"labels": {"app": "db"}}})).await;
    host.lines.said("web", "delete default/web", "").await;
    host.lines.said("both", "update default/web", "").await;

    assert_eq!(
        delivered(&host, "both").split_off(2),
        ["add other live", "delete other known", "update web live"]
    );
    assert_eq!(delivered(&host, "web"), ["add web initial", "delete web known"]);
    let queries = sent.0.lock().clone();
    let selector = "labelSelector=app+in+%28db%2Cweb%29";
    assert!(!queries.is_empty() && queries.iter().all(|query| query.contains(selector)), "{queries:#?}");
    let status = host.status();
    assert_eq!(only(&status, "/informers/0/selector/labels"), "app in (db,web)");
    assert_eq!(only(&status, "/informers/0/watch"), "apps/v1/deployments with labels app in (db,web)");
    host.stop().await;
}

#[tokio::test(flavor = "multi_thread")]
async fn a_subscription_receives_only_objects_of_its_namespaces() {
    let server = DevServer::start(informer_devserver::Config::default()).await.unwrap();
    let deployments = Deployments::at(&server).await;
    let system = Deployments::of(&server, "kube-system").await;
    deployments.create("web", 1).await;
    system.create("dns", 1).await;
    let host = start(&server, &[("all", ""), ("one", "namespaces = [\"kube-system\"]")]).await;
    for plugin in ["all", "one"] {
        host.lines.said(plugin, "add kube-system/dns", "").await;
    }
    deployments.scale("web", 2).await;
    host.lines.said("all", "update default/web", "").await;
    system.delete("dns").await;
    for plugin in ["all", "one"] {
        host.lines.said(plugin, "delete kube-system/dns", "").await;
    }

    assert_eq!(delivered(&host, "one"), ["add kube-system/dns initial", "delete kube-system/dns known"]);
    let status = host.plugin("one");
    assert_eq!(only(&status, "/subscriptions/0/suppressed/namespaces"), &json!(2));
    assert_eq!(
        (only(&status, "/subscriptions/0/entered"), only(&status, "/subscriptions/0/left")),
        (&json!(0), &json!(0))
    );
    host.stop().await;
}

#[tokio::test(flavor = "multi_thread")]
async fn only_namespaces_that_some_subscription_names_are_watched() {
    let server = DevServer::start(informer_devserver::Config::default()).await.unwrap();
    Deployments::at(&server).await.create("web", 1).await;
    Deployments::of(&server, "kube-system").await.create("dns", 1).await;
    let host = start(&server, &[("one", "namespaces = [\"kube-system\"]")]).await;
    host.lines.said("one", "add kube-system/dns", "").await;

    assert_eq!(host.cached("apps/v1/deployments").len(), 1);
    let status = host.status();
    assert_eq!(only(&status, "/informers/0/reflectors/0/namespace"), "kube-system");
    host.stop().await;
}
