//! The demo's script: what is done to the cluster, and what the component must say to it.

use std::time::Duration;

use anyhow::{Context, bail};
use k8s_openapi::api::apps::v1::Deployment;
use kube::api::{Api, DeleteParams, Patch, PatchParams, PostParams};
use serde_json::json;
use tokio::{sync::mpsc, time::timeout};
use tokio_util::sync::CancellationToken;

/// How long the component may take to say its line. A person would call a second slow; a busy build machine
/// is given more.
const PATIENCE: Duration = Duration::from_secs(20);

/// Tells the story against one cluster and listens to one component.
pub(super) struct Story {
    deployments: Api<Deployment>,
    /// What the component printed, line by line.
    lines: mpsc::UnboundedReceiver<String>,
}

/// A line of the component, where `*` stands for a resource version that nobody can know beforehand.
struct Expected(String);

impl Story {
    pub(super) fn new(client: kube::Client, lines: mpsc::UnboundedReceiver<String>) -> Self {
        Self { deployments: Api::namespaced(client, "default"), lines }
    }

    /// What is there before the host starts.
    pub(super) async fn prologue(&self) -> anyhow::Result<()> {
        for name in ["nginx", "web"] {
            self.create(name).await?;
        }
        // Told now: once the host runs, its lines may come first.
        narrate("the host starts; the deployments nginx and web are there already");
        Ok(())
    }

    /// Does one thing after the other, and after each waits for what the component says to it.
    ///
    /// # Errors
    /// The cluster refused something, or the component said something else, or nothing.
    pub(super) async fn tell(&mut self) -> anyhow::Result<()> {
        self.hear(&[
            "added default/nginx (rv *, initial)",
            "deployments in default: 2",
            "1 -> nginx",
            "2 -> web",
            "added default/web (rv *, initial)",
        ])
        .await?;

        narrate("create deployment api");
        let mut version = self.create("api").await?;
        self.hear(&[format!("added default/api (rv {version}, live)")]).await?;

        for (what, patch) in [
            ("scale api to 3", json!({"spec": {"replicas": 3}})),
            ("label api tier=backend", json!({"metadata": {"labels": {"tier": "backend"}}})),
        ] {
            narrate(what);
            let patch = Patch::Merge(patch);
            let new = self.deployments.patch("api", &PatchParams::default(), &patch).await.context(what)?;
            let old = std::mem::replace(&mut version, resource_version(&new));
            self.hear(&[format!("updated default/api (rv {old} -> {version}, live)")]).await?;
        }

        narrate("delete deployment api");
        self.deployments.delete("api", &DeleteParams::default()).await.context("delete api")?;
        self.hear(&["deleted default/api (rv *)"]).await?;

        narrate("create deployment api again");
        let version = self.create("api").await?;
        self.hear(&[format!("added default/api (rv {version}, live)")]).await
    }

    /// Lets the component talk on, until the token is cancelled.
    pub(super) async fn listen_until(&mut self, token: &CancellationToken) {
        token.run_until_cancelled(async { while self.lines.recv().await.is_some() {} }).await;
    }

    async fn create(&self, name: &str) -> anyhow::Result<String> {
        let deployment = serde_json::from_value(json!({
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

    /// The next lines of the component must be these, in this order.
    async fn hear(&mut self, expected: &[impl AsRef<str>]) -> anyhow::Result<()> {
        for expected in expected.iter().map(|line| Expected(line.as_ref().to_owned())) {
            let wanted = &expected.0;
            match timeout(PATIENCE, self.lines.recv()).await {
                Ok(Some(line)) if expected.is(&line) => {}
                Ok(Some(line)) => bail!("the component said `{line}`, the story wants `{wanted}`"),
                Ok(None) => bail!("the host stopped before the component said `{wanted}`"),
                Err(_) => bail!("the component did not say `{wanted}` within {PATIENCE:?}"),
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
    super::say(&format!("--- {what}"));
}

fn resource_version(deployment: &Deployment) -> String {
    deployment.metadata.resource_version.clone().unwrap_or_default()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_star_stands_for_digits_and_nothing_else() {
        let expected = Expected("added default/web (rv *, initial)".to_owned());

        assert!(expected.is("added default/web (rv 12, initial)"));
        assert!(!expected.is("added default/web (rv , initial)"));
        assert!(!expected.is("added default/web (rv 12, live)"));
        assert!(!expected.is("added default/web (rv x, initial)"));
        assert!(!Expected("1 -> web".to_owned()).is("1 -> nginx"));
    }
}
