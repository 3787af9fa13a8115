//! One informer.

use informer_cache::{InformerStatus, ReflectorStatus, Trouble};
use serde_json::{Map, Value, json};

use super::millis;

pub(super) fn informer(status: &InformerStatus, superseded: bool) -> Value {
    let counters = &status.counters;
    let listeners = status.listeners.iter().map(|(name, synced)| json!({"name": name, "synced": synced}));
    json!({
        "watch": status.key.to_string(),
        "superseded": superseded,
        "selector": {"labels": status.key.labels, "fields": status.key.fields},
        "phase": status.phase.as_str(),
        "synced": status.synced,
        "unsynced-because": status.unsynced_because(),
        "text": status.to_string(),
        "troubles": status.troubles().iter().map(trouble).collect::<Vec<_>>(),
        "last-synced-version": status.last_synced_version,
        "objects": status.objects,
        "bytes": status.bytes,
        "queued-deltas": status.queued_deltas,
        "listeners": listeners.collect::<Vec<_>>(),
        "reflectors": status.reflectors.iter().map(reflector).collect::<Vec<_>>(),
        "counters": {
            "lists": counters.lists, "relists": counters.relists,
            "streaming-lists": counters.streaming_lists, "streaming-fallbacks": counters.streaming_fallbacks, "consistent-lists": counters.consistent_lists,
            "watches": counters.watches, "events": counters.events, "bookmarks": counters.bookmarks, "failures": counters.failures,
            "skipped": counters.skipped, "quarantined": counters.quarantined,
            "vanished": counters.vanished, "silent-watches": counters.silent_watches,
            "suppressed-unchanged": counters.suppressed_unchanged,
            "sink-panics": counters.sink_panics, "index-failures": counters.index_failures,
        },
    })
}

fn trouble(trouble: &Trouble) -> Value {
    json!({
        "namespace": trouble.namespace,
        "text": trouble.to_string(),
        "what": trouble.what,
        "class": trouble.class.map(|class| class.as_str()),
        "lasting-ms": millis(trouble.lasting),
        "failures": trouble.failures,
        "retry-in-ms": trouble.retry_in.map(millis),
        "remedy": trouble.remedy,
    })
}

fn reflector(reflector: &ReflectorStatus) -> Value {
    let quarantined: Map<String, Value> =
        reflector.quarantined.iter().map(|(key, why)| (key.to_string(), Value::from(why.as_str()))).collect();
    json!({
        "namespace": reflector.namespace,
        "phase": reflector.phase.as_str(),
        "phase-age-ms": millis(reflector.phase_age),
        "consecutive-failures": reflector.consecutive_failures,
        "failing-for-ms": reflector.failing_for.map(millis),
        "retry-in-ms": reflector.retry_in.map(millis),
        "lag-ms": millis(reflector.lag),
        "last-error": reflector.last_error.as_ref().map(|error| json!({
            "text": error.text, "class": format!("{:?}", error.class), "age-ms": millis(error.age),
        })),
        "unsynced-because": reflector.unsynced_because,
        "plain-lists-because": reflector.plain_lists_because,
        "last-event-age-ms": reflector.last_event_age.map(millis),
        "observed-version": reflector.observed_version,
        "applied-version": reflector.applied_version,
        "quarantined": quarantined,
    })
}
