//! A server with the definitions, a registry with components, and a host with `[tenancy]`.

use std::{fs, path::PathBuf, time::Duration};

use informer::{config, config::Access, connect::connect};
use informer_devserver::DevServer;
use informer_guests::guest;
use informer_tests::{
    host::{PATIENCE, TestHost},
    toml::{plugin, watch},
};
use k8s_openapi::{
    api::{core::v1::Namespace, events::v1::Event},
    apiextensions_apiserver::pkg::apis::apiextensions::v1::CustomResourceDefinition,
};
use kube::{
    Client,
    api::{
        Api, ApiResource, DeleteParams, DynamicObject, GroupVersionKind, ListParams, Patch, PatchParams,
        PostParams,
    },
};
use serde_json::{Value, json};
use tempfile::TempDir;
use tokio::time::{Instant, sleep};

use crate::{configmaps::ConfigMaps, registries::server::Registry};

/// The imports and exports of the components, as far as they matter.
const NAMES: (&[&str], &[&str]) = (
    &["informer:plugin/objects@0.1.0", "wasi:logging/logging@0.1.0-draft"],
    &["informer:plugin/handler@0.1.0", "informer:plugin/plugin@0.1.0"],
);

pub(crate) struct Stage {
    pub(crate) host: TestHost,
    server: DevServer,
    registry: Registry,
    client: Client,
    directory: TempDir,
    toml: String,
}

// === impl Stage ===

impl Stage {
    /// A host that accepts Plugins of `shop`, `flood` and `team-*`. `lines` are further lines of `[tenancy]`.
    pub(crate) async fn start(lines: &str) -> Self {
        let stage = Self::without_definitions(lines).await;
        stage.install().await;
        stage
    }

    pub(crate) async fn without_definitions(lines: &str) -> Self {
        let server = DevServer::start(informer_devserver::Config::default()).await.unwrap();
        let client = connect(&Access::Server(server.url().parse().unwrap())).await.unwrap().client;
        for name in ["shop", "other", "flood", "team-a", "stranger"] {
            let namespace: Namespace = serde_json::from_value(json!({"metadata": {"name": name}})).unwrap();
            Api::all(client.clone()).create(&PostParams::default(), &namespace).await.unwrap();
        }
        let registry = Registry::start().await;
        for name in ["echo", "writer", "reader", "trap"] {
            registry.add_component(&format!("acme/{name}"), "1", &fs::read(guest(name)).unwrap(), NAMES);
        }
        registry.add_component("evil/echo", "1", &fs::read(guest("echo")).unwrap(), NAMES);
        let toml = format!(
            "[[registry]]\nhost = \"{host}\"\ninsecure = true\n{}{}[tenancy]\nnamespaces = [\"shop\", \"flood\", \"team-*\"]\n\
             read = [\"v1/configmaps\", \"v1/nodes\", \"v1/secrets\"]\n\
             write = [\"create,patch v1/configmaps\", \"create v1/nodes\", \"create events.k8s.io/v1/events\"]\n\
             registries = [\"{host}/acme/*\"]\n{lines}",
            ["v1/configmaps", "v1/nodes", "v1/secrets", "v1/services"].map(watch).concat(),
            plugin("echo", &guest("echo"), "v1/configmaps", ""),
            host = registry.host(),
        );
        let directory = TempDir::new().unwrap();
        let host = host(&server, &toml, &directory).await;
        Self { host, server, registry, client, directory, toml }
    }

    /// Creates the definitions, and waits until the server serves them.
    pub(crate) async fn install(&self) {
        let definitions = Api::<CustomResourceDefinition>::all(self.client.clone());
        for definition in config::definitions() {
            let definition = serde_json::from_value(definition).unwrap();
            match definitions.create(&PostParams::default(), &definition).await {
                // The other one was never deleted.
                Err(kube::Error::Api(status)) if status.is_already_exists() => {}
                created => drop(created.unwrap()),
            }
        }
        let deadline = Instant::now() + PATIENCE;
        while self.plugins("").list(&ListParams::default()).await.is_err() {
            assert!(Instant::now() < deadline, "the definitions are not served");
            sleep(Duration::from_millis(20)).await;
        }
        // The host notices within its own time.
        self.host.until("the objects", |_| self.host.degraded().is_empty()).await;
    }

    /// Replaces a part of the file, which the host follows.
    pub(crate) fn replace(&mut self, from: &str, to: &str) {
        assert!(self.toml.contains(from), "{from} is not in {}", self.toml);
        self.toml = self.toml.replace(from, to);
        write(&self.toml, &self.directory);
    }

    /// Deletes the definition of Plugins, and with it all of them.
    pub(crate) async fn uninstall(&self) {
        let definitions = Api::<CustomResourceDefinition>::all(self.client.clone());
        definitions.delete("plugins.informer.dev", &DeleteParams::default()).await.unwrap();
    }

    /// Stops the host, and starts it again with the same configuration.
    pub(crate) async fn restart(self) -> Self {
        let Self { host: old, server, registry, client, directory, toml } = self;
        old.stop().await;
        let host = host(&server, &toml, &directory).await;
        Self { host, server, registry, client, directory, toml }
    }

    pub(crate) async fn stop(self) {
        self.host.stop().await;
        self.server.shutdown().await;
    }

    pub(crate) fn url(&self) -> String {
        self.server.url()
    }

    pub(crate) async fn configmaps(&self, namespace: &str) -> ConfigMaps {
        ConfigMaps::of(&self.server.url(), namespace).await
    }

    /// The name of a component in the registry.
    pub(crate) fn source(&self, name: &str) -> String {
        format!("oci://{}/{name}:1", self.registry.host())
    }

    /// The smallest spec of `echo`, with these members instead of or besides its own.
    pub(crate) fn echo(&self, members: Value) -> Value {
        let mut spec = json!({"source": self.source("acme/echo"), "on": [{"watch": "v1/configmaps"}]});
        let Value::Object(members) = members else { panic!("{members}") };
        spec.as_object_mut().unwrap().extend(members);
        spec
    }

    /// The Plugins of a namespace, or the ClusterPlugins.
    pub(crate) fn plugins(&self, namespace: &str) -> Api<DynamicObject> {
        let kind = if namespace.is_empty() { "ClusterPlugin" } else { "Plugin" };
        let resource = ApiResource::from_gvk(&GroupVersionKind::gvk("informer.dev", "v1alpha1", kind));
        match namespace {
            "" => Api::all_with(self.client.clone(), &resource),
            namespace => Api::namespaced_with(self.client.clone(), namespace, &resource),
        }
    }

    pub(crate) async fn create(&self, namespace: &str, name: &str, spec: &Value) {
        let kind = if namespace.is_empty() { "ClusterPlugin" } else { "Plugin" };
        let object = json!({
            "apiVersion": "informer.dev/v1alpha1", "kind": kind, "metadata": {"name": name}, "spec": spec,
        });
        let object = serde_json::from_value(object).unwrap();
        self.plugins(namespace).create(&PostParams::default(), &object).await.unwrap();
    }

    /// Merges these members into the spec.
    pub(crate) async fn merge(&self, namespace: &str, name: &str, spec: Value) {
        let patch = Patch::Merge(json!({"spec": spec}));
        self.plugins(namespace).patch(name, &PatchParams::default(), &patch).await.unwrap();
    }

    pub(crate) async fn delete(&self, namespace: &str, name: &str) {
        self.plugins(namespace).delete(name, &DeleteParams::default()).await.unwrap();
    }

    pub(crate) async fn status(&self, namespace: &str, name: &str) -> Value {
        let object = self.plugins(namespace).get(name).await.unwrap();
        object.data.get("status").cloned().unwrap_or_default()
    }

    /// Waits until the status of an object satisfies the condition.
    pub(crate) async fn until_status(
        &self,
        namespace: &str,
        name: &str,
        what: &str,
        condition: impl Fn(&Value) -> bool,
    ) -> Value {
        let deadline = Instant::now() + PATIENCE;
        loop {
            let status = self.status(namespace, name).await;
            if condition(&status) {
                return status;
            }
            assert!(Instant::now() < deadline, "{namespace}/{name}: {what} did not come about: {status:#}");
            sleep(Duration::from_millis(50)).await;
        }
    }

    /// Waits for a condition of an object, and returns it.
    pub(crate) async fn condition(
        &self,
        namespace: &str,
        name: &str,
        kind: &str,
        status: &str,
        reason: &str,
    ) -> Value {
        let fits = |one: &Value| one["type"] == kind && one["status"] == status && one["reason"] == reason;
        let find = |status: &Value| status["conditions"].as_array()?.iter().find(|one| fits(one)).cloned();
        let what = format!("{kind} = {status} because of {reason}");
        let status = self.until_status(namespace, name, &what, |status| find(status).is_some()).await;
        find(&status).unwrap()
    }

    /// Waits for an Event with this reason about an object. The host records Events after it has written the status.
    pub(crate) async fn event(&self, namespace: &str, name: &str, reason: &str) {
        let deadline = Instant::now() + PATIENCE;
        loop {
            let reasons = self.events(namespace, name).await;
            if reasons.iter().any(|one| one == reason) {
                return;
            }
            assert!(Instant::now() < deadline, "{namespace}/{name}: no Event `{reason}`: {reasons:?}");
            sleep(Duration::from_millis(50)).await;
        }
    }

    /// The reasons of the Events about an object.
    pub(crate) async fn events(&self, namespace: &str, name: &str) -> Vec<String> {
        let events = Api::<Event>::namespaced(self.client.clone(), namespace);
        let events = events.list(&ListParams::default()).await.unwrap().items;
        let about = events
            .into_iter()
            .filter(|event| event.regarding.as_ref().and_then(|object| object.name.as_deref()) == Some(name));
        about.filter_map(|event| event.reason).collect()
    }

    /// The table of the Plugins of a namespace, as kubectl requests it.
    pub(crate) async fn table(&self, namespace: &str) -> Value {
        let request =
            http::Request::get(format!("/apis/informer.dev/v1alpha1/namespaces/{namespace}/plugins"))
                .header("Accept", "application/json;as=Table;v=v1;g=meta.k8s.io,application/json")
                .body(Vec::new())
                .unwrap();
        self.client.request(request).await.unwrap()
    }
}

async fn host(server: &DevServer, toml: &str, directory: &TempDir) -> TestHost {
    TestHost::start_file(&server.url(), &write(toml, directory)).await.unwrap()
}

/// Writes the file of the host, and returns its path.
fn write(toml: &str, directory: &TempDir) -> PathBuf {
    let file = directory.path().join("informer.toml");
    let host = "[host]\nadmin = \"off\"\nstate-dir = \"off\"\ncache-dir = \"cache\"\n";
    fs::write(&file, format!("{host}{toml}")).unwrap();
    file
}
