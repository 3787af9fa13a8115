//! What an author sees of a call that fails: the line in the log of the host, and `informer status`.

use std::fs;

use informer_devserver::DevServer;
use informer_guests::guest;
use informer_tests::toml::{plugin, watch};

use tempfile::TempDir;

use super::binary::{Running, until};
use crate::configmaps::ConfigMaps;

/// The next attempt is far away, so each call fails once.
const LATER: &str = "[plugin.retry]\nmin = \"10m\"\nmax = \"10m\"\n";

/// The plugins, with the form of the key and the beginning of the failure of each.
const FAILURES: [(&str, &str, &str); 4] = [
    ("flaky", "default/web", "handler: failure 1 for default/web"),
    ("trap", "default/web", "trap: "),
    ("slow", "default/web", "deadline: "),
    // The text of a key is the choice of a plugin.
    ("trap-keys", "\"default/web\"", "trap: "),
];

/// Starts a host with these plugins, which receive ConfigMaps: the name of each component, and its further tables.
async fn start(server: &DevServer, plugins: &[(&'static str, String)]) -> (Running, TempDir) {
    let mut toml = format!("[cluster]\nserver = \"{}\"\n[host]\nadmin = \"127.0.0.1:0\"\n", server.url());
    toml.push_str(&watch("v1/configmaps"));
    for (name, rest) in plugins {
        let (named, name) = (name.replace('_', "-"), *name);
        let component = tokio::task::spawn_blocking(move || guest(name)).await.unwrap();
        toml.push_str(&plugin(&named, &component, "v1/configmaps", rest));
    }
    let directory = tempfile::tempdir().unwrap();
    let path = directory.path().join("informer.toml");
    fs::write(&path, toml).unwrap();
    (Running::start(&["run", "--config", path.to_str().unwrap()]).await, directory)
}

#[tokio::test]
async fn the_first_failure_of_each_kind_is_logged_with_the_object_its_version_and_the_attempt() {
    let server = DevServer::start(informer_devserver::Config::default()).await.unwrap();
    let objects = ConfigMaps::at(&server.url()).await;
    objects.create("web").await;
    let version = objects.versions().await["default/web"];
    let (mut host, _directory) = start(
        &server,
        &[
            ("flaky", format!("{LATER}[plugin.config]\ntimes = 1")),
            ("trap", LATER.to_owned()),
            ("trap_keys", LATER.to_owned()),
            ("slow", format!("{LATER}[plugin.limits]\ndeadline = \"1s\"\n[plugin.config]\nmillis = 60000")),
        ],
    )
    .await;

    let mut lines = Vec::new();
    for _ in FAILURES {
        lines.push(host.logged("a call failed, and is made again").await);
    }
    for (plugin, key, failure) in FAILURES {
        let named = format!(
            "a call failed, and is made again plugin=\"{plugin}\" resource=v1/configmaps key={key} rv=\"{version}\" attempt=1 failure={failure}"
        );
        assert_eq!(lines.iter().filter(|line| line.contains(&named)).count(), 1, "{named}: {lines:#?}");
    }
    host.stop().await;
}

#[tokio::test]
async fn status_names_the_object_of_a_plugin_that_fails_its_attempts_and_the_time_of_the_next_one() {
    let server = DevServer::start(informer_devserver::Config::default()).await.unwrap();
    ConfigMaps::at(&server.url()).await.create("web").await;
    let retry = "[plugin.retry]\nmin = \"100ms\"\nmax = \"10m\"\nattempts = 1000\n";
    let fails = format!("{retry}[plugin.config]\ntimes = 1000");
    let (mut host, _directory) = start(&server, &[("flaky", fails)]).await;
    let admin = host.admin().await;

    let again = " times, and is called again in ";
    let arguments = ["status", "--admin", &admin];
    let status = until("failed twice", &arguments, |status| status.stdout.contains(again)).await;

    assert!(status.stdout.contains(": ready, and failed calls are made again\n"), "{}", status.stdout);
    let line = status.stdout.lines().find(|line| line.contains(again)).unwrap();
    let (_, attempts) = line.split_once("v1/configmaps default/web failed ").unwrap();
    let (attempts, next) = attempts.split_once(again).unwrap();
    let seconds: f64 = next.split_once(" s").unwrap().0.parse().unwrap();
    assert!(attempts.parse::<u32>().unwrap() >= 2 && (0.0..=600.0).contains(&seconds), "{line}");
    host.stop().await;
}
