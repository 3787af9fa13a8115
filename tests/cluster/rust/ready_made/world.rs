//! A cluster with workloads and sources, and the host.

use std::{collections::BTreeMap, fs, future::Future, pin::Pin};

use informer_guests::ready_made;
use informer_tests::{
    binary,
    cluster::{Options, RealCluster, User},
    daemon::Daemon,
    gateway::Gateway,
    host::PATIENCE,
    ready_made::fragments,
};
use k8s_openapi::{
    api::{
        apps::v1::{Deployment, ReplicaSet},
        core::v1::{ConfigMap, Event, Namespace, Secret},
    },
    jiff::{SignedDuration, Timestamp},
};
use kube::{
    Client, Resource,
    api::{Api, ListParams, Patch, PatchParams, PostParams},
    core::NamespaceResourceScope,
};
use serde::{Serialize, de::DeserializeOwned};
use serde_json::{Value, json};
use tempfile::TempDir;
use tokio::time::{Duration, sleep, timeout};

use super::receiver::Receiver;

/// The namespaces `ns-0`, `ns-1` and so on.
pub(super) const NAMESPACES: usize = 10;

/// The namespace of the Secret that is copied.
const SHOP: &str = "shop";

const PLUGINS: [&str; 4] = ["event-exporter", "janitor", "reloader", "replicator"];

pub(super) struct World {
    cluster: RealCluster,
    client: Client,
    pub(super) gateway: Gateway,
    pub(super) receiver: Receiver,
    host: Option<Daemon>,
    /// The first start of the host.
    started: Option<Timestamp>,
    workloads: usize,
    directory: TempDir,
}

/// A condition that is checked again until it holds.
type Holds<'a> = Pin<Box<dyn Future<Output = bool> + Send + 'a>>;

// === impl World ===

impl World {
    /// A cluster with all objects, without the host.
    pub(super) async fn start(workloads: usize) -> Self {
        let options = Options { controllers: true, ..Options::default() };
        let cluster = RealCluster::start(options).await.unwrap();
        let client = cluster.client(User::Admin).await.unwrap();
        let gateway = Gateway::start(client.clone()).await.unwrap();
        let (receiver, directory) = (Receiver::start().await, TempDir::new().unwrap());
        let (url, target) = (receiver.url.clone(), gateway.url());
        let state = Daemon::state(&directory.path().join("state"));
        let text = tokio::task::spawn_blocking(move || {
            let plugins = fragments(&PLUGINS, ready_made, |name, text| adjusted(name, &text, &url)).unwrap();
            format!("[cluster]\nserver = \"{target}\"\n[host]\n{state}{plugins}")
        });
        fs::write(directory.path().join("informer.toml"), text.await.unwrap()).unwrap();
        let world =
            Self { cluster, client, gateway, receiver, host: None, started: None, workloads, directory };
        world.fill().await;
        world
    }

    async fn fill(&self) {
        self.create_namespace(json!({"metadata": {"name": SHOP}})).await;
        let annotations = json!({"replicator.v1.mittwald.de/replicate-to": "ns-.*,doomed"});
        let metadata = json!({"name": "registry", "annotations": annotations});
        self.create::<Secret>(SHOP, json!({"metadata": metadata, "stringData": {"key": "1"}})).await;
        for namespace in 0..NAMESPACES {
            let name = format!("ns-{namespace}");
            self.create_namespace(json!({"metadata": {"name": name}})).await;
            for one in 0..self.workloads {
                let metadata = json!({"name": format!("source-{one}")});
                self.create::<ConfigMap>(&name, json!({"metadata": metadata, "data": {"key": "1"}})).await;
                self.create::<Secret>(&name, json!({"metadata": metadata, "stringData": {"key": "1"}})).await;
                self.create::<Deployment>(&name, deployment(one)).await;
            }
        }
        self.until("a ReplicaSet of each Deployment", |world| {
            Box::pin(async { world.revisions().await.len() == NAMESPACES * world.workloads })
        })
        .await;
    }

    pub(super) async fn create_namespace(&self, object: Value) {
        let api: Api<Namespace> = Api::all(self.client.clone());
        api.create(&PostParams::default(), &serde_json::from_value(object).unwrap()).await.unwrap();
    }

    async fn create<T>(&self, namespace: &str, object: Value)
    where
        T: Resource<Scope = NamespaceResourceScope, DynamicType = ()>,
        T: Serialize + DeserializeOwned + Clone + std::fmt::Debug,
    {
        let api: Api<T> = Api::namespaced(self.client.clone(), namespace);
        api.create(&PostParams::default(), &serde_json::from_value(object).unwrap()).await.unwrap();
    }

    /// Changes a ConfigMap or a Secret of a namespace.
    pub(super) async fn set(&self, plural: &str, namespace: usize, one: usize, value: &str) {
        let (namespace, name) = (format!("ns-{namespace}"), format!("source-{one}"));
        if plural == "secrets" {
            return self.set_secret(&namespace, &name, value).await;
        }
        let api: Api<ConfigMap> = Api::namespaced(self.client.clone(), &namespace);
        let patch = Patch::Merge(json!({"data": {"key": value}}));
        api.patch(&name, &PatchParams::default(), &patch).await.unwrap();
    }

    /// Changes the Secret that is copied.
    pub(super) async fn set_original(&self, value: &str) {
        self.set_secret(SHOP, "registry", value).await;
    }

    async fn set_secret(&self, namespace: &str, name: &str, value: &str) {
        let api: Api<Secret> = Api::namespaced(self.client.clone(), namespace);
        let patch = Patch::Merge(json!({"stringData": {"key": value}}));
        api.patch(name, &PatchParams::default(), &patch).await.unwrap();
    }

    pub(super) async fn start_host(&mut self) {
        self.started.get_or_insert_with(Timestamp::now);
        let (configuration, log) =
            (self.directory.path().join("informer.toml"), self.directory.path().join("host.log"));
        let host = Daemon::start(binary::informer().await, &configuration, &log).await;
        self.host = Some(host);
        // The reloader remembers what the workloads started with, before anything changes.
        self.idle().await;
    }

    pub(super) async fn kill_host(&mut self) {
        self.host.take().unwrap().kill().await;
    }

    pub(super) async fn stop_host(&mut self) {
        self.host.take().unwrap().stop().await;
    }

    pub(super) async fn idle(&self) {
        self.host.as_ref().unwrap().idle().await;
    }

    /// Waits until a condition holds.
    pub(super) async fn until<'a>(&'a self, what: &str, holds: impl Fn(&'a Self) -> Holds<'a>) {
        let looking = async {
            while !holds(self).await {
                sleep(Duration::from_millis(50)).await;
            }
        };
        let seen = timeout(PATIENCE, looking).await;
        let log = self.host.as_ref().map(Daemon::log_tail);
        assert!(seen.is_ok(), "{what} did not come about:\n{}", log.unwrap_or_default());
    }

    /// Returns true if each namespace has the copy with this value.
    pub(super) async fn are_copied(&self, value: &str) -> bool {
        let api: Api<Secret> = Api::all(self.client.clone());
        let list = ListParams::default().fields("metadata.name=registry");
        let copies = api.list(&list).await.unwrap().items;
        let right = copies.iter().filter(|copy| {
            copy.data.as_ref().and_then(|data| data.get("key")).is_some_and(|key| key.0 == value.as_bytes())
        });
        right.count() == NAMESPACES + 1
    }

    pub(super) async fn has_copy(&self, namespace: &str) -> bool {
        let api: Api<Secret> = Api::namespaced(self.client.clone(), namespace);
        api.get_opt("registry").await.unwrap().is_some()
    }

    /// Returns how long a namespace existed before its deletion was requested, or `None` if it is not to be deleted.
    pub(super) async fn lived(&self, namespace: &str) -> Option<SignedDuration> {
        let api: Api<Namespace> = Api::all(self.client.clone());
        let metadata = api.get(namespace).await.unwrap().metadata;
        Some(metadata.deletion_timestamp?.0.duration_since(metadata.creation_timestamp?.0))
    }

    pub(super) async fn is_gone(&self, namespace: &str) -> bool {
        let api: Api<Namespace> = Api::all(self.client.clone());
        api.get_opt(namespace).await.unwrap().is_none()
    }

    /// Waits until each of these Deployments was rolled as often as it is listed, and no other one was. The controller makes a
    /// ReplicaSet for each template that it sees.
    pub(super) async fn rolled(&self, expected: &[(usize, usize)]) {
        let times =
            |namespace, one| 1 + expected.iter().filter(|listed| **listed == (namespace, one)).count();
        let names = |(namespace, one)| (format!("ns-{namespace}/web-{one}"), times(namespace, one));
        let all = (0..NAMESPACES).flat_map(|namespace| (0..self.workloads).map(move |one| (namespace, one)));
        let expected: BTreeMap<String, usize> = all.map(names).collect();
        let looking = async {
            while self.revisions().await != expected {
                sleep(Duration::from_millis(50)).await;
            }
        };
        if timeout(PATIENCE, looking).await.is_err() {
            panic!("{:?} and not {expected:?}", self.revisions().await);
        }
        // A second roll would come a moment later.
        self.idle().await;
        assert_eq!(self.revisions().await, expected);
    }

    /// The number of ReplicaSets of each Deployment.
    async fn revisions(&self) -> BTreeMap<String, usize> {
        let sets: Api<ReplicaSet> = Api::all(self.client.clone());
        let mut revisions = BTreeMap::new();
        for set in sets.list(&ListParams::default()).await.unwrap().items {
            let owner = set.metadata.owner_references.unwrap_or_default().remove(0).name;
            *revisions.entry(format!("{}/{owner}", set.metadata.namespace.unwrap())).or_default() += 1;
        }
        revisions
    }

    /// Checks that each Event since the first start of the host has arrived as it is now, and no occurrence twice.
    pub(super) async fn exported_once(&self) {
        let events: Api<Event> = Api::all(self.client.clone());
        let since = self.started.unwrap() + SignedDuration::from_secs(5);
        let expected = || async {
            let list = events.list(&ListParams::default()).await.unwrap().items.into_iter();
            let recent = list.filter(|event| event.metadata.creation_timestamp.as_ref().unwrap().0 > since);
            recent
                .filter(|event| event.metadata.namespace.as_deref() != Some("doomed"))
                .map(|event| {
                    let (metadata, count) = (event.metadata, event.count.unwrap_or(1));
                    format!("{}/{} {count}", metadata.namespace.unwrap(), metadata.name.unwrap())
                })
                .collect::<Vec<_>>()
        };
        let looking = async {
            loop {
                let received = self.receiver.received();
                let missing: Vec<_> =
                    expected().await.into_iter().filter(|event| !received.contains(event)).collect();
                if missing.is_empty() {
                    return received;
                }
                sleep(Duration::from_millis(100)).await;
            }
        };
        let mut received = timeout(PATIENCE, looking).await.unwrap();
        let all = received.len();
        received.sort();
        received.dedup();
        assert!(all > 20 && received.len() == all, "{all} events, {} different ones", received.len());
    }

    pub(super) async fn end(mut self) {
        self.stop_host().await;
        self.cluster.shutdown().await.unwrap();
    }
}

fn adjusted(name: &str, text: &str, receiver: &str) -> String {
    let text = text.replace("  [plugin.limits]\n", "  [plugin.limits]\n  requests = 1000\n");
    match name {
        // No wait is longer than the test needs.
        "reloader" => format!("{text}\n  [plugin.config]\n  settle = \"100ms\"\n"),
        "event-exporter" => text
            .replace("https://hooks.example.com", receiver)
            .replace("    drop = [{ type = \"Normal\" }]\n", "")
            .replace("{{ .Name }} {{ .Count }}", "{{ .Namespace }}/{{ .Name }} {{ .Count }}"),
        _ => text,
    }
}

fn deployment(one: usize) -> Value {
    let (name, source) = (format!("web-{one}"), format!("source-{one}"));
    let container = json!({
        "name": "main", "image": "web:1",
        "envFrom": [{"configMapRef": {"name": source}}, {"secretRef": {"name": source}}],
    });
    let labels = json!({"app": name});
    json!({
        "metadata": {"name": name, "annotations": {"reloader.stakater.com/auto": "true"}},
        "spec": {
            "replicas": 1, "selector": {"matchLabels": labels},
            "template": {"metadata": {"labels": labels}, "spec": {"containers": [container]}},
        },
    })
}
