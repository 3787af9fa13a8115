//! Calls that are about no single object: `on-synced`, timers and `on-config`. And calls that a handler asks for.

use std::sync::atomic::{AtomicUsize, Ordering};

use informer::admin::{Dashboard, Probe, types::Chosen};
use informer_devserver::DevServer;
use informer_guests::guest;
use informer_tests::{
    host::{PATIENCE, TestHost},
    toml::{plugin, watch},
};
use serde_json::{Value, json};

use crate::{configmaps::ConfigMaps, reload::replace};

const NAME: &str = "signals";

async fn server() -> DevServer {
    DevServer::start(informer_devserver::Config::default()).await.unwrap()
}

/// Starts a host with the fixture, which subscribes to ConfigMaps. `lines` end its subscription and may go on with tables.
async fn start(server: &DevServer, lines: &str) -> TestHost {
    let component = tokio::task::spawn_blocking(|| guest("signals")).await.unwrap();
    let toml = watch("v1/configmaps") + &plugin(NAME, &component, "v1/configmaps", lines);
    TestHost::start(&server.url(), &toml).await.unwrap()
}

fn signals(host: &TestHost) -> Value {
    host.plugin(NAME)["signals"].clone()
}

/// The lines of the plugin that begin with this.
fn lines(host: &TestHost, begin: &str) -> Vec<String> {
    host.lines.of(NAME).into_iter().filter(|line| line.starts_with(begin)).collect()
}

/// The initial notifications are settled before (D-18, P-16).
#[tokio::test(flavor = "multi_thread")]
async fn a_plugin_is_notified_once_after_all_initial_notifications() {
    let server = server().await;
    let objects = ConfigMaps::at(&server.url()).await;
    for name in ["a", "b", "c"] {
        objects.create(name).await;
    }
    objects.create_labelled("left-out", "skip").await;
    let host = start(&server, "labels = \"!skip\"").await;

    host.lines.said(NAME, "synced ", "").await;
    let said = host.lines.of(NAME);
    assert_eq!(said.len(), 4, "{said:#?}");
    assert_eq!(said[3], "synced v1/configmaps 3 true attempt 1", "it is the last one");
    objects.create("d").await;
    host.lines.said(NAME, "add default/d live", "").await;
    assert_eq!(lines(&host, "synced ").len(), 1);
    host.until("the call is acknowledged", |_| signals(&host)["succeeded"] == 1).await;
    let status = signals(&host);
    assert_eq!((&status["adds"], &status["keys"]), (&json!(1), &json!(0)));
    assert_eq!(
        host.plugin(NAME)["exports"],
        json!(["handler", "sync-handler", "timer-handler", "config-handler"])
    );
    host.stop().await;
}

#[tokio::test(flavor = "multi_thread")]
async fn an_empty_collection_is_complete_too_and_a_failed_call_is_made_again() {
    let server = server().await;
    let config = "[plugin.retry]\nmin = \"1ms\"\n[plugin.config]\ntimes = 2\n";

    let host = start(&server, config).await;

    host.lines.said(NAME, "synced v1/configmaps 0 true attempt 3", "").await;
    assert_eq!(lines(&host, "synced ").len(), 3);
    host.stop().await;
}

/// A plugin that keeps state in memory gets all objects again, and learns when that is done.
#[tokio::test(flavor = "multi_thread")]
async fn a_new_version_with_replay_is_notified_after_all_objects_are_delivered_again() {
    let server = server().await;
    let objects = ConfigMaps::at(&server.url()).await;
    objects.create("a").await;
    let folder = tempfile::tempdir().unwrap();
    let file = folder.path().join("plugin.wasm");
    let component = tokio::task::spawn_blocking(|| guest("signals")).await.unwrap();
    replace(&file, &std::fs::read(&component).unwrap());
    let text = plugin(NAME, &file, "v1/configmaps", "")
        .replace("[[plugin.on]]", "on-reload = \"replay\"\n[[plugin.on]]");
    let host = TestHost::start(&server.url(), &(watch("v1/configmaps") + &text)).await.unwrap();
    host.lines.said(NAME, "synced v1/configmaps 1 ", "").await;
    objects.create("b").await;
    host.lines.said(NAME, "add default/b live", "").await;

    let echo = tokio::task::spawn_blocking(|| guest("echo")).await.unwrap();
    replace(&file, &std::fs::read(&echo).unwrap());
    let replayed = |line: &String| line.starts_with("add default/b ") && line.contains(" replay ");
    host.lines.until(NAME, "the replay", |lines| lines.iter().any(replayed)).await;
    replace(&file, &std::fs::read(&component).unwrap());

    host.lines.said(NAME, "synced v1/configmaps 2 true attempt 1", "").await;
    let said = host.lines.of(NAME);
    let at = |line: &str| said.iter().rposition(|said| said.starts_with(line)).unwrap();
    assert!(
        at("add default/a replay") < at("synced ") && at("add default/b replay") < at("synced "),
        "{said:#?}"
    );
    host.stop().await;
}

#[tokio::test(flavor = "multi_thread")]
async fn a_timer_of_the_configuration_fires_again_and_again_and_follows_its_changes() {
    let server = server().await;
    let timer = "[[plugin.timer]]\nname = \"pulse\"\nevery = \"1s\"\n[[plugin.timer]]\nname = \"nightly\"\ncron = \"0 3 1 1 *\"\n";

    let host = start(&server, timer).await;

    host.lines
        .until(NAME, "three times", |lines| {
            lines.iter().filter(|line| *line == "timer pulse attempt 1").count() >= 3
        })
        .await;
    assert!(lines(&host, "timer nightly").is_empty());
    assert_eq!(signals(&host)["delayed"], 2);
    let component = guest("signals");
    let without = informer_tests::host::configuration(
        &(watch("v1/configmaps") + &plugin(NAME, &component, "v1/configmaps", "")),
    );
    host.app().apply(without.unwrap()).await.unwrap();
    assert_eq!(signals(&host)["delayed"], 0);
    host.stop().await;
}

#[tokio::test(flavor = "multi_thread")]
async fn the_status_names_a_timer_that_the_component_does_not_handle() {
    let server = server().await;
    let component = tokio::task::spawn_blocking(|| guest("echo")).await.unwrap();
    let timer = "[[plugin.timer]]\nname = \"pulse\"\nevery = \"1s\"\n";
    let toml = watch("v1/configmaps") + &plugin(NAME, &component, "v1/configmaps", timer);

    let host = TestHost::start(&server.url(), &toml).await.unwrap();
    host.synced().await;

    let degraded = host.degraded();
    assert_eq!(degraded.len(), 1, "{degraded:?}");
    assert!(
        degraded[0].starts_with("plugin signals: the timer `pulse` calls nothing, because"),
        "{degraded:?}"
    );
    host.stop().await;
}

/// It would be called for ever otherwise: the next time of the timer comes all the same.
#[tokio::test(flavor = "multi_thread")]
async fn a_timer_whose_calls_fail_is_a_dead_letter_until_a_later_call_succeeds() {
    let server = server().await;
    let lines = "[[plugin.timer]]\nname = \"pulse\"\nevery = \"1s\"\n[plugin.retry]\nmin = \"1ms\"\nattempts = 2\n\
                 [plugin.config]\ntimes = 9\nonly = \"pulse\"\nhow = \"permanent\"\n";

    let host = start(&server, lines).await;

    host.until("a dead letter", |_| signals(&host)["dropped"].as_u64() > Some(1)).await;
    let dropped = signals(&host)["dropped-keys"].clone();
    let failure = "handler: failure 1 of pulse";
    assert_eq!(dropped, json!([{"key": "timer pulse", "attempts": 1, "failure": failure}]));
    let letters = host.app().probe().dead_letters(&Chosen::default()).dead_letters;
    assert_eq!(
        (letters.len(), letters[0].object.as_str(), letters[0].verb.as_str()),
        (1, "timer pulse", "on-timer")
    );
    assert!(host.metrics().contains("informer_signals_dead_letters{plugin=\"signals\"} 1"));
    let overview = host.app().probe().overview();
    assert_eq!((overview.plugins[0].dead_letters, overview.host.totals.dead_letters), (1, 1));
    let all = Chosen { all: true, ..Chosen::default() };
    let replayed = host.app().probe().replay(&all).replayed;
    assert_eq!((replayed.len(), replayed[0].verb.as_str()), (1, "on-timer"));
    host.stop().await;
}

#[tokio::test(flavor = "multi_thread")]
async fn a_plugin_sets_timers_and_cancels_them() {
    let server = server().await;
    let objects = ConfigMaps::at(&server.url()).await;
    let host = start(&server, "[[plugin.timer]]\nname = \"taken\"\nevery = \"1h\"\n").await;
    host.synced().await;
    for (name, after) in [("long", "3600000"), ("short", "50"), ("taken", "1")] {
        objects.create_with(name, json!({"after": after})).await;
    }

    host.lines.said(NAME, "timer short attempt 1", "").await;
    host.lines.said(NAME, "refused: invalid: `taken` is a [[plugin.timer]]", "choose another name").await;
    host.until("one timer", |_| signals(&host)["delayed"] == 2).await;
    objects.merge("long", json!({"after": "never"})).await;
    host.until("no timer", |_| signals(&host)["delayed"] == 1).await;
    assert!(lines(&host, "timer long").is_empty());
    // The timer of the configuration is due in an hour, and the stop does not wait for it.
    let report = tokio::time::timeout(PATIENCE, host.stop()).await.unwrap();
    assert!(report.undelivered.is_empty());
}

#[tokio::test(flavor = "multi_thread")]
async fn a_handler_is_called_again_in_the_present_state_unless_the_object_is_gone() {
    let server = server().await;
    let objects = ConfigMaps::at(&server.url()).await;
    let host = start(&server, "changed = \"/data/other\"").await;
    host.synced().await;

    objects.create_with("a", json!({"again": "300"})).await;

    host.lines.said(NAME, "update default/a resync", "").await;
    // The condition leaves this change out; the next call shows it all the same.
    objects.merge("a", json!({"after": "1"})).await;
    host.lines.said(NAME, "timer a attempt 1", "").await;
    objects.merge("a", json!({"again": null})).await;
    host.until("the last call asks for nothing", |_| {
        let before = lines(&host, "update default/a resync").len();
        host.app().next_due().is_none() && before > 1
    })
    .await;
    host.stop().await;
}

#[tokio::test(flavor = "multi_thread")]
async fn a_plugin_is_notified_of_each_change_of_its_configuration_files() {
    let server = server().await;
    let folder = tempfile::tempdir().unwrap();
    let file = folder.path().join("how");
    std::fs::write(&file, "retry").unwrap();
    let table = "[plugin.retry]\nmin = \"1ms\"\n[plugin.config]\ntimes = 1\nonly = \"config\"\n";
    let component = tokio::task::spawn_blocking(|| guest("signals")).await.unwrap();
    let paths = format!("config-files = [{:?}]\n[[plugin.on]]", folder.path());
    let text = plugin(NAME, &component, "v1/configmaps", table).replace("[[plugin.on]]", &paths);
    let host = TestHost::start(&server.url(), &(watch("v1/configmaps") + &text)).await.unwrap();
    host.lines.said(NAME, "synced v1/configmaps 0 ", "").await;

    // The host may not have looked at the files yet, so they change until it notices.
    let round = AtomicUsize::new(0);
    host.until("the change is noticed", |_| {
        let text = ["retry", "permanent"][round.fetch_add(1, Ordering::Relaxed) % 2];
        std::fs::write(&file, text).unwrap();
        !lines(&host, "config {").is_empty()
    })
    .await;

    host.until("a successful call", |_| signals(&host)["succeeded"].as_u64() > Some(1)).await;
    let said = lines(&host, "config {");
    assert!(
        said.iter().all(|line| line.contains("\"only\":\"config\"") && line.contains("\"how\":")),
        "{said:?}"
    );
    host.stop().await;
}

/// A version starts only if the files can be read. The host may not have seen any earlier state of the files.
#[tokio::test(flavor = "multi_thread")]
async fn a_plugin_is_notified_if_its_configuration_files_become_readable_only_later() {
    let server = server().await;
    let folder = tempfile::tempdir().unwrap();
    let files = folder.path().join("mounted");
    let component = tokio::task::spawn_blocking(|| guest("signals")).await.unwrap();
    let table = "[plugin.config]\nonly = \"config\"\n";
    let paths = format!("config-files = [{files:?}]\n[[plugin.on]]");
    let text = plugin(NAME, &component, "v1/configmaps", table).replace("[[plugin.on]]", &paths);
    let host = TestHost::start(&server.url(), &(watch("v1/configmaps") + &text)).await.unwrap();
    host.until("a refused version", |_| {
        let unready = host.app().probe().unready();
        unready.iter().any(|why| why.contains("No such file"))
    })
    .await;

    std::fs::create_dir(&files).unwrap();
    std::fs::write(files.join("how"), "retry").unwrap();

    host.until("a call with the files", |_| {
        lines(&host, "config {").iter().any(|line| line.contains("\"how\":\"retry\""))
    })
    .await;
    host.stop().await;
}
