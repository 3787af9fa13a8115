//! The rows of the overview, and the details of one plugin.

use std::time::Duration;

use informer_cache::InformerStatus;
use informer_dispatch::workqueue::WorkqueueStats;
use informer_runtime::{PluginStats, capabilities::HttpStats};
use informer_types::{Histogram, counted};

use super::super::plugin::{plugin as status_of, workqueue};
use crate::{
    admin::dashboard::{InformerRow, PluginDetail, PluginGrant, PluginRow},
    app::running_plugin::RunningPlugin,
};

/// The state of a plugin of which one queue is in quarantine: its handler or its reconciler is not called, or its signals are not
/// delivered.
pub(super) const QUARANTINE: &str = "quarantine";

/// The most characters of a failure in a row.
const WHY: usize = 300;

pub(super) fn informer(status: &InformerStatus, superseded: bool) -> InformerRow {
    let watch = status.key.to_string();
    let lag = status.reflectors.iter().map(|reflector| reflector.lag).max();
    InformerRow {
        id: if superseded { format!("{watch} (superseded)") } else { watch.clone() },
        watch,
        gvr: status.key.gvr.to_string(),
        phase: status.phase.as_str(),
        synced: status.synced,
        superseded,
        lag_ms: lag.map_or(0, millis),
        age: status.age_in_words(),
        objects: status.objects,
        bytes: status.bytes,
        queued: status.queued_deltas,
        events: status.counters.events,
        relists: status.counters.relists,
        failures: status.counters.failures,
        troubles: status.troubles().iter().map(ToString::to_string).collect(),
    }
}

/// `stands_by` is true if the host does not lead, so that it loads no version.
pub(super) fn plugin(plugin: &RunningPlugin, stands_by: bool) -> PluginRow {
    let (calls, queue, keys) = (plugin.plugin().stats(), plugin.queue().stats(), workqueue(plugin));
    let signals = plugin.signals().queue().stats();
    let version = plugin.plugin().version();
    let of_keys = keys.quarantine.as_ref().or(signals.quarantine.as_ref());
    let quarantine = queue.quarantine.as_ref().or(of_keys);
    let refused = plugin.versions().refused();
    let (state, why) = match (quarantine, &refused, &version) {
        (Some(quarantine), ..) => (QUARANTINE, Some(quarantine.failure.clone())),
        (None, Some(why), _) => ("refused", Some(why.clone())),
        (None, None, None) if stands_by => ("standing by", None),
        (None, None, None) => ("loading", None),
        (None, None, Some(_)) if queue.paused => ("paused", None),
        (None, None, Some(_)) => ("serving", None),
    };
    PluginRow {
        name: plugin.name().to_owned(),
        state,
        why: why.map(|why| why.chars().take(WHY).collect()),
        version: version.map(|version| format!("{} {}", version.name, version.version)),
        calls: calls.calls,
        failures: calls.failures.values().sum(),
        p50_ms: quantile(&calls.durations, 0.5),
        p99_ms: quantile(&calls.durations, 0.99),
        memory_bytes: calls.memory_bytes,
        pending: queue.pending,
        in_flight: queue.in_flight + keys.in_flight,
        keys: pending(&keys),
        oldest_ms: queue.oldest.map(millis),
        dead_letters: queue.dead_letters + keys.dropped_keys + signals.dropped_keys,
        grants: grants(plugin, &calls).iter().map(|grant| grant.kind).collect(),
    }
}

pub(super) fn detail(plugin: &RunningPlugin) -> PluginDetail {
    let calls = plugin.plugin().stats();
    let mut status = status_of(plugin);
    status.dead_letters.clear();
    for keys in [&mut status.workqueue, &mut status.signals].into_iter().flatten() {
        keys.dropped_keys.clear();
    }
    PluginDetail {
        plugin: status,
        grants: grants(plugin, &calls),
        p50_ms: quantile(&calls.durations, 0.5),
        p99_ms: quantile(&calls.durations, 0.99),
    }
}

/// The number of keys that are ready or delayed.
fn pending(keys: &WorkqueueStats) -> usize {
    keys.keys.saturating_sub(keys.in_flight)
}

/// The grants of the configuration, and the number of uses of each.
fn grants(plugin: &RunningPlugin, calls: &PluginStats) -> Vec<PluginGrant> {
    let granted = plugin.grants();
    let mut grants = Vec::new();
    let mut add = |kind, granted: Vec<String>, used| grants.push(PluginGrant { kind, granted, used });
    if let Some(read) = &granted.read {
        let lines = read.iter().map(|(gvr, subresource, namespaces)| match subresource {
            Some(subresource) => format!("{gvr}/{subresource}{namespaces}"),
            None => format!("{gvr}{namespaces}"),
        });
        add("read", lines.collect(), None);
    }
    if let Some(write) = &granted.write {
        let client = &calls.client;
        let used = format!(
            "{}, {} failed, {} refused, {} over the limit",
            counted(client.requests, "request"),
            client.failed,
            client.refused,
            client.limited
        );
        add("write", write.iter().map(ToString::to_string).collect(), Some(used));
    }
    let secrets: Vec<String> = granted.secrets.iter().map(ToString::to_string).collect();
    if !secrets.is_empty() {
        add("secrets", secrets, None);
    }
    if let Some(http) = &granted.http {
        add("http", http.iter().map(ToString::to_string).collect(), Some(requests(&calls.http)));
    }
    if let Some(bytes) = granted.keyvalue {
        let stats = &calls.keyvalue;
        let (reads, writes) = (counted(stats.reads, "read"), counted(stats.writes, "write"));
        let used = format!("{reads}, {writes}, {} refused", stats.refused);
        add("keyvalue", vec![format!("{bytes} bytes")], Some(used));
    }
    grants
}

fn requests(http: &HttpStats) -> String {
    let total: u64 = http.requests.values().sum();
    let requests = counted(total, "request");
    format!("{requests}, {} in flight, {} bytes received", http.in_flight, http.received_bytes)
}

/// The bound, in milliseconds, at or below which this part of the observations is. `None` if there are none.
fn quantile(seconds: &Histogram, part: f64) -> Option<f64> {
    if seconds.count() == 0 {
        return None;
    }
    #[expect(clippy::cast_precision_loss, reason = "an estimate")]
    let wanted = seconds.count() as f64 * part;
    #[expect(clippy::cast_precision_loss, reason = "an estimate")]
    let found = seconds.cumulative().find(|(_, count)| *count as f64 >= wanted);
    let bound = found.map_or(seconds.max(), |(bound, _)| bound.min(seconds.max()));
    Some((bound * 1e6).round() / 1e3)
}

fn millis(duration: Duration) -> u64 {
    u64::try_from(duration.as_millis()).unwrap_or(u64::MAX)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_key_in_flight_is_not_pending() {
        let keys = WorkqueueStats { keys: 5, in_flight: 2, ..WorkqueueStats::default() };

        assert_eq!(pending(&keys), 3);
    }

    #[test]
    fn a_quantile_is_the_bound_of_its_bucket_but_not_above_the_longest() {
        let mut seconds = Histogram::new(&[0.001, 0.01, 0.1]);
        assert_eq!(quantile(&seconds, 0.5), None);
        for value in [0.0005, 0.0006, 0.02, 7.0] {
            seconds.observe(value);
        }

        assert_eq!(quantile(&seconds, 0.5), Some(1.0));
        assert_eq!(quantile(&seconds, 0.75), Some(100.0));
        assert_eq!(quantile(&seconds, 0.99), Some(7_000.0));
    }
}
