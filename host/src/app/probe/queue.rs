//! The queue of one plugin.

use informer_dispatch::{DeliveryMode, Quarantine, QueueConfig, QueueStats};
use serde_json::{Value, json};

use super::millis;

pub(super) fn queue(stats: &QueueStats, config: &QueueConfig) -> Value {
    json!({
        "offered": stats.offered, "acknowledged": stats.acknowledged, "cancelled": stats.cancelled,
        "merged": {
            "add": stats.merged.add, "update": stats.merged.update,
            "delete": stats.merged.delete, "resync": stats.merged.resync,
        },
        "dead": stats.dead, "dropped": stats.dropped, "discarded": stats.discarded,
        "delivered": stats.delivered, "retried": stats.retried, "given-back": stats.given_back,
        "pending": stats.pending, "waiting": stats.waiting, "in-flight": stats.in_flight,
        "paused": stats.paused, "objects": stats.objects, "oldest-ms": stats.oldest.map(millis),
        "delivery": match config.delivery { DeliveryMode::Latest => "latest", DeliveryMode::Every { .. } => "every" },
        "capacity": match config.delivery { DeliveryMode::Latest => None, DeliveryMode::Every { capacity } => Some(capacity) },
        "controllers-given-up": stats.controllers_given_up,
        "behind": stats.behind, "overflows": stats.overflows,
        "rate": config.rate.map(|rate| rate.per_second), "rate-limited": stats.rate_limited,
        "retry-budget": config.retry_budget, "over-budget": stats.over_budget,
        "quarantine": stats.quarantine.as_ref().map(quarantine), "quarantines": stats.quarantines,
        "dead-letters": stats.dead_letters, "dead-letters-evicted": stats.dead_letters_evicted,
    })
}

pub(super) fn quarantine(quarantine: &Quarantine) -> Value {
    json!({
        "lasting-ms": millis(quarantine.lasting), "probe-in-ms": millis(quarantine.probe_in),
        "failed-probes": quarantine.failed_probes, "failure": quarantine.failure.to_string(),
        "text": because(quarantine),
    })
}

/// `in quarantine for 12 s, probed again in 3 s: trap: ...`, the message on one line.
pub(in crate::app) fn because(quarantine: &Quarantine) -> String {
    let failure = quarantine.failure.to_string();
    let first = failure.lines().next().unwrap_or_default();
    format!(
        "in quarantine for {} s, probed again in {} s; what happens meanwhile waits: {first}",
        quarantine.lasting.as_secs(),
        quarantine.probe_in.as_secs_f64().ceil(),
    )
}
