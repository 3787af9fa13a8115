//! `initial = "changed"`: after a restart a plugin receives what changed meanwhile, and nothing else.

use std::path::Path;

use informer_devserver::DevServer;
use informer_guests::guest;
use informer_tests::{
    host::{TestHost, configuration},
    toml::{plugin, watch},
};
use tempfile::TempDir;

use crate::configmaps::ConfigMaps;

/// The grant of the witness.
const READS: &str = "[plugin.grant]\nread = [\"v1/configmaps\"]\n";

/// A server, and hosts that share a state one after the other.
struct Stage {
    server: DevServer,
    objects: ConfigMaps,
    state: TempDir,
}

// === impl Stage ===

impl Stage {
    async fn new() -> Self {
        let server = DevServer::start(informer_devserver::Config::default()).await.unwrap();
        let objects = ConfigMaps::at(&server.url()).await;
        Self { server, objects, state: TempDir::new().unwrap() }
    }

    /// A stage with objects of these names.
    async fn with(names: &[&str]) -> Self {
        let stage = Self::new().await;
        for name in names {
            stage.objects.create(name).await;
        }
        stage
    }

    /// A stage after a host that delivered the objects `good` and `bad`. Its plugin acknowledged `good`, and refused `bad`, which is a
    /// dead letter.
    async fn with_a_dead_letter() -> Self {
        let stage = Self::with(&["good", "bad"]).await;
        let refusing = format!("{READS}[plugin.retry]\nattempts = 1\n[plugin.config]\nfail = \"bad\"");
        let host = stage.host("witness", &refusing).await;
        assert_eq!(host.plugin("p")["queue"]["dead-letters"], 1);
        host.stop().await;
        stage
    }

    /// Starts a host with the guest `name`. `lines` continue its subscription.
    async fn host(&self, name: &str, lines: &str) -> TestHost {
        self.host_in(self.state.path(), name, lines).await
    }

    async fn host_in(&self, state: &Path, name: &str, lines: &str) -> TestHost {
        let lines = format!("initial = \"changed\"\n{lines}");
        let toml = watch("v1/configmaps") + &plugin("p", &guest(name), "v1/configmaps", &lines);
        let host = TestHost::start_in(&self.server.url(), state, &toml).await.unwrap();
        host.synced().await;
        host
    }
}

/// A plugin that logs its signals, and receives every object again when its component changes. `tables` follow its subscription.
fn replayed(tables: &str) -> String {
    let on = format!("initial = \"changed\"\n{tables}");
    let plugin = plugin("p", &guest("signals"), "v1/configmaps", &on);
    watch("v1/configmaps") + &plugin.replace("[[plugin.on]]", "on-reload = \"replay\"\n[[plugin.on]]")
}

/// What the echo said, sorted, and without the versions.
fn said(host: &TestHost) -> Vec<String> {
    let words = |line: &String| line.split(' ').take(2).collect::<Vec<_>>().join(" ");
    let lines = host.lines.of("p");
    let mut said: Vec<String> = lines.iter().filter(|line| line.contains(" default/")).map(words).collect();
    said.sort();
    said
}

#[tokio::test(flavor = "multi_thread")]
async fn a_restart_delivers_what_changed_meanwhile_and_nothing_else() {
    let stage = Stage::with(&["kept", "changed", "deleted", "recreated"]).await;
    let host = stage.host("echo", "").await;
    assert_eq!(said(&host).len(), 4, "{:?}", said(&host));
    stage.objects.update("kept", 1).await;
    host.lines.said("p", "update default/kept ", "").await;
    host.stop().await;

    let host = stage.host("echo", "").await;
    assert_eq!(said(&host), [""; 0], "nothing changed");
    assert_eq!(host.plugin("p")["receipts"]["objects"], 4);
    assert!(host.metrics().contains("informer_receipts_objects{plugin=\"p\"} 4.0\n"), "{}", host.metrics());
    // What follows is a change of a known object.
    stage.objects.update("kept", 2).await;
    host.lines.said("p", "update default/kept ", "").await;
    host.stop().await;

    stage.objects.update("changed", 1).await;
    stage.objects.delete("deleted").await;
    stage.objects.delete("recreated").await;
    stage.objects.create("recreated").await;
    stage.objects.create("new").await;
    let host = stage.host("echo", "").await;
    let expected = [
        "add default/changed",
        "add default/new",
        "add default/recreated",
        "delete default/deleted",
        "delete default/recreated",
    ];
    assert_eq!(said(&host), expected);
    let report = host.status();
    assert_eq!(report["plugins"][0]["subscriptions"][0]["gone"], 2, "{report:#}");
    host.stop().await;

    let host = stage.host("echo", "").await;
    assert_eq!(said(&host), [""; 0]);
    host.stop().await;
}

#[tokio::test(flavor = "multi_thread")]
async fn notifications_without_acknowledgement_and_dead_letters_are_delivered_again() {
    let stage = Stage::with_a_dead_letter().await;

    let host = stage.host("witness", READS).await;

    let begun: Vec<String> = host.lines.of("p").into_iter().filter(|line| line.starts_with("add ")).collect();
    assert!(begun.len() == 1 && begun[0].starts_with("add default/bad "), "{begun:?}");
    host.until("the letter is withdrawn", |_| host.plugin("p")["queue"]["dead-letters"] == 0).await;
    host.stop().await;
}

/// The failed call may have done a part of its work.
#[tokio::test(flavor = "multi_thread")]
async fn an_object_that_was_never_acknowledged_and_is_gone_is_delivered_as_a_deletion() {
    let stage = Stage::with_a_dead_letter().await;
    stage.objects.delete("bad").await;

    let host = stage.host("echo", "").await;

    assert_eq!(said(&host), ["delete default/bad"]);
    host.stop().await;
}

#[tokio::test(flavor = "multi_thread")]
async fn a_filter_that_changed_while_the_host_was_down_delivers_the_difference() {
    let stage = Stage::new().await;
    stage.objects.create_labelled("a", "one").await;
    stage.objects.create_labelled("b", "two").await;
    let host = stage.host("echo", "labels = \"one\"").await;
    assert_eq!(said(&host), ["add default/a"]);
    host.stop().await;

    let host = stage.host("echo", "labels = \"two\"").await;
    assert_eq!(said(&host), ["add default/b", "delete default/a"]);
    host.stop().await;
}

#[tokio::test(flavor = "multi_thread")]
async fn a_change_that_the_plugin_did_not_want_is_none_after_a_restart() {
    let stage = Stage::new().await;
    stage.objects.create("a").await;
    let labels = "changed = [\"/metadata/labels\"]";
    let host = stage.host("echo", labels).await;
    stage.objects.update("a", 1).await;
    host.until("the change is withheld", |_| {
        host.plugin("p")["subscriptions"][0]["suppressed"]["changed"] == 1
    })
    .await;
    host.stop().await;

    let host = stage.host("echo", labels).await;
    assert_eq!(said(&host), [""; 0]);
    host.stop().await;
}

/// Its keys do not outlive the host.
#[tokio::test(flavor = "multi_thread")]
async fn a_component_without_handlers_receives_the_keys_of_all_objects() {
    let stage = Stage::new().await;
    stage.objects.create("a").await;
    for _ in 0..2 {
        let host = stage.host("reconciles", "").await;
        host.until("the key is reconciled", |_| host.plugin("p")["workqueue"]["succeeded"] == 1).await;
        host.stop().await;
    }
    // A version with handlers begins from nothing.
    let host = stage.host("echo", "").await;
    assert_eq!(said(&host), ["add default/a"]);
    host.stop().await;
    // A plugin without receipts receives everything, whatever its previous version acknowledged: with the first list, by a replay, or both.
    let host = stage.host("reconciles", "").await;
    let reconciled = || host.plugin("p")["workqueue"]["succeeded"].as_u64().unwrap_or_default();
    host.until("the key is reconciled", |_| reconciled() > 0).await;
    host.stop().await;
}

#[tokio::test(flavor = "multi_thread")]
async fn a_component_that_was_replaced_while_the_host_was_down_receives_everything_if_it_is_to_replay() {
    let stage = Stage::new().await;
    stage.objects.create("a").await;
    let start = |name: &'static str, on_reload: &'static str| {
        let (url, state) = (stage.server.url(), stage.state.path().to_owned());
        async move {
            let on = format!("initial = \"changed\"\n{READS}");
            let plugin = plugin("p", &guest(name), "v1/configmaps", &on);
            let plugin =
                plugin.replace("name = \"p\"\n", &format!("name = \"p\"\non-reload = \"{on_reload}\"\n"));
            let toml = watch("v1/configmaps") + &plugin;
            let host = TestHost::start_in(&url, &state, &toml).await.unwrap();
            host.synced().await;
            host
        }
    };
    start("echo", "replay").await.stop().await;
    let host = start("echo", "replay").await;
    assert_eq!(said(&host), [""; 0], "the same component");
    host.stop().await;

    let host = start("witness", "keep").await;
    assert_eq!(said(&host), [""; 0]);
    host.stop().await;

    let host = start("echo", "replay").await;
    host.lines.said("p", "add default/a ", "").await;
    host.stop().await;
    let host = start("echo", "replay").await;
    assert_eq!(said(&host), [""; 0], "it acknowledged the replay");
    host.stop().await;
}

/// The acknowledgements of the previous component hold every object back, so the first list delivers nothing.
#[tokio::test(flavor = "multi_thread")]
async fn a_component_that_was_replaced_is_notified_that_its_objects_are_complete_after_the_replay() {
    let stage = Stage::with(&["a", "b"]).await;
    stage.host("echo", "").await.stop().await;

    // The rate leaves time between the two calls of the replay.
    let toml = replayed("[plugin.queue]\nrate = 1\n");
    let host = TestHost::start_in(&stage.server.url(), stage.state.path(), &toml).await.unwrap();
    host.lines.said("p", "synced v1/configmaps 2 ", "").await;

    let said = host.lines.of("p");
    assert!(said.len() == 3 && said[..2].iter().all(|line| line.starts_with("add ")), "{said:?}");
    host.stop().await;
}

/// A stop discards the pending notifications of a replay, so the plugin has not received every object (D-18).
#[tokio::test(flavor = "multi_thread")]
async fn a_plugin_that_stops_within_a_replay_is_notified_that_its_objects_are_complete_after_the_restart() {
    let stage = Stage::with(&["a", "b"]).await;
    let host = TestHost::start_in(&stage.server.url(), stage.state.path(), &replayed("")).await.unwrap();
    host.lines.said("p", "synced v1/configmaps 2 ", "").await;
    host.until("the call is acknowledged", |_| host.plugin("p")["signals"]["succeeded"] == 1).await;

    // A new version receives both objects again, and the rate holds one of them back.
    let slow = replayed("[plugin.queue]\nrate = 0.001\n[plugin.config]\nonly = \"another version\"\n");
    host.app().apply(configuration(&slow).unwrap()).await.unwrap();
    host.until("a part of the replay", |_| host.plugin("p")["queue"]["acknowledged"] == 3).await;
    let lines = host.lines.clone();
    assert_eq!(host.stop().await.undelivered.len(), 1);
    let synced = lines.of("p").iter().filter(|line| line.starts_with("synced ")).count();
    assert_eq!(synced, 1, "{:?}", lines.of("p"));

    let host = TestHost::start_in(&stage.server.url(), stage.state.path(), &slow).await.unwrap();
    host.lines.said("p", "synced v1/configmaps 2 ", "").await;
    let said = host.lines.of("p");
    assert!(said.len() == 2 && said[0].starts_with("add ") && said[0].ends_with(" initial"), "{said:?}");
    host.stop().await;
}

#[tokio::test(flavor = "multi_thread")]
async fn a_database_that_cannot_be_read_delivers_everything_and_keeps_what_it_has() {
    let stage = Stage::new().await;
    stage.objects.create("a").await;
    stage.objects.create("gone").await;
    let first = stage.host("echo", "").await;
    first.until("written", |_| first.plugin("p")["receipts"]["objects"] == 2).await;

    // The first host has the lock.
    let second = stage.host("echo", "").await;
    assert_eq!(said(&second), ["add default/a", "add default/gone"]);
    let failing = "plugin p: what it acknowledged is in memory only: the state ";
    second
        .until("the failure is shown", |_| second.degraded().iter().any(|text| text.starts_with(failing)))
        .await;
    second.stop().await;
    first.stop().await;

    stage.objects.delete("gone").await;
    let host = stage.host("echo", "").await;
    assert_eq!(said(&host), ["delete default/gone"]);
    host.stop().await;

    let new = TempDir::new().unwrap();
    let host = stage.host_in(new.path(), "echo", "").await;
    assert_eq!(said(&host), ["add default/a"], "a new database has no receipts");
    host.stop().await;
}
