//! The same changes in six languages.

use std::{path::PathBuf, time::Duration};

use informer_guests::deployments_rust;
use informer_tests::host::TestHost;
use serde_json::json;
use tokio::time::{sleep, timeout};

use crate::{
    cluster::{Cluster, WATCH, plugin},
    example::Scripted,
};

/// The deadline for compiling all components, one of which has 18 MB (Python), on a busy build machine.
const COMPILED_WITHIN: Duration = Duration::from_secs(600);

/// The lines with which each plugin lists the deployments at the start.
const LISTING: [&str; 3] = ["deployments in default: 2", "1 -> nginx", "2 -> web"];

/// A host with all plugins, and the lines that each of them must have logged so far, without the listing.
struct Story {
    plugins: [(&'static str, PathBuf); 6],
    host: TestHost,
    expected: Vec<String>,
}

// === impl Story ===

impl Story {
    /// Starts the host. The plugins must log the expected lines first.
    async fn begin(plugins: [(&'static str, PathBuf); 6], cluster: &Cluster, expected: &[String]) -> Self {
        let tables = plugins.iter().map(|(name, component)| plugin(name, component, ""));
        let configuration = WATCH.to_owned() + &tables.collect::<String>();
        let host = TestHost::start(&cluster.server.url(), &configuration).await.unwrap();
        let compiled = async {
            while !host.unready().is_empty() {
                sleep(Duration::from_millis(100)).await;
            }
        };
        let compiled = timeout(COMPILED_WITHIN, compiled).await;
        assert!(compiled.is_ok(), "not ready: {:?}\n{:#}", host.unready(), host.status());
        host.synced().await;
        Self { plugins, host, expected: expected.to_vec() }
    }

    /// Waits until each plugin has logged one more line. This must happen before the next change, because pending
    /// notifications may be merged.
    async fn continues(&mut self, line: String) {
        self.expected.push(line);
        let count = self.expected.len() + LISTING.len();
        for (name, _) in &self.plugins {
            let what = self.expected.last().unwrap();
            self.host.lines.until(name, what, |lines| lines.len() >= count).await;
        }
    }

    /// Compares all lines after the last calls have returned.
    async fn ends(self) {
        let lines = self.host.lines.clone();
        let status = self.host.status();
        let report = self.host.stop().await;
        assert!(report.undelivered.is_empty(), "{report:?}");
        for (name, _) in &self.plugins {
            let lines = without_listing(name, &lines.of(name));
            assert_eq!(lines, self.expected, "the lines of {name}: {:#}", status["plugins"]);
        }
    }
}

/// The components with the names of their plugins.
async fn components() -> [(&'static str, PathBuf); 6] {
    [
        ("rust", tokio::task::spawn_blocking(deployments_rust).await.unwrap()),
        ("javascript", Scripted::JavaScript.component().await),
        ("typescript", Scripted::TypeScript.component().await),
        ("python", Scripted::Python.component().await),
        ("go", Scripted::Go.component().await),
        ("c", Scripted::C.component().await),
    ]
}

/// Removes the listing from the lines. The listing is contiguous, after the first notification and before the first
/// one that is not initial. `examples/README.md` does not promise more.
fn without_listing(plugin: &str, lines: &[String]) -> Vec<String> {
    let start = lines.iter().position(|line| line == LISTING[0]);
    let start = start.unwrap_or_else(|| panic!("{plugin} lists nothing: {lines:#?}"));
    let (before, from) = lines.split_at(start);
    let (listing, after) = from.split_at(LISTING.len().min(from.len()));
    assert_eq!(listing, LISTING, "{plugin}");
    assert!(
        !before.is_empty() && before.iter().all(|line| line.ends_with(", initial)")),
        "{plugin}: {lines:#?}"
    );
    [before, after].concat()
}

#[tokio::test(flavor = "multi_thread")]
#[ignore = "needs Node.js, Python and Go: run by cargo xtask test --all"]
async fn the_same_changes_lead_to_the_same_lines_in_every_language() {
    let plugins = components().await;
    let cluster = Cluster::start().await;
    let mut initial = Vec::new();
    for name in ["nginx", "web"] {
        initial
            .push(format!("added default/{name} (rv {}, initial)", cluster.deployments.create(name).await));
    }
    let mut story = Story::begin(plugins, &cluster, &initial).await;

    let created = cluster.deployments.create("api").await;
    story.continues(format!("added default/api (rv {created}, live)")).await;
    let scaled = cluster.deployments.patch("api", json!({"spec": {"replicas": 3}})).await;
    story.continues(format!("updated default/api (rv {created} -> {scaled}, live)")).await;
    let labelled =
        cluster.deployments.patch("api", json!({"metadata": {"labels": {"tier": "backend"}}})).await;
    story.continues(format!("updated default/api (rv {scaled} -> {labelled}, live)")).await;
    let deleted = cluster.delete("api").await;
    story.continues(format!("deleted default/api (rv {deleted})")).await;
    let again = cluster.deployments.create("api").await;
    story.continues(format!("added default/api (rv {again}, live)")).await;
    story.ends().await;
    cluster.server.shutdown().await;
}
