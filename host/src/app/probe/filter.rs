//! What the filter of one subscription did.

use informer_dispatch::FilterStats;
use informer_types::Gvr;
use serde_json::{Value, json};

use super::micros;

pub(super) fn filter(gvr: &Gvr, stats: &FilterStats) -> Value {
    let suppressed = &stats.suppressed;
    json!({
        "watch": gvr.to_string(),
        "passed": stats.passed,
        "entered": stats.entered,
        "left": stats.left,
        "suppressed": {
            "initial": suppressed.initial, "events": suppressed.events,
            "namespaces": suppressed.namespaces, "labels": suppressed.labels, "fields": suppressed.fields,
            "changed": suppressed.changed, "when": suppressed.when,
        },
        "unreadable": stats.unreadable,
        "when": {
            "evaluations": stats.when.evaluations,
            "errors": stats.when.errors,
            "last-error": stats.when.last_error,
            "time-us": micros(stats.when.time),
            "longest-us": micros(stats.when.longest),
        },
    })
}
