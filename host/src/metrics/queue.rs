//! What a plugin's queue measures.

use informer_dispatch::QueueStats;

use super::Exposition;

pub(super) fn queue(plugin: &str, stats: &QueueStats, into: &mut Exposition) {
    let labels = [("plugin", plugin)];
    for (name, help, value) in [
        ("informer_queue_offered", "Notifications offered by listeners", stats.offered),
        ("informer_queue_acknowledged", "Notifications whose handler returned ok", stats.acknowledged),
        (
            "informer_queue_cancelled",
            "Additions and deletions that took each other away, and deletions that nobody was to hear of",
            stats.cancelled,
        ),
        ("informer_queue_dead", "Notifications given up and kept as dead letters", stats.dead),
        ("informer_queue_dropped", "Notifications given up and not kept", stats.dropped),
        (
            "informer_queue_discarded",
            "Notifications that were there when the queue was closed",
            stats.discarded,
        ),
        ("informer_queue_delivered", "Attempts made", stats.delivered),
        ("informer_queue_retried", "Attempts that failed and are made again", stats.retried),
        ("informer_queue_given_back", "Attempts that the host cut short, to be made again", stats.given_back),
        ("informer_queue_rate_limited", "Deliveries that waited for the rate", stats.rate_limited),
        ("informer_queue_over_budget", "Retries that waited for the budget", stats.over_budget),
        (
            "informer_queue_controllers_given_up",
            "Controllers that do not hear of an object because it had too many",
            stats.controllers_given_up,
        ),
        ("informer_queue_overflows", "Times that there were too many changes to keep each", stats.overflows),
        ("informer_queue_quarantines", "Times that the plugin was put in quarantine", stats.quarantines),
        ("informer_queue_dead_letters_evicted", "Dead letters that made room", stats.dead_letters_evicted),
    ] {
        into.counter(name, help, &labels, value);
    }
    let merged = &stats.merged;
    for (became, value) in
        [("add", merged.add), ("update", merged.update), ("delete", merged.delete), ("resync", merged.resync)]
    {
        let labels = [("plugin", plugin), ("into", became)];
        into.counter(
            "informer_queue_merged",
            "Notifications that became part of a pending one",
            &labels,
            value,
        );
    }
    for (name, help, value) in [
        ("informer_queue_pending", "Notifications that no worker has in hand", stats.pending),
        ("informer_queue_waiting", "Objects that wait for their retry", stats.waiting),
        ("informer_queue_in_flight", "Notifications that workers have in hand", stats.in_flight),
        ("informer_queue_objects", "Distinct objects with anything pending or in hand", stats.objects),
        ("informer_queue_dead_letters", "Dead letters kept", stats.dead_letters),
        ("informer_queue_behind", "1 while changes merge that were each to be kept", stats.behind.into()),
        (
            "informer_queue_quarantined",
            "1 while the plugin is in quarantine",
            stats.quarantine.is_some().into(),
        ),
    ] {
        into.gauge(name, help, &labels, value);
    }
    let oldest = stats.oldest.unwrap_or_default();
    into.seconds(
        "informer_queue_oldest_seconds",
        "Age of the oldest notification that is not settled",
        &labels,
        oldest,
    );
}
