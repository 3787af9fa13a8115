//! One informer.

use informer_cache::{InformerStatus, ReflectorStatus, Trouble};

use crate::admin::types::{self, millis};

pub(super) fn informer(status: &InformerStatus, superseded: bool) -> types::Informer {
    let counters = &status.counters;
    let listener = |(name, synced): &(String, bool)| types::Listener { name: name.clone(), synced: *synced };
    types::Informer {
        watch: status.key.to_string(),
        superseded,
        selector: types::Selector { labels: status.key.labels.clone(), fields: status.key.fields.clone() },
        phase: status.phase.as_str().to_owned(),
        synced: status.synced,
        unsynced_because: status.unsynced_because(),
        text: status.to_string(),
        troubles: status.troubles().iter().map(trouble).collect(),
        last_synced_version: status.last_synced_version.clone(),
        objects: status.objects,
        bytes: status.bytes,
        queued_deltas: status.queued_deltas,
        listeners: status.listeners.iter().map(listener).collect(),
        reflectors: status.reflectors.iter().map(reflector).collect(),
        counters: types::InformerCounters {
            lists: counters.lists,
            relists: counters.relists,
            streaming_lists: counters.streaming_lists,
            streaming_fallbacks: counters.streaming_fallbacks,
            consistent_lists: counters.consistent_lists,
            watches: counters.watches,
            events: counters.events,
            bookmarks: counters.bookmarks,
            failures: counters.failures,
            skipped: counters.skipped,
            quarantined: counters.quarantined,
            vanished: counters.vanished,
            silent_watches: counters.silent_watches,
            suppressed_unchanged: counters.suppressed_unchanged,
            sink_panics: counters.sink_panics,
            index_failures: counters.index_failures,
        },
    }
}

fn trouble(trouble: &Trouble) -> types::Trouble {
    types::Trouble {
        namespace: trouble.namespace.clone(),
        text: trouble.to_string(),
        what: trouble.what.clone(),
        class: trouble.class.map(|class| class.as_str().to_owned()),
        lasting_ms: millis(trouble.lasting),
        failures: trouble.failures,
        retry_in_ms: trouble.retry_in.map(millis),
        remedy: trouble.remedy.clone(),
    }
}

fn reflector(reflector: &ReflectorStatus) -> types::Reflector {
    types::Reflector {
        namespace: reflector.namespace.clone(),
        phase: reflector.phase.as_str().to_owned(),
        phase_age_ms: millis(reflector.phase_age),
        consecutive_failures: reflector.consecutive_failures,
        failing_for_ms: reflector.failing_for.map(millis),
        retry_in_ms: reflector.retry_in.map(millis),
        lag_ms: millis(reflector.lag),
        last_error: reflector.last_error.as_ref().map(|error| types::LastError {
            text: error.text.clone(),
            class: format!("{:?}", error.class),
            age_ms: millis(error.age),
        }),
        unsynced_because: reflector.unsynced_because.clone(),
        plain_lists_because: reflector.plain_lists_because.clone(),
        last_event_age_ms: reflector.last_event_age.map(millis),
        observed_version: reflector.observed_version.clone(),
        applied_version: reflector.applied_version.clone(),
        quarantined: reflector.quarantined.iter().map(|(key, why)| (key.to_string(), why.clone())).collect(),
    }
}
