//! The state of everything, for the admin endpoint.

mod dead_letters;
mod explain;
mod filter;
mod informer;
mod queue;
mod workqueue;

use std::{collections::BTreeMap, sync::Arc, time::Duration};

use futures::future::BoxFuture;
use informer_cache::{InformerFactory, SharedInformer};
use informer_runtime::{
    PluginStats,
    capabilities::{ClientStats, HttpStats},
};
use serde_json::{Map, Value, json};

use super::{reload::Reload, running_plugin::RunningPlugin, running_plugins::RunningPlugins, trace::Trace};
use crate::{
    admin::Probe,
    commands::dead_letters::Chosen,
    commands::explain::Asked,
    logging,
    logging::{UnknownLevel, WrittenLevel},
    metrics::{self, Exposition, Measured},
    state::State,
};
pub(super) use dead_letters::{dead_letter, dropped_key};
use filter::filter;
use informer::informer;
use queue::queue;
use workqueue::workqueue;

/// Looks at a running host.
pub(super) struct HostProbe {
    factory: Arc<InformerFactory>,
    units: RunningPlugins,
    state: State,
    reload: Reload,
    trace: Option<Arc<Trace>>,
}

// === impl HostProbe ===

impl HostProbe {
    pub(super) fn new(
        factory: Arc<InformerFactory>,
        units: RunningPlugins,
        state: State,
        reload: Reload,
        trace: Option<Arc<Trace>>,
    ) -> Self {
        Self { factory, units, state, reload, trace }
    }

    /// Those that serve although a changed watch is to replace them, then those that are handed out.
    fn informers(&self) -> Vec<SharedInformer> {
        let mut informers = self.factory.superseded();
        informers.extend(self.factory.informers());
        informers
    }

    /// Informers that have not synced; and whether plugins wait for them, or go on with what they had before.
    fn unsynced(&self, awaited: bool) -> Vec<String> {
        let units = self.units.all();
        let informers = self.informers();
        let told = informers.iter().filter(|informer| {
            let replaces = units.iter().any(|unit| unit.other_than(informer).is_some());
            replaces != awaited
        });
        // One look at each: what is said of it is what it was judged by.
        let waiting = told.map(SharedInformer::status).filter(|status| !status.synced);
        waiting.map(|status| status.to_string()).collect()
    }
}

impl Probe for HostProbe {
    fn unready(&self) -> Vec<String> {
        let units = self.units.all();
        let without = units.iter().filter(|unit| unit.plugin().version().is_none());
        let without = without.map(|unit| {
            let why = unit.refused().unwrap_or_else(|| "it is being compiled".to_owned());
            format!("plugin {}: no version in service: {why}", unit.name())
        });
        self.unsynced(true).into_iter().chain(without).collect()
    }

    fn degraded(&self) -> Vec<String> {
        let informers = self.informers();
        let synced = informers.iter().map(SharedInformer::status).filter(|status| status.synced);
        let troubled = synced.filter(|status| !status.troubles().is_empty()).map(|status| status.to_string());
        let state = self.state.problem().map(|why| format!("{why}; until then nothing is kept"));
        let units = self.units.all();
        let quarantined = units.iter().flat_map(|unit| quarantined(unit));
        let refused = units.iter().filter(|unit| unit.plugin().version().is_some());
        let refused = refused.filter_map(|unit| {
            Some(format!("plugin {}: the version in service goes on: {}", unit.name(), unit.refused()?))
        });
        let file = self.reload.refused().into_iter().flatten();
        let file = file.map(|problem| format!("the configuration in force goes on: {problem}"));
        let replaced = self.unsynced(false).into_iter();
        let replaced = replaced.map(|text| format!("the watch it is to replace goes on: {text}"));
        let letters = dead_letters::problems(&units);
        troubled
            .chain(state)
            .chain(quarantined)
            .chain(letters)
            .chain(replaced)
            .chain(refused)
            .chain(file)
            .collect()
    }

    fn reload(&self, plugin: Option<String>) -> BoxFuture<'_, Result<Value, String>> {
        Box::pin(async move {
            let report = self.reload.ask(plugin).await.map_err(|refused| refused.to_string())?;
            Ok(report.to_json())
        })
    }

    fn set_log_level(&self, plugin: Option<&str>, level: &str) -> Result<(), String> {
        match plugin {
            None => {
                let filter = (level != WrittenLevel(None).as_str()).then_some(level);
                logging::set(filter).map_err(|error| error.to_string())?;
            }
            Some(name) => {
                let unit = self.units.find(name).ok_or_else(|| format!("there is no plugin `{name}`"))?;
                let written: WrittenLevel = level.parse().map_err(|error: UnknownLevel| error.to_string())?;
                unit.log_level().set(written.0);
            }
        }
        tracing::info!(plugin, level, "log level changed");
        Ok(())
    }

    fn status(&self) -> Value {
        let superseded = self.factory.superseded();
        let superseded = superseded.iter().map(|informer| (informer, true));
        let current = self.factory.informers();
        let informers = superseded.chain(current.iter().map(|informer| (informer, false)));
        json!({
            "version": env!("CARGO_PKG_VERSION"),
            "unready": self.unready(),
            "degraded": self.degraded(),
            "state": self.state.path(),
            "log": logging::in_force(),
            "informers": informers.map(|(one, superseded)| informer(&one.status(), superseded)).collect::<Vec<_>>(),
            "configuration": {"refused": self.reload.refused()},
            "plugins": self.units.all().iter().map(|unit| plugin(unit)).collect::<Vec<_>>(),
        })
    }

    fn queues(&self) -> Value {
        let units = self.units.all();
        let queues = units.iter().map(|unit| {
            let mut queue = queue(&unit.queue().stats(), &unit.queue_config());
            if let Value::Object(queue) = &mut queue {
                queue.insert("plugin".to_owned(), unit.name().into());
                queue.insert("reconciler".to_owned(), workqueue::in_short(unit));
            }
            queue
        });
        json!({ "queues": queues.collect::<Vec<_>>() })
    }

    fn dead_letters(&self, chosen: &Chosen) -> Value {
        dead_letters::list(&self.units.all(), chosen)
    }

    fn replay(&self, chosen: &Chosen) -> Value {
        dead_letters::replay(&self.units.all(), chosen)
    }

    fn drop_dead_letters(&self, chosen: &Chosen) -> Value {
        dead_letters::drop_chosen(&self.units.all(), chosen)
    }

    fn explain(&self, asked: &Asked) -> Result<Value, String> {
        explain::explain(&self.informers(), &self.units.all(), self.trace.as_deref(), asked)
    }

    fn has_plugin(&self, name: &str) -> bool {
        self.units.find(name).is_some()
    }

    fn metrics(&self) -> String {
        let mut exposition = Exposition::default();
        // One series each: of two of the same key the one that serves, which comes first.
        let mut informers = BTreeMap::new();
        for informer in self.informers() {
            informers.entry(informer.key().clone()).or_insert(informer);
        }
        for status in informers.values().map(SharedInformer::status) {
            metrics::informer(&status, &mut exposition);
        }
        let measured: Vec<Measured> = self.units.all().iter().map(|unit| measured(unit)).collect();
        for plugin in &measured {
            metrics::plugin(plugin, &mut exposition);
        }
        metrics::plugins_own(&measured, &mut exposition);
        exposition.text()
    }
}

/// Why the plugin, or its reconciler, is in quarantine, if it is.
fn quarantined(unit: &RunningPlugin) -> impl Iterator<Item = String> {
    let (handler, reconciler) = (unit.queue().stats().quarantine, workqueue::quarantined(unit));
    let name = unit.name();
    let handler = handler.map(|quarantine| format!("plugin {name}: {}", queue::because(&quarantine)));
    let reconciler = reconciler
        .map(|quarantine| format!("plugin {name}: its reconciler is {}", queue::because(&quarantine)));
    handler.into_iter().chain(reconciler)
}

fn measured(unit: &RunningPlugin) -> Measured {
    Measured {
        name: unit.name().to_owned(),
        filters: unit.filters(),
        queue: unit.queue().stats(),
        workqueue: workqueue::stats(unit),
        calls: unit.plugin().stats(),
        loaded: unit.plugin().version().is_some(),
        own: unit.plugin().metrics(),
    }
}

fn plugin(unit: &RunningPlugin) -> Value {
    let version = unit.plugin().version();
    json!({
        "name": unit.name(),
        "source": unit.source().display().to_string(),
        "version": version.map(|version| json!({
            "guest": version.name, "version": version.version, "sdk": version.sdk, "digest": &*version.digest,
            "prepared-in-ms": millis(version.prepared_in),
        })),
        "exports": exports(unit),
        "refused": unit.refused(),
        "log-level": unit.log_level().get().map(|level| WrittenLevel(Some(level)).as_str()),
        "calls": calls(&unit.plugin().stats()),
        "subscriptions": unit.filters().iter().map(|(gvr, stats)| filter(gvr, stats)).collect::<Vec<_>>(),
        "queue": queue(&unit.queue().stats(), &unit.queue_config()),
        "workqueue": workqueue(unit),
        "dead-letters": unit.queue().dead_letters().iter().map(dead_letter).collect::<Vec<_>>(),
    })
}

/// What is called of the version in service.
fn exports(unit: &RunningPlugin) -> Vec<&'static str> {
    let version = unit.plugin().version();
    let (handles, reconciles) =
        version.map_or((false, false), |version| (version.handles, version.reconciles));
    handles.then_some("handler").into_iter().chain(reconciles.then_some("reconciler")).collect()
}

fn calls(stats: &PluginStats) -> Value {
    let failures: Map<String, Value> =
        stats.failures.iter().map(|(kind, count)| (kind.to_string(), Value::from(*count))).collect();
    json!({
        "made": stats.calls,
        "acknowledged": stats.acknowledged,
        "failures": failures,
        "last-failure": stats.last_failure.as_ref().map(ToString::to_string),
        "instances": {
            "created": stats.instances_created, "retired": stats.instances_retired, "idle": stats.instances_idle,
            "waited-for": stats.instances_waited,
        },
        "swaps": stats.swaps,
        "went-back": stats.went_back,
        "host-calls": stats.host_calls,
        "running-ms": millis(stats.running),
        "throttled": stats.throttled,
        "throttled-ms": millis(stats.throttled_time),
        "turns-waited-for": stats.turns_waited,
        "turns-let-pass": stats.turns_let_pass,
        "memory-refusals": stats.memory_refusals,
        "log-bytes-dropped": stats.log_bytes_dropped,
        "log-lines-left-out": stats.log_lines_left_out,
        "keyvalue": {
            "reads": stats.keyvalue.reads, "writes": stats.keyvalue.writes,
            "refused": stats.keyvalue.refused, "failed": stats.keyvalue.failed,
        },
        "client": client(&stats.client),
        "http": http(&stats.http),
    })
}

fn client(stats: &ClientStats) -> Value {
    json!({
        "requests": stats.requests, "failed": stats.failed, "refused": stats.refused, "limited": stats.limited,
        "events-suppressed": stats.events_suppressed,
    })
}

fn http(stats: &HttpStats) -> Value {
    let requests: Map<String, Value> =
        stats.requests.iter().map(|(outcome, count)| (outcome.to_string(), Value::from(*count))).collect();
    json!({
        "requests": requests, "in-flight": stats.in_flight,
        "sent-bytes": stats.sent_bytes, "received-bytes": stats.received_bytes,
    })
}

pub(super) fn millis(duration: Duration) -> u64 {
    u64::try_from(duration.as_millis()).unwrap_or(u64::MAX)
}

pub(super) fn micros(duration: Duration) -> u64 {
    u64::try_from(duration.as_micros()).unwrap_or(u64::MAX)
}
