//! What one informer measures: reflector, delta queue, cache, processor.

use informer_cache::InformerStatus;

use super::Exposition;

pub(crate) fn informer(status: &InformerStatus, into: &mut Exposition) {
    let key = status.key.to_string();
    let labels = [("watch", key.as_str())];
    let counters = &status.counters;
    for (name, help, value) in [
        ("informer_reflector_lists", "Lists that succeeded", counters.lists),
        ("informer_reflector_relists", "Lists that succeeded and were not the first", counters.relists),
        ("informer_reflector_streaming_lists", "Streaming lists that succeeded", counters.streaming_lists),
        (
            "informer_reflector_streaming_fallbacks",
            "Streaming lists given up for a plain one",
            counters.streaming_fallbacks,
        ),
        ("informer_reflector_watches", "Watches opened", counters.watches),
        ("informer_reflector_events", "Objects seen on watches", counters.events),
        ("informer_reflector_bookmarks", "Bookmarks seen on watches", counters.bookmarks),
        ("informer_reflector_failures", "Lists and watches that failed", counters.failures),
        (
            "informer_reflector_silent_watches",
            "Watches given up because nothing arrived",
            counters.silent_watches,
        ),
        ("informer_reflector_skipped_objects", "Objects that were of another type", counters.skipped),
        ("informer_reflector_undecoded_objects", "Objects that could not be decoded", counters.quarantined),
        (
            "informer_processor_suppressed_unchanged",
            "Unchanged objects that were not delivered",
            counters.suppressed_unchanged,
        ),
        ("informer_processor_sink_panics", "Notifications lost by a bug of the host", counters.sink_panics),
        ("informer_cache_index_failures", "Objects that an index could not read", counters.index_failures),
    ] {
        into.counter(name, help, &labels, value);
    }
    into.gauge(
        "informer_delta_queue_depth",
        "Deltas that wait for the controller",
        &labels,
        status.queued_deltas,
    );
    into.gauge("informer_cache_objects", "Objects in the cache", &labels, status.objects);
    into.gauge("informer_cache_bytes", "Memory of the objects in the cache", &labels, status.bytes);
    into.gauge(
        "informer_cache_synced",
        "1 once the first list is in the cache",
        &labels,
        status.synced.into(),
    );
    into.gauge("informer_processor_listeners", "Subscriptions served", &labels, status.listeners.len());
    for reflector in &status.reflectors {
        let namespace = reflector.namespace.as_deref().unwrap_or_default();
        let labels = [("watch", key.as_str()), ("namespace", namespace)];
        let phase = [labels[0], labels[1], ("phase", reflector.phase.as_str())];
        into.gauge("informer_reflector_phase", "1 for the phase the reflector is in", &phase, 1);
        into.seconds(
            "informer_reflector_lag_seconds",
            "For how long something seen has not been in the cache",
            &labels,
            reflector.lag,
        );
        if let Some(age) = reflector.last_event_age {
            into.seconds(
                "informer_reflector_last_event_age_seconds",
                "Since the last event or bookmark",
                &labels,
                age,
            );
        }
    }
}
