//! The workqueue of one plugin.

use std::time::Duration;

use informer_dispatch::workqueue::{DroppedKey, WorkqueueStats};
use informer_types::Histogram;

use super::queue::quarantine;
use crate::{
    admin::types::{self, millis},
    app::running_plugin::RunningPlugin,
};

/// Returns `None` for a plugin that neither reconciles nor has keys from a version that did.
pub(super) fn workqueue(plugin: &RunningPlugin) -> Option<types::Workqueue> {
    let stats = concerning(plugin)?;
    Some(types::Workqueue {
        depth: stats.depth,
        waiting: stats.waiting,
        delayed: stats.delayed,
        in_hand: stats.in_flight,
        keys: stats.keys,
        capacity: stats.capacity,
        paused: stats.paused,
        adds: stats.adds,
        retries: stats.retries,
        refused: stats.refused,
        succeeded: stats.succeeded,
        requeued: stats.requeued,
        failed: stats.failed,
        put_back: stats.put_back,
        discarded: stats.discarded,
        dropped: stats.dropped,
        dropped_keys_evicted: stats.dropped_keys_evicted,
        quarantine: stats.quarantine.as_ref().map(quarantine),
        quarantines: stats.quarantines,
        queue_duration: durations(&stats.latency),
        work_duration: durations(&stats.work_duration),
        unfinished_work_ms: millis(stats.unfinished_work),
        longest_running_ms: millis(stats.longest_running),
        dropped_keys: plugin.workqueue().dropped().list().iter().map(dropped).collect(),
    })
}

/// The same in short, for the overview of all queues.
pub(super) fn reconciler(plugin: &RunningPlugin) -> Option<types::Reconciler> {
    let stats = concerning(plugin)?;
    Some(types::Reconciler {
        keys: stats.keys,
        dropped_keys: stats.dropped_keys,
        quarantine: stats.quarantine.as_ref().map(quarantine),
    })
}

/// Returns `None` if the plugin neither reconciles nor has keys from a version that did.
fn concerning(plugin: &RunningPlugin) -> Option<WorkqueueStats> {
    let stats = stats(plugin);
    let concerns = plugin.plugin().reconciles() || stats.keys > 0 || stats.adds > 0 || stats.dropped_keys > 0;
    concerns.then_some(stats)
}

/// The statistics without a quarantine if the version in service has no reconciler to probe.
pub(super) fn stats(plugin: &RunningPlugin) -> WorkqueueStats {
    let stats = plugin.workqueue().stats();
    WorkqueueStats { quarantine: stats.quarantine.filter(|_| plugin.plugin().reconciles()), ..stats }
}

fn durations(histogram: &Histogram) -> types::Durations {
    let rounded = |seconds| millis(Duration::try_from_secs_f64(seconds).unwrap_or_default());
    types::Durations {
        count: histogram.count(),
        sum_ms: rounded(histogram.sum()),
        longest_ms: rounded(histogram.max()),
        buckets: histogram.cumulative().collect(),
    }
}

fn dropped(dropped: &DroppedKey) -> types::DroppedKey {
    types::DroppedKey {
        key: (*dropped.key).to_owned(),
        attempts: dropped.attempts,
        failure: dropped.failure.to_string(),
    }
}
