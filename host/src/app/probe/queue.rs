//! The queue of one plugin.

use informer_dispatch::{DeliveryMode, Quarantine, QueueConfig, QueueStats};

use crate::admin::types::{self, millis};

pub(super) fn queue(stats: &QueueStats, config: &QueueConfig) -> types::Queue {
    let (delivery, capacity) = match config.delivery {
        DeliveryMode::Latest => ("latest", None),
        DeliveryMode::Every { capacity } => ("every", Some(capacity.into())),
    };
    types::Queue {
        offered: stats.offered,
        acknowledged: stats.acknowledged,
        cancelled: stats.cancelled,
        merged: types::Merged {
            add: stats.merged.add,
            update: stats.merged.update,
            delete: stats.merged.delete,
            resync: stats.merged.resync,
        },
        dead: stats.dead,
        dropped: stats.dropped,
        discarded: stats.discarded,
        delivered: stats.delivered,
        retried: stats.retried,
        given_back: stats.given_back,
        pending: stats.pending,
        waiting: stats.waiting,
        in_flight: stats.in_flight,
        paused: stats.paused,
        objects: stats.objects,
        oldest_ms: stats.oldest.map(millis),
        delivery: delivery.to_owned(),
        capacity,
        behind: stats.behind,
        overflows: stats.overflows,
        rate: config.rate.map(|rate| rate.per_second),
        rate_limited: stats.rate_limited,
        retry_budget: config.retry_budget,
        over_budget: stats.over_budget,
        quarantine: stats.quarantine.as_ref().map(quarantine),
        quarantines: stats.quarantines,
        dead_letters: stats.dead_letters,
        dead_letters_evicted: stats.dead_letters_evicted,
    }
}

/// The text is `in quarantine for 12 s, next probe in 3 s; deliveries wait: trap: ...`, with the first line of the failure.
pub(super) fn quarantine(quarantine: &Quarantine) -> types::Quarantine {
    let failure = quarantine.failure.to_string();
    let text = format!(
        "in quarantine for {} s, next probe in {} s; deliveries wait: {}",
        quarantine.lasting.as_secs(),
        quarantine.probe_in.as_secs_f64().ceil(),
        failure.lines().next().unwrap_or_default(),
    );
    types::Quarantine {
        lasting_ms: millis(quarantine.lasting),
        probe_in_ms: millis(quarantine.probe_in),
        failed_probes: quarantine.failed_probes,
        failure,
        text,
    }
}
