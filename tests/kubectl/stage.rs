//! The embedded API server, the host with the Rust example, and kubectl.

use std::{
    collections::HashMap,
    io::{self, Write},
    path::Path,
    time::{Duration, Instant},
};

use informer_devserver::{Config, DevServer};
use informer_guests::deployments_rust;
use informer_tests::{command_line::CommandLine, host::TestHost};
use parking_lot::Mutex;

pub(crate) const PLUGIN: &str = "deployments";

/// The figures of all changes in this run so far.
static FIGURES: Mutex<Figures> = Mutex::new(Figures { changes: 0, at_once: 0, slowest: Duration::ZERO });

/// How fast the component logged the changes by kubectl.
struct Figures {
    changes: usize,
    /// The number of changes that the component had already logged when kubectl exited.
    at_once: usize,
    /// The longest time from the exit of kubectl to the component's log line.
    slowest: Duration,
}

/// A server, a host and kubectl, and the part of the component's log that was checked.
pub(crate) struct Stage {
    pub(crate) kubectl: CommandLine,
    server: DevServer,
    host: TestHost,
    /// The number of the component's lines that were compared with the expected lines.
    compared: usize,
    /// The last version of each deployment that the component logged.
    versions: HashMap<String, String>,
}

// === impl Stage ===

impl Stage {
    /// Starts everything. A deployment `resident` exists before the host starts.
    pub(crate) async fn start() -> Self {
        let server = DevServer::start(Config::default()).await.unwrap();
        let kubectl = CommandLine::kubectl(&server.kubeconfig()).await;
        kubectl.prints(&["create", "deployment", "resident", "--image=resident:1"]).await;
        let component = tokio::task::spawn_blocking(deployments_rust).await.unwrap();
        let host = TestHost::start(&server.url(), &configuration(&component)).await.unwrap();
        host.synced().await;
        let mut stage = Self { kubectl, server, host, compared: 0, versions: HashMap::new() };
        let version = stage.version_of("resident").await;
        let initial = format!("added default/resident (rv {version}, initial)");
        stage.compare(&[&initial, "deployments in default: 1", "1 -> resident"]).await;
        stage.versions.insert("resident".to_owned(), version);
        stage
    }

    /// Runs a kubectl command that creates a deployment and prints `output`. The component must log the addition.
    pub(crate) async fn creates(&mut self, name: &str, arguments: &[&str], output: &str) {
        self.acts(arguments, output).await;
        let version = self.version_of(name).await;
        self.compare(&[&format!("added default/{name} (rv {version}, live)")]).await;
        self.versions.insert(name.to_owned(), version);
    }

    /// Runs a kubectl command that changes a deployment and prints `output`. The component must log exactly this change.
    pub(crate) async fn changes(&mut self, name: &str, arguments: &[&str], output: &str) {
        self.acts(arguments, output).await;
        let version = self.version_of(name).await;
        let old = self.versions.insert(name.to_owned(), version.clone()).unwrap();
        self.compare(&[&format!("updated default/{name} (rv {old} -> {version}, live)")]).await;
    }

    /// Runs a kubectl command that deletes a deployment. The component must log the version of the deletion.
    pub(crate) async fn deletes(&mut self, name: &str, arguments: &[&str]) {
        let output = format!("deployment.apps \"{name}\" deleted from default namespace\n");
        self.acts(arguments, &output).await;
        // The deleted object has no version to read, but the deletion was the last write.
        let version = self.server.resource_version();
        self.compare(&[&format!("deleted default/{name} (rv {version})")]).await;
        self.versions.remove(name);
    }

    /// Runs a kubectl command that prints `output` and changes nothing.
    pub(crate) async fn changes_nothing(&mut self, arguments: &[&str], output: &str) {
        let before = self.server.resource_version();
        assert_eq!(self.kubectl.prints(arguments).await, output);
        assert_eq!(self.server.resource_version(), before, "kubectl {}", arguments.join(" "));
    }

    /// Checks that the component logged only the expected lines, and prints the figures.
    pub(crate) async fn leave(mut self) {
        // An unexpected line would come before the line of this deletion.
        self.deletes("resident", &["delete", "deployment", "resident"]).await;
        let report = self.host.stop().await;
        assert!(report.undelivered.is_empty(), "{report:?}");
        self.server.shutdown().await;
        let Figures { changes, at_once, slowest } = *FIGURES.lock();
        // Print the figures even though the test harness captures output. If standard error is closed, there is no
        // other place for them.
        let _ = writeln!(
            io::stderr(),
            "==> {changes} changes by kubectl; the component had logged {at_once} when kubectl exited, and all \
             within {slowest:?} of its exit"
        );
    }

    /// Runs kubectl and measures the time from its exit until the component logs one more line.
    async fn acts(&mut self, arguments: &[&str], output: &str) {
        assert_eq!(self.kubectl.prints(arguments).await, output);
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

    /// Compares the next lines of the component.
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

/// A configuration with the plugin [`PLUGIN`], which subscribes to deployments and may read them.
pub(crate) fn configuration(component: &Path) -> String {
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
