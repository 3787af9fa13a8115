//! From what the configuration means to what each crate wants to hear.

use std::{collections::BTreeMap, num::NonZeroU64, time::Duration};

use informer_cache::{FactoryConfig, ListenerConfig, WatchConfig, WatchListMode};
use informer_dispatch::{
    DeliveryMode, DispatchConfig, Fate, FilterConfig, QuarantineConfig, QueueConfig, Rate, RetryConfig,
    workqueue::{MaxOfRateLimiter, ReconcileConfig, default_controller_rate_limiter},
};
use informer_runtime::{EngineConfig, Grants, InstancePolicy, Limits, PluginConfig, TrialConfig};
use informer_types::{Backoff, Gvr};

use super::narrowing::Narrowing;
use crate::config::{
    self, Cluster, Compression, Config, Delivery, Enqueue, Host, Initial, Instance, OnExhausted, Plugin,
    Quarantine, Relist, Retry, Subscription, Watch, WatchList, Workqueue,
};

/// client-go's name for the same test mode: each streaming list is compared with a plain one.
const CHECK_CONSISTENCY: &str = "KUBE_WATCHLIST_INCONSISTENCY_DETECTOR";

pub(super) fn factory(cluster: &Cluster, server: String) -> FactoryConfig {
    FactoryConfig {
        server,
        page_size: cluster.page_size.map(Into::into),
        qps: cluster.qps,
        burst: cluster.burst,
        check_consistency: std::env::var(CHECK_CONSISTENCY).is_ok_and(|value| value == "true"),
        watch_list: match cluster.watch_list {
            WatchList::Auto => WatchListMode::Auto,
            WatchList::On => WatchListMode::On,
            WatchList::Off => WatchListMode::Off,
        },
        idle_watch_timeout: cluster.idle_watch_timeout,
        threads: informer_threads(),
        ..FactoryConfig::default()
    }
}

/// Half of the processors, for plugins need the others; one thread takes in some ten thousand events a second.
fn informer_threads() -> usize {
    std::thread::available_parallelism().map_or(1, |count| (count.get() / 2).clamp(1, 4))
}

pub(crate) fn engine(host: &Host) -> EngineConfig {
    EngineConfig {
        cache_dir: host.cache_dir.clone(),
        component_bytes: host.component_bytes as u64,
        compile_timeout: host.compile_timeout,
        turns: None,
    }
}

/// Every `[[watch]]`, asking the server for no more than its plugins can see.
pub(super) fn watches(config: &Config) -> BTreeMap<Gvr, WatchConfig> {
    let narrowed = |of: &Watch| match Narrowing::of(of, config) {
        Some(Narrowing { namespaces, labels, fields }) => WatchConfig {
            namespaces: if namespaces.is_empty() {
                of.namespaces.clone()
            } else {
                namespaces.into_iter().collect()
            },
            labels: of.labels.clone().and(&labels),
            fields: of.fields.clone().and(&fields).to_string(),
            ..watch(of)
        },
        None => watch(of),
    };
    config.watches.iter().map(|watch| (watch.gvr.clone(), narrowed(watch))).collect()
}

fn watch(watch: &Watch) -> WatchConfig {
    WatchConfig {
        namespaces: watch.namespaces.clone(),
        labels: watch.labels.clone(),
        fields: watch.fields.to_string(),
        drop: watch.drop.clone(),
        keep: watch.keep.clone(),
        metadata_only: watch.metadata_only,
        indexes: watch.indexes.clone(),
        compression: match watch.compression {
            Compression::Zstd => informer_cache::Compression::Zstd,
            Compression::Off => informer_cache::Compression::Off,
        },
        // Each listener says its own: so another period needs no other informer.
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

pub(super) fn filter(subscription: &Subscription) -> FilterConfig {
    FilterConfig {
        events: subscription.events,
        initial: subscription.initial == Initial::Deliver,
        namespaces: subscription.namespaces.clone(),
        labels: subscription.labels.clone(),
        fields: subscription.fields.clone(),
        when: subscription.when.clone(),
        changed: subscription.changed.clone(),
    }
}

pub(super) fn dispatch(plugin: &Plugin) -> DispatchConfig {
    DispatchConfig {
        plugin: plugin.name.as_str().into(),
        workers: plugin.queue.workers,
        retry: retry(&plugin.retry),
    }
}

pub(super) fn retry(retry: &Retry) -> RetryConfig {
    RetryConfig {
        backoff: Backoff { min: retry.min, max: retry.max, factor: retry.factor, jitter: retry.jitter },
        attempts: retry.attempts,
        on_exhausted: match retry.on_exhausted {
            OnExhausted::DeadLetter => Fate::DeadLetter,
            OnExhausted::Drop => Fate::Drop,
            OnExhausted::Quarantine => Fate::Quarantine,
        },
    }
}

pub(super) fn queue(plugin: &Plugin) -> QueueConfig {
    let Quarantine { after, min, max } = plugin.quarantine;
    QueueConfig {
        delivery: match plugin.queue.delivery {
            Delivery::Latest => DeliveryMode::Latest,
            Delivery::Every { capacity } => DeliveryMode::Every { capacity },
        },
        rate: plugin.queue.rate.map(|rate| Rate { per_second: rate.per_second, burst: rate.burst }),
        retry_budget: plugin.retry.budget,
        quarantine: QuarantineConfig {
            after,
            backoff: Backoff { min, max, ..QuarantineConfig::default().backoff },
        },
        controllers: plugin.subscriptions.iter().any(|on| on.enqueue == Enqueue::Controller),
        ..QueueConfig::default()
    }
}

pub(super) fn limiter(queue: &Workqueue) -> MaxOfRateLimiter {
    default_controller_rate_limiter(queue.min, queue.max, queue.qps.get().into(), queue.burst)
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
        grants: grants(plugin),
        limits: Limits {
            memory_bytes: plugin.limits.memory_bytes,
            deadline: plugin.limits.deadline,
            cpu: plugin.limits.cpu,
            host_calls: plugin.limits.host_calls,
            log_bytes: plugin.limits.log_bytes,
            log_lines: plugin.limits.log_lines,
            response_bytes: plugin.limits.response_bytes,
            requests: plugin.limits.requests,
            metric_series: plugin.limits.metric_series,
            http_requests: plugin.limits.http_requests,
            http_body_bytes: plugin.limits.http_body_bytes,
        },
        instance: match plugin.instance {
            Instance::Warm { max_calls, idle_timeout } => InstancePolicy::Warm {
                max_calls: max_calls.map(NonZeroU64::from),
                idle_timeout: idle_timeout.unwrap_or(Duration::MAX),
            },
            Instance::Fresh => InstancePolicy::Fresh,
        },
        instances: plugin.limits.instances.unwrap_or(both_workers),
        trial: TrialConfig { calls: plugin.reload.trial, share: plugin.reload.return_after },
    }
}

pub(super) fn grants(plugin: &Plugin) -> Grants {
    let config::Grants { read, write, secrets, keyvalue, http } = plugin.grants.clone();
    Grants { read, write, secrets, keyvalue, http }
}
