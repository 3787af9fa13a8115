//! The ready-made plugin `plugins/replicator` in a whole host.

use std::{collections::BTreeMap, fmt::Debug, fs, time::Duration};

use informer::{config::Access, connect::connect};
use informer_devserver::{Config, DevServer};
use informer_guests::ready_made;
use informer_tests::host::{PATIENCE, TestHost};
use k8s_openapi::api::{
    core::v1::{ConfigMap, Namespace, Secret, ServiceAccount},
    events::v1::Event,
    rbac::v1::{Role, RoleBinding},
};
use kube::{
    Client, Resource,
    api::{Api, DeleteParams, ListParams, Patch, PatchParams, PostParams},
    core::NamespaceResourceScope,
};
use serde::{Serialize, de::DeserializeOwned};
use serde_json::{Value, json};

const REPLICATOR: &str = "replicator.v1.mittwald.de";

/// The API server, and a client for the objects of the tests.
struct Cluster {
    server: DevServer,
    client: Client,
}

// === impl Cluster ===

impl Cluster {
    async fn start(namespaces: &[&str]) -> Self {
        let server = DevServer::start(Config::default()).await.unwrap();
        let client = connect(&Access::Server(server.url().parse().unwrap())).await.unwrap().client;
        let cluster = Self { server, client };
        for name in namespaces {
            cluster.namespace(name, json!({})).await;
        }
        cluster
    }

    /// A host with the fragment of the plugin as it is shipped, and the component that was built for the tests.
    async fn host(&self) -> TestHost {
        self.host_with(|text| text).await
    }

    async fn host_with(&self, adjust: impl Fn(String) -> String) -> TestHost {
        let built = tokio::task::spawn_blocking(|| ready_made("replicator")).await.unwrap();
        let text = fs::read_to_string("../plugins/replicator/informer.toml").unwrap();
        let shipped = "../../target/wasm32-wasip2/plugin/informer_replicator.wasm";
        let text = adjust(text.replace(shipped, built.to_str().unwrap()));
        let host = TestHost::start(&self.server.url(), &text).await.unwrap();
        host.synced().await;
        host
    }

    fn maps(&self, namespace: &str) -> Api<ConfigMap> {
        Api::namespaced(self.client.clone(), namespace)
    }

    fn secrets(&self, namespace: &str) -> Api<Secret> {
        Api::namespaced(self.client.clone(), namespace)
    }

    async fn namespace(&self, name: &str, labels: Value) {
        let object = json!({"metadata": {"name": name, "labels": labels}});
        let api: Api<Namespace> = Api::all(self.client.clone());
        api.create(&PostParams::default(), &serde_json::from_value(object).unwrap()).await.unwrap();
    }

    async fn label(&self, name: &str, labels: Value) {
        let api: Api<Namespace> = Api::all(self.client.clone());
        let patch = Patch::Merge(json!({"metadata": {"labels": labels}}));
        api.patch(name, &PatchParams::default(), &patch).await.unwrap();
    }

    /// Creates a ConfigMap. The names of its annotations have no prefix here.
    async fn map(&self, namespace: &str, name: &str, annotations: Value, data: Value) {
        let object = json!({"metadata": {"name": name, "annotations": prefixed(&annotations)}, "data": data});
        let object = serde_json::from_value(object).unwrap();
        self.maps(namespace).create(&PostParams::default(), &object).await.unwrap();
    }

    /// Creates a Secret with one key. The names of its annotations have no prefix here.
    async fn secret(&self, namespace: &str, name: &str, annotations: Value, password: &str) {
        let metadata = json!({"name": name, "annotations": prefixed(&annotations)});
        let object = json!({"metadata": metadata, "stringData": {"password": password}});
        let object = serde_json::from_value(object).unwrap();
        self.secrets(namespace).create(&PostParams::default(), &object).await.unwrap();
    }

    async fn annotate(&self, namespace: &str, name: &str, annotations: Value) {
        let patch = Patch::Merge(json!({"metadata": {"annotations": prefixed(&annotations)}}));
        self.maps(namespace).patch(name, &PatchParams::default(), &patch).await.unwrap();
    }

    async fn set(&self, namespace: &str, name: &str, data: Value) {
        let patch = Patch::Merge(json!({ "data": data }));
        self.maps(namespace).patch(name, &PatchParams::default(), &patch).await.unwrap();
    }

    async fn delete(&self, namespace: &str, name: &str) {
        self.maps(namespace).delete(name, &DeleteParams::default()).await.unwrap();
    }

    /// The data of a ConfigMap as JSON; `null` if it does not exist.
    async fn data(&self, namespace: &str, name: &str) -> Value {
        let found = self.maps(namespace).get_opt(name).await.unwrap();
        found.map_or(Value::Null, |map| json!(map.data.unwrap_or_default()))
    }

    /// Waits until a ConfigMap has this data.
    async fn becomes(&self, namespace: &str, name: &str, expected: Value) {
        until(|| self.data(namespace, name), &expected).await;
    }

    /// Waits until a Secret has this password.
    async fn has_password(&self, namespace: &str, name: &str, expected: &str) {
        let data =
            || async { self.secrets(namespace).get_opt(name).await.unwrap().and_then(|secret| secret.data) };
        let expected = k8s_openapi::ByteString(expected.as_bytes().to_vec());
        until(data, &Some(BTreeMap::from([("password".to_owned(), expected)]))).await;
    }

    /// The versions of all ConfigMaps and Secrets.
    async fn versions(&self) -> BTreeMap<String, Option<String>> {
        let maps: Api<ConfigMap> = Api::all(self.client.clone());
        let secrets: Api<Secret> = Api::all(self.client.clone());
        let maps = maps.list(&ListParams::default()).await.unwrap().items.into_iter().map(|map| map.metadata);
        let secrets = secrets.list(&ListParams::default()).await.unwrap().items.into_iter();
        let name = |kind: &str, meta: &k8s_openapi::apimachinery::pkg::apis::meta::v1::ObjectMeta| {
            format!("{kind} {:?}/{:?}", meta.namespace, meta.name)
        };
        let maps = maps.map(|meta| (name("map", &meta), meta.resource_version));
        let secrets =
            secrets.map(|secret| (name("secret", &secret.metadata), secret.metadata.resource_version));
        maps.chain(secrets).collect()
    }
}

fn prefixed(annotations: &Value) -> Value {
    let named = annotations.as_object().unwrap().iter();
    named.map(|(name, value)| (format!("{REPLICATOR}/{name}"), value.clone())).collect()
}

/// Waits until a value is the expected one.
async fn until<T: PartialEq + Debug, F: Future<Output = T>>(read: impl Fn() -> F, expected: &T) {
    let looking = async {
        while read().await != *expected {
            tokio::time::sleep(Duration::from_millis(20)).await;
        }
    };
    if tokio::time::timeout(PATIENCE, looking).await.is_err() {
        panic!("it is {:?}, and not {expected:?}", read().await);
    }
}

#[tokio::test(flavor = "multi_thread")]
async fn copies_are_pushed_by_name_pattern_and_label_and_follow_their_source_and_their_namespace() {
    let cluster = Cluster::start(&["shop", "blog", "team-a"]).await;
    cluster.map("shop", "web", json!({"replicate-to": "blog,team-.*"}), json!({"a": "1", "b": "1"})).await;
    let host = cluster.host().await;
    cluster.becomes("blog", "web", json!({"a": "1", "b": "1"})).await;
    cluster.becomes("team-a", "web", json!({"a": "1", "b": "1"})).await;

    cluster.namespace("team-b", json!({})).await;
    cluster.becomes("team-b", "web", json!({"a": "1", "b": "1"})).await;

    cluster.set("blog", "web", json!({"own": "x", "a": "edited"})).await;
    cluster.becomes("blog", "web", json!({"a": "1", "b": "1", "own": "x"})).await;
    cluster.set("shop", "web", json!({"a": "2", "b": null})).await;
    cluster.becomes("blog", "web", json!({"a": "2", "own": "x"})).await;
    cluster.becomes("team-b", "web", json!({"a": "2"})).await;

    cluster.map("shop", "labelled", json!({"replicate-to-matching": "tier=web"}), json!({"c": "1"})).await;
    cluster.label("blog", json!({"tier": "web"})).await;
    cluster.becomes("blog", "labelled", json!({"c": "1"})).await;
    cluster.label("blog", json!({"tier": "db"})).await;
    cluster.becomes("blog", "labelled", Value::Null).await;

    cluster.delete("team-a", "web").await;
    cluster.becomes("team-a", "web", json!({"a": "2"})).await;
    cluster.delete("shop", "web").await;
    cluster.becomes("team-a", "web", Value::Null).await;
    cluster.becomes("blog", "web", json!({"own": "x"})).await;
    host.stop().await;
}

#[tokio::test(flavor = "multi_thread")]
async fn an_object_pulls_its_content_with_the_permission_of_the_source_only() {
    let cluster = Cluster::start(&["shop", "blog"]).await;
    let host = cluster.host().await;
    cluster.map("shop", "web", json!({}), json!({"a": "1"})).await;
    cluster.map("blog", "mine", json!({"replicate-from": "shop/web"}), json!({"own": "x"})).await;
    let refused = "v1/configmaps blog/mine stays as it is: its source shop/web does not permit this copy";
    host.lines.said("replicator", refused, "").await;

    let permission = json!({"replication-allowed": "true", "replication-allowed-namespaces": "bl.*"});
    cluster.annotate("shop", "web", permission).await;
    cluster.becomes("blog", "mine", json!({"a": "1", "own": "x"})).await;

    cluster.annotate("shop", "web", json!({"replication-allowed": "false"})).await;
    cluster.becomes("blog", "mine", json!({"own": "x"})).await;
    host.stop().await;
}

/// With the shipped fragment, the host caches only the metadata of a source without annotations. If another plugin reads a digest of
/// `/data`, the host also caches the digest, but not the data.
#[tokio::test(flavor = "multi_thread")]
async fn a_source_without_annotations_is_copied_completely_if_all_pulls_are_allowed() {
    for more in ["", "    \"sha1-pairs:/data\",\n"] {
        let cluster = Cluster::start(&["shop", "blog"]).await;
        cluster.map("shop", "web", json!({}), json!({"a": "1", "b": "1"})).await;
        cluster.secret("shop", "key", json!({}), "1").await;
        cluster.map("blog", "mine", pulled("shop/web", "a,b"), json!({"a": "0", "b": "0", "own": "x"})).await;
        cluster.secret("blog", "mine", pulled("shop/key", "password"), "0").await;
        let host = cluster.host_with(|text| {
            text.replace("  reads = [\n", &format!("  reads = [\n{more}"))
                .replace("  [plugin.retry]\n", "  [plugin.config]\n  allow-all = true\n\n  [plugin.retry]\n")
        });
        let host = host.await;
        let kept = host.cached("v1/configmaps").into_iter().find(|map| map["metadata"]["name"] == "web");
        assert_eq!(kept.unwrap()["data"].get("a"), None, "the host keeps only parts of the source");

        cluster.becomes("blog", "mine", json!({"a": "1", "b": "1", "own": "x"})).await;
        cluster.has_password("blog", "mine", "1").await;

        cluster.set("shop", "web", json!({"a": "2", "b": null})).await;
        cluster.becomes("blog", "mine", json!({"a": "2", "own": "x"})).await;
        let patch = Patch::Merge(json!({"stringData": {"password": "2"}}));
        cluster.secrets("shop").patch("key", &PatchParams::default(), &patch).await.unwrap();
        cluster.has_password("blog", "mine", "2").await;

        cluster.delete("shop", "web").await;
        cluster.becomes("blog", "mine", json!({"own": "x"})).await;
        host.stop().await;
    }
}

/// The annotations of an object that kubernetes-replicator has already given the keys of its source.
fn pulled(source: &str, keys: &str) -> Value {
    json!({"replicate-from": source, "replicated-keys": keys, "replicated-from-version": "1",
        "replicated-at": "2025-01-01T00:00:00Z"})
}

#[tokio::test(flavor = "multi_thread")]
async fn an_object_of_another_origin_stays_with_a_line_and_an_event() {
    let cluster = Cluster::start(&["shop", "blog"]).await;
    cluster.map("blog", "web", json!({}), json!({"foreign": "1"})).await;
    let host = cluster.host().await;

    cluster.map("shop", "web", json!({"replicate-to": "blog"}), json!({"a": "1"})).await;

    host.lines
        .said("replicator", "v1/configmaps blog/web stays as it is: shop/web should be copied", "")
        .await;
    let events: Api<Event> = Api::namespaced(cluster.client.clone(), "shop");
    let reasons = || async {
        let list = events.list(&ListParams::default()).await.unwrap();
        list.items.into_iter().filter_map(|event| event.reason).collect::<Vec<_>>()
    };
    until(reasons, &vec!["NotReplicated".to_owned()]).await;
    assert_eq!(cluster.data("blog", "web").await, json!({"foreign": "1"}));
    cluster.delete("blog", "web").await;
    cluster.becomes("blog", "web", json!({"a": "1"})).await;
    host.stop().await;
}

/// The restarted host looks at everything. Only what changed meanwhile leads to a request.
#[tokio::test(flavor = "multi_thread")]
async fn a_restart_writes_nothing_but_what_changed_meanwhile() {
    let cluster = Cluster::start(&["shop", "blog", "team"]).await;
    let host = cluster.host().await;
    cluster.map("shop", "web", json!({"replicate-to": "blog,team"}), json!({"a": "1"})).await;
    cluster.map("shop", "gone", json!({"replicate-to": "blog"}), json!({"a": "1"})).await;
    let secret = json!({"metadata": {"name": "key", "annotations": {
        "reflector.v1.k8s.emberstack.com/reflection-allowed": "true",
        "reflector.v1.k8s.emberstack.com/reflection-auto-enabled": "true",
        "reflector.v1.k8s.emberstack.com/reflection-auto-namespaces": "blog",
    }}, "stringData": {"password": "p"}});
    let secret = serde_json::from_value(secret).unwrap();
    cluster.secrets("shop").create(&PostParams::default(), &secret).await.unwrap();
    cluster.becomes("team", "web", json!({"a": "1"})).await;
    cluster.becomes("blog", "web", json!({"a": "1"})).await;
    cluster.becomes("blog", "gone", json!({"a": "1"})).await;
    let mirrored = || async { cluster.secrets("blog").get_opt("key").await.unwrap().is_some() };
    until(mirrored, &true).await;
    host.stop().await;
    let before = cluster.versions().await;

    let host = cluster.host().await;
    host.lines.said("replicator", "all sources and targets are looked at", "").await;
    // Keys are handled in the order in which they were added, by four workers.
    for name in ["last-1", "last-2", "last-3", "last-4", "last-5"] {
        cluster.map("shop", name, json!({"replicate-to": "blog"}), json!({})).await;
        cluster.becomes("blog", name, json!({})).await;
    }
    let mut after = cluster.versions().await;
    after.retain(|name, _| !name.contains("last-"));
    assert_eq!(after, before);
    host.stop().await;

    cluster.delete("shop", "gone").await;
    let host = cluster.host().await;
    cluster.becomes("blog", "gone", Value::Null).await;
    assert_eq!(cluster.data("blog", "web").await, json!({"a": "1"}));
    host.stop().await;
}

/// The kinds without keys, with the lines that the README asks for.
#[tokio::test(flavor = "multi_thread")]
async fn roles_bindings_and_accounts_are_copied_as_a_whole() {
    let cluster = Cluster::start(&["shop", "blog"]).await;
    let kinds = [
        "rbac.authorization.k8s.io/v1/roles",
        "rbac.authorization.k8s.io/v1/rolebindings",
        "v1/serviceaccounts",
    ];
    let more = |text: String| {
        let watches = kinds.map(|gvr| format!("[[watch]]\ngvr = \"{gvr}\"\n")).concat();
        let ons = kinds.map(|gvr| format!("  [[plugin.on]]\n  watch = \"{gvr}\"\n")).concat();
        let read = kinds.map(|gvr| format!(", \"{gvr}\"")).concat();
        let write = kinds.map(|gvr| format!("  \"create,patch,delete {gvr}\",\n")).concat();
        text.replace("[[plugin]]\n", &format!("{watches}[[plugin]]\n"))
            .replace("  [plugin.retry]\n", &format!("{ons}  [plugin.retry]\n"))
            .replace(", \"v1/configmaps\"]", &format!(", \"v1/configmaps\"{read}]"))
            .replace("  write = [\n", &format!("  write = [\n{write}"))
    };
    let host = cluster.host_with(more).await;
    let metadata = json!({"name": "reader", "annotations": prefixed(&json!({"replicate-to": "blog"}))});
    let rules = json!([{"apiGroups": [""], "resources": ["pods"], "verbs": ["get"]}]);
    let role = json!({"metadata": metadata, "rules": rules});
    let binding = json!({"metadata": metadata,
        "subjects": [{"kind": "ServiceAccount", "name": "reader", "namespace": "shop"}],
        "roleRef": {"apiGroup": "rbac.authorization.k8s.io", "kind": "Role", "name": "reader"}});
    let account = json!({"metadata": metadata, "imagePullSecrets": [{"name": "registry"}]});

    let role = copied::<Role>(&cluster, role).await;
    let binding = copied::<RoleBinding>(&cluster, binding).await;
    let account = copied::<ServiceAccount>(&cluster, account).await;

    assert_eq!(role["rules"], rules);
    assert_eq!(binding["roleRef"]["name"], "reader");
    assert_eq!(binding["subjects"][0]["namespace"], "shop");
    assert_eq!(account["imagePullSecrets"], json!([{"name": "registry"}]));
    Api::<Role>::namespaced(cluster.client.clone(), "shop")
        .delete("reader", &DeleteParams::default())
        .await
        .unwrap();
    let roles: Api<Role> = Api::namespaced(cluster.client.clone(), "blog");
    until(|| async { roles.get_opt("reader").await.unwrap().is_some() }, &false).await;
    host.stop().await;
}

/// Creates an object in `shop`, and waits for its copy in `blog`.
async fn copied<K>(cluster: &Cluster, object: Value) -> Value
where
    K: Resource<Scope = NamespaceResourceScope, DynamicType = ()>,
    K: Serialize + DeserializeOwned + Clone + Debug,
{
    let api = |namespace: &str| Api::<K>::namespaced(cluster.client.clone(), namespace);
    api("shop").create(&PostParams::default(), &serde_json::from_value(object).unwrap()).await.unwrap();
    let copies = api("blog");
    until(|| async { copies.get_opt("reader").await.unwrap().is_some() }, &true).await;
    serde_json::to_value(copies.get("reader").await.unwrap()).unwrap()
}

/// The values of other Secrets are hidden from the plugin, and it copies none of them.
#[tokio::test(flavor = "multi_thread")]
async fn only_the_secrets_of_the_grant_are_copied() {
    let cluster = Cluster::start(&["shop", "blog", "bank"]).await;
    let grant = |text: String| text.replace(r#"secrets = ["*"]"#, r#"secrets = ["shop/*", "blog/*"]"#);
    let host = cluster.host_with(grant).await;
    for (namespace, name) in [("bank", "vault"), ("shop", "key")] {
        let secret = json!({"metadata": {"name": name, "annotations": prefixed(&json!({"replicate-to": "blog"}))},
            "stringData": {"password": "p"}});
        let secret = serde_json::from_value(secret).unwrap();
        cluster.secrets(namespace).create(&PostParams::default(), &secret).await.unwrap();
    }

    host.lines.said("replicator", "v1/secrets bank/vault is left alone: `secrets` of", "").await;
    let copy = || async { cluster.secrets("blog").get_opt("key").await.unwrap().and_then(|copy| copy.data) };
    let expected = BTreeMap::from([("password".to_owned(), k8s_openapi::ByteString(b"p".to_vec()))]);
    until(copy, &Some(expected)).await;
    assert!(cluster.secrets("blog").get_opt("vault").await.unwrap().is_none());
    cluster.secrets("shop").delete("key", &DeleteParams::default()).await.unwrap();
    let copied = || async { cluster.secrets("blog").get_opt("key").await.unwrap().is_some() };
    until(copied, &false).await;
    host.stop().await;
}

/// A watch that is narrower than before must not look like the deletion of all sources outside it.
#[tokio::test(flavor = "multi_thread")]
async fn a_source_outside_of_the_watch_keeps_its_copies() {
    let cluster = Cluster::start(&["shop", "blog"]).await;
    let host = cluster.host().await;
    cluster.map("shop", "web", json!({"replicate-to": "blog"}), json!({"a": "1"})).await;
    cluster.becomes("blog", "web", json!({"a": "1"})).await;
    host.stop().await;
    let seen = Patch::Merge(json!({"metadata": {"labels": {"seen": "yes"}}}));
    cluster.maps("blog").patch("web", &PatchParams::default(), &seen).await.unwrap();

    for (narrow, line) in [
        ("namespaces = [\"blog\"]", "v1/configmaps shop/web is left alone: not-granted: "),
        (
            "labels = \"seen=yes\"",
            "v1/configmaps blog/web stays as it is: the watch does not cover its source shop/web",
        ),
    ] {
        let watch = "gvr = \"v1/configmaps\"\n";
        let host = cluster.host_with(|text| text.replace(watch, &format!("{watch}{narrow}\n"))).await;
        host.lines.said("replicator", line, "").await;
        assert_eq!(cluster.data("blog", "web").await, json!({"a": "1"}));
        host.stop().await;
    }
}
