//! The deployments of a cluster without authentication.
#![expect(clippy::unwrap_used, reason = "a request that fails is a failed test")]

use k8s_openapi::api::apps::v1::Deployment;
use kube::{
    Api, Client,
    api::{DeleteParams, Patch, PatchParams, PostParams},
};
use serde_json::{Value, json};

/// The deployments of the namespace `default`.
pub struct Deployments(Api<Deployment>);

// === impl Deployments ===

impl Deployments {
    /// The deployments of the server at `url`.
    pub fn at(url: &str) -> Self {
        let config = kube::Config::new(url.parse().unwrap());
        Self(Api::namespaced(Client::try_from(config).unwrap(), "default"))
    }

    /// Creates a deployment and returns its resource version.
    pub async fn create(&self, name: &str) -> String {
        let labels = json!({"app": name});
        let deployment = serde_json::from_value(json!({
            "metadata": {"name": name, "labels": labels},
            "spec": {
                "selector": {"matchLabels": labels},
                "template": {
                    "metadata": {"labels": labels},
                    "spec": {"containers": [{"name": name, "image": "nginx:1.29"}]},
                },
            },
        }));
        let created = self.0.create(&PostParams::default(), &deployment.unwrap()).await.unwrap();
        created.metadata.resource_version.unwrap()
    }

    /// Patches a deployment and returns its new resource version.
    pub async fn patch(&self, name: &str, patch: Value) -> String {
        let patch = Patch::Merge(patch);
        let patched = self.0.patch(name, &PatchParams::default(), &patch).await.unwrap();
        patched.metadata.resource_version.unwrap()
    }

    /// Deletes a deployment.
    pub async fn delete(&self, name: &str) {
        self.0.delete(name, &DeleteParams::default()).await.unwrap();
    }
}
