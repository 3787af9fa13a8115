//! One plugin.

use informer_dispatch::workqueue::{DroppedKey, WorkqueueStats};
use informer_runtime::VersionInfo;

use super::dead_letters::dead_letter;
use crate::{
    admin::types::{self, PluginQueue, Queue, Subscription, Version, Workqueue, WorkqueueSummary},
    app::running_plugin::RunningPlugin,
    logging::WrittenLevel,
};

pub(super) fn plugin(plugin: &RunningPlugin) -> types::Plugin {
    let version = plugin.plugin().version();
    let subscription = |(gvr, filter)| Subscription { watch: String::from(gvr), filter };
    types::Plugin {
        name: plugin.name().to_owned(),
        source: plugin.versions().origin().source.to_string(),
        account: plugin.account().map(|account| account.to_string()),
        pull: plugin.versions().pulls().status(),
        exports: version.as_ref().map(exports).unwrap_or_default(),
        version: version.map(|version| Version {
            guest: version.name,
            version: version.version,
            sdk: version.sdk,
            digest: (*version.digest).to_owned(),
            prepared_in: version.prepared_in,
        }),
        refused: plugin.versions().refused(),
        log_level: plugin.log_level().get().map(|level| WrittenLevel(Some(level)).as_str().to_owned()),
        calls: plugin.plugin().stats(),
        subscriptions: plugin.subscriptions().filters().into_iter().map(subscription).collect(),
        receipts: {
            let receipts = plugin.subscriptions().receipts();
            receipts.receipts().keeps_any().then(|| receipts.kept())
        },
        queue: Queue::new(plugin.queue().stats(), &plugin.queue_config()),
        workqueue: concerning(plugin).map(|stats| Workqueue {
            stats,
            dropped_keys: plugin.workqueue().dropped().list().iter().map(dropped).collect(),
        }),
        signals: plugin.signals().stats().map(|stats| Workqueue {
            stats,
            dropped_keys: plugin.signals().queue().dropped().list().iter().map(dropped).collect(),
        }),
        dead_letters: plugin.queue().dead_letters().list().iter().map(dead_letter).collect(),
    }
}

pub(super) fn queues(plugin: &RunningPlugin) -> PluginQueue {
    PluginQueue {
        plugin: plugin.name().to_owned(),
        queue: Queue::new(plugin.queue().stats(), &plugin.queue_config()),
        reconciler: concerning(plugin).map(in_short),
        signals: plugin.signals().stats().map(in_short),
    }
}

fn in_short(stats: WorkqueueStats) -> WorkqueueSummary {
    let WorkqueueStats { keys, dropped_keys, quarantine, .. } = stats;
    WorkqueueSummary { keys, dropped_keys, quarantine }
}

/// The statistics of the workqueue, without a quarantine if the version in service has no reconciler to probe.
pub(super) fn workqueue(plugin: &RunningPlugin) -> WorkqueueStats {
    let stats = plugin.workqueue().stats();
    WorkqueueStats { quarantine: stats.quarantine.filter(|_| plugin.plugin().reconciles()), ..stats }
}

/// Returns `None` if the plugin neither reconciles nor has keys from a version that did.
fn concerning(plugin: &RunningPlugin) -> Option<WorkqueueStats> {
    let stats = workqueue(plugin);
    let concerns = plugin.plugin().reconciles() || stats.keys > 0 || stats.adds > 0 || stats.dropped_keys > 0;
    concerns.then_some(stats)
}

fn exports(version: &VersionInfo) -> Vec<String> {
    let exports = [
        ("handler", version.handles && !version.handles_batches),
        ("batch-handler", version.handles_batches),
        ("reconciler", version.reconciles),
        ("sync-handler", version.handles_synced),
        ("timer-handler", version.has_timers),
        ("config-handler", version.follows_config),
    ];
    exports.into_iter().filter(|(_, exported)| *exported).map(|(name, _)| name.to_owned()).collect()
}

fn dropped(dropped: &DroppedKey) -> types::DroppedKey {
    types::DroppedKey {
        key: (*dropped.key).to_owned(),
        attempts: dropped.attempts,
        failure: dropped.failure.to_string(),
    }
}
