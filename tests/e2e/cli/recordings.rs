//! `informer test --record`: the calls of a running host become a story, which plays.

use std::{
    fs,
    path::{Path, PathBuf},
};

use informer_devserver::DevServer;
use informer_guests::guest;
use informer_tests::{
    host::PATIENCE,
    toml::{plugin, watch},
};
use serde_json::json;
use tempfile::TempDir;

use super::binary::{Finished, Running, informer, well};
use crate::configmaps::ConfigMaps;

/// A host whose plugins receive ConfigMaps.
struct Host {
    running: Running,
    admin: String,
    objects: ConfigMaps,
    directory: TempDir,
    _server: DevServer,
}

// === impl Host ===

impl Host {
    /// The plugin `echo` logs each object, and `flaky` fails the first call for each.
    async fn start() -> Self {
        let fails = "[plugin.retry]\nmin = \"10m\"\nmax = \"10m\"\n[plugin.config]\ntimes = 1";
        Self::with([("echo", ""), ("flaky", fails)]).await
    }

    /// Each plugin has the name of its guest, and these tables.
    async fn with(plugins: [(&'static str, &'static str); 2]) -> Self {
        let server = DevServer::start(informer_devserver::Config::default()).await.unwrap();
        let tables = move || plugins.map(|(name, rest)| plugin(name, &guest(name), "v1/configmaps", rest));
        let plugins = tokio::task::spawn_blocking(tables).await.unwrap();
        let toml = [
            format!("[cluster]\nserver = \"{}\"\n[host]\nadmin = \"127.0.0.1:0\"\n", server.url()),
            watch("v1/configmaps"),
            plugins.concat(),
        ];
        let directory = tempfile::tempdir().unwrap();
        let path = directory.path().join("informer.toml");
        fs::write(&path, toml.concat()).unwrap();
        let objects = ConfigMaps::at(&server.url()).await;
        let mut running = Running::start(&["run", "--config", path.to_str().unwrap()]).await;
        let admin = running.admin().await;
        well(&admin).await;
        Self { running, admin, objects, directory, _server: server }
    }

    fn file(&self, name: &str) -> PathBuf {
        self.directory.path().join(name)
    }

    fn arguments<'a>(&'a self, file: &'a Path, plugin: &'a str, more: &[&'a str]) -> Vec<&'a str> {
        let file = file.to_str().unwrap();
        let arguments = ["test", "--record", file, "--plugin", plugin, "--admin", &self.admin];
        [&arguments, more].concat()
    }

    /// Begins a recording.
    async fn records(&mut self, file: &Path, plugin: &str, more: &[&str]) -> Running {
        let recording = Running::start(&self.arguments(file, plugin, more)).await;
        self.running.logged("a recording begins").await;
        recording
    }
}

/// Waits for the end of a recording. Returns its message.
async fn ended(mut recording: Running) -> String {
    let message = recording.line().await;
    assert_eq!(recording.ended(PATIENCE).await.code(), Some(0), "{message}");
    message
}

async fn play(file: &Path) -> Finished {
    informer(&["test", file.to_str().unwrap()]).await
}

#[tokio::test]
async fn a_recording_ends_after_its_calls_and_plays_as_a_story() {
    let mut host = Host::start().await;
    host.objects.create_with("web", json!({"size": "1"})).await;
    host.running.logged("add default/web ").await;
    let file = host.file("live.test.yaml");

    let recording = host.records(&file, "echo", &["--calls", "3"]).await;
    host.objects.merge("web", json!({"size": "2"})).await;
    host.running.logged("update default/web ").await;
    host.objects.create("more").await;
    host.running.logged("add default/more ").await;
    host.objects.delete("web").await;
    let message = ended(recording).await;

    assert_eq!(message, format!("{}: 3 calls, the bound was reached", file.display()));
    // It comes after the third call.
    host.objects.create("late").await;
    host.running.logged("add default/late ").await;
    let story = fs::read_to_string(&file).unwrap();
    for (times, part) in [
        (1, "on-update v1/configmaps default/web (live)"),
        (1, "on-add v1/configmaps default/more (live)"),
        (1, "on-delete v1/configmaps default/web"),
        (0, "late"),
        (0, "resourceVersion"),
    ] {
        assert_eq!(story.matches(part).count(), times, "{part}: {story}");
    }
    let played = play(&file).await;
    assert_eq!((played.status, played.stderr.as_str()), (Some(0), ""), "{}\n{story}", played.stdout);
    // The story expects what was recorded.
    let other = host.file("other.test.yaml");
    fs::write(
        &other,
        story.replace("on-add v1/configmaps default/more", "on-add v1/configmaps default/less"),
    )
    .unwrap();
    let played = play(&other).await;
    assert_eq!(played.status, Some(1), "{}", played.stdout);
    assert!(played.stdout.contains("+ on-add v1/configmaps default/more (live)"), "{}", played.stdout);
    host.running.stop().await;
}

#[tokio::test]
async fn a_failure_is_recorded_and_expected_when_the_story_plays() {
    let mut host = Host::start().await;
    let file = host.file("fails.test.yaml");

    let recording = host.records(&file, "flaky", &["--calls", "1"]).await;
    host.objects.create("web").await;
    ended(recording).await;

    let story = fs::read_to_string(&file).unwrap();
    assert!(story.contains("(live): retry: failure 1 for default/web"), "{story}");
    let played = play(&file).await;
    assert_eq!(played.status, Some(0), "{}{}", played.stdout, played.stderr);
    host.running.stop().await;
}

#[tokio::test]
async fn a_call_that_requests_another_one_is_recorded_and_the_story_plays() {
    let requeues = "[plugin.config]\ntimes = 1\nhow = \"requeue-after\"";
    let mut host = Host::with([("reconciles", requeues), ("signals", "")]).await;
    for (plugin, next) in [("reconciles", "requeue after 1.5s"), ("signals", "again after 600s")] {
        let file = host.file(&format!("{plugin}.test.yaml"));

        let recording = host.records(&file, plugin, &["--calls", "1"]).await;
        host.objects.create_with(plugin, json!({"again": "600000"})).await;
        ended(recording).await;

        let story = fs::read_to_string(&file).unwrap();
        assert!(story.contains(next), "{story}");
        let played = play(&file).await;
        assert_eq!(played.status, Some(0), "{}{}\n{story}", played.stdout, played.stderr);
    }
    host.running.stop().await;
}

#[tokio::test]
async fn a_recording_that_is_interrupted_leaves_no_file() {
    let mut host = Host::start().await;
    let file = host.file("live.test.yaml");
    let recording = host.records(&file, "echo", &[]).await;

    // A shell that starts the tests in the background makes them ignore SIGINT.
    recording.signal("TERM").await;

    assert_eq!(recording.ended(PATIENCE).await.code(), None);
    let entries = fs::read_dir(host.directory.path()).unwrap().map(|entry| entry.unwrap().file_name());
    let left: Vec<_> = entries.filter(|name| name.to_string_lossy().starts_with(".tmp")).collect();
    assert!(left.is_empty() && !file.exists(), "{left:?}");
    host.running.stop().await;
}

#[tokio::test]
async fn a_recording_refuses_another_one_until_it_ends_and_a_recording_without_a_call_leaves_no_file() {
    let mut host = Host::start().await;
    let (first, second) = (host.file("first.test.yaml"), host.file("second.test.yaml"));
    let recording = host.records(&first, "echo", &["--calls", "1"]).await;

    let refused = informer(&host.arguments(&second, "flaky", &[])).await;

    assert_eq!((refused.status, refused.stdout.as_str()), (Some(1), ""));
    assert!(refused.stderr.contains("another recording runs: wait until it ends"), "{}", refused.stderr);
    assert!(!second.exists());
    host.objects.create("web").await;
    ended(recording).await;
    let empty = informer(&host.arguments(&second, "flaky", &["--seconds", "1"])).await;
    assert_eq!(empty.status, Some(1), "{}{}", empty.stdout, empty.stderr);
    assert_eq!(empty.stdout, format!("{}: 0 calls, the time is over\n", second.display()));
    assert!(first.exists() && !second.exists());

    // A story that exists is not replaced.
    let kept = fs::read_to_string(&first).unwrap();
    let again = informer(&host.arguments(&first, "echo", &["--seconds", "1"])).await;
    assert_eq!(again.status, Some(1), "{}", again.stdout);
    assert!(again.stderr.contains("cannot write a new file"), "{}", again.stderr);
    assert_eq!(fs::read_to_string(&first).unwrap(), kept);
    let unknown = informer(&host.arguments(&second, "absent", &[])).await;
    assert!(unknown.stderr.contains("there is no plugin `absent`") && !second.exists(), "{}", unknown.stderr);
    host.running.stop().await;
}
