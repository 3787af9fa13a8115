//! The ConfigMaps of a test, written through the API like any client does.

use std::collections::BTreeMap;

use informer::{config::Access, connect::connect};
use k8s_openapi::api::core::v1::ConfigMap;
use kube::api::{Api, DeleteParams, ListParams, Patch, PatchParams, PostParams};
use serde_json::json;

/// The ConfigMaps of one namespace.
pub(crate) struct ConfigMaps(Api<ConfigMap>);

impl ConfigMaps {
    /// The ConfigMaps of the namespace `default`.
    pub(crate) async fn at(url: &str) -> Self {
        Self::of(url, "default").await
    }

    pub(crate) async fn of(url: &str, namespace: &str) -> Self {
        let connection = connect(&Access::Server(url.parse().unwrap())).await.unwrap();
        Self(Api::namespaced(connection.client, namespace))
    }

    pub(crate) async fn create(&self, name: &str) {
        let object = serde_json::from_value(json!({"metadata": {"name": name}})).unwrap();
        self.0.create(&PostParams::default(), &object).await.unwrap();
    }

    /// Creates a ConfigMap with a label of this key.
    pub(crate) async fn create_labelled(&self, name: &str, label: &str) {
        let object = json!({"metadata": {"name": name, "labels": {label: "yes"}}});
        let object = serde_json::from_value(object).unwrap();
        self.0.create(&PostParams::default(), &object).await.unwrap();
    }

    /// Creates a ConfigMap with a controlling owner of this name, and another owner.
    pub(crate) async fn create_owned(&self, name: &str, owner: &str) {
        let reference = |name: &str, controller| json!({"apiVersion": "v1", "kind": "ConfigMap", "name": name, "uid": name, "controller": controller});
        let owners = [reference("other", false), reference(owner, true)];
        let object = json!({"metadata": {"name": name, "ownerReferences": owners}});
        let object = serde_json::from_value(object).unwrap();
        self.0.create(&PostParams::default(), &object).await.unwrap();
    }

    /// Creates a ConfigMap with this data.
    pub(crate) async fn create_with(&self, name: &str, data: serde_json::Value) {
        let object = serde_json::from_value(json!({"metadata": {"name": name}, "data": data})).unwrap();
        self.0.create(&PostParams::default(), &object).await.unwrap();
    }

    /// Changes these fields of the data.
    pub(crate) async fn merge(&self, name: &str, data: serde_json::Value) {
        let patch = Patch::Merge(json!({ "data": data }));
        self.0.patch(name, &PatchParams::default(), &patch).await.unwrap();
    }

    /// Changes the data, so that the object gets a new resource version.
    pub(crate) async fn update(&self, name: &str, round: usize) {
        let patch = Patch::Merge(json!({"data": {"round": round.to_string()}}));
        self.0.patch(name, &PatchParams::default(), &patch).await.unwrap();
    }

    pub(crate) async fn delete(&self, name: &str) {
        self.0.delete(name, &DeleteParams::default()).await.unwrap();
    }

    /// The resource version of each ConfigMap on the server, by `namespace/name`.
    pub(crate) async fn versions(&self) -> BTreeMap<String, u64> {
        let list = self.0.list(&ListParams::default()).await.unwrap();
        let metadata = list.items.into_iter().map(|object| object.metadata);
        metadata
            .map(|metadata| {
                let version = metadata.resource_version.unwrap().parse().unwrap();
                (format!("default/{}", metadata.name.unwrap()), version)
            })
            .collect()
    }
}
