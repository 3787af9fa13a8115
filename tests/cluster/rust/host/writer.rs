//! Changes deployments and records their versions.

use std::collections::BTreeMap;

use k8s_openapi::api::apps::v1::Deployment;
use kube::{
    Api, Client,
    api::{DeleteParams, ListParams, Patch, PatchParams, PostParams},
};
use serde_json::{Value, json};

/// The only client that writes: no controller runs.
pub(crate) struct Writer {
    api: Api<Deployment>,
    versions: BTreeMap<String, Vec<u64>>,
    /// The last version of each deployment. `None` means deleted.
    finals: BTreeMap<String, Option<u64>>,
}

impl Writer {
    pub(crate) fn new(client: Client) -> Self {
        Self { api: Api::namespaced(client, "default"), versions: BTreeMap::new(), finals: BTreeMap::new() }
    }

    /// Continues with a client of the restarted server.
    pub(crate) fn reconnect(&mut self, client: Client) {
        self.api = Api::namespaced(client, "default");
    }

    pub(crate) async fn create(&mut self, name: &str) {
        let deployment = serde_json::from_value(json!({
            "metadata": {"name": name, "labels": {"app": name}},
            "spec": {
                "selector": {"matchLabels": {"app": name}},
                "template": {
                    "metadata": {"labels": {"app": name}},
                    "spec": {"containers": [{"name": "main", "image": "nginx"}]},
                },
            },
        }));
        let created = self.api.create(&PostParams::default(), &deployment.unwrap()).await.unwrap();
        self.wrote(name, &created);
    }

    pub(crate) async fn scale(&mut self, name: &str, replicas: i32) {
        let patch = Patch::Merge(json!({"spec": {"replicas": replicas}}));
        let scaled = self.api.patch(name, &PatchParams::default(), &patch).await.unwrap();
        self.wrote(name, &scaled);
    }

    pub(crate) async fn delete(&mut self, name: &str) {
        self.api.delete(name, &DeleteParams::default()).await.unwrap();
        self.finals.insert(name.to_owned(), None);
    }

    /// Replaces the deployment by another object with the same name.
    pub(crate) async fn recreate(&mut self, name: &str) {
        self.delete(name).await;
        self.create(name).await;
    }

    /// All versions of each object, oldest first, without the unknown versions of deletions.
    pub(crate) fn versions(&self) -> &BTreeMap<String, Vec<u64>> {
        &self.versions
    }

    pub(crate) fn finals(&self) -> BTreeMap<String, Option<u64>> {
        self.finals.clone()
    }

    /// A fresh list, sorted by name, without the fields that the cache drops.
    pub(crate) async fn list(&self) -> Vec<Value> {
        let list = self.api.list(&ListParams::default()).await.unwrap();
        let mut items: Vec<Value> =
            list.items.iter().map(|deployment| serde_json::to_value(deployment).unwrap()).collect();
        items.iter_mut().for_each(plain);
        items.sort_by_key(|item| item["metadata"]["name"].as_str().unwrap().to_owned());
        items
    }

    fn wrote(&mut self, name: &str, deployment: &Deployment) {
        let version: u64 = deployment.metadata.resource_version.as_ref().unwrap().parse().unwrap();
        self.versions.entry(name.to_owned()).or_default().push(version);
        self.finals.insert(name.to_owned(), Some(version));
    }
}

/// Removes `managedFields`, which the cache drops, and adds the type, which items of a list lack.
pub(crate) fn plain(object: &mut Value) {
    object["metadata"].as_object_mut().unwrap().remove("managedFields");
    object["apiVersion"] = json!("apps/v1");
    object["kind"] = json!("Deployment");
}
