//! The pods of a test, written through the API like any client does.

use informer::{config::Access, connect::connect};
use k8s_openapi::api::core::v1::Pod;
use kube::api::{Api, DeleteParams, Patch, PatchParams, PostParams};
use serde_json::{Value, json};

/// The annotation that makes the example fail for a pod.
const BROKEN: &str = "example.com/broken";

/// The pods of the namespace `default`.
pub(crate) struct Pods(Api<Pod>);

impl Pods {
    pub(crate) async fn at(url: &str) -> Self {
        let connection = connect(&Access::Server(url.parse().unwrap())).await.unwrap();
        Self(Api::namespaced(connection.client, "default"))
    }

    pub(crate) async fn create(&self, name: &str) {
        self.post(json!({"name": name})).await;
    }

    pub(crate) async fn create_broken(&self, name: &str, why: &str) {
        self.post(json!({"name": name, "annotations": {BROKEN: why}})).await;
    }

    pub(crate) async fn mend(&self, name: &str) {
        let patch = Patch::Merge(json!({"metadata": {"annotations": {BROKEN: null}}}));
        self.0.patch(name, &PatchParams::default(), &patch).await.unwrap();
    }

    pub(crate) async fn delete(&self, name: &str) {
        let at_once = DeleteParams { grace_period_seconds: Some(0), ..DeleteParams::default() };
        self.0.delete(name, &at_once).await.unwrap();
    }

    async fn post(&self, metadata: Value) {
        let spec = json!({"containers": [{"name": "main", "image": "nginx"}]});
        let pod = serde_json::from_value(json!({"metadata": metadata, "spec": spec})).unwrap();
        self.0.create(&PostParams::default(), &pod).await.unwrap();
    }
}
