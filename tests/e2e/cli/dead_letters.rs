//! The commands `informer dead-letters` and `informer queues`, also across a restart of the host.

use std::{fs, path::Path};

use informer::state::State;
use informer_devserver::DevServer;
use informer_guests::guest;
use tempfile::TempDir;
use tokio::time::Instant;

use super::binary::{Finished, Running, informer, until, well};
use crate::configmaps::ConfigMaps;

/// A running host with its state in a directory of the test.
struct Host {
    running: Running,
    admin: String,
}

impl Host {
    async fn start(url: &str, directory: &Path, plugin: &str) -> Self {
        let path = directory.join("informer.toml");
        let state = directory.join("state");
        let configuration = format!(
            "[cluster]\nserver = \"{url}\"\n[host]\nadmin = \"127.0.0.1:0\"\nstate-dir = {state:?}\n\
             [[watch]]\ngvr = \"v1/configmaps\"\n[[plugin]]\nname = \"fussy\"\n{plugin}\n"
        );
        fs::write(&path, configuration).unwrap();
        let mut running = Running::start(&["run", "--config", path.to_str().unwrap()]).await;
        let admin = running.admin().await;
        Self { running, admin }
    }

    /// Starts a host with a plugin that refuses each addition for good.
    async fn refusing(url: &str, directory: &Path) -> Self {
        Self::failing(url, directory, "").await
    }

    /// Starts the host of [`refusing`](Self::refusing) with a reconciler that refuses each key for good.
    async fn refusing_keys_too(url: &str, directory: &Path) -> Self {
        let (refuses, fails) = (guest("flaky"), guest("reconciles"));
        let plugins = format!(
            "source = {refuses:?}\nconfig = {{ times = 1000, how = \"permanent\" }}\n\
             [[plugin.on]]\nwatch = \"v1/configmaps\"\n\
             [[plugin]]\nname = \"keys\"\nsource = {fails:?}\nconfig = {{ times = 1000, how = \"terminal\" }}\n\
             [[plugin.on]]\nwatch = \"v1/configmaps\""
        );
        Self::start(url, directory, &plugins).await
    }

    /// Starts the host of [`refusing`](Self::refusing) with more lines in the plugin's configuration.
    async fn failing(url: &str, directory: &Path, config: &str) -> Self {
        let source = guest("flaky");
        let plugin = format!(
            "source = {source:?}\nconfig = {{ times = 1000, how = \"permanent\"{config} }}\n\
             [[plugin.on]]\nwatch = \"v1/configmaps\""
        );
        Self::start(url, directory, &plugin).await
    }

    /// Starts a host with a plugin that accepts everything and receives no initial additions.
    async fn taking(url: &str, directory: &Path) -> Self {
        let source = guest("echo");
        let plugin =
            format!("source = {source:?}\n[[plugin.on]]\nwatch = \"v1/configmaps\"\ninitial = \"skip\"");
        let host = Self::start(url, directory, &plugin).await;
        well(&host.admin).await;
        host
    }

    async fn dead_letters(&self, arguments: &[&str]) -> Finished {
        informer(&[&["dead-letters"], arguments, &["--admin", &self.admin]].concat()).await
    }

    /// Polls the list until the condition holds. Returns the list.
    async fn listed(&self, what: &str, condition: impl Fn(&str) -> bool) -> String {
        let arguments = ["dead-letters", "list", "--admin", &self.admin];
        until(what, &arguments, |answer| condition(&answer.stdout)).await.stdout
    }

    async fn stop(self) {
        self.running.stop().await;
    }
}

fn letters(list: &str) -> usize {
    list.lines().filter(|line| line.starts_with("fussy v1/configmaps ")).count()
}

async fn three_letters(directory: &TempDir) -> (DevServer, ConfigMaps) {
    let server = DevServer::start(informer_devserver::Config::default()).await.unwrap();
    let objects = ConfigMaps::at(&server.url()).await;
    for name in ["a", "b", "c"] {
        objects.create(name).await;
    }
    let host = Host::refusing(&server.url(), directory.path()).await;
    let list = host.listed("three letters", |list| letters(list) == 3).await;
    assert!(list.contains("fussy v1/configmaps default/a: add, given up at 20"), "{list}");
    assert!(list.contains("  handler: failure 1 for default/a\n"), "{list}");
    host.stop().await;
    (server, objects)
}

#[tokio::test(flavor = "multi_thread")]
async fn dead_letters_survive_a_restart_and_a_command_replays_or_drops_them() {
    let directory = tempfile::tempdir().unwrap();
    let (server, objects) = three_letters(&directory).await;
    objects.delete("b").await;

    let mut host = Host::taking(&server.url(), directory.path()).await;
    host.listed("the letters of the run before", |list| letters(list) == 3).await;

    // The replay delivers the current state of the object.
    let replayed = host.dead_letters(&["replay", "--key", "default/a"]).await;
    assert_eq!(
        (replayed.status, replayed.stdout.as_str()),
        (
            Some(0),
            "fussy v1/configmaps default/a: replayed as add; the letter is deleted once the plugin acknowledges it\n"
        )
    );
    let replayed_line = host.running.logged("add default/a ").await;
    assert!(replayed_line.contains(" replay 1 "), "{replayed_line}");
    let list = host.listed("two letters", |list| letters(list) == 2).await;
    assert!(!list.contains("default/a"), "{list}");

    // The replay of a deleted object delivers the deletion.
    let replayed = host.dead_letters(&["replay", "--plugin", "fussy", "--key", "default/b"]).await;
    assert!(replayed.stdout.contains("replayed as delete"), "{}{}", replayed.stdout, replayed.stderr);
    let replayed_line = host.running.logged("delete default/b ").await;
    assert!(replayed_line.contains(" unknown 1 "), "{replayed_line}");
    host.listed("one letter", |list| letters(list) == 1).await;

    let queues = informer(&["queues", "--admin", &host.admin]).await;
    assert_eq!(queues.status, Some(0), "{}", queues.stderr);
    assert!(queues.stdout.starts_with("PLUGIN  DELIVERY  PENDING "), "{}", queues.stdout);
    let row: Vec<&str> = queues.stdout.lines().nth(1).unwrap().split_whitespace().collect();
    assert_eq!(row, ["fussy", "latest", "0", "0", "0", "-", "-", "0", "-", "1"]);

    let dropped = host.dead_letters(&["drop", "--all", "--output", "json"]).await;
    let dropped: serde_json::Value = serde_json::from_str(&dropped.stdout).unwrap();
    let expected = serde_json::json!({
        "dropped": [{"plugin": "fussy", "object": "v1/configmaps default/c"}],
    });
    assert_eq!(dropped, expected);
    host.stop().await;

    // Dropped letters do not come back.
    let host = Host::taking(&server.url(), directory.path()).await;
    let nothing = host.dead_letters(&["replay", "--all"]).await;
    assert_eq!((nothing.status, nothing.stdout.as_str()), (Some(1), "no dead letters\n"));
    host.stop().await;
}

/// A forged audit record behind a line break, and the escape sequence that clears a terminal.
const FORGED: &str = r"no\n2026-01-01T00:00:00Z  INFO audit: write plugin=other outcome=ok\u001B[2J";

#[tokio::test(flavor = "multi_thread")]
async fn the_failure_text_of_a_plugin_cannot_forge_a_line_of_the_log_or_of_an_answer() {
    let directory = tempfile::tempdir().unwrap();
    let server = DevServer::start(informer_devserver::Config::default()).await.unwrap();
    ConfigMaps::at(&server.url()).await.create("a").await;

    let config = format!(", says = \"{FORGED}\"");
    let mut host = Host::failing(&server.url(), directory.path(), &config).await;

    let logged = host.running.logged("given up: kept as a dead letter").await;
    assert!(logged.contains(r"failure=handler: no\n2026-01-01T00:00:00Z  INFO audit: write"), "{logged}");
    assert!(logged.contains(r"outcome=ok\u{1b}[2J"), "{logged}");
    let list = host.listed("a letter", |list| letters(list) == 1).await;
    assert_eq!(list.lines().nth(1), Some("  handler: no"), "{list}");
    let status = informer(&["status", "--admin", &host.admin]).await;
    let failed = r"  its last failed call: handler: no\n2026-01-01T00:00:00Z  INFO audit: write plugin=other outcome=ok\u{1b}[2J";
    assert!(status.stdout.lines().any(|line| line == failed), "{}", status.stdout);
    host.stop().await;
}

#[tokio::test(flavor = "multi_thread")]
async fn letters_of_all_plugins_are_listed_oldest_first_and_counted() {
    let directory = tempfile::tempdir().unwrap();
    let server = DevServer::start(informer_devserver::Config::default()).await.unwrap();
    let objects = ConfigMaps::at(&server.url()).await;
    let host = Host::refusing_keys_too(&server.url(), directory.path()).await;
    let given_up = |list: &str| -> Vec<_> {
        list.lines().filter(|line| line.contains("default/")).map(str::to_owned).collect()
    };
    let about = |list: &str| given_up(list).iter().filter(|line| line.contains(", given up at ")).count();
    for (number, name) in [(1, "a"), (2, "b")] {
        objects.create(name).await;
        host.listed("the letters of both", |list| about(list) == 2 * number).await;
    }

    for name in ["v1/configmaps", "cm", "ConfigMap", "configmaps.v1."] {
        let listed = host.dead_letters(&["list", "--gvr", name]).await;
        assert_eq!((listed.status, about(&listed.stdout)), (Some(0), 2), "{name}: {}", listed.stderr);
    }
    let unknown = host.dead_letters(&["list", "--gvr", "po"]).await;
    assert_eq!(unknown.status, Some(1), "{}", unknown.stdout);
    let why = "`po` is not watched for any plugin and has no dead letters; watched or with dead letters are `v1/configmaps`";
    assert!(unknown.stderr.contains(why), "{}", unknown.stderr);

    let list = host.dead_letters(&["list"]).await.stdout;
    let names: Vec<&str> = list
        .lines()
        .filter_map(|line| line.split_once(": ")?.0.rsplit_once("default/"))
        .map(|(_, name)| name)
        .collect();
    assert_eq!(names, ["a", "a", "b", "b"], "{list}");

    let queues = informer(&["queues", "--admin", &host.admin]).await.stdout;
    let counted: Vec<&str> =
        queues.lines().skip(1).filter_map(|line| line.split_whitespace().last()).collect();
    assert_eq!(counted, ["2", "2"], "{queues}");
    host.stop().await;
}

#[tokio::test(flavor = "multi_thread")]
async fn repeated_permanent_failures_do_not_fill_the_log() {
    const OBJECTS: usize = 60;
    let directory = tempfile::tempdir().unwrap();
    let server = DevServer::start(informer_devserver::Config::default()).await.unwrap();
    let objects = ConfigMaps::at(&server.url()).await;
    for number in 0..OBJECTS {
        objects.create(&format!("c{number}")).await;
    }

    let begun = Instant::now();
    let mut host = Host::refusing_keys_too(&server.url(), directory.path()).await;
    let given_up = |list: &str| list.lines().filter(|line| line.contains(", given up at ")).count();
    host.listed("all letters of both", |list| given_up(list) == 2 * OBJECTS).await;
    host.running.signal("TERM").await;
    let log = host.running.log_up_to("informer::app: stopped").await;

    for kind in ["given up: kept as a dead letter", "given up: the key is kept"] {
        let lines = log.iter().filter(|line| line.contains(kind)).count();
        let most = 10 + begun.elapsed().as_secs() as usize + 1;
        assert!((1..=most).contains(&lines), "{lines} lines of `{kind}`, {most} allowed: {log:#?}");
    }
}

#[tokio::test(flavor = "multi_thread")]
async fn letters_stay_in_memory_while_the_database_is_locked_and_are_stored_afterwards() {
    let directory = tempfile::tempdir().unwrap();
    let server = DevServer::start(informer_devserver::Config::default()).await.unwrap();
    ConfigMaps::at(&server.url()).await.create("a").await;
    let other = State::open(Some(&directory.path().join("state")));

    let host = Host::refusing(&server.url(), directory.path()).await;
    let list = host.listed("a letter and why it is not kept", |list| {
        letters(list) == 1 && list.contains("\nplugin fussy: its dead letters are in memory only: ")
    });
    let list = list.await;
    let holder = format!("is in use by process {} (", std::process::id());
    assert!(list.contains(&holder), "{list}");

    drop(other);
    host.listed("that it is kept", |list| letters(list) == 1 && !list.contains("in memory only")).await;
    host.stop().await;
    let host = Host::taking(&server.url(), directory.path()).await;
    host.listed("the letter after a restart", |list| letters(list) == 1).await;
    host.stop().await;
}

#[tokio::test(flavor = "multi_thread")]
async fn a_request_that_cannot_be_done_is_refused_with_a_remedy() {
    let directory = tempfile::tempdir().unwrap();
    let server = DevServer::start(informer_devserver::Config::default()).await.unwrap();
    let host = Host::taking(&server.url(), directory.path()).await;

    let unknown = host.dead_letters(&["drop", "--plugin", "fuzzy", "--all"]).await;
    let expected = format!("informer: the host at {} refuses: there is no plugin `fuzzy`\n", host.admin);
    assert_eq!((unknown.status, unknown.stderr), (Some(1), expected));

    let undecided = host.dead_letters(&["drop", "--plugin", "fussy"]).await;
    assert_eq!(undecided.status, Some(2));
    assert!(undecided.stderr.contains("--key <KEY>"), "{}", undecided.stderr);
    host.stop().await;

    let refused = informer(&["queues", "--admin", "127.0.0.1:1"]).await;
    assert_eq!(refused.status, Some(1));
    assert!(
        refused.stderr.starts_with("informer: no host answers at 127.0.0.1:1; is `informer run`"),
        "{}",
        refused.stderr
    );
}

#[tokio::test(flavor = "multi_thread")]
async fn keys_that_were_given_up_survive_a_restart_and_a_command_replays_or_drops_them() {
    let directory = tempfile::tempdir().unwrap();
    let server = DevServer::start(informer_devserver::Config::default()).await.unwrap();
    let objects = ConfigMaps::at(&server.url()).await;
    for name in ["bad-1", "bad-2", "good"] {
        objects.create(name).await;
    }
    let source = guest("reconciles");
    let plugin = |config: &str, on: &str| {
        format!(
            "source = {source:?}\nconfig = {config}\nworkqueue = {{ attempts = 2, min = \"1ms\" }}\n\
             [[plugin.on]]\nwatch = \"v1/configmaps\"\n{on}"
        )
    };
    let fails = plugin("{ times = 1000, only = \"bad\" }", "");
    let host = Host::start(&server.url(), directory.path(), &fails).await;
    let keys = |list: &str| list.lines().filter(|line| line.starts_with("fussy key default/bad-")).count();
    let list = host.listed("two keys", |list| keys(list) == 2).await;
    assert!(list.contains("fussy key default/bad-1: reconcile, given up at 20"), "{list}");
    assert!(list.contains(" after 2 calls\n  handler: failure 2 of default/bad-1\n"), "{list}");
    assert_eq!(host.dead_letters(&["list", "--gvr", "v1/configmaps"]).await.stdout, "no dead letters\n");
    host.stop().await;

    // Nothing shows yet whether the component can reconcile them.
    let missing = fails.replace(&format!("{source:?}"), "\"missing.wasm\"");
    let host = Host::start(&server.url(), directory.path(), &missing).await;
    let refused = host.dead_letters(&["replay", "--key", "default/bad-1"]).await;
    let why = "fussy key default/bad-1: no version of the plugin is in service yet; try again when one is\n";
    assert_eq!((refused.status, refused.stdout.as_str()), (Some(1), why));
    host.stop().await;

    // The repaired plugin, without initial additions.
    let mended = plugin("{}", "initial = \"skip\"");
    let mut host = Host::start(&server.url(), directory.path(), &mended).await;
    host.listed("the keys of the run before", |list| keys(list) == 2).await;
    host.running.logged("plugin loaded").await;
    let replayed = host.dead_letters(&["replay", "--key", "default/bad-1"]).await;
    let replayed_line = "fussy key default/bad-1: replayed as reconcile; the letter is deleted once the plugin acknowledges it\n";
    assert_eq!((replayed.status, replayed.stdout.as_str()), (Some(0), replayed_line), "{}", replayed.stderr);
    host.running.logged("reconcile default/bad-1 attempt 1").await;
    host.listed("one key", |list| keys(list) == 1).await;
    let dropped = host.dead_letters(&["drop", "--plugin", "fussy", "--all"]).await;
    assert_eq!((dropped.status, dropped.stdout.as_str()), (Some(0), "fussy key default/bad-2: dropped\n"));
    host.stop().await;

    // Dropped letters do not come back.
    let host = Host::start(&server.url(), directory.path(), &mended).await;
    let nothing = host.dead_letters(&["replay", "--all"]).await;
    assert_eq!((nothing.status, nothing.stdout.as_str()), (Some(1), "no dead letters\n"));
    host.stop().await;
}
