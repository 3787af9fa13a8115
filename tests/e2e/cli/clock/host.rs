//! A host whose wall clock jumps, with one plugin for each kind of wait.

use std::{fs, path::Path};

use informer_guests::{configmaps_keyvalue, guest};
use informer_tests::host::PATIENCE;
use k8s_openapi::jiff::Timestamp;
use serde_json::Value;
use tokio::time::{Duration, Instant, sleep};

use super::{
    super::binary::{Finished, Running, informer},
    wall_clock::WallClock,
};

/// The backoff of a failed call and of a failed key.
pub(super) const BACKOFF: Duration = Duration::from_secs(5);

/// The period between two resyncs, and between two probes of a quarantined plugin.
pub(super) const PERIOD: Duration = Duration::from_secs(1);

/// A run of the binary, with its state.
pub(super) struct Host {
    running: Running,
    admin: String,
    /// The log lines that were read so far.
    log: Vec<String>,
}

/// The plugins: `counter` counts in its key-value bucket. `fussy` gives up on each `bad` object. `patient` fails once
/// for each `slow` object. `keys` requeues the key of each `key` object with a rate limit. `resynced` receives
/// resyncs and has a limited rate. `writer` records an Event for each `event` object. `trapping` is in quarantine
/// from its first call on.
fn configuration(server: &str, state: &Path) -> String {
    let on = |prefix: &str| {
        let when = format!("object.metadata.name.startsWith('{prefix}')");
        format!("[[plugin.on]]\nwatch = \"v1/configmaps\"\nwhen = \"{when}\"")
    };
    format!(
        r#"
        [cluster]
        server = "{server}"
        [host]
        admin = "127.0.0.1:0"
        state-dir = {state:?}
        [[watch]]
        gvr = "v1/configmaps"

        [[plugin]]
        name = "counter"
        source = {counter:?}
        {on_count}
        [plugin.grant]
        keyvalue = "1MiB"

        [[plugin]]
        name = "fussy"
        source = {flaky:?}
        config = {{ times = 1000, how = "permanent" }}
        {on_bad}
        initial = "skip"

        [[plugin]]
        name = "patient"
        source = {flaky:?}
        config = {{ times = 1 }}
        retry = {{ min = "{backoff}s", max = "{backoff}s", jitter = 0.0 }}
        {on_slow}

        [[plugin]]
        name = "keys"
        source = {enqueues:?}
        config = {{ how = "add-rate-limited" }}
        workqueue = {{ min = "{backoff}s" }}
        {on_key}

        [[plugin]]
        name = "resynced"
        source = {echo:?}
        queue = {{ rate = 5, burst = 1 }}
        {on_resync}
        resync = "{period}s"

        [[plugin]]
        name = "writer"
        source = {writer:?}
        config = {{ steps = [{{ do = "event", name = "count" }}] }}
        {on_event}
        [plugin.grant]
        write = ["create events.k8s.io/v1/events @default"]
        read = ["v1/configmaps @default"]

        [[plugin]]
        name = "trapping"
        source = {trap:?}
        quarantine = {{ after = 1, min = "{period}s", max = "{period}s" }}
        {on_trap}
        "#,
        backoff = BACKOFF.as_secs(),
        period = PERIOD.as_secs(),
        counter = configmaps_keyvalue(),
        flaky = guest("flaky"),
        enqueues = guest("enqueues"),
        echo = guest("echo"),
        writer = guest("writer"),
        trap = guest("trap"),
        on_count = on("count"),
        on_bad = on("bad"),
        on_slow = on("slow"),
        on_key = on("key"),
        on_resync = on("resync"),
        on_event = on("event"),
        on_trap = on("trap"),
    )
}

// === impl Host ===

impl Host {
    /// Starts the host in this directory, with this clock.
    pub(super) async fn start(server: &str, directory: &Path, clock: &WallClock) -> Self {
        let (url, state) = (server.to_owned(), directory.join("state"));
        let text = tokio::task::spawn_blocking(move || configuration(&url, &state)).await.unwrap();
        let path = directory.join("informer.toml");
        fs::write(&path, text).unwrap();
        let arguments = ["run", "--config", path.to_str().unwrap()];
        let mut running = Running::start_with(&arguments, clock.environment()).await;
        let line = running.logged("the admin endpoint listens").await;
        clock.assert_shows(line.split_whitespace().next().unwrap());
        let admin = line.rsplit_once("address=").unwrap().1.trim().to_owned();
        let mut host = Self { running, admin, log: Vec::new() };
        host.until("ready", |status| status["unready"] == serde_json::json!([])).await;
        host
    }

    pub(super) async fn ask(&self, arguments: &[&str]) -> Finished {
        informer(&[arguments, &["--admin", &self.admin]].concat()).await
    }

    /// Polls the status until the condition holds. Returns the status.
    pub(super) async fn until(&mut self, what: &str, condition: impl Fn(&Value) -> bool) -> Value {
        let deadline = Instant::now() + PATIENCE;
        loop {
            let asked = self.ask(&["status", "--output", "json"]).await;
            let status: Value = serde_json::from_str(&asked.stdout).unwrap();
            if condition(&status) {
                return status;
            }
            assert!(Instant::now() < deadline, "never {what}: {status:#}");
            sleep(Duration::from_millis(50)).await;
        }
    }

    /// Waits until the log has `times` lines with these words since the start. Returns the last of them.
    pub(super) async fn logged(&mut self, words: &str, times: usize) -> String {
        while self.times_logged(words) < times {
            self.log.extend(self.running.log_up_to(words).await);
        }
        self.log.iter().rfind(|line| line.contains(words)).unwrap().clone()
    }

    /// Counts the lines with these words among the lines that were read.
    pub(super) fn times_logged(&self, words: &str) -> usize {
        self.log.iter().filter(|line| line.contains(words)).count()
    }

    /// The second in which this object was given up, from the list of dead letters.
    pub(super) async fn given_up_at(&mut self, name: &str) -> String {
        let object = format!("v1/configmaps default/{name}");
        let deadline = Instant::now() + PATIENCE;
        loop {
            let asked = self.ask(&["dead-letters", "list", "--output", "json"]).await;
            let list: Value = serde_json::from_str(&asked.stdout).unwrap();
            let letter =
                list["dead-letters"].as_array().unwrap().iter().find(|letter| letter["object"] == object);
            if let Some(letter) = letter {
                // The time has a fraction of the second unless the fraction is zero.
                let at: Timestamp = letter["at"].as_str().unwrap().parse().unwrap();
                return Timestamp::from_second(at.as_second()).unwrap().to_string();
            }
            assert!(Instant::now() < deadline, "no letter of {name}: {list:#}");
            sleep(Duration::from_millis(50)).await;
        }
    }

    pub(super) async fn stop(self) {
        self.running.signal("TERM").await;
        assert_eq!(self.running.ended(PATIENCE).await.code(), Some(0));
    }
}

/// The status of one plugin.
pub(super) fn plugin<'a>(status: &'a Value, name: &str) -> &'a Value {
    let plugins = status["plugins"].as_array().unwrap().iter();
    plugins.into_iter().find(|plugin| plugin["name"] == name).unwrap()
}
