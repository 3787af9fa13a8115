//! The state of one plugin and of its queues.

use std::time::Duration;

use informer_dispatch::{
    DeliveryMode, FilterStats, Quarantine, QueueConfig, QueueStats, workqueue::WorkqueueStats,
};
use informer_runtime::PluginStats;
use informer_types::millis;
use serde::{Deserialize, Serialize};

use super::DeadLetter;

/// One plugin.
#[derive(Clone, Debug, Default, Serialize, Deserialize)]
#[serde(rename_all = "kebab-case", default)]
pub struct Plugin {
    /// Name in the configuration.
    pub name: String,
    /// File of the component, or its name in a registry.
    pub source: String,
    /// The ServiceAccount in whose name its own requests are sent; `None` means the identity of the host.
    #[serde(rename = "as")]
    pub account: Option<String>,
    /// The pulls from its registry; `None` for a file, and before the first pull.
    pub pull: Option<Pull>,
    /// The version in service.
    pub version: Option<Version>,
    /// The exports of the version in service: `handler` or `batch-handler`, `reconciler`, `sync-handler`, `timer-handler`,
    /// `config-handler`.
    pub exports: Vec<String>,
    /// Why the present content of the file is not in service.
    pub refused: Option<String>,
    /// The log level of the plugin; `None` means that the host's filter decides.
    pub log_level: Option<String>,
    /// Calls of the guest, and calls by the guest.
    pub calls: PluginStats,
    /// One for each `[[plugin.on]]`.
    pub subscriptions: Vec<Subscription>,
    /// Its acknowledgements on disk; `None` unless a subscription has `initial = "changed"`.
    pub receipts: Option<Receipts>,
    /// The notifications.
    pub queue: Queue,
    /// The keys; `None` if the plugin has no reconciler and no keys.
    pub workqueue: Option<Workqueue>,
    /// The signals: calls for complete caches, for timers and for changed configuration files; `None` if there was none.
    pub signals: Option<Workqueue>,
    /// The notifications that are dead letters, the oldest first.
    pub dead_letters: Vec<DeadLetter>,
}

/// The pulls of a plugin from its registry.
#[derive(Clone, Debug, Default, Serialize, Deserialize)]
#[serde(rename_all = "kebab-case", default)]
pub struct Pull {
    /// The digest of the artifact that was accepted last.
    pub artifact: Option<String>,
    /// Why the registry does not serve it, or why it is refused; `None` if the last pull succeeded.
    pub failing: Option<FailingPull>,
}

/// Pulls that fail.
#[derive(Clone, Debug, Default, Serialize, Deserialize)]
#[serde(rename_all = "kebab-case", default)]
pub struct FailingPull {
    /// The last failure.
    pub why: String,
    /// Failed pulls since the last success.
    pub attempts: u32,
    /// Time until the next pull.
    #[serde(rename = "next-in-ms", with = "millis")]
    pub next_in: Duration,
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
    /// Time to compile the component, or to load its code from the cache.
    #[serde(rename = "prepared-in-ms", with = "millis")]
    pub prepared_in: Duration,
}

/// The filter of one subscription.
#[derive(Clone, Debug, Default, Serialize, Deserialize)]
#[serde(default)]
pub struct Subscription {
    /// The resource.
    pub watch: String,
    /// The counters of the filter.
    #[serde(flatten)]
    pub filter: FilterStats,
}

/// The acknowledgements of a plugin on disk.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
#[serde(default)]
pub struct Receipts {
    /// Objects whose last acknowledged state is on disk.
    pub objects: u64,
    /// Bytes of these states on disk, without the overhead of the database.
    pub bytes: u64,
    /// Objects whose last acknowledgement is not written yet.
    pub unwritten: usize,
    /// Why the last write failed. `None` if it succeeded.
    pub failing: Option<String>,
}

/// The queue of a plugin's notifications.
#[derive(Clone, Debug, Default, Serialize, Deserialize)]
#[serde(rename_all = "kebab-case", default)]
pub struct Queue {
    /// Counters and gauges.
    #[serde(flatten)]
    pub stats: QueueStats,
    /// `latest` or `every`.
    pub delivery: String,
    /// Changes that `every` keeps apart; `None` for `latest`.
    pub capacity: Option<usize>,
    /// Most deliveries per second; `None` means no limit.
    pub rate: Option<f64>,
    /// Retries per first attempt; `None` means no limit.
    pub retry_budget: Option<f64>,
}

/// The workqueue of a plugin's own keys, or the queue of its signals.
#[derive(Clone, Debug, Default, Serialize, Deserialize)]
#[serde(rename_all = "kebab-case", default)]
pub struct Workqueue {
    /// Counters and gauges.
    #[serde(flatten)]
    pub stats: WorkqueueStats,
    /// The keys that are dead letters.
    pub dropped_keys: Vec<DroppedKey>,
}

/// A key that the host gave up.
#[derive(Clone, Debug, Default, Serialize, Deserialize)]
#[serde(default)]
pub struct DroppedKey {
    /// The key.
    pub key: String,
    /// Calls made.
    pub attempts: u32,
    /// The last failure.
    pub failure: String,
}

/// The answer to `GET /queues`.
#[derive(Clone, Debug, Default, Serialize, Deserialize)]
#[serde(default)]
pub struct Queues {
    /// One for each plugin, in the order of the configuration.
    pub queues: Vec<PluginQueue>,
}

/// The queues of one plugin.
#[derive(Clone, Debug, Default, Serialize, Deserialize)]
#[serde(default)]
pub struct PluginQueue {
    /// Name of the plugin.
    pub plugin: String,
    /// Its notifications.
    #[serde(flatten)]
    pub queue: Queue,
    /// Its keys; `None` if the plugin has no reconciler and no keys.
    pub reconciler: Option<WorkqueueSummary>,
    /// Its signals; `None` if there was none.
    pub signals: Option<WorkqueueSummary>,
}

/// The state of a workqueue, or of the queue of signals, for the overview of all queues.
#[derive(Clone, Debug, Default, Serialize, Deserialize)]
#[serde(rename_all = "kebab-case", default)]
pub struct WorkqueueSummary {
    /// Distinct keys, wherever they are.
    pub keys: usize,
    /// Keys that are dead letters.
    pub dropped_keys: usize,
    /// The quarantine of the reconciler or of the signals, if there is one.
    pub quarantine: Option<Quarantine>,
}

// === impl Queue ===

impl Queue {
    pub(crate) fn new(stats: QueueStats, config: &QueueConfig) -> Self {
        let (delivery, capacity) = match config.delivery {
            DeliveryMode::Latest => ("latest", None),
            DeliveryMode::Every { capacity } => ("every", Some(capacity.into())),
        };
        Self {
            stats,
            delivery: delivery.to_owned(),
            capacity,
            rate: config.rate.map(|rate| rate.per_second),
            retry_budget: config.retry_budget,
        }
    }
}
