//! One informer: reflectors, delta queue, cache and processor.

use informer_cache::{InformerStatus, ReflectorStatus};

use super::{
    exposition::Exposition,
    family::{Family, expose},
};

const INFORMER: &[Family<InformerStatus>] = &[
    Family::counter("informer_reflector_lists", "Lists that succeeded", |status| status.counters.lists),
    Family::counter("informer_reflector_relists", "Lists that succeeded and were not the first", |status| {
        status.counters.relists
    }),
    Family::counter("informer_reflector_streaming_lists", "Streaming lists that succeeded", |status| {
        status.counters.streaming_lists
    }),
    Family::counter(
        "informer_reflector_streaming_fallbacks",
        "Streaming lists that a plain list replaced",
        |status| status.counters.streaming_fallbacks,
    ),
    Family::counter("informer_reflector_watches", "Watches opened", |status| status.counters.watches),
    Family::counter("informer_reflector_events", "Objects received on watches", |status| {
        status.counters.events
    }),
    Family::counter("informer_reflector_bookmarks", "Bookmarks received on watches", |status| {
        status.counters.bookmarks
    }),
    Family::counter("informer_reflector_failures", "Lists and watches that failed", |status| {
        status.counters.failures
    }),
    Family::counter(
        "informer_reflector_silent_watches",
        "Watches closed because nothing arrived",
        |status| status.counters.silent_watches,
    ),
    Family::counter(
        "informer_reflector_skipped_objects",
        "Objects skipped because they have another type",
        |status| status.counters.skipped,
    ),
    Family::counter("informer_reflector_undecoded_objects", "Objects that could not be decoded", |status| {
        status.counters.quarantined
    }),
    Family::counter(
        "informer_processor_suppressed_unchanged",
        "Unchanged objects that were not delivered",
        |status| status.counters.suppressed_unchanged,
    ),
    Family::counter(
        "informer_processor_sink_panics",
        "Notifications lost because of a bug of the host",
        |status| status.counters.sink_panics,
    ),
    Family::counter("informer_cache_index_failures", "Objects that an index could not read", |status| {
        status.counters.index_failures
    }),
    Family::gauge("informer_delta_queue_depth", "Deltas that wait for the controller", |status| {
        status.queued_deltas
    }),
    Family::gauge("informer_cache_objects", "Objects in the cache", |status| status.objects),
    Family::gauge("informer_cache_bytes", "Memory of the objects in the cache", |status| status.bytes),
    Family::gauge("informer_cache_synced", "1 once the first list is in the cache", |status| {
        status.synced.into()
    }),
    Family::gauge("informer_processor_listeners", "Subscriptions to the informer", |status| {
        status.listeners.len()
    }),
];

const REFLECTOR: &[Family<ReflectorStatus>] = &[
    Family::seconds(
        "informer_reflector_lag_seconds",
        "Longest time that something received is not in the cache yet",
        |status| Some(status.lag),
    ),
    Family::seconds(
        "informer_reflector_last_event_age_seconds",
        "Time since the last event or bookmark",
        |status| status.last_event_age,
    ),
];

/// Labelled with the phase.
const PHASE: &[Family<ReflectorStatus>] =
    &[Family::gauge("informer_reflector_phase", "1 for the present phase of the reflector", |_| 1)];

pub(crate) fn informer(status: &InformerStatus, into: &mut Exposition) {
    let watch = status.key.to_string();
    expose(INFORMER, status, &[("watch", &watch)], into);
    for reflector in &status.reflectors {
        let namespace = reflector.namespace.as_deref().unwrap_or_default();
        let labels = [("watch", watch.as_str()), ("namespace", namespace)];
        expose(REFLECTOR, reflector, &labels, into);
        let [watch, namespace] = labels;
        expose(PHASE, reflector, &[watch, namespace, ("phase", reflector.phase.as_str())], into);
    }
}
