//! A changed `informer.toml` changes only what differs.

use std::{fs, net::SocketAddr, path::PathBuf};

use informer::app::{Report, Verdict};
use informer_devserver::DevServer;
use informer_guests::guest;
use informer_tests::{
    host::TestHost,
    metrics::value,
    proxy::{FaultProxy, Mode},
};
use serde_json::Value;
use tempfile::TempDir;

use crate::configmaps::ConfigMaps;

/// A host whose configuration is a file, and an API server with two ConfigMaps.
pub(super) struct Stage {
    server: DevServer,
    pub(super) objects: ConfigMaps,
    pub(super) host: TestHost,
    directory: TempDir,
}

pub(super) fn plugin(name: &str, guest_name: &str, more: &str) -> String {
    format!(
        "[[plugin]]\nname = \"{name}\"\nsource = {:?}\n{more}\n[[plugin.on]]\nwatch = \"v1/configmaps\"\n",
        guest(guest_name)
    )
}

pub(super) fn file(watch: &str, plugins: &[String]) -> String {
    format!(
        "[host]\nadmin = \"off\"\nstate-dir = \"off\"\n[[watch]]\ngvr = \"v1/configmaps\"\n{watch}\n{}",
        plugins.concat()
    )
}

impl Stage {
    pub(super) async fn new(text: &str) -> Self {
        let (stage, _) = Self::start(text, |_| None).await;
        stage
    }

    /// Starts a host that reaches its server through the proxy.
    pub(super) async fn through(text: &str) -> (Self, FaultProxy) {
        let (stage, wire) = Self::start(text, |server| Some(FaultProxy::start(server).unwrap())).await;
        (stage, wire.unwrap())
    }

    async fn start(
        text: &str,
        wire: impl FnOnce(SocketAddr) -> Option<FaultProxy>,
    ) -> (Self, Option<FaultProxy>) {
        let server = DevServer::start(informer_devserver::Config::default()).await.unwrap();
        let objects = ConfigMaps::at(&server.url()).await;
        objects.create("one").await;
        objects.create("two").await;
        let directory = tempfile::tempdir().unwrap();
        let path = directory.path().join("informer.toml");
        fs::write(&path, text).unwrap();
        let wire = wire(server.address());
        let url = wire.as_ref().map_or_else(|| server.url(), |wire| format!("http://{}", wire.address()));
        let host = TestHost::start_file(&url, &path).await.unwrap();
        host.synced().await;
        (Self { server, objects, host, directory }, wire)
    }

    pub(super) fn url(&self) -> String {
        self.server.url()
    }

    fn path(&self) -> PathBuf {
        self.directory.path().join("informer.toml")
    }

    /// Replaces the file and makes the host reload it.
    pub(super) async fn reload(&self, text: &str) -> Report {
        super::replace(&self.path(), text.as_bytes());
        self.host.app().reload(None).await.unwrap()
    }

    fn lists(&self) -> Value {
        self.host.status()["informers"][0]["counters"]["lists"].clone()
    }

    /// Creates an object, and waits until this plugin receives it.
    pub(super) async fn receives(&self, plugin: &str, object: &str) {
        self.objects.create(object).await;
        self.host.lines.said(plugin, &format!("add default/{object} "), "").await;
    }

    pub(super) async fn end(self) {
        self.host.stop().await;
        self.server.shutdown().await;
    }
}

pub(super) fn verdicts(report: &Report) -> Vec<(&str, Verdict)> {
    report.changes.iter().map(|change| (change.name.as_str(), change.verdict)).collect()
}

fn starts(host: &TestHost, plugin: &str) -> Vec<String> {
    host.lines.of(plugin).into_iter().filter(|line| line.starts_with("start ")).collect()
}

#[tokio::test(flavor = "multi_thread")]
async fn plugins_are_added_and_removed_without_effect_on_other_plugins() {
    let a = plugin("a", "echo", "");
    let stage = Stage::new(&file("", std::slice::from_ref(&a))).await;

    let report = stage.reload(&file("", &[a.clone(), plugin("b", "echo", "")])).await;
    // The answer may or may not contain the first load: it depends on which side loads first.
    assert_eq!(verdicts(&report)[0], ("b", Verdict::Added), "{report:?}");
    stage.host.synced().await;
    stage.receives("b", "three").await;
    assert_eq!(stage.lists(), 1, "the new plugin gets its objects from the cache");

    let report = stage.reload(&file("", &[plugin("b", "echo", "")])).await;
    assert_eq!(verdicts(&report), [("a", Verdict::Removed)]);
    assert_eq!(stage.host.plugin("a"), Value::Null);
    stage.receives("b", "four").await;
    assert!(!stage.host.lines.of("a").iter().any(|line| line.contains("default/four")));
    assert_eq!(stage.host.lines.of("a").last().unwrap(), "stop");
    assert_eq!(starts(&stage.host, "b").len(), 1);
    stage.end().await;
}

#[tokio::test(flavor = "multi_thread")]
async fn a_change_that_an_instance_can_see_makes_a_new_version_and_delivers_nothing_again() {
    let stage = Stage::new(&file("", &[plugin("a", "echo", "")])).await;
    let received = stage.host.lines.of("a").len();

    let mut with_config = plugin("a", "echo", "");
    with_config.push_str("[plugin.config]\nx = 1\n");
    let report = stage.reload(&file("", &[with_config.clone()])).await;

    assert_eq!(verdicts(&report), [("a", Verdict::Changed)]);
    assert_eq!(report.changes[0].detail, "config");
    assert_eq!(starts(&stage.host, "a"), ["start {}", r#"start {"x":1}"#]);
    stage.receives("a", "three").await;
    let since = stage.host.lines.of("a").split_off(received);
    assert!(!since.iter().any(|line| line.contains("default/one")), "{since:?}");
    assert_eq!(stage.lists(), 1);

    // A change of the workers or the retries needs no new version.
    let report = stage.reload(&file("", &[format!("{with_config}[plugin.queue]\nworkers = 4\n")])).await;
    assert_eq!(verdicts(&report), [("a", Verdict::Changed)]);
    assert_eq!(starts(&stage.host, "a").len(), 2);
    stage.receives("a", "four").await;
    stage.end().await;
}

#[tokio::test(flavor = "multi_thread")]
async fn a_bad_file_changes_nothing_and_is_reported_until_it_is_repaired() {
    let good = file("", &[plugin("a", "echo", "")]);
    let stage = Stage::new(&good).await;

    let report = stage.reload(&good.replace("gvr =", "gvrr =")).await;

    assert!(report.changes.is_empty() && !report.is_ok());
    assert!(
        report
            .problems
            .iter()
            .any(|problem| problem.contains("informer.toml:5:1: watch[0].gvrr: unknown key")),
        "{report:?}"
    );
    let degraded = stage.host.degraded();
    assert!(degraded[0].starts_with("the configuration in force stays: "), "{degraded:?}");
    let refused = || value(&stage.host.metrics(), "informer_configuration_refused");
    assert_eq!(refused(), 1.0);
    assert!(stage.host.unready().is_empty());
    stage.receives("a", "three").await;

    assert_eq!(stage.reload(&good).await, Report::default());
    assert!(stage.host.degraded().is_empty());
    assert_eq!(refused(), 0.0);
    stage.end().await;
}

#[tokio::test(flavor = "multi_thread")]
async fn a_configuration_that_the_component_refuses_leaves_the_old_version_in_service() {
    let stage = Stage::new(&file("", &[plugin("a", "echo", "")])).await;
    let before = stage.host.plugin("a")["version"].clone();

    // The component imports an interface that is not granted.
    let other = plugin("a", "reader", "");
    let report = stage.reload(&file("", &[other])).await;

    assert_eq!(verdicts(&report), [("a", Verdict::Changed), ("a", Verdict::Refused)], "{report:?}");
    assert_eq!(stage.host.plugin("a")["version"], before);
    stage.receives("a", "three").await;
    assert!(stage.host.degraded()[0].contains("[plugin.grant]"), "{:?}", stage.host.degraded());
    stage.end().await;
}

#[tokio::test(flavor = "multi_thread")]
async fn a_changed_watch_gets_a_new_informer_and_only_the_difference_is_delivered() {
    let plugins = [plugin("a", "echo", "")];
    let stage = Stage::new(&file("", &plugins)).await;
    let received = stage.host.lines.of("a").len();

    let report = stage.reload(&file("fields = \"metadata.name!=two\"", &plugins)).await;
    assert_eq!(verdicts(&report), [("v1/configmaps", Verdict::Changed)]);

    stage.host.lines.said("a", "delete default/two ", "").await;
    stage.receives("a", "three").await;
    let since = stage.host.lines.of("a").split_off(received);
    assert!(
        !since.iter().any(|line| line.contains("default/one")),
        "an unchanged object was delivered: {since:?}"
    );
    assert_eq!(starts(&stage.host, "a").len(), 1, "the plugin must not be restarted");

    // The change back works in the same way.
    stage.reload(&file("", &plugins)).await;
    stage
        .host
        .lines
        .until("a", "two again", |lines| {
            lines.iter().filter(|line| line.starts_with("add default/two ")).count() == 2
        })
        .await;
    stage.end().await;
}

/// The cache follows what its plugins read. Only a plugin that reads a new part receives its objects again (D-21).
#[tokio::test(flavor = "multi_thread")]
async fn a_plugin_receives_nothing_if_the_cache_keeps_more_or_less_for_another_plugin() {
    let reads = |name, parts: &str| plugin(name, "echo", "") + &format!("reads = [{parts}]\n");
    let first = reads("a", "\"/data/x\"");
    let stage = Stage::new(&file("", std::slice::from_ref(&first))).await;
    stage.objects.create_with("three", serde_json::json!({"x": "1", "y": "2"})).await;
    stage.host.lines.said("a", "add default/three ", "").await;
    let received = stage.host.lines.of("a").len();
    let replaced = || {
        stage.host.until("the successor in service", |status| {
            let informers = status["informers"].as_array().unwrap();
            informers.len() == 1 && informers[0]["superseded"] != true && informers[0]["synced"] == true
        })
    };

    stage.reload(&file("", &[first.clone(), reads("b", "\"/data/y\"")])).await;
    replaced().await;
    stage.receives("b", "four").await;
    stage.reload(&file("", std::slice::from_ref(&first))).await;
    replaced().await;
    stage.receives("a", "five").await;

    let since = stage.host.lines.of("a").split_off(received);
    assert_eq!(since.len(), 2, "only the two new objects: {since:?}");
    stage.reload(&file("", &[reads("a", "\"/data/x\", \"/data/y\"")])).await;
    stage.host.lines.said("a", "update default/three ", "").await;
    stage.end().await;
}

/// Informer B, the successor, cannot fill its cache. Informer A stays in service and has its own problems.
async fn the_informer_in_service_is_shown(watch: &str) {
    let plugins = [plugin("a", "echo", "")];
    let (stage, wire) = Stage::through(&file("", &plugins)).await;
    let host = &stage.host;

    wire.set(Mode::Refuse).await.unwrap();
    wire.cut().await;
    stage.reload(&file(watch, &plugins)).await;

    let shown = |status: &Value| -> Vec<(bool, bool)> {
        let informers = status["informers"].as_array().unwrap().iter();
        informers.map(|one| (one["superseded"] == true, one["synced"] == true)).collect()
    };
    host.until("both of them", |status| shown(status) == [(true, true), (false, false)]).await;
    assert_eq!(host.cached("v1/configmaps").len(), 2, "the lister must show all objects");
    host.until("the trouble of the one that serves", |status| {
        let degraded = status["degraded"].as_array().unwrap();
        degraded.iter().any(|why| why.as_str().unwrap().starts_with("v1/configmaps: "))
    })
    .await;

    wire.set(Mode::Pass).await.unwrap();
    host.until("the successor in service", |status| shown(status) == [(false, true)]).await;
    stage.end().await;
}

#[tokio::test(flavor = "multi_thread")]
async fn the_status_shows_the_informer_that_serves_until_its_successor_has_synced() {
    // The successor has the same key, or another key.
    the_informer_in_service_is_shown("drop = []").await;
    the_informer_in_service_is_shown("fields = \"metadata.name!=x\"").await;
}

#[tokio::test(flavor = "multi_thread")]
async fn a_changed_file_is_applied_without_a_request_and_some_keys_need_a_restart() {
    let text = file("", &[plugin("a", "echo", "")]);
    let stage = Stage::new(&text).await;

    super::replace(&stage.path(), file("", &[plugin("a", "echo", ""), plugin("b", "echo", "")]).as_bytes());
    stage.host.lines.said("b", "add default/one ", "").await;

    let report = stage.reload(&text.replace("[host]", "[host]\nlog-format = \"json\"")).await;
    let verdicts = verdicts(&report).into_iter();
    // The addition is in this report too if the host was not done with the file before.
    let later: Vec<_> = verdicts.skip_while(|verdict| *verdict == ("b", Verdict::Added)).collect();
    assert_eq!(later, [("[host] log-format", Verdict::NeedsRestart), ("b", Verdict::Removed)]);
    let needed = || value(&stage.host.metrics(), "informer_configuration_restart_needed");
    assert_eq!(needed(), 1.0);
    let keys = stage.host.status()["configuration"]["needs-restart"].clone();
    assert_eq!(keys, serde_json::json!(["[host] log-format"]));
    stage.reload(&text).await;
    assert_eq!(needed(), 0.0, "the key has the value of the start again");
    stage.end().await;
}

/// The difference reaches the subscriber as for a changed selector (P-21): an addition for an object that its subscription
/// selects now, a deletion for one that it no longer selects.
#[tokio::test(flavor = "multi_thread")]
async fn a_changed_list_of_namespaces_adds_objects_that_enter_and_deletes_those_that_leave() {
    let on = |namespaces: &str| file("", &[plugin("a", "echo", "") + namespaces + "\n"]);
    let only = |status: &Value| status["informers"].as_array().unwrap().len() == 1;
    let stage = Stage::new(&on("namespaces = [\"default\"]")).await;
    let system = ConfigMaps::of(&stage.url(), "kube-system").await;
    let received = |needle: &'static str| stage.host.lines.said("a", needle, "");
    received("add default/one ").await;
    received("add default/two ").await;
    system.create("three").await;

    stage.reload(&on("namespaces = [\"default\", \"kube-system\"]")).await;
    received("add kube-system/three ").await;

    stage.reload(&on("namespaces = [\"kube-system\"]")).await;
    received("delete default/one ").await;
    received("delete default/two ").await;
    stage.host.until("the informer of one namespace alone", only).await;
    let reflectors = stage.host.status()["informers"][0]["reflectors"].clone();
    assert_eq!((&reflectors[0]["namespace"], &reflectors[1]), (&Value::from("kube-system"), &Value::Null));
    assert_eq!(stage.host.cached("v1/configmaps").len(), 1);

    stage.reload(&on("")).await;
    stage.host.until("the informer of all namespaces", only).await;
    stage
        .host
        .lines
        .until("a", "the additions", |lines| {
            let added = |name: &str| lines.iter().filter(|line| line.starts_with(name)).count();
            (added("add default/one "), added("add default/two "), added("add kube-system/three "))
                == (2, 2, 1)
        })
        .await;
    stage.end().await;
}

#[tokio::test(flavor = "multi_thread")]
async fn a_plugin_that_requests_a_replay_is_the_only_one_that_receives_it() {
    let replaying = |config: &str| {
        format!("{}[plugin.config]\nx = {config}\n", plugin("a", "echo", "on-reload = \"replay\""))
    };
    let stage = Stage::new(&file("", &[replaying("1"), plugin("b", "echo", "")])).await;
    let received = stage.host.lines.of("b").len();

    stage.reload(&file("", &[replaying("2"), plugin("b", "echo", "")])).await;

    for object in ["one", "two"] {
        stage
            .host
            .lines
            .until("a", "a replay", |lines| {
                lines.iter().any(|line| {
                    line.starts_with(&format!("add default/{object} ")) && line.contains(" replay ")
                })
            })
            .await;
    }
    assert_eq!(stage.host.lines.of("b").len(), received);
    assert_eq!(stage.lists(), 1);
    stage.end().await;
}
