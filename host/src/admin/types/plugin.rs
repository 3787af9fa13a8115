//! The state of one plugin.

use std::collections::BTreeMap;

use serde::{Deserialize, Serialize};

use super::{DeadLetter, Queue, Workqueue};

/// One plugin.
#[derive(Clone, Debug, Default, Serialize, Deserialize)]
#[serde(rename_all = "kebab-case", default)]
pub struct Plugin {
    /// Name in the configuration.
    pub name: String,
    /// File of the component.
    pub source: String,
    /// The version in service.
    pub version: Option<Version>,
    /// What the version in service exports: `handler`, `reconciler`, or both.
    pub exports: Vec<String>,
    /// Why the present content of the file is not in service.
    pub refused: Option<String>,
    /// The log level of the plugin; `None` means that the host's filter decides.
    pub log_level: Option<String>,
    /// Calls of the guest, and calls by the guest.
    pub calls: Calls,
    /// One for each `[[plugin.on]]`.
    pub subscriptions: Vec<Subscription>,
    /// The notifications.
    pub queue: Queue,
    /// The keys; `None` if the plugin has no reconciler and no keys.
    pub workqueue: Option<Workqueue>,
    /// The notifications that are dead letters, the oldest first.
    pub dead_letters: Vec<DeadLetter>,
}

/// A version of a component.
#[derive(Clone, Debug, Default, Serialize, Deserialize)]
#[serde(rename_all = "kebab-case", default)]
pub struct Version {
    /// Name that the guest gives itself.
    pub guest: String,
    /// Version that the guest gives itself.
    pub version: String,
    /// The SDK that the guest names.
    pub sdk: String,
    /// SHA-256 of the file.
    pub digest: String,
    /// Time to compile and instantiate the component, in milliseconds.
    pub prepared_in_ms: u64,
}

/// Calls of the guest, and calls by the guest.
#[derive(Clone, Debug, Default, Serialize, Deserialize)]
#[serde(rename_all = "kebab-case", default)]
pub struct Calls {
    /// Calls that ended.
    pub made: u64,
    /// Calls that returned ok.
    pub acknowledged: u64,
    /// Calls that failed, by kind of failure.
    pub failures: BTreeMap<String, u64>,
    /// The last failure.
    pub last_failure: Option<String>,
    /// Instances of the component.
    pub instances: Instances,
    /// Versions put into service.
    pub swaps: u64,
    /// Versions that failed and were replaced by the version before.
    pub went_back: u64,
    /// Calls of the guest to the host.
    pub host_calls: u64,
    /// Time that guests ran, in milliseconds.
    pub running_ms: u64,
    /// Times that a guest waited for the plugin's share of CPU.
    pub throttled: u64,
    /// Time that guests waited for the plugin's share of CPU, in milliseconds.
    pub throttled_ms: u64,
    /// Times that a guest waited for a turn.
    pub turns_waited_for: u64,
    /// Most turns that other plugins got while one guest waited for its own.
    pub turns_let_pass: u64,
    /// Times that a guest was refused memory.
    pub memory_refusals: u64,
    /// Bytes of log above the limit of a call.
    pub log_bytes_dropped: u64,
    /// Lines of log above the limit of a second.
    pub log_lines_left_out: u64,
    /// Calls of `wasi:keyvalue`.
    pub keyvalue: KeyValue,
    /// Requests to the API server.
    pub client: Client,
    /// Outgoing HTTP requests.
    pub http: Http,
}

/// Instances of a component.
#[derive(Clone, Debug, Default, Serialize, Deserialize)]
#[serde(rename_all = "kebab-case", default)]
pub struct Instances {
    /// Instances created.
    pub created: u64,
    /// Instances discarded because of what a call did.
    pub retired: u64,
    /// Warm instances without a call.
    pub idle: usize,
    /// Calls that waited for an instance.
    pub waited_for: u64,
}

/// Calls of `wasi:keyvalue`.
#[derive(Clone, Debug, Default, Serialize, Deserialize)]
#[serde(default)]
pub struct KeyValue {
    /// Calls that read.
    pub reads: u64,
    /// Calls that wrote.
    pub writes: u64,
    /// Calls refused because of a quota, a limit or a value that is not a number.
    pub refused: u64,
    /// Calls that failed because the state of the host does not work.
    pub failed: u64,
}

/// Requests to the API server.
#[derive(Clone, Debug, Default, Serialize, Deserialize)]
#[serde(rename_all = "kebab-case", default)]
pub struct Client {
    /// Requests sent.
    pub requests: u64,
    /// Requests that failed.
    pub failed: u64,
    /// Requests that no grant allows; they were not sent.
    pub refused: u64,
    /// Requests above the plugin's limit; they were not sent.
    pub limited: u64,
    /// Events left out because there were too many about one object.
    pub events_suppressed: u64,
}

/// Outgoing HTTP requests.
#[derive(Clone, Debug, Default, Serialize, Deserialize)]
#[serde(rename_all = "kebab-case", default)]
pub struct Http {
    /// Requests that ended, by outcome.
    pub requests: BTreeMap<String, u64>,
    /// Requests under way.
    pub in_flight: usize,
    /// Bytes of request bodies.
    pub sent_bytes: u64,
    /// Bytes of response bodies.
    pub received_bytes: u64,
}

/// The filter of one subscription.
#[derive(Clone, Debug, Default, Serialize, Deserialize)]
#[serde(default)]
pub struct Subscription {
    /// The resource.
    pub watch: String,
    /// Notifications that passed to the queue.
    pub passed: u64,
    /// Updates delivered as additions because the object came to match.
    pub entered: u64,
    /// Updates delivered as deletions because the object matches no longer.
    pub left: u64,
    /// Notifications that did not pass, by the first condition that excluded them.
    pub suppressed: Suppressed,
    /// Objects that a condition could not read.
    pub unreadable: u64,
    /// The CEL expression.
    pub when: When,
}

/// Notifications that a filter suppressed, by condition.
#[derive(Clone, Debug, Default, Serialize, Deserialize)]
#[serde(default)]
pub struct Suppressed {
    /// Suppressed by `initial = "skip"`.
    pub initial: u64,
    /// Suppressed by `events`.
    pub events: u64,
    /// Suppressed by `namespaces`.
    pub namespaces: u64,
    /// Suppressed by `labels`.
    pub labels: u64,
    /// Suppressed by `fields`.
    pub fields: u64,
    /// Suppressed by `changed`.
    pub changed: u64,
    /// Suppressed by `when`.
    pub when: u64,
}

/// The evaluations of a CEL expression.
#[derive(Clone, Debug, Default, Serialize, Deserialize)]
#[serde(rename_all = "kebab-case", default)]
pub struct When {
    /// Evaluations.
    pub evaluations: u64,
    /// Evaluations that failed; these notifications passed.
    pub errors: u64,
    /// The last error.
    pub last_error: Option<String>,
    /// Time of all evaluations, in microseconds.
    pub time_us: u64,
    /// Time of the longest evaluation, in microseconds.
    pub longest_us: u64,
}

// === impl Suppressed ===

impl Suppressed {
    /// Each condition with its number of notifications.
    pub fn by_condition(&self) -> [(&'static str, u64); 7] {
        let Self { initial, events, namespaces, labels, fields, changed, when } = *self;
        [
            ("initial", initial),
            ("events", events),
            ("namespaces", namespaces),
            ("labels", labels),
            ("fields", fields),
            ("changed", changed),
            ("when", when),
        ]
    }
}
