//! One plugin.

use informer_runtime::{PluginStats, VersionInfo};

use super::{dead_letters::dead_letter, queue::queue, subscription::subscription, workqueue::workqueue};
use crate::{
    admin::types::{self, millis},
    app::running_plugin::RunningPlugin,
    logging::WrittenLevel,
};

pub(super) fn plugin(plugin: &RunningPlugin) -> types::Plugin {
    let version = plugin.plugin().version();
    types::Plugin {
        name: plugin.name().to_owned(),
        source: plugin.source().display().to_string(),
        exports: version.as_ref().map(exports).unwrap_or_default(),
        version: version.map(|version| types::Version {
            guest: version.name,
            version: version.version,
            sdk: version.sdk,
            digest: (*version.digest).to_owned(),
            prepared_in_ms: millis(version.prepared_in),
        }),
        refused: plugin.refused(),
        log_level: plugin.log_level().get().map(|level| WrittenLevel(Some(level)).as_str().to_owned()),
        calls: calls(&plugin.plugin().stats()),
        subscriptions: plugin.filters().iter().map(|(gvr, stats)| subscription(gvr, stats)).collect(),
        queue: queue(&plugin.queue().stats(), &plugin.queue_config()),
        workqueue: workqueue(plugin),
        dead_letters: plugin.queue().dead_letters().list().iter().map(dead_letter).collect(),
    }
}

fn exports(version: &VersionInfo) -> Vec<String> {
    let exports = [("handler", version.handles), ("reconciler", version.reconciles)];
    exports.into_iter().filter(|(_, exported)| *exported).map(|(name, _)| name.to_owned()).collect()
}

fn calls(stats: &PluginStats) -> types::Calls {
    types::Calls {
        made: stats.calls,
        acknowledged: stats.acknowledged,
        failures: stats.failures.iter().map(|(kind, count)| (kind.to_string(), *count)).collect(),
        last_failure: stats.last_failure.as_ref().map(ToString::to_string),
        instances: types::Instances {
            created: stats.instances_created,
            retired: stats.instances_retired,
            idle: stats.instances_idle,
            waited_for: stats.instances_waited,
        },
        swaps: stats.swaps,
        went_back: stats.went_back,
        host_calls: stats.host_calls,
        running_ms: millis(stats.running),
        throttled: stats.throttled,
        throttled_ms: millis(stats.throttled_time),
        turns_waited_for: stats.turns_waited,
        turns_let_pass: stats.turns_let_pass,
        memory_refusals: stats.memory_refusals,
        log_bytes_dropped: stats.log_bytes_dropped,
        log_lines_left_out: stats.log_lines_left_out,
        keyvalue: types::KeyValue {
            reads: stats.keyvalue.reads,
            writes: stats.keyvalue.writes,
            refused: stats.keyvalue.refused,
            failed: stats.keyvalue.failed,
        },
        client: types::Client {
            requests: stats.client.requests,
            failed: stats.client.failed,
            refused: stats.client.refused,
            limited: stats.client.limited,
            events_suppressed: stats.client.events_suppressed,
        },
        http: types::Http {
            requests: stats
                .http
                .requests
                .iter()
                .map(|(outcome, count)| (outcome.to_string(), *count))
                .collect(),
            in_flight: stats.http.in_flight,
            sent_bytes: stats.http.sent_bytes,
            received_bytes: stats.http.received_bytes,
        },
    }
}
