//! The embedded API server and a client for deployments.

use informer_devserver::{Config, DevServer};
use k8s_openapi::api::apps::v1::Deployment;
use kube::{
    Api, Client,
    api::{DeleteParams, Patch, PatchParams, PostParams},
};
use serde_json::{Value, json};

/// A server and a client.
pub(crate) struct Cluster {
    pub(crate) server: DevServer,
    pub(crate) deployments: Deployments,
}

/// The deployments of the namespace `default`.
pub(crate) struct Deployments(Api<Deployment>);

// === impl Cluster ===

impl Cluster {
    pub(crate) async fn start() -> Self {
        let server = DevServer::start(Config::default()).await.unwrap();
        let deployments = Deployments::at(&server.url());
        Self { server, deployments }
    }

    /// Deletes a deployment and returns the version of the deletion.
    pub(crate) async fn delete(&self, name: &str) -> String {
        self.deployments.0.delete(name, &DeleteParams::default()).await.unwrap();
        self.server.resource_version().to_string()
    }
}

// === impl Deployments ===

impl Deployments {
    /// Those of the server at `url`.
    pub(crate) fn at(url: &str) -> Self {
        let config = kube::Config::new(url.parse().unwrap());
        Self(Api::namespaced(Client::try_from(config).unwrap(), "default"))
    }

    /// Creates a deployment and returns its resource version.
    pub(crate) async fn create(&self, name: &str) -> String {
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
    pub(crate) async fn patch(&self, name: &str, patch: Value) -> String {
        let patch = Patch::Merge(patch);
        let patched = self.0.patch(name, &PatchParams::default(), &patch).await.unwrap();
        patched.metadata.resource_version.unwrap()
    }
}

/// The configuration of a plugin that subscribes to deployments.
pub(crate) fn plugin(name: &str, source: &std::path::Path, subscription: &str) -> String {
    format!(
        r#"
        [[plugin]]
        name = "{name}"
        source = {source:?}

          [[plugin.on]]
          watch = "apps/v1/deployments"
          {subscription}

          [plugin.grant]
          read = ["apps/v1/deployments"]
        "#
    )
}

/// The watch that all plugins need.
pub(crate) const WATCH: &str = "[[watch]]\ngvr = \"apps/v1/deployments\"\n";
