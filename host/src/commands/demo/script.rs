//! The script of the demo: changes of the cluster, and the lines that the component must print.

use std::time::Duration;

use anyhow::{Context, bail};
use k8s_openapi::api::apps::v1::Deployment;
use kube::api::{Api, ApiResource, DeleteParams, DynamicObject, Patch, PatchParams, PostParams};
use serde_json::json;
use tokio::{sync::mpsc, time::timeout};
use tokio_util::sync::CancellationToken;

use crate::commands::output::print;

/// Time for the component to print a line. It takes milliseconds; a busy build machine gets more.
const PATIENCE: Duration = Duration::from_secs(20);

/// Runs the script against one cluster and one component.
pub(super) struct Script {
    /// The objects do not have the type `Deployment`, because the decoder of this type takes a megabyte of the program.
    deployments: Api<DynamicObject>,
    /// The lines that the component prints.
    lines: mpsc::UnboundedReceiver<String>,
}

/// A line of the component. `*` stands for a resource version that the script cannot know.
struct Expected(String);

impl Script {
    pub(super) fn new(client: kube::Client, lines: mpsc::UnboundedReceiver<String>) -> Self {
        let deployment = ApiResource::erase::<Deployment>(&());
        Self { deployments: Api::namespaced_with(client, "default", &deployment), lines }
    }

    /// Creates the objects that exist before the host starts.
    pub(super) async fn prologue(&self) -> anyhow::Result<()> {
        for name in ["nginx", "web"] {
            self.create(name).await?;
        }
        // Printed now: once the host runs, its lines may come first.
        narrate("the host starts; the deployments nginx and web are there already");
        Ok(())
    }

    /// Makes one change after the other, and waits for the lines of the component after each.
    ///
    /// # Errors
    /// The cluster refuses a change, or the component prints another line or none.
    pub(super) async fn run(&mut self) -> anyhow::Result<()> {
        self.expect(&[
            "added default/nginx (rv *, initial)",
            "deployments in default: 2",
            "1 -> nginx",
            "2 -> web",
            "added default/web (rv *, initial)",
        ])
        .await?;

        narrate("create deployment api");
        let mut version = self.create("api").await?;
        self.expect(&[format!("added default/api (rv {version}, live)")]).await?;

        for (what, patch) in [
            ("scale api to 3", json!({"spec": {"replicas": 3}})),
            ("label api tier=backend", json!({"metadata": {"labels": {"tier": "backend"}}})),
        ] {
            narrate(what);
            let patch = Patch::Merge(patch);
            let new = self.deployments.patch("api", &PatchParams::default(), &patch).await.context(what)?;
            let old = std::mem::replace(&mut version, resource_version(&new));
            self.expect(&[format!("updated default/api (rv {old} -> {version}, live)")]).await?;
        }

        narrate("delete deployment api");
        self.deployments.delete("api", &DeleteParams::default()).await.context("delete api")?;
        self.expect(&["deleted default/api (rv *)"]).await?;

        narrate("create deployment api again");
        let version = self.create("api").await?;
        self.expect(&[format!("added default/api (rv {version}, live)")]).await
    }

    /// Discards the lines of the component until the token is cancelled.
    pub(super) async fn listen_until(&mut self, token: &CancellationToken) {
        token.run_until_cancelled(async { while self.lines.recv().await.is_some() {} }).await;
    }

    async fn create(&self, name: &str) -> anyhow::Result<String> {
        let deployment = serde_json::from_value(json!({
            "apiVersion": "apps/v1",
            "kind": "Deployment",
            "metadata": {"name": name, "labels": {"app": name}},
            "spec": {
                "replicas": 1,
                "selector": {"matchLabels": {"app": name}},
                "template": {
                    "metadata": {"labels": {"app": name}},
                    "spec": {"containers": [{"name": name, "image": "nginx:1.29"}]},
                },
            },
        }))?;
        let created = self.deployments.create(&PostParams::default(), &deployment).await;
        Ok(resource_version(&created.with_context(|| format!("create deployment {name}"))?))
    }

    /// Waits for these lines of the component, in this order.
    async fn expect(&mut self, expected: &[impl AsRef<str>]) -> anyhow::Result<()> {
        for expected in expected.iter().map(|line| Expected(line.as_ref().to_owned())) {
            let wanted = &expected.0;
            match timeout(PATIENCE, self.lines.recv()).await {
                Ok(Some(line)) if expected.is(&line) => {}
                Ok(Some(line)) => bail!("the component printed `{line}` instead of `{wanted}`"),
                Ok(None) => bail!("the host stopped before the component printed `{wanted}`"),
                Err(_) => bail!("the component did not print `{wanted}` within {PATIENCE:?}"),
            }
        }
        Ok(())
    }
}

impl Expected {
    fn is(&self, line: &str) -> bool {
        let Some((before, after)) = self.0.split_once('*') else {
            return self.0 == line;
        };
        let version = line.strip_prefix(before).and_then(|rest| rest.strip_suffix(after));
        version
            .is_some_and(|version| !version.is_empty() && version.bytes().all(|byte| byte.is_ascii_digit()))
    }
}

fn narrate(what: &str) {
    print(&format!("--- {what}\n"));
}

fn resource_version(deployment: &DynamicObject) -> String {
    deployment.metadata.resource_version.clone().unwrap_or_default()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_star_stands_for_digits_only() {
        let expected = Expected("added default/web (rv *, initial)".to_owned());

        assert!(expected.is("added default/web (rv 12, initial)"));
        assert!(!expected.is("added default/web (rv , initial)"));
        assert!(!expected.is("added default/web (rv 12, live)"));
        assert!(!expected.is("added default/web (rv x, initial)"));
        assert!(!Expected("1 -> web".to_owned()).is("1 -> nginx"));
    }
}
