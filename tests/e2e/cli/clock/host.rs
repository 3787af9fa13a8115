//! A host whose wall clock jumps, with one plugin for each kind of wait.

use std::{fs, path::Path};

use informer_guests::{configmaps_keyvalue, guest};
use informer_tests::toml;
use k8s_openapi::jiff::Timestamp;
use serde_json::Value;
use tokio::time::Duration;

use super::{
    super::binary::{Finished, Running, informer, until},
    wall_clock::WallClock,
};

/// The backoff of a failed call and of a failed key.
pub(super) const BACKOFF: Duration = Duration::from_secs(5);

/// The period between two resyncs, and between two probes of a quarantined plugin.
pub(super) const PERIOD: Duration = Duration::from_secs(1);

/// The configuration of the plugin `writer`.
const WRITER: &str = r#"
[plugin.config]
steps = [{ do = "event", name = "count" }]
[plugin.grant]
write = ["create events.k8s.io/v1/events @default"]
read = ["v1/configmaps @default"]"#;

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
    let (backoff, period) = (BACKOFF.as_secs(), PERIOD.as_secs());
    let plugin = |name: &str, component: &Path, prefix: &str, lines: &str| {
        let when = format!("when = \"object.metadata.name.startsWith('{prefix}')\"\n{lines}");
        toml::plugin(name, component, "v1/configmaps", &when)
    };
    let flaky = guest("flaky");
    let head =
        format!("[cluster]\nserver = \"{server}\"\n[host]\nadmin = \"127.0.0.1:0\"\nstate-dir = {state:?}\n");
    [
        head,
        toml::watch("v1/configmaps"),
        plugin("counter", &configmaps_keyvalue(), "count", "[plugin.grant]\nkeyvalue = \"1MiB\""),
        plugin(
            "fussy",
            &flaky,
            "bad",
            "initial = \"skip\"\n[plugin.config]\ntimes = 1000\nhow = \"permanent\"",
        ),
        plugin(
            "patient",
            &flaky,
            "slow",
            &format!(
                "[plugin.config]\ntimes = 1\n\
                 [plugin.retry]\nmin = \"{backoff}s\"\nmax = \"{backoff}s\"\njitter = 0.0"
            ),
        ),
        plugin(
            "keys",
            &guest("enqueues"),
            "key",
            &format!("[plugin.config]\nhow = \"add-rate-limited\"\n[plugin.workqueue]\nmin = \"{backoff}s\""),
        ),
        plugin(
            "resynced",
            &guest("echo"),
            "resync",
            &format!("resync = \"{period}s\"\n[plugin.queue]\nrate = 5\nburst = 1"),
        ),
        plugin("writer", &guest("writer"), "event", WRITER),
        plugin(
            "trapping",
            &guest("trap"),
            "trap",
            &format!("[plugin.quarantine]\nafter = 1\nmin = \"{period}s\"\nmax = \"{period}s\""),
        ),
    ]
    .concat()
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
        let arguments = ["status", "--output", "json", "--admin", &self.admin];
        until(what, &arguments, |answer| condition(&answer.json())).await.json()
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
        let given_up = |list: &Value| -> Option<Timestamp> {
            let letter = list["dead-letters"].as_array()?.iter().find(|letter| letter["object"] == object)?;
            letter["at"].as_str()?.parse().ok()
        };
        let what = format!("a dead letter of {name}");
        let arguments = ["dead-letters", "list", "--output", "json", "--admin", &self.admin];
        let list = until(&what, &arguments, |answer| given_up(&answer.json()).is_some()).await.json();
        // The time has a fraction of the second unless the fraction is zero.
        Timestamp::from_second(given_up(&list).unwrap().as_second()).unwrap().to_string()
    }

    pub(super) async fn stop(self) {
        self.running.stop().await;
    }
}

/// The status of one plugin.
pub(super) fn plugin<'a>(status: &'a Value, name: &str) -> &'a Value {
    let plugins = status["plugins"].as_array().unwrap().iter();
    plugins.into_iter().find(|plugin| plugin["name"] == name).unwrap()
}
