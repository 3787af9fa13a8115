//! The state of everything, for the admin endpoint.

mod informer;

use std::{sync::Arc, time::Duration};

use informer_cache::{InformerFactory, SharedInformer};
use informer_dispatch::{DeadLetter, QueueStats};
use informer_runtime::PluginStats;
use serde_json::{Map, Value, json};

use super::unit::Unit;
use crate::{admin::Probe, state::State};
use informer::informer;

/// Looks at a running host.
pub(super) struct HostProbe {
    factory: Arc<InformerFactory>,
    units: Arc<[Unit]>,
    state: State,
}

// === impl HostProbe ===

impl HostProbe {
    pub(super) fn new(factory: Arc<InformerFactory>, units: Arc<[Unit]>, state: State) -> Self {
        Self { factory, units, state }
    }
}

impl Probe for HostProbe {
    fn unready(&self) -> Vec<String> {
        let informers = self.factory.informers();
        // One look at each: what is said of it is what it was judged by.
        let waiting = informers.iter().map(SharedInformer::status).filter(|status| !status.synced);
        let waiting = waiting.map(|status| status.to_string());
        let without = self.units.iter().filter(|unit| unit.plugin().version().is_none());
        let without = without.map(|unit| {
            let why = unit.refused().unwrap_or_else(|| "it is being compiled".to_owned());
            format!("plugin {}: no version in service: {why}", unit.name())
        });
        waiting.chain(without).collect()
    }

    fn degraded(&self) -> Vec<String> {
        let informers = self.factory.informers();
        let synced = informers.iter().map(SharedInformer::status).filter(|status| status.synced);
        let troubled = synced.filter(|status| !status.troubles().is_empty()).map(|status| status.to_string());
        let state = self.state.problem().map(|why| format!("{why}; until then nothing is kept"));
        troubled.chain(state).collect()
    }

    fn status(&self) -> Value {
        let informers = self.factory.informers();
        json!({
            "version": env!("CARGO_PKG_VERSION"),
            "unready": self.unready(),
            "degraded": self.degraded(),
            "state": self.state.path(),
            "informers": informers.iter().map(SharedInformer::status).map(|status| informer(&status)).collect::<Vec<_>>(),
            "plugins": self.units.iter().map(plugin).collect::<Vec<_>>(),
        })
    }
}

fn plugin(unit: &Unit) -> Value {
    let version = unit.plugin().version();
    json!({
        "name": unit.name(),
        "source": unit.source().display().to_string(),
        "version": version.map(|version| json!({
            "guest": version.name, "version": version.version, "sdk": version.sdk, "digest": &*version.digest,
        })),
        "refused": unit.refused(),
        "calls": calls(&unit.plugin().stats()),
        "queue": queue(&unit.queue().stats()),
        "dead-letters": unit.queue().dead_letters().iter().map(dead_letter).collect::<Vec<_>>(),
    })
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
        },
        "memory-refusals": stats.memory_refusals,
        "log-bytes-dropped": stats.log_bytes_dropped,
    })
}

fn queue(stats: &QueueStats) -> Value {
    json!({
        "offered": stats.offered, "acknowledged": stats.acknowledged, "cancelled": stats.cancelled,
        "merged": {
            "add": stats.merged.add, "update": stats.merged.update,
            "delete": stats.merged.delete, "resync": stats.merged.resync,
        },
        "dead": stats.dead, "dropped": stats.dropped, "discarded": stats.discarded,
        "delivered": stats.delivered, "retried": stats.retried, "given-back": stats.given_back,
        "pending": stats.pending, "waiting": stats.waiting, "in-flight": stats.in_flight,
        "objects": stats.objects, "oldest-ms": stats.oldest.map(millis),
        "dead-letters": stats.dead_letters, "dead-letters-evicted": stats.dead_letters_evicted,
    })
}

fn dead_letter(letter: &DeadLetter) -> Value {
    json!({
        "object": letter.object.to_string(), "verb": letter.verb, "cause": letter.cause.as_str(),
        "uid": letter.uid, "resource-version": letter.resource_version,
        "attempts": letter.attempts, "failure": letter.failure.to_string(),
    })
}

fn millis(duration: Duration) -> u64 {
    u64::try_from(duration.as_millis()).unwrap_or(u64::MAX)
}
