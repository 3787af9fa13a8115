//! The workqueue of a plugin that reconciles, for the admin endpoint.

use std::time::Duration;

use informer_dispatch::{
    Quarantine,
    workqueue::{DroppedKey, WorkqueueStats},
};
use informer_types::Histogram;
use serde_json::{Value, json};

use super::{RunningPlugin, millis, queue::quarantine};

/// Null for a plugin that neither reconciles nor has keys from a version that did. The names are those of client-go's
/// workqueue metrics where there are any (W-14).
pub(super) fn workqueue(unit: &RunningPlugin) -> Value {
    let stats = stats(unit);
    if !concerns(unit, &stats) {
        return Value::Null;
    }
    json!({
        "depth": stats.depth, "waiting": stats.waiting, "delayed": stats.delayed, "in-hand": stats.in_hand,
        "keys": stats.keys, "capacity": stats.capacity, "paused": stats.paused,
        "adds": stats.adds, "retries": stats.retries, "refused": stats.refused,
        "succeeded": stats.succeeded, "requeued": stats.requeued, "failed": stats.failed,
        "put-back": stats.put_back, "discarded": stats.discarded, "dropped": stats.dropped, "dropped-keys-evicted": stats.dropped_keys_evicted,
        "quarantine": stats.quarantine.as_ref().map(quarantine), "quarantines": stats.quarantines,
        "queue-duration": durations(&stats.latency), "work-duration": durations(&stats.work_duration),
        "unfinished-work-ms": millis(stats.unfinished_work),
        "longest-running-ms": millis(stats.longest_running),
        "dropped-keys": unit.workqueue().dropped().iter().map(dropped).collect::<Vec<_>>(),
    })
}

/// As [`workqueue`], for a look at all queues.
pub(super) fn in_short(unit: &RunningPlugin) -> Value {
    let stats = stats(unit);
    if !concerns(unit, &stats) {
        return Value::Null;
    }
    json!({
        "keys": stats.keys, "dropped-keys": stats.dropped_keys,
        "quarantine": stats.quarantine.as_ref().map(quarantine),
    })
}

/// The plugin reconciles, or has keys from a version that did.
fn concerns(unit: &RunningPlugin, stats: &WorkqueueStats) -> bool {
    unit.plugin().reconciles() || stats.keys > 0 || stats.adds > 0 || stats.dropped_keys > 0
}

/// In no quarantine where the version in service has no reconciler to probe, whatever the one before did.
pub(super) fn stats(unit: &RunningPlugin) -> WorkqueueStats {
    let stats = unit.workqueue().stats();
    WorkqueueStats { quarantine: stats.quarantine.filter(|_| unit.plugin().reconciles()), ..stats }
}

/// As [`stats`] have it.
pub(in crate::app) fn quarantined(unit: &RunningPlugin) -> Option<Quarantine> {
    stats(unit).quarantine
}

/// Buckets by their upper bound in seconds, cumulative.
fn durations(histogram: &Histogram) -> Value {
    let buckets = histogram.cumulative().map(|(bound, count)| json!([bound, count]));
    json!({
        "count": histogram.count(), "sum-ms": seconds(histogram.sum()), "longest-ms": seconds(histogram.max()),
        "buckets": buckets.collect::<Vec<_>>(),
    })
}

fn seconds(seconds: f64) -> u64 {
    millis(Duration::try_from_secs_f64(seconds).unwrap_or_default())
}

fn dropped(dropped: &DroppedKey) -> Value {
    json!({ "key": &*dropped.key, "attempts": dropped.attempts, "failure": dropped.failure.to_string() })
}
