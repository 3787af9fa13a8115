//! `[[plugin]]` and its sub-tables, as written.

use std::time::Duration;

use informer_dispatch::When;
use informer_runtime::{LogLevel, capabilities::HttpGrant};
use informer_types::{FieldSelector, Gvr, LabelSelector, Pointer, ReadGrant, SecretGrant, WriteGrant};

use super::{
    Count, DeliveryKind, EventKind, InstanceKind, Located, Name, Number, PathText, Share, Size,
    schema::{GRANT, LIMITS, ON, QUARANTINE, QUEUE, RELOAD, RETRY, WORKQUEUE},
    table::Table,
};
use crate::config::plugin::{Enqueue, Initial, OnExhausted, OnReload, Relist};

/// `[[plugin]]`
#[derive(Debug)]
pub(crate) struct RawPlugin {
    /// Of the table itself.
    pub(crate) place: Located<()>,
    pub(crate) name: Option<Located<Name>>,
    pub(crate) source: Option<Located<PathText>>,
    pub(crate) instance: RawInstance,
    pub(crate) on: Option<Vec<RawOn>>,
    pub(crate) queue: RawQueue,
    pub(crate) workqueue: RawWorkqueue,
    pub(crate) retry: RawRetry,
    pub(crate) quarantine: RawQuarantine,
    pub(crate) reload: RawReload,
    pub(crate) on_reload: Option<Located<OnReload>>,
    pub(crate) limits: RawLimits,
    pub(crate) grant: RawGrant,
    pub(crate) log_level: Option<Located<LogLevel>>,
    pub(crate) config_json: Option<String>,
    pub(crate) config_files: Option<Located<Vec<Located<PathText>>>>,
}

/// `instance` and the keys that go with it.
#[derive(Debug)]
pub(crate) struct RawInstance {
    pub(crate) kind: Option<Located<InstanceKind>>,
    pub(crate) max_calls: Option<Located<Count>>,
    pub(crate) idle_timeout: Option<Located<Duration>>,
}

/// `[[plugin.on]]`
#[derive(Debug)]
pub(crate) struct RawOn {
    pub(crate) watch: Option<Located<Gvr>>,
    pub(crate) events: Option<Located<Vec<Located<EventKind>>>>,
    pub(crate) namespaces: Option<Located<Vec<Located<Name>>>>,
    pub(crate) labels: Option<Located<LabelSelector>>,
    pub(crate) fields: Option<Located<FieldSelector>>,
    pub(crate) when: Option<Located<When>>,
    pub(crate) changed: Option<Located<Vec<Located<Pointer>>>>,
    pub(crate) resync: Option<Located<Duration>>,
    pub(crate) relist: Option<Located<Relist>>,
    pub(crate) initial: Option<Located<Initial>>,
    pub(crate) enqueue: Option<Located<Enqueue>>,
}

/// `[plugin.queue]`
#[derive(Debug, Default)]
pub(crate) struct RawQueue {
    pub(crate) workers: Option<Located<Count>>,
    pub(crate) delivery: Option<Located<DeliveryKind>>,
    pub(crate) capacity: Option<Located<Count>>,
    pub(crate) rate: Option<Located<Number>>,
    pub(crate) burst: Option<Located<Count>>,
}

/// `[plugin.workqueue]`
#[derive(Debug, Default)]
pub(crate) struct RawWorkqueue {
    pub(crate) workers: Option<Located<Count>>,
    pub(crate) capacity: Option<Located<Count>>,
    pub(crate) attempts: Option<Located<Count>>,
    pub(crate) min: Option<Located<Duration>>,
    pub(crate) max: Option<Located<Duration>>,
    pub(crate) qps: Option<Located<Count>>,
    pub(crate) burst: Option<Located<Count>>,
}

/// `[plugin.retry]`
#[derive(Debug, Default)]
pub(crate) struct RawRetry {
    pub(crate) min: Option<Located<Duration>>,
    pub(crate) max: Option<Located<Duration>>,
    pub(crate) factor: Option<Located<Number>>,
    pub(crate) jitter: Option<Located<Number>>,
    pub(crate) attempts: Option<Located<Count>>,
    pub(crate) budget: Option<Located<Number>>,
    pub(crate) on_exhausted: Option<Located<OnExhausted>>,
}

/// `[plugin.quarantine]`
#[derive(Debug, Default)]
pub(crate) struct RawQuarantine {
    pub(crate) after: Option<Located<Count>>,
    pub(crate) min: Option<Located<Duration>>,
    pub(crate) max: Option<Located<Duration>>,
}

/// `[plugin.reload]`
#[derive(Debug, Default)]
pub(crate) struct RawReload {
    pub(crate) return_after: Option<Located<Number>>,
    pub(crate) trial: Option<Located<Count>>,
}

/// `[plugin.limits]`
#[derive(Debug, Default)]
pub(crate) struct RawLimits {
    pub(crate) memory: Option<Located<Size>>,
    pub(crate) deadline: Option<Located<Duration>>,
    pub(crate) cpu: Option<Located<Share>>,
    pub(crate) host_calls: Option<Located<Count>>,
    pub(crate) instances: Option<Located<Count>>,
    pub(crate) log: Option<Located<Size>>,
    pub(crate) log_lines: Option<Located<Count>>,
    pub(crate) response: Option<Located<Size>>,
    pub(crate) requests: Option<Located<Count>>,
    pub(crate) http_requests: Option<Located<Count>>,
    pub(crate) http_body: Option<Located<Size>>,
    pub(crate) metric_series: Option<Located<Count>>,
}

/// `[plugin.grant]`
#[derive(Debug, Default)]
pub(crate) struct RawGrant {
    pub(crate) read: Option<Located<Vec<Located<ReadGrant>>>>,
    pub(crate) write: Option<Located<Vec<Located<WriteGrant>>>>,
    pub(crate) secrets: Option<Located<Vec<Located<SecretGrant>>>>,
    pub(crate) keyvalue: Option<Located<Size>>,
    pub(crate) http: Option<Located<Vec<Located<HttpGrant>>>>,
}

// === impl RawPlugin ===

impl RawPlugin {
    pub(super) fn read(mut table: Table<'_, '_, '_>) -> Self {
        Self {
            place: table.place(),
            name: table.required("name"),
            source: table.required("source"),
            instance: RawInstance {
                kind: table.get("instance"),
                max_calls: table.get("max-calls"),
                idle_timeout: table.get("idle-timeout"),
            },
            on: table.tables("on", &ON, RawOn::read),
            queue: table.table("queue", &QUEUE, RawQueue::read).unwrap_or_default(),
            workqueue: table.table("workqueue", &WORKQUEUE, RawWorkqueue::read).unwrap_or_default(),
            retry: table.table("retry", &RETRY, RawRetry::read).unwrap_or_default(),
            quarantine: table.table("quarantine", &QUARANTINE, RawQuarantine::read).unwrap_or_default(),
            reload: table.table("reload", &RELOAD, RawReload::read).unwrap_or_default(),
            on_reload: table.get("on-reload"),
            limits: table.table("limits", &LIMITS, RawLimits::read).unwrap_or_default(),
            grant: table.table("grant", &GRANT, RawGrant::read).unwrap_or_default(),
            log_level: table.get("log-level"),
            config_json: table.json("config"),
            config_files: table.list("config-files"),
        }
    }
}

// === impl RawOn ===

impl RawOn {
    fn read(mut table: Table<'_, '_, '_>) -> Self {
        Self {
            watch: table.required("watch"),
            events: table.list("events"),
            namespaces: table.list("namespaces"),
            labels: table.get("labels"),
            fields: table.get("fields"),
            when: table.get("when"),
            changed: table.list("changed"),
            resync: table.get("resync"),
            relist: table.get("relist"),
            initial: table.get("initial"),
            enqueue: table.get("enqueue"),
        }
    }
}

// === impl RawQueue, RawWorkqueue, RawRetry, RawQuarantine, RawReload, RawLimits, RawGrant ===

impl RawQueue {
    fn read(mut table: Table<'_, '_, '_>) -> Self {
        Self {
            workers: table.get("workers"),
            delivery: table.get("delivery"),
            capacity: table.get("capacity"),
            rate: table.get("rate"),
            burst: table.get("burst"),
        }
    }
}

impl RawQuarantine {
    fn read(mut table: Table<'_, '_, '_>) -> Self {
        Self { after: table.get("after"), min: table.get("min"), max: table.get("max") }
    }
}

impl RawWorkqueue {
    fn read(mut table: Table<'_, '_, '_>) -> Self {
        Self {
            workers: table.get("workers"),
            capacity: table.get("capacity"),
            attempts: table.get("attempts"),
            min: table.get("min"),
            max: table.get("max"),
            qps: table.get("qps"),
            burst: table.get("burst"),
        }
    }
}

impl RawRetry {
    fn read(mut table: Table<'_, '_, '_>) -> Self {
        Self {
            min: table.get("min"),
            max: table.get("max"),
            factor: table.get("factor"),
            jitter: table.get("jitter"),
            attempts: table.get("attempts"),
            budget: table.get("budget"),
            on_exhausted: table.get("on-exhausted"),
        }
    }
}

impl RawReload {
    fn read(mut table: Table<'_, '_, '_>) -> Self {
        Self { return_after: table.get("return-after"), trial: table.get("trial") }
    }
}

impl RawLimits {
    fn read(mut table: Table<'_, '_, '_>) -> Self {
        Self {
            memory: table.get("memory"),
            deadline: table.get("deadline"),
            cpu: table.get("cpu"),
            host_calls: table.get("host-calls"),
            instances: table.get("instances"),
            log: table.get("log"),
            log_lines: table.get("log-lines"),
            response: table.get("response"),
            requests: table.get("requests"),
            http_requests: table.get("http-requests"),
            http_body: table.get("http-body"),
            metric_series: table.get("metric-series"),
        }
    }
}

impl RawGrant {
    fn read(mut table: Table<'_, '_, '_>) -> Self {
        Self {
            read: table.list("read"),
            write: table.list("write"),
            secrets: table.list("secrets"),
            keyvalue: table.get("keyvalue"),
            http: table.list("http"),
        }
    }
}
