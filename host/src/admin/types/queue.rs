//! The queue of a plugin's notifications.

use serde::{Deserialize, Serialize};

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
    pub reconciler: Option<Reconciler>,
}

/// The queue of one plugin.
#[derive(Clone, Debug, Default, Serialize, Deserialize)]
#[serde(rename_all = "kebab-case", default)]
pub struct Queue {
    /// Notifications offered by listeners.
    pub offered: u64,
    /// Notifications whose handler returned ok.
    pub acknowledged: u64,
    /// Additions and deletions that cancelled each other.
    pub cancelled: u64,
    /// Notifications that became part of a pending one.
    pub merged: Merged,
    /// Notifications that became dead letters.
    pub dead: u64,
    /// Notifications given up without a dead letter.
    pub dropped: u64,
    /// Notifications discarded when the queue was closed.
    pub discarded: u64,
    /// Attempts to deliver.
    pub delivered: u64,
    /// Attempts that failed and are repeated.
    pub retried: u64,
    /// Attempts that the host interrupted.
    pub given_back: u64,
    /// Notifications that no worker has.
    pub pending: usize,
    /// Objects that wait for their retry.
    pub waiting: usize,
    /// Notifications that workers have.
    pub in_flight: usize,
    /// True while no calls are made.
    pub paused: bool,
    /// Objects with a notification that is pending or in flight.
    pub objects: usize,
    /// Age of the oldest notification that is not settled, in milliseconds.
    pub oldest_ms: Option<u64>,
    /// `latest` or `every`.
    pub delivery: String,
    /// Changes that `every` keeps apart; `None` for `latest`.
    pub capacity: Option<usize>,
    /// True while changes merge that `every` would keep apart.
    pub behind: bool,
    /// Times that this began.
    pub overflows: u64,
    /// Most deliveries per second; `None` means no limit.
    pub rate: Option<f64>,
    /// Deliveries that waited for the rate.
    pub rate_limited: u64,
    /// Most retries per second, all objects together.
    pub retry_budget: Option<f64>,
    /// Retries that waited for this budget.
    pub over_budget: u64,
    /// The quarantine of the plugin, if it is in quarantine.
    pub quarantine: Option<Quarantine>,
    /// Times that the plugin was put in quarantine.
    pub quarantines: u64,
    /// Dead letters kept.
    pub dead_letters: usize,
    /// Dead letters that newer ones replaced.
    pub dead_letters_evicted: u64,
}

/// Merged notifications, by the kind of the result.
#[derive(Clone, Debug, Default, Serialize, Deserialize)]
#[serde(default)]
pub struct Merged {
    /// Merged into an addition.
    pub add: u64,
    /// Merged into an update.
    pub update: u64,
    /// Merged into a deletion.
    pub delete: u64,
    /// Merged into a resync.
    pub resync: u64,
}

/// The quarantine of a plugin or of its reconciler.
#[derive(Clone, Debug, Default, Serialize, Deserialize)]
#[serde(rename_all = "kebab-case", default)]
pub struct Quarantine {
    /// Time since it began, in milliseconds.
    pub lasting_ms: u64,
    /// Time until the next probe, in milliseconds.
    pub probe_in_ms: u64,
    /// Probes that failed.
    pub failed_probes: u32,
    /// The failure that led to it.
    pub failure: String,
    /// The whole quarantine in one sentence.
    pub text: String,
}

/// The workqueue in short, for the overview of all queues.
#[derive(Clone, Debug, Default, Serialize, Deserialize)]
#[serde(rename_all = "kebab-case", default)]
pub struct Reconciler {
    /// Distinct keys, wherever they are.
    pub keys: usize,
    /// Keys that are dead letters.
    pub dropped_keys: usize,
    /// The quarantine of the reconciler, if it is in quarantine.
    pub quarantine: Option<Quarantine>,
}
