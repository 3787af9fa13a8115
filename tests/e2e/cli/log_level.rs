//! The command `informer log-level`, and changes of `log` in the configuration.

use std::fs;

use informer_devserver::DevServer;
use informer_guests::guest;
use informer_tests::host::PATIENCE;
use serde_json::Value;

use super::binary::{Finished, Running, informer, until};
use crate::configmaps::ConfigMaps;

async fn ask(admin: &str, arguments: &[&str]) -> Finished {
    informer(&[arguments, &["--admin", admin]].concat()).await
}

/// Waits until the plugin has acknowledged this number of calls. Returns the status.
async fn calls(admin: &str, calls: usize) -> Value {
    let arguments = ["status", "--output", "json", "--admin", admin];
    let acknowledged = |answer: &Finished| answer.json()["plugins"][0]["calls"]["acknowledged"] == calls;
    until("all calls acknowledged", &arguments, acknowledged).await.json()
}

#[tokio::test]
async fn levels_of_the_host_and_of_a_plugin_are_changed_while_it_runs() {
    let server = DevServer::start(informer_devserver::Config::default()).await.unwrap();
    let objects = ConfigMaps::at(&server.url()).await;
    let directory = tempfile::tempdir().unwrap();
    let path = directory.path().join("informer.toml");
    let configuration = |log: &str| {
        format!(
            "[cluster]\nserver = \"{}\"\n[host]\nadmin = \"127.0.0.1:0\"\nlog = \"{log}\"\n\
             [[watch]]\ngvr = \"v1/configmaps\"\n[[plugin]]\nname = \"settings\"\nsource = {:?}\n\
             [[plugin.on]]\nwatch = \"v1/configmaps\"\n",
            server.url(),
            guest("settings"),
        )
    };
    fs::write(&path, configuration("info")).unwrap();
    let mut host = Running::start(&["run", "--config", path.to_str().unwrap()]).await;
    let admin = host.admin().await;
    objects.create("one").await;
    host.logged("one is None").await;

    // A plugin may log more, or less, than the level of the host.
    let set = ask(&admin, &["log-level", "debug", "--plugin", "settings"]).await;
    assert_eq!(
        (set.status, set.stdout.as_str()),
        (Some(0), "log level of plugin settings: debug, until its next start\n")
    );
    objects.create("two").await;
    let log = host.log_up_to("Ok([").await;
    let debug: Vec<&String> = log.iter().filter(|line| line.contains(" DEBUG ")).collect();
    assert_eq!(debug, [log.last().unwrap()], "the host itself must not log at this level");

    // Without its own level the plugin follows the host's level, which a command changes ...
    assert_eq!(ask(&admin, &["log-level", "default", "--plugin", "settings"]).await.status, Some(0));
    assert_eq!(ask(&admin, &["log-level", "info,plugin=error"]).await.status, Some(0));
    objects.create("three").await;
    assert_eq!(calls(&admin, 3).await["log"], "info,plugin=error");

    // ... and which the file changes.
    fs::write(&path, configuration("debug")).unwrap();
    let log = host.log_up_to("key [host] log: changed").await;
    assert!(!log.iter().any(|line| line.contains("three is None")), "{log:?}");
    objects.create("four").await;
    host.logged("Ok([").await;
    assert_eq!(ask(&admin, &["log-level", "warn"]).await.status, Some(0));
    assert_eq!(ask(&admin, &["log-level", "default"]).await.status, Some(0));
    assert_eq!(calls(&admin, 4).await["log"], "debug", "the level of the current file");

    for (arguments, words) in [
        (&["log-level", "debg"][..], "`debg` is no level; did you mean `debug`?"),
        (&["log-level", "debg", "--plugin", "settings"], "`debg` is no log level of a plugin"),
        (&["log-level", "debug", "--plugin", "setings"], "there is no plugin `setings`"),
    ] {
        let refused = ask(&admin, arguments).await;
        assert_eq!(refused.status, Some(1));
        assert!(refused.stderr.contains(words), "{}", refused.stderr);
    }
    host.stop().await;
}

#[tokio::test]
async fn the_log_level_of_the_command_line_wins_over_a_changed_file() {
    let server = DevServer::start(informer_devserver::Config::default()).await.unwrap();
    let directory = tempfile::tempdir().unwrap();
    let path = directory.path().join("informer.toml");
    let configuration = |log: &str| {
        format!(
            "[cluster]\nserver = \"{}\"\n[host]\nadmin = \"127.0.0.1:0\"\nlog = \"{log}\"\n[[watch]]\ngvr = \"v1/configmaps\"\n",
            server.url()
        )
    };
    fs::write(&path, configuration("warn")).unwrap();
    let mut host = Running::start(&["--log", "info", "run", "--config", path.to_str().unwrap()]).await;
    host.admin().await;

    fs::write(&path, configuration("off")).unwrap();

    let line = host.logged("[host] log").await;
    assert!(line.contains("key [host] log: needs restart: --log or INFORMER_LOG overrides it"), "{line}");
    host.signal("TERM").await;
    host.logged("informer::app: stopped").await;
    assert_eq!(host.ended(PATIENCE).await.code(), Some(0));
}
