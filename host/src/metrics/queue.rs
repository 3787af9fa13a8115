//! The queue of one plugin.

use informer_dispatch::QueueStats;

use super::family::Family;

pub(super) const FAMILIES: &[Family<QueueStats>] = &[
    Family::counter("informer_queue_offered", "Notifications offered by listeners", |queue| queue.offered),
    Family::counter("informer_queue_acknowledged", "Notifications whose handler returned ok", |queue| {
        queue.acknowledged
    }),
    Family::counters(
        "informer_queue_merged",
        "into",
        "Notifications that became part of a pending one",
        |QueueStats { merged, .. }| {
            let into = [
                ("add", merged.add),
                ("update", merged.update),
                ("delete", merged.delete),
                ("resync", merged.resync),
            ];
            into.map(|(into, count)| (into.to_owned(), count)).to_vec()
        },
    ),
    Family::counter(
        "informer_queue_cancelled",
        "Additions and deletions that cancelled each other",
        |queue| queue.cancelled,
    ),
    Family::counter("informer_queue_dead", "Notifications that became dead letters", |queue| queue.dead),
    Family::counter("informer_queue_dropped", "Notifications given up without a dead letter", |queue| {
        queue.dropped
    }),
    Family::counter(
        "informer_queue_discarded",
        "Notifications discarded when the queue was closed",
        |queue| queue.discarded,
    ),
    Family::counter("informer_queue_delivered", "Attempts to deliver", |queue| queue.delivered),
    Family::counter("informer_queue_retried", "Attempts that failed and are repeated", |queue| queue.retried),
    Family::counter("informer_queue_given_back", "Attempts that the host interrupted", |queue| {
        queue.given_back
    }),
    Family::counter("informer_queue_rate_limited", "Deliveries that waited for the rate", |queue| {
        queue.rate_limited
    }),
    Family::counter("informer_queue_over_budget", "Retries that waited for the retry budget", |queue| {
        queue.over_budget
    }),
    Family::counter(
        "informer_queue_overflows",
        "Times that changes began to merge that are kept apart",
        |queue| queue.overflows,
    ),
    Family::counter("informer_queue_quarantines", "Times that the plugin was put in quarantine", |queue| {
        queue.quarantines
    }),
    Family::counter(
        "informer_queue_dead_letters_evicted",
        "Dead letters that newer ones replaced",
        |queue| queue.dead_letters_evicted,
    ),
    Family::gauge("informer_queue_pending", "Notifications that no worker has", |queue| queue.pending),
    Family::gauge("informer_queue_waiting", "Objects that wait for their retry", |queue| queue.waiting),
    Family::gauge("informer_queue_in_flight", "Notifications that workers have", |queue| queue.in_flight),
    Family::gauge(
        "informer_queue_objects",
        "Objects with a notification that is pending or in flight",
        |queue| queue.objects,
    ),
    Family::gauge("informer_queue_dead_letters", "Dead letters kept", |queue| queue.dead_letters),
    Family::gauge("informer_queue_behind", "1 while changes merge that are kept apart otherwise", |queue| {
        queue.behind.into()
    }),
    Family::gauge("informer_queue_quarantined", "1 while the plugin is in quarantine", |queue| {
        queue.quarantine.is_some().into()
    }),
    Family::seconds(
        "informer_queue_oldest_seconds",
        "Age of the oldest notification that is not settled",
        |queue| Some(queue.oldest.unwrap_or_default()),
    ),
];
