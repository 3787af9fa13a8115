//! Converts the configuration to the settings of each crate.

use std::{collections::BTreeMap, time::Duration};

use informer_cache::{FactoryConfig, ListenerConfig, WatchConfig};
use informer_dispatch::{
    DispatchConfig, QueueConfig,
    workqueue::{RateLimiter, ReconcileConfig},
};
use informer_runtime::{CodeCache, Codegen, Compiler, EngineConfig, PluginConfig};
use informer_system::memory::memory_eighths;
use informer_types::{Gvr, Part, Source};

use super::{code_cache::code_cache, keeping::Keeping, narrowing::Narrowing};
use crate::{
    config::{Cluster, Config, Host, Plugin, Relist, Subscription, Watch, Workqueue},
    connect::Connection,
};

/// This program, also after its file was replaced by another version.
const THIS_PROGRAM: &str = "/proc/self/exe";

/// Its hidden command that compiles.
const COMPILE: &str = "compile";

/// client-go's name of a test mode: each streaming list is compared with a plain one.
const CHECK_CONSISTENCY: &str = "KUBE_WATCHLIST_INCONSISTENCY_DETECTOR";

pub(super) fn factory(cluster: &Cluster, host: &Host, connection: &Connection) -> FactoryConfig {
    FactoryConfig {
        server: connection.server.clone(),
        renewal: connection.renewal.clone(),
        page_size: cluster.page_size.map(Into::into),
        qps: cluster.qps,
        burst: cluster.burst,
        check_consistency: std::env::var(CHECK_CONSISTENCY).is_ok_and(|value| value == "true"),
        watch_list: cluster.watch_list,
        idle_watch_timeout: cluster.idle_watch_timeout,
        list_bytes: cluster.list_bytes,
        cache_bytes: host.cache_memory.or_else(|| memory_eighths(2)).map(|bytes| {
            // No process can use more.
            usize::try_from(bytes).unwrap_or(usize::MAX)
        }),
        threads: informer_threads(),
        ..FactoryConfig::default()
    }
}

/// Half of the processors, because plugins need the others. One thread handles some ten thousand events per second.
fn informer_threads() -> usize {
    std::thread::available_parallelism().map_or(1, |count| (count.get() / 2).clamp(1, 4))
}

/// The engine of a host or of a check: components are compiled by another process of this program.
pub fn engine(host: &Host, cache: Option<CodeCache>) -> EngineConfig {
    EngineConfig {
        cache,
        codegen: Codegen::Optimised,
        component_bytes: host.component_bytes as u64,
        compiler: Compiler::Child { program: THIS_PROGRAM.into(), arguments: vec![COMPILE.into()] },
        compile_timeout: host.compile_timeout,
        compile_memory: host.compile_memory,
        turns: None,
        guest_memory: host.guest_memory,
    }
}

/// The engine of the commands of an author, who waits for the first call after each build: like [`engine`] with the code cache of the host,
/// but with the baseline compiler.
pub fn author_engine(host: &Host) -> EngineConfig {
    EngineConfig { codegen: Codegen::Baseline, ..engine(host, code_cache(host)) }
}

/// Every `[[watch]]`, narrowed to what its plugins can see. It keeps what they read of the objects.
pub(super) fn watches(config: &Config) -> BTreeMap<Gvr, WatchConfig> {
    let kept = |of: &Watch| match Keeping::of(of, config).map(Keeping::into_config) {
        Some((keep, whole_if)) => WatchConfig { keep, whole_if, ..watch(of) },
        None => watch(of),
    };
    let narrowed = |of: &Watch| match Narrowing::of(of, config) {
        Some(Narrowing { namespaces, labels, fields }) => WatchConfig {
            namespaces: if namespaces.is_empty() {
                of.namespaces.clone()
            } else {
                namespaces.into_iter().collect()
            },
            labels: of.labels.clone().and(&labels),
            fields: of.fields.clone().and(&fields).to_string(),
            ..kept(of)
        },
        None => kept(of),
    };
    config.watches.iter().map(|watch| (watch.gvr.clone(), narrowed(watch))).collect()
}

fn watch(watch: &Watch) -> WatchConfig {
    WatchConfig {
        namespaces: watch.namespaces.clone(),
        labels: watch.labels.clone(),
        fields: watch.fields.to_string(),
        drop: watch.drop.clone(),
        keep: watch.keep.iter().cloned().map(Part::from).collect(),
        metadata_only: watch.metadata_only,
        indexes: watch.indexes.clone(),
        compression: watch.compression,
        // Each listener has its own period, so another period needs no other informer.
        resync: None,
        ..WatchConfig::new(watch.gvr.clone())
    }
}

pub(super) fn listener(plugin: &str, subscription: &Subscription) -> ListenerConfig {
    ListenerConfig {
        name: plugin.to_owned(),
        resync: Some(subscription.resync.unwrap_or(Duration::ZERO)),
        relist_all: subscription.relist == Relist::All,
    }
}

pub(super) fn dispatch(plugin: &Plugin) -> DispatchConfig {
    DispatchConfig {
        plugin: plugin.name.as_str().into(),
        workers: plugin.queue.workers,
        batch: plugin.queue.batch,
        retry: plugin.retry.calls.clone(),
    }
}

pub(super) fn queue(plugin: &Plugin) -> QueueConfig {
    QueueConfig {
        delivery: plugin.queue.delivery,
        rate: plugin.queue.rate,
        retry_budget: plugin.retry.budget,
        quarantine: plugin.quarantine.clone(),
        settle: plugin.subscriptions.iter().filter_map(settle).collect(),
        ..QueueConfig::default()
    }
}

fn settle(on: &Subscription) -> Option<(Source, Duration)> {
    (!on.settle.is_zero()).then(|| (Source::new(on.watch.clone()), on.settle))
}

pub(super) fn limiter(queue: &Workqueue) -> RateLimiter {
    RateLimiter::default_controller(queue.min, queue.max, queue.qps.get().into(), queue.burst)
}

pub(super) fn reconcile(plugin: &Plugin) -> ReconcileConfig {
    ReconcileConfig {
        plugin: plugin.name.as_str().into(),
        workers: plugin.workqueue.workers,
        attempts: plugin.workqueue.attempts,
    }
}

pub(super) fn plugin(plugin: &Plugin) -> PluginConfig {
    let both_workers = plugin.queue.workers.saturating_add(plugin.workqueue.workers.get());
    PluginConfig {
        name: plugin.name.as_str().into(),
        config_json: plugin.config_json.clone(),
        grants: plugin.grants.clone(),
        reads: plugin.reads(),
        limits: plugin.limits.calls.clone(),
        instance: plugin.instance.clone(),
        instances: plugin.limits.instances.unwrap_or(both_workers),
        trial: plugin.reload,
    }
}
