//! The statistics of a plugin, composed from the counters of the modules that count.

use std::{collections::BTreeMap, time::Duration};

use informer_types::{Failure, FailureKind, Histogram};

use crate::{
    capabilities::{ClientStats, HttpStats, KeyValueStats, MetricsStats},
    counters::Counters,
    plugin::{CallStats, Slots},
    schedule::Lane,
};

/// A snapshot of a plugin's counters since the plugin was made, over all its versions.
#[derive(Clone, Debug, PartialEq)]
pub struct PluginStats {
    /// Calls of `handler` and `reconciler` that ended, whatever their result.
    pub calls: u64,
    /// Calls that returned ok.
    pub acknowledged: u64,
    /// Calls that failed, by kind of failure.
    pub failures: BTreeMap<FailureKind, u64>,
    /// The last failure, in the guest's own words if it gave any.
    pub last_failure: Option<Failure>,
    /// Instances made.
    pub instances_created: u64,
    /// Instances dropped because of what a call did: a trap, a missed deadline, a refused allocation, or a call whose
    /// future was dropped.
    pub instances_retired: u64,
    /// Warm instances without a call.
    pub instances_idle: usize,
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
    pub durations: Histogram,
    /// Seconds that notifications spent in the queue before their attempt began.
    pub queued: Histogram,
    /// Counters of the plugin's own metrics.
    pub metrics: MetricsStats,
    /// Counters of the plugin's HTTP requests.
    pub http: HttpStats,
    /// Calls of guests to the host, including those of WASI.
    pub host_calls: u64,
    /// Time that guests ran on a thread. Waiting does not count.
    pub running: Duration,
    /// Slices that guests ran in: a slice lasts from one wait, in the host or for a turn, to the next.
    pub slices: u64,
    /// Number of times that a guest waited because the plugin had used up its share of the processors.
    pub throttled: u64,
    /// Time spent in these waits, summed over all instances.
    pub throttled_time: Duration,
    /// Number of times that a guest waited for a turn because other guests ran.
    pub turns_waited: u64,
    /// The most turns that the other plugins together were given while one guest of this plugin waited for its own. With
    /// one guest at a time it is at most the number of the other plugins, unless one of them is behind and catches up.
    pub turns_let_pass: u64,
    /// Calls that waited for an instance.
    pub instances_waited: u64,
    /// Counters of the plugin's key-values.
    pub keyvalue: KeyValueStats,
}

/// The parts of a plugin that count.
pub(crate) struct Parts<'a> {
    pub(crate) calls: CallStats,
    pub(crate) counters: &'a Counters,
    pub(crate) lane: &'a Lane,
    pub(crate) slots: &'a Slots,
    pub(crate) idle: usize,
    pub(crate) swaps: u64,
}

// === impl PluginStats ===

impl From<Parts<'_>> for PluginStats {
    fn from(Parts { calls, counters, lane, slots, idle, swaps }: Parts<'_>) -> Self {
        Self {
            calls: calls.calls,
            acknowledged: calls.acknowledged,
            failures: calls.failures,
            last_failure: calls.last_failure,
            durations: calls.durations,
            queued: calls.queued,
            went_back: calls.went_back,
            instances_created: counters.instances.created.get(),
            instances_retired: counters.instances.retired.get(),
            memory_refusals: counters.instances.memory_refusals.get(),
            host_calls: counters.instances.host_calls.get(),
            log_bytes_dropped: counters.output.bytes_dropped(),
            log_lines_left_out: counters.output.lines_left_out(),
            client: counters.client.snapshot(),
            http: counters.http.snapshot(),
            keyvalue: counters.keyvalue.snapshot(),
            metrics: counters.metrics.stats(),
            running: lane.counters.running.duration(),
            slices: lane.counters.slices.get(),
            throttled: lane.counters.throttled.get(),
            throttled_time: lane.counters.throttled_time.duration(),
            turns_waited: lane.counters.turns_waited.get(),
            turns_let_pass: lane.turns_let_pass(),
            instances_waited: slots.waited(),
            instances_idle: idle,
            swaps,
        }
    }
}
