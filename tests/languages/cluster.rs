//! The embedded API server and a client for deployments.

use informer_devserver::{Config, DevServer};
use informer_tests::deployments::Deployments;

/// A server and a client.
pub(crate) struct Cluster {
    pub(crate) server: DevServer,
    pub(crate) deployments: Deployments,
}

// === impl Cluster ===

impl Cluster {
    pub(crate) async fn start() -> Self {
        let server = DevServer::start(Config::default()).await.unwrap();
        let deployments = Deployments::at(&server.url());
        Self { server, deployments }
    }

    /// Deletes a deployment and returns the version of the deletion.
    pub(crate) async fn delete(&self, name: &str) -> String {
        self.deployments.delete(name).await;
        self.server.resource_version().to_string()
    }
}

/// The configuration of a plugin that subscribes to deployments. On a busy build machine a call may take longer than the default
/// deadline. It would be repeated after the next ones, and its line would come later.
pub(crate) fn plugin(name: &str, source: &std::path::Path, subscription: &str) -> String {
    format!(
        r#"
        [[plugin]]
        name = "{name}"
        source = {source:?}

          [[plugin.on]]
          watch = "apps/v1/deployments"
          {subscription}

          [plugin.limits]
          deadline = "1m"

          [plugin.grant]
          read = ["apps/v1/deployments"]
        "#
    )
}

/// The watch that all plugins need.
pub(crate) const WATCH: &str = "[[watch]]\ngvr = \"apps/v1/deployments\"\n";
