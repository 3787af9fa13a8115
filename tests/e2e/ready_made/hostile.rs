//! Objects that people write to break a plugin, or to reach what is not theirs. A good neighbour goes on in each case.

use std::{collections::BTreeMap, time::Duration};

use http::Method;
use informer_devserver::{Config, DevServer};
use informer_guests::ready_made;
use informer_tests::{
    gateway::{Gateway, Passed},
    host::{PATIENCE, TestHost},
    ready_made::fragments,
};
use serde_json::{Value, json};
use tokio::{
    net::TcpListener,
    task::spawn_blocking,
    time::{sleep, timeout},
};

use super::{cluster::Cluster, fixture::source};

/// The size of a hostile annotation. The API server accepts 256 KiB for all annotations of an object.
const ANNOTATION: usize = 200 << 10;

/// A host in this process, behind a gateway that counts its requests.
struct World {
    server: DevServer,
    cluster: Cluster,
    gateway: Gateway,
}

// === impl World ===

impl World {
    async fn start(namespaces: &[&str]) -> Self {
        let server = DevServer::start(Config::default()).await.unwrap();
        let cluster = Cluster::at(&server.url()).await;
        let gateway = Gateway::start(cluster.client()).await.unwrap();
        for name in namespaces {
            cluster.create("namespaces", "", json!({"metadata": {"name": name}})).await;
        }
        Self { server, cluster, gateway }
    }

    async fn host(&self, plugins: &'static [&'static str], adjust: fn(&str, String) -> String) -> TestHost {
        let text = spawn_blocking(move || fragments(plugins, ready_made, adjust).unwrap());
        let host = TestHost::start(&self.gateway.url(), &text.await.unwrap()).await.unwrap();
        host.synced().await;
        host
    }

    async fn map(&self, namespace: &str, name: &str, annotations: Value) {
        let object = source(("configmaps", name), "1", &annotations);
        self.cluster.create("configmaps", namespace, object).await;
    }

    async fn data(&self, plural: &str, namespace: &str, name: &str) -> Option<Value> {
        self.cluster.get(plural, namespace, name).await.map(|object| object["data"].clone())
    }

    /// Waits until an object has this content. `None` means that it does not exist.
    async fn becomes(&self, plural: &str, namespace: &str, name: &str, expected: Option<Value>) {
        let looking = async {
            while self.data(plural, namespace, name).await != expected {
                sleep(Duration::from_millis(20)).await;
            }
        };
        let seen = timeout(PATIENCE, looking).await;
        assert!(seen.is_ok(), "{namespace}/{name} is {:?}", self.data(plural, namespace, name).await);
    }

    /// Waits until the host has seen everything and has nothing to do.
    async fn quiet(&self, host: &TestHost) {
        let mark = format!("mark-{}", self.server.resource_version());
        self.map("default", &mark, json!({})).await;
        let is_mark = |map: &Value| map["metadata"]["name"] == mark.as_str();
        host.until("the last change", |_| host.cached("v1/configmaps").iter().any(is_mark)).await;
        let resting = async {
            while !host.app().is_quiet() {
                sleep(Duration::from_millis(20)).await;
            }
        };
        assert!(timeout(PATIENCE, resting).await.is_ok(), "{:#}", host.status());
    }

    /// The requests since the last call that may change objects other than Events.
    fn writes(&self) -> Vec<Passed> {
        let passed = self.gateway.take().into_iter();
        passed.filter(|passed| passed.is_write() && !passed.is_about_events()).collect()
    }
}

fn as_shipped(_: &str, text: String) -> String {
    text
}

fn replicated(to: &str) -> Value {
    json!({"replicator.v1.mittwald.de/replicate-to": to})
}

/// The source asks for a copy in a namespace whose people must not have it, and an object there asks for the content.
#[tokio::test(flavor = "multi_thread")]
async fn a_secret_reaches_no_namespace_that_the_grants_do_not_name() {
    let by_secrets: fn(&str, String) -> String =
        |_, text| text.replace(r#"secrets = ["*"]"#, r#"secrets = ["shop/*", "blog/*"]"#);
    let by_write: fn(&str, String) -> String =
        |_, text| text.replace("create,patch,delete v1/secrets", "create,patch,delete v1/secrets @shop,blog");
    for (limits, pushed, pulled) in [
        (by_secrets, "v1/secrets bank/key was not created: ", "v1/secrets bank/mine is left alone: "),
        (by_write, "v1/secrets bank/key was not created: ", "v1/secrets bank/mine was not changed: "),
    ] {
        let world = World::start(&["shop", "blog", "bank"]).await;
        let mut annotations = replicated("blog,bank");
        annotations["replicator.v1.mittwald.de/replication-allowed"] = "true".into();
        annotations["replicator.v1.mittwald.de/replication-allowed-namespaces"] = ".*".into();
        world.cluster.create("secrets", "shop", source(("secrets", "key"), "secret", &annotations)).await;
        let from = json!({"replicator.v1.mittwald.de/replicate-from": "shop/key"});
        world.cluster.create("secrets", "bank", source(("secrets", "mine"), "own", &from)).await;
        let host = world.host(&["replicator"], limits).await;

        host.lines.said("replicator", pushed, "").await;
        host.lines.said("replicator", pulled, "").await;
        let original = world.data("secrets", "shop", "key").await;
        world.becomes("secrets", "blog", "key", original).await;
        world.quiet(&host).await;
        assert_eq!(world.data("secrets", "bank", "key").await, None);
        assert_eq!(world.data("secrets", "bank", "mine").await, Some(json!({"key": "b3du"})));
        let sent = world.writes();
        assert!(sent.iter().all(|passed| !passed.path.contains("/bank/")), "{sent:?}");
        host.stop().await;
    }
}

/// Annotations that explode: expressions that a search or a compiler would never end, and lists of 200 KiB.
fn exploding() -> Vec<String> {
    let filled = |part: &str| part.repeat(ANNOTATION / part.len());
    let mut texts: Vec<_> = ["((((a*)*)*)*)*b", "(x{1000}){1000}", "(a|a?)+$"].map(str::to_owned).into();
    texts.extend(["team-.,", "a{99}b{99}c{99},", "(((,", "a?", "name,", "9", "a=b,"].map(filled));
    texts
}

fn web(name: &str, annotation: &str, text: &str) -> Value {
    let container = json!({"name": "main", "image": "web", "envFrom": [{"configMapRef": {"name": "app"}}]});
    let template = json!({"metadata": {"labels": {"app": "web"}}, "spec": {"containers": [container]}});
    json!({"metadata": {"name": name, "annotations": {annotation: text}},
        "spec": {"selector": {"matchLabels": {"app": "web"}}, "template": template}})
}

#[tokio::test(flavor = "multi_thread")]
async fn annotations_that_explode_stop_neither_a_plugin_nor_its_other_objects() {
    let world = World::start(&["shop", "blog"]).await;
    for number in 0..50 {
        let name = format!("team-{number}");
        world.cluster.create("namespaces", "", json!({"metadata": {"name": name}})).await;
    }
    world.map("shop", "app", json!({})).await;
    let annotations = [
        "replicator.v1.mittwald.de/replicate-to",
        "replicator.v1.mittwald.de/replicate-to-matching",
        "replicator.v1.mittwald.de/replicate-from",
        "reflector.v1.k8s.emberstack.com/reflects",
        "janitor/ttl",
        "janitor/expires",
    ];
    for (number, text) in exploding().iter().enumerate() {
        for (index, annotation) in annotations.iter().enumerate() {
            let name = format!("hostile-{number}-{index}");
            world.map("shop", &name, json!({*annotation: text})).await;
        }
        for (index, annotation) in
            ["configmap.reloader.stakater.com/reload", "reloader.stakater.com/auto"].into_iter().enumerate()
        {
            let hostile = web(&format!("hostile-{number}-{index}"), annotation, text);
            world.cluster.create("deployments", "shop", hostile).await;
        }
    }
    let plugins = &["janitor", "reloader", "replicator"];
    let host = world.host(plugins, |name, text| match name {
        "reloader" => format!("{text}\n  [plugin.config]\n  settle = \"100ms\"\n"),
        _ => text,
    });
    let host = host.await;
    let good = web("good", "reloader.stakater.com/auto", "true");
    world.cluster.create("deployments", "shop", good).await;
    let seen = "apps/v1/deployments shop/good has no changes";
    host.lines.said("reloader", seen, "").await;

    world.map("shop", "good", replicated("blog")).await;
    world.map("shop", "short", json!({"janitor/ttl": "1s"})).await;
    world.cluster.merge("configmaps", "shop", "app", json!({"data": {"key": "2"}})).await;
    world.becomes("configmaps", "blog", "good", Some(json!({"key": "1"}))).await;
    world.becomes("configmaps", "shop", "short", None).await;
    host.lines.said("reloader", "apps/v1/deployments shop/good was rolled: ConfigMap/app changed", "").await;
    // Everything is looked at once more.
    for number in 0..exploding().len() {
        let name = format!("hostile-{number}-0");
        world.cluster.merge("configmaps", "shop", &name, json!({"data": {"key": "2"}})).await;
    }
    world.quiet(&host).await;
    for name in plugins {
        assert_eq!(host.plugin(name)["calls"]["failures"], json!({}), "{name}: {:#}", host.plugin(name));
    }
    host.stop().await;
}

/// A receiver that uses up the deadline of each call would end in a quarantine, and then nothing is rolled.
#[tokio::test(flavor = "multi_thread")]
async fn a_receiver_of_alerts_that_never_answers_fails_no_call() {
    let world = World::start(&["shop"]).await;
    // The connections wait in its queue.
    let silent = TcpListener::bind("127.0.0.1:0").await.unwrap();
    let url = format!("http://{}/", silent.local_addr().unwrap());
    let shipped = spawn_blocking(|| fragments(&["reloader"], ready_made, as_shipped).unwrap()).await.unwrap();
    let text = shipped.replace("http = []", &format!("http = [\"{url}\"]"))
        + &format!("\n  [plugin.config]\n  settle = \"100ms\"\n  alert = {{ url = \"{url}\" }}\n");
    let host = TestHost::start(&world.gateway.url(), &text).await.unwrap();
    host.synced().await;
    world.map("shop", "app", json!({})).await;
    world.cluster.create("deployments", "shop", web("web", "reloader.stakater.com/auto", "true")).await;
    host.lines.said("reloader", "apps/v1/deployments shop/web has no changes", "").await;

    world.cluster.merge("configmaps", "shop", "app", json!({"data": {"key": "2"}})).await;
    host.lines
        .said("reloader", "no alert about apps/v1/deployments shop/web: POST http://127.0.0.1", "")
        .await;
    world.quiet(&host).await;
    assert_eq!(host.plugin("reloader")["calls"]["failures"], json!({}), "{:#}", host.plugin("reloader"));
    let patches = world.writes().iter().filter(|passed| passed.method == Method::PATCH).count();
    assert_eq!(patches, 1, "the roll");
    host.stop().await;
}

/// Two controllers with two styles, each pair of objects naming the other one: as a place for copies, and as a source.
#[tokio::test(flavor = "multi_thread")]
async fn objects_that_point_at_each_other_cause_no_write() {
    let world = World::start(&["shop", "blog"]).await;
    let (mittwald, emberstack) = ("replicator.v1.mittwald.de", "reflector.v1.k8s.emberstack.com");
    let allowed = json!({
        format!("{mittwald}/replication-allowed"): "true",
        format!("{mittwald}/replication-allowed-namespaces"): ".*",
        format!("{emberstack}/reflection-allowed"): "true",
    });
    let with = |name: String, text: String| {
        let mut annotations = allowed.clone();
        annotations[name] = text.into();
        annotations
    };
    for (own, other) in [("shop", "blog"), ("blog", "shop")] {
        let (from, to) = (format!("{mittwald}/replicate-from"), format!("{mittwald}/replicate-to"));
        let reflects = format!("{emberstack}/reflects");
        world.map(own, "pushed", with(to, other.to_owned())).await;
        world.map(own, "pulled", with(from.clone(), format!("{other}/pulled"))).await;
        world.map(own, "mirrored", with(reflects.clone(), format!("{other}/mirrored"))).await;
        let mixed = if own == "shop" { from } else { reflects };
        world.map(own, "mixed", with(mixed, format!("{other}/mixed"))).await;
    }
    let host = world.host(&["replicator"], as_shipped).await;
    host.lines.said("replicator", "all sources and targets are looked at", "").await;
    for round in 0..3 {
        for namespace in ["shop", "blog"] {
            for name in ["pushed", "pulled", "mirrored", "mixed"] {
                let data = json!({"data": {"key": format!("{namespace} {round}")}});
                world.cluster.merge("configmaps", namespace, name, data).await;
            }
        }
        world.quiet(&host).await;
    }
    assert_eq!(world.writes(), []);
    let refused = "objects that name each other as their source";
    let lines = host.lines.of("replicator");
    for name in ["pulled", "mirrored", "mixed"] {
        let own = format!("v1/configmaps shop/{name} stays as it is: ");
        assert!(lines.iter().any(|line| line.starts_with(&own) && line.contains(refused)), "{lines:#?}");
    }
    host.stop().await;
}

#[tokio::test(flavor = "multi_thread")]
async fn a_namespace_whose_time_is_over_is_deleted_once_and_so_is_each_of_its_500_objects() {
    let world = World::start(&["stays"]).await;
    let over = json!({"janitor/expires": "2020-01-01"});
    let namespace = json!({"metadata": {"name": "doomed", "annotations": over}});
    world.cluster.create("namespaces", "", namespace).await;
    let map = |number: usize| {
        let metadata = json!({"name": format!("map-{number}"), "namespace": "doomed", "annotations": over});
        json!({"apiVersion": "v1", "kind": "ConfigMap", "metadata": metadata})
    };
    world.server.load((0..500).map(map).collect()).unwrap();
    world.map("stays", "stays", json!({})).await;

    let host = world.host(&["janitor"], |_, text| format!("{text}\n  [plugin.limits]\n  requests = 1000\n"));
    let host = host.await;
    world.becomes("namespaces", "", "doomed", None).await;
    world.quiet(&host).await;

    let mut deletions: BTreeMap<String, usize> = BTreeMap::new();
    for passed in world.writes() {
        assert_eq!(passed.method, Method::DELETE, "{passed:?}");
        *deletions.entry(passed.path).or_default() += 1;
    }
    let twice: Vec<_> = deletions.iter().filter(|(_, times)| **times > 1).collect();
    assert!(twice.is_empty(), "{twice:?}");
    assert_eq!(deletions.get("/api/v1/namespaces/doomed"), Some(&1));
    assert!(world.data("configmaps", "stays", "stays").await.is_some());
    assert_eq!(host.plugin("janitor")["calls"]["failures"], json!({}), "{:#}", host.plugin("janitor"));
    host.stop().await;
}
