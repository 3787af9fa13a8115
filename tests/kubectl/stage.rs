//! The embedded API server, the host with the Rust example, and kubectl.

use std::{
    collections::HashMap,
    io::{self, Write},
    time::{Duration, Instant},
};

use informer_devserver::{Config, DevServer};
use informer_guests::deployments_rust;
use informer_tests::{cluster::Skip, host::TestHost};
use parking_lot::Mutex;

use crate::client::Kubectl;

const PLUGIN: &str = "deployments";

/// The changes of all tests of this run so far.
static FIGURES: Mutex<Figures> = Mutex::new(Figures { changes: 0, at_once: 0, slowest: Duration::ZERO });

/// How soon the component spoke of kubectl's changes.
struct Figures {
    changes: usize,
    /// Of so many it had spoken when kubectl was seen to have ended: there is nothing to measure.
    at_once: usize,
    /// From kubectl's exit until the component spoke.
    slowest: Duration,
}

/// The three, and what the component said so far.
pub(crate) struct Stage {
    pub(crate) kubectl: Kubectl,
    server: DevServer,
    host: TestHost,
    /// How many of the component's lines were compared with what they had to be.
    compared: usize,
    /// The version of each deployment that the component spoke of last.
    versions: HashMap<String, String>,
}

// === impl Stage ===

impl Stage {
    /// Starts all of them. There is a deployment `resident` before the host starts.
    pub(crate) async fn set() -> Result<Self, Skip> {
        let server = DevServer::start(Config::default()).await.unwrap();
        let kubectl = Kubectl::new(&server.kubeconfig()).await?;
        kubectl.prints(&["create", "deployment", "resident", "--image=resident:1"]).await;
        let component = tokio::task::spawn_blocking(deployments_rust).await.unwrap();
        let host = TestHost::start(&server.url(), &configuration(&component)).await.unwrap();
        host.synced().await;
        let mut stage = Self { kubectl, server, host, compared: 0, versions: HashMap::new() };
        let version = stage.version_of("resident").await;
        let initial = format!("added default/resident (rv {version}, initial)");
        stage.compare(&[&initial, "deployments in default: 1", "1 -> resident"]).await;
        stage.versions.insert("resident".to_owned(), version);
        Ok(stage)
    }

    /// kubectl creates a deployment, says so, and the component speaks of it.
    pub(crate) async fn creates(&mut self, name: &str, arguments: &[&str], said: &str) {
        self.acts(arguments, said).await;
        let version = self.version_of(name).await;
        self.compare(&[&format!("added default/{name} (rv {version}, live)")]).await;
        self.versions.insert(name.to_owned(), version);
    }

    /// kubectl changes a deployment, says so, and the component speaks of this one change.
    pub(crate) async fn changes(&mut self, name: &str, arguments: &[&str], said: &str) {
        self.acts(arguments, said).await;
        let version = self.version_of(name).await;
        let old = self.versions.insert(name.to_owned(), version.clone()).unwrap();
        self.compare(&[&format!("updated default/{name} (rv {old} -> {version}, live)")]).await;
    }

    /// kubectl deletes a deployment, says so, and the component speaks of the version that the deletion made.
    pub(crate) async fn deletes(&mut self, name: &str, arguments: &[&str]) {
        let said = format!("deployment.apps \"{name}\" deleted from default namespace\n");
        self.acts(arguments, &said).await;
        // kubectl has nobody left to ask for a version; nothing else was written since.
        let version = self.server.resource_version();
        self.compare(&[&format!("deleted default/{name} (rv {version})")]).await;
        self.versions.remove(name);
    }

    /// kubectl succeeds, says this, and changes nothing: whatever the component says next is not about it.
    pub(crate) async fn changes_nothing(&mut self, arguments: &[&str], said: &str) {
        let before = self.server.resource_version();
        assert_eq!(self.kubectl.prints(arguments).await, said);
        assert_eq!(self.server.resource_version(), before, "kubectl {}", arguments.join(" "));
    }

    /// That the component said nothing but what was expected; prints the figures.
    pub(crate) async fn leave(mut self) {
        // A line too many would come before this one.
        self.deletes("resident", &["delete", "deployment", "resident"]).await;
        let report = self.host.stop().await;
        assert!(report.undelivered.is_empty(), "{report:?}");
        self.server.shutdown().await;
        let Figures { changes, at_once, slowest } = *FIGURES.lock();
        // Past the test harness's capture: these are the figures that people want to read. Nobody can be told
        // that standard error is closed.
        let _ = writeln!(
            io::stderr(),
            "==> {changes} changes by kubectl; the component had spoken of {at_once} when kubectl ended, of each \
             within {slowest:?} of it"
        );
    }

    /// Runs kubectl, and measures from its exit until the component says one line more.
    async fn acts(&mut self, arguments: &[&str], said: &str) {
        assert_eq!(self.kubectl.prints(arguments).await, said);
        let exit = Instant::now();
        let compared = self.compared;
        let at_once = self.host.lines.of(PLUGIN).len() > compared;
        let what = format!("anything to kubectl {}", arguments.join(" "));
        self.host.lines.until(PLUGIN, &what, |lines| lines.len() > compared).await;
        let took = if at_once { Duration::ZERO } else { exit.elapsed() };
        println!("{took:>12?} kubectl {}", arguments.join(" "));
        let mut figures = FIGURES.lock();
        figures.changes += 1;
        figures.at_once += usize::from(at_once);
        figures.slowest = figures.slowest.max(took);
    }

    /// The component's next lines.
    async fn compare(&mut self, expected: &[&str]) {
        let end = self.compared + expected.len();
        self.host.lines.until(PLUGIN, &format!("{expected:?}"), |lines| lines.len() >= end).await;
        assert_eq!(self.host.lines.of(PLUGIN)[self.compared..end], *expected);
        self.compared = end;
    }

    async fn version_of(&self, name: &str) -> String {
        self.kubectl.field(name, ".metadata.resourceVersion").await
    }
}

fn configuration(component: &std::path::Path) -> String {
    format!(
        r#"
        [[watch]]
        gvr = "apps/v1/deployments"

        [[plugin]]
        name = "{PLUGIN}"
        source = {component:?}

          [[plugin.on]]
          watch = "apps/v1/deployments"

          [plugin.grant]
          read = ["apps/v1/deployments"]
        "#
    )
}
