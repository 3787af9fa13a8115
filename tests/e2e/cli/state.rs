//! The state on disk after a crash of the process, and on a full disk.

use std::{fs, path::Path};

use informer_devserver::DevServer;
use informer_guests::{configmaps_keyvalue, guest};
use informer_tests::host::PATIENCE;
use serde_json::Value;
use tempfile::TempDir;

use super::binary::{Finished, Running, informer, until};
use crate::configmaps::ConfigMaps;

/// A host with its state in a directory. It runs the example that counts, and a plugin that refuses every object
/// whose name starts with `bad`.
struct Host {
    running: Running,
    admin: String,
}

impl Host {
    async fn start(server: &DevServer, directory: &Path) -> Self {
        let counter = tokio::task::spawn_blocking(configmaps_keyvalue).await.unwrap();
        let example = fs::read_to_string("../examples/configmaps-keyvalue/informer.toml").unwrap();
        let example = example.replace("\"counter.wasm\"", &format!("{counter:?}")).replace(
            "name = \"counter\"",
            "name = \"counter\"\nretry = { max = \"200ms\", attempts = 1000 }",
        );
        let configuration = format!(
            r#"
            [cluster]
            server = "{url}"
            [host]
            admin = "127.0.0.1:0"
            state-dir = {state:?}
            {example}
            [[plugin]]
            name = "fussy"
            source = {fussy:?}
            on = [{{ watch = "v1/configmaps", initial = "skip", when = "object.metadata.name.startsWith('bad')" }}]
            config = {{ times = 1000, how = "permanent" }}
            "#,
            url = server.url(),
            state = directory.join("state"),
            fussy = tokio::task::spawn_blocking(|| guest("flaky")).await.unwrap(),
        );
        let path = directory.join("informer.toml");
        fs::write(&path, configuration).unwrap();
        let mut running = Running::start(&["run", "--config", path.to_str().unwrap()]).await;
        let admin = running.admin().await;
        let host = Self { running, admin };
        // The code of a component is put into a memory file when it is first instantiated, and never again. So later
        // instances work under any limit of the file size.
        host.until("both plugins in service", |status| status["unready"] == serde_json::json!([])).await;
        host
    }

    async fn ask(&self, arguments: &[&str]) -> Finished {
        informer(&[arguments, &["--admin", &self.admin]].concat()).await
    }

    async fn until(&self, what: &str, condition: impl Fn(&Value) -> bool) -> Value {
        let arguments = ["status", "--output", "json", "--admin", &self.admin];
        until(what, &arguments, |answer| condition(&answer.json())).await.json()
    }

    /// Kills the process, like a crash.
    async fn kill(self) {
        self.running.signal("KILL").await;
        assert_eq!(self.running.ended(PATIENCE).await.code(), None);
    }

    async fn stop(self) {
        self.running.stop().await;
    }
}

fn degraded(status: &Value, words: &str) -> bool {
    let sentences = status["degraded"].as_array().unwrap();
    sentences.iter().any(|sentence| sentence.as_str().unwrap().contains(words))
}

/// A cluster with one object, and a host that has counted its first version.
async fn one_version_seen() -> (DevServer, TempDir, ConfigMaps, Host) {
    let server = DevServer::start(informer_devserver::Config::default()).await.unwrap();
    let directory = TempDir::new().unwrap();
    let objects = ConfigMaps::at(&server.url()).await;
    let mut host = Host::start(&server, directory.path()).await;
    objects.create("one").await;
    host.running.logged("default/one: 1 version seen").await;
    (server, directory, objects, host)
}

#[tokio::test]
async fn the_counts_of_the_example_survive_a_crash_of_the_host() {
    let (server, directory, objects, mut host) = one_version_seen().await;
    for round in 2..=5 {
        objects.update("one", round).await;
        host.running.logged(&format!("default/one: {round} versions seen")).await;
    }
    host.kill().await;

    let mut host = Host::start(&server, directory.path()).await;
    host.running.logged("default/one: 5 versions seen, nothing new").await;
    objects.update("one", 6).await;
    host.running.logged("default/one: 6 versions seen").await;
    host.kill().await;

    // The plugin did not see the version that was written while the host was down.
    objects.update("one", 7).await;
    let mut host = Host::start(&server, directory.path()).await;
    let line = host.running.logged("default/one: 7 versions seen").await;
    assert!(!line.contains("nothing new"), "{line}");
    host.stop().await;
}

#[tokio::test]
async fn a_full_disk_is_reported_and_loses_nothing_and_the_host_recovers() {
    let (server, directory, objects, host) = one_version_seen().await;

    // The file is already larger than the limit, so no write to it succeeds.
    host.running.limit_files(Some(4096)).await;
    objects.create("two").await;
    objects.create("bad").await;
    let status = host
        .until("the letter that is not kept", |status| {
            degraded(status, "plugin fussy: its dead letters are in memory only: the disk with the state ")
        })
        .await;
    assert!(degraded(&status, "make room there, or move [host] state-dir to another one"), "{status:#}");
    let status = host
        .until("the refused counts", |status| {
            status["plugins"][0]["calls"]["keyvalue"]["failed"].as_u64() > Some(1)
        })
        .await;
    let failure = status["plugins"][0]["calls"]["last-failure"].as_str().unwrap();
    assert!(failure.contains("the host's state cannot be used: its disk is full"), "{failure}");
    assert_eq!(status["unready"], serde_json::json!([]), "the host must still be ready");
    let listed = host.ask(&["dead-letters", "list"]).await.stdout;
    assert!(listed.contains("fussy v1/configmaps default/bad: add, given up at "), "{listed}");
    let shown = host.ask(&["status"]).await;
    assert_eq!(shown.status, Some(1));
    assert!(
        shown.stdout.contains("make room there, or move [host] state-dir to another one"),
        "{}",
        shown.stdout
    );

    host.running.limit_files(None).await;
    host.until("all is well", |status| {
        status["degraded"] == serde_json::json!([]) && status["plugins"][0]["calls"]["acknowledged"] == 3
    })
    .await;
    host.kill().await;

    let mut host = Host::start(&server, directory.path()).await;
    let log = host.running.log_up_to("default/two: ").await;
    assert!(log.last().unwrap().contains("1 version seen, nothing new"), "{log:?}");
    let letter = "fussy v1/configmaps default/bad: add, ";
    let arguments = ["dead-letters", "list", "--admin", &host.admin];
    until("the dead letter after the restart", &arguments, |answer| answer.stdout.contains(letter)).await;
    host.stop().await;
}

#[tokio::test]
async fn a_process_without_a_home_directory_warns_that_it_stores_nothing() {
    let server = DevServer::start(informer_devserver::Config::default()).await.unwrap();
    let directory = TempDir::new().unwrap();
    let path = directory.path().join("informer.toml");
    let watch = "[[watch]]\ngvr = \"v1/configmaps\"\n";
    let host = format!("[cluster]\nserver = \"{}\"\n[host]\nadmin = \"127.0.0.1:0\"\n", server.url());
    fs::write(&path, format!("{host}{watch}")).unwrap();

    let mut running = Running::start_without_home(&["run", "--config", path.to_str().unwrap()]).await;

    let line = running.logged("names a directory for the state: key-values and dead letters end").await;
    assert!(line.contains(" WARN ") && line.contains("set state-dir, or set it to \"off\""), "{line}");
    running.stop().await;
}
