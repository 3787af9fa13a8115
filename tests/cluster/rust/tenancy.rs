//! Plugins as objects of the real kube-apiserver: the definitions are structural, their schema refuses what it can, and the roles
//! that `informer rbac` prints are enough for the host.

use std::{fs, time::Duration};

use informer::{config, connect::Connection};
use informer_guests::guest;
use informer_tests::{
    cluster::{Options, RealCluster, User},
    command_line::CommandLine,
    host::{TestHost, configuration},
    toml::{plugin, watch},
};
use serde_json::{Value, json};
use tempfile::TempDir;
use tokio::time::{Instant, sleep};

use crate::{
    rbac::roles::Roles,
    support::{SOON, kubectl},
};
use server::Registry;

#[allow(dead_code, reason = "the faults are for the tests of the puller")]
#[path = "../../../host/registry/tests/server/server.rs"]
mod server;

/// The imports and exports of the component, as far as they matter.
const NAMES: (&[&str], &[&str]) = (
    &["informer:plugin/objects@0.1.0", "wasi:logging/logging@0.1.0-draft"],
    &["informer:plugin/handler@0.1.0", "informer:plugin/plugin@0.1.0"],
);

/// kubectl with a directory for its manifests.
struct Tenant {
    kubectl: CommandLine,
    directory: TempDir,
    source: String,
}

// === impl Tenant ===

impl Tenant {
    fn file(&self, objects: &[Value]) -> String {
        let path = self.directory.path().join("objects.json");
        fs::write(&path, json!({"apiVersion": "v1", "kind": "List", "items": objects}).to_string()).unwrap();
        path.to_str().unwrap().to_owned()
    }

    async fn apply(&self, objects: &[Value]) {
        self.kubectl.prints(&["apply", "--server-side", "-f", &self.file(objects)]).await;
    }

    async fn refused(&self, object: Value) -> String {
        self.kubectl.fails(&["apply", "--server-side", "-f", &self.file(&[object])]).await
    }

    /// A Plugin with the members of the smallest spec; these members are added or replace theirs.
    fn plugin(&self, namespace: &str, name: &str, members: Value) -> Value {
        let mut spec = json!({"source": self.source, "on": [{"watch": "v1/configmaps"}]});
        let Value::Object(members) = members else { panic!("{members}") };
        spec.as_object_mut().unwrap().extend(members);
        json!({
            "apiVersion": "informer.dev/v1alpha1", "kind": "Plugin",
            "metadata": {"namespace": namespace, "name": name}, "spec": spec,
        })
    }

    async fn create_configmap(&self, namespace: &str, name: &str) {
        self.kubectl.prints(&["create", "configmap", name, "-n", namespace]).await;
    }

    /// Waits until `kubectl get plugin` prints these words about a Plugin.
    async fn row(&self, namespace: &str, name: &str, words: &[&str]) -> String {
        let deadline = Instant::now() + SOON;
        loop {
            let row = self.kubectl.prints(&["get", "plugins", name, "-n", namespace, "-o", "wide"]).await;
            if words.iter().all(|word| row.contains(word)) {
                return row;
            }
            assert!(Instant::now() < deadline, "no {words:?} in {row}");
            sleep(Duration::from_millis(200)).await;
        }
    }
}

fn toml(registry: &Registry) -> String {
    format!(
        "[[registry]]\nhost = \"{host}\"\ninsecure = true\n{}{}[tenancy]\nnamespaces = [\"shop\"]\n\
         read = [\"v1/configmaps\", \"v1/nodes\"]\nwrite = [\"patch v1/configmaps\"]\nregistries = [\"{host}/acme/*\"]\n",
        ["v1/configmaps", "v1/nodes"].map(watch).concat(),
        plugin("echo", &guest("echo"), "v1/configmaps", ""),
        host = registry.host(),
    )
}

#[tokio::test(flavor = "multi_thread")]
#[ignore = "needs Go: run by cargo xtask test --all"]
async fn a_tenant_applies_a_plugin_and_sees_with_kubectl_what_became_of_it() {
    let cluster = RealCluster::start(Options::default()).await.unwrap();
    let registry = Registry::start().await;
    registry.add_component("acme/echo", "1", &fs::read(guest("echo")).unwrap(), NAMES);
    let tenant = Tenant {
        kubectl: kubectl(&cluster).await,
        directory: TempDir::new().unwrap(),
        source: format!("oci://{}/acme/echo:1", registry.host()),
    };
    for namespace in ["shop", "other"] {
        tenant.kubectl.prints(&["create", "namespace", namespace]).await;
    }
    tenant.apply(&config::definitions()).await;
    let wait = ["wait", "--for=condition=Established", "--timeout=60s", "crd/plugins.informer.dev"];
    tenant.kubectl.prints(&wait).await;
    let text = toml(&registry);
    Roles::create(cluster.client(User::Admin).await.unwrap(), &configuration(&text).unwrap()).await;
    let client = cluster.client(User::Informer).await.unwrap();
    let host = TestHost::start_with(Connection::new(client, cluster.url()), &text).await.unwrap();

    tenant.apply(&[tenant.plugin("shop", "echo", json!({}))]).await;
    let row = tenant.row("shop", "echo", &["Serving"]).await;
    assert!(row.starts_with("NAME   VERSION   STATE     CALLS   FAILURES   AGE"), "{row}");
    tenant.create_configmap("other", "one").await;
    tenant.create_configmap("shop", "one").await;
    host.lines.said("shop/echo", "add shop/one ", "").await;
    assert!(host.lines.of("shop/echo").iter().all(|line| !line.contains("other/")));
    let described = tenant.kubectl.prints(&["describe", "plugin", "echo", "-n", "shop"]).await;
    assert!(described.contains("Observed Generation:") && described.contains("Quarantined"), "{described}");
    let fields = ["get", "plugin", "echo", "-n", "shop", "-o", "yaml", "--show-managed-fields"];
    let fields = tenant.kubectl.prints(&fields).await;
    assert!(fields.contains("manager: informer\n") && fields.contains("subresource: status"), "{fields}");

    for (members, words) in [
        (json!({"limts": {}}), "unknown field \"limts\""),
        (json!({"as": "system:serviceaccount:a:b"}), "unknown field \"as\""),
        (json!({"on": "v1/configmaps"}), "spec.on"),
        (json!({"source": "/etc/passwd"}), "spec.source"),
        (json!({"limits": {"requests": 0}}), "spec.limits.requests"),
    ] {
        let refusal = tenant.refused(tenant.plugin("shop", "refused", members)).await;
        assert!(refusal.contains(words), "{refusal}");
    }
    let long = tenant.refused(tenant.plugin("shop", &"x".repeat(53), json!({}))).await;
    assert!(long.contains("the name must have at most 52"), "{long}");

    for (name, members, words) in [
        ("wider", json!({"limits": {"memory": "4GiB"}}), "spec.limits.memory"),
        ("foreign", json!({"on": [{"watch": "v1/configmaps", "namespaces": ["other"]}]}), "it names @other"),
        ("nodes", json!({"on": [{"watch": "v1/nodes"}]}), "its objects have no namespace"),
    ] {
        tenant.apply(&[tenant.plugin("shop", name, members)]).await;
        tenant.row("shop", name, &["Refused", words]).await;
    }
    tenant.kubectl.prints(&["delete", "plugin", "echo", "-n", "shop"]).await;
    host.until("the end of the plugin", |_| host.plugin("shop/echo").is_null()).await;
    assert_eq!((host.unready(), host.degraded()), (Vec::new(), Vec::new()));
    host.stop().await;
    cluster.shutdown().await.unwrap();
}
