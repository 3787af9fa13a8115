//! The statistics of a plugin.

use std::{collections::BTreeMap, time::Duration};

use informer_types::{FailureKind, Histogram, millis};
use serde::{Deserialize, Serialize};

use crate::capabilities::{ClientStats, HttpStats, KeyValueStats, MetricsStats};

/// A snapshot of a plugin's counters since the plugin was made, over all its versions.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize)]
#[serde(rename_all = "kebab-case", default)]
pub struct PluginStats {
    /// Calls for notifications, keys and signals that ended, whatever their result. A batch of notifications is one call.
    #[serde(rename = "made")]
    pub calls: u64,
    /// Calls that returned ok.
    pub acknowledged: u64,
    /// Calls that failed, by kind of failure.
    pub failures: BTreeMap<FailureKind, u64>,
    /// The last failure with its kind, in the guest's own words if it gave any.
    pub last_failure: Option<String>,
    /// Instances of the component.
    pub instances: InstanceStats,
    /// Bytes that are charged to its living instances.
    pub memory_bytes: u64,
    /// Bytes of the linear memories of its living instances, which are a part of `memory_bytes`.
    pub linear_memory_bytes: u64,
    /// Bytes of data that its guests received from the host in calls that ended. Data are objects, fields, values, configuration,
    /// and the answers to requests.
    pub received_bytes: u64,
    /// Bytes of data that its guests passed to the host. Keys, values and bodies of requests count when their call ends; logs count
    /// at once.
    pub sent_bytes: u64,
    /// Number of times that a guest was refused memory.
    pub memory_refusals: u64,
    /// Bytes of log dropped because a call exceeded `log_bytes`.
    pub log_bytes_dropped: u64,
    /// Lines of log left out because the plugin exceeded `log_lines` per second.
    pub log_lines_left_out: u64,
    /// Versions put into service, including those that the plugin went back to.
    pub swaps: u64,
    /// Versions taken out of service because their first calls failed.
    pub went_back: u64,
    /// Counters of the `client` capability.
    pub client: ClientStats,
    /// Seconds from the start of an attempt to its end, including the wait for an instance.
    #[serde(skip)]
    pub durations: Histogram,
    /// Seconds that notifications spent in the queue before their attempt began, the longest of a batch.
    #[serde(skip)]
    pub queued: Histogram,
    /// Seconds from the time when the watch received a change until its handler returned ok, with all waits and retries. Only
    /// changes that the watch sent count. If several merged, or are in one batch, the time of the oldest counts.
    #[serde(skip)]
    pub watch_to_done: Histogram,
    /// Counters of the plugin's own metrics.
    #[serde(skip)]
    pub metrics: MetricsStats,
    /// Counters of the plugin's HTTP requests.
    pub http: HttpStats,
    /// Calls of guests to the host, including those of WASI.
    pub host_calls: u64,
    /// Time that guests ran on a thread. Waiting does not count.
    #[serde(rename = "running-ms", with = "millis")]
    pub running: Duration,
    /// Slices that guests ran in: a slice lasts from one wait, in the host or for a turn, to the next.
    #[serde(skip)]
    pub slices: u64,
    /// Number of times that a guest waited because the plugin had used up its share of the processors.
    pub throttled: u64,
    /// Time spent in these waits, summed over all instances.
    #[serde(rename = "throttled-ms", with = "millis")]
    pub throttled_time: Duration,
    /// Number of times that a guest waited for a turn because other guests ran.
    #[serde(rename = "turns-waited-for")]
    pub turns_waited: u64,
    /// The most turns that the other plugins together were given while one guest of this plugin waited for its own. With one guest
    /// at a time it is at most the number of the other plugins. A turn that another plugin keeps while it catches up does not count.
    pub turns_let_pass: u64,
    /// Counters of the plugin's key-values.
    pub keyvalue: KeyValueStats,
}

/// Counters of the instances of a component.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "kebab-case", default)]
pub struct InstanceStats {
    /// Instances made.
    pub created: u64,
    /// Instances dropped because of what a call did: a trap, a missed deadline, a refused allocation, or a call whose
    /// future was dropped.
    pub retired: u64,
    /// Warm instances without a call.
    pub idle: usize,
    /// Calls that waited for an instance.
    #[serde(rename = "waited-for")]
    pub waited: u64,
}
