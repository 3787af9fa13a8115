//! The filter of one subscription.

use informer_dispatch::FilterStats;
use informer_types::Gvr;

use crate::admin::types::{self, micros};

pub(super) fn subscription(gvr: &Gvr, stats: &FilterStats) -> types::Subscription {
    let suppressed = &stats.suppressed;
    types::Subscription {
        watch: gvr.to_string(),
        passed: stats.passed,
        entered: stats.entered,
        left: stats.left,
        suppressed: types::Suppressed {
            initial: suppressed.initial,
            events: suppressed.events,
            namespaces: suppressed.namespaces,
            labels: suppressed.labels,
            fields: suppressed.fields,
            changed: suppressed.changed,
            when: suppressed.when,
        },
        unreadable: stats.unreadable,
        when: types::When {
            evaluations: stats.when.evaluations,
            errors: stats.when.errors,
            last_error: stats.when.last_error.clone(),
            time_us: micros(stats.when.time),
            longest_us: micros(stats.when.longest),
        },
    }
}
