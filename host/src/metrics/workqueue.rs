//! What a plugin's own keys measure: client-go's workqueue metrics (W-14), and what became of the keys.

use informer_dispatch::workqueue::WorkqueueStats;

use super::Exposition;

pub(super) fn workqueue(plugin: &str, stats: &WorkqueueStats, into: &mut Exposition) {
    let labels = [("plugin", plugin)];
    for (name, help, value) in [
        ("informer_workqueue_adds", "Keys added, those not counted that waited already", stats.adds),
        ("informer_workqueue_retries", "Times that a key was added with a delay", stats.retries),
        ("informer_workqueue_refused", "Keys refused because the workqueue was full", stats.refused),
        ("informer_workqueue_succeeded", "Keys reconciled that asked for nothing more", stats.succeeded),
        ("informer_workqueue_requeued", "Keys reconciled that asked to be again", stats.requeued),
        ("informer_workqueue_failed", "Calls for a key that failed", stats.failed),
        (
            "informer_workqueue_put_back",
            "Calls for a key that the host cut short or could not make",
            stats.put_back,
        ),
        (
            "informer_workqueue_discarded",
            "Keys that were to be reconciled when the workqueue was shut down",
            stats.discarded,
        ),
        ("informer_workqueue_dropped", "Keys given up", stats.dropped),
        (
            "informer_workqueue_dropped_keys_evicted",
            "Keys given up that made room for newer ones",
            stats.dropped_keys_evicted,
        ),
        (
            "informer_workqueue_quarantines",
            "Times that the reconciler was put in quarantine",
            stats.quarantines,
        ),
    ] {
        into.counter(name, help, &labels, value);
    }
    for (name, help, value) in [
        ("informer_workqueue_depth", "Keys that wait, and those in hand that will wait again", stats.depth),
        ("informer_workqueue_delayed", "Keys whose time has not come", stats.delayed),
        (
            "informer_workqueue_dropped_keys",
            "Keys given up that are kept as dead letters",
            stats.dropped_keys,
        ),
        (
            "informer_workqueue_quarantined",
            "1 while the reconciler is in quarantine",
            stats.quarantine.is_some().into(),
        ),
        ("informer_workqueue_in_hand", "Keys that workers have in hand", stats.in_hand),
    ] {
        into.gauge(name, help, &labels, value);
    }
    for (name, help, value) in [
        (
            "informer_workqueue_unfinished_work_seconds",
            "What the calls in hand have taken so far, all together",
            stats.unfinished_work,
        ),
        (
            "informer_workqueue_longest_running_seconds",
            "What the oldest call in hand has taken so far",
            stats.longest_running,
        ),
    ] {
        into.seconds(name, help, &labels, value);
    }
    for (name, help, histogram) in [
        (
            "informer_workqueue_queue_duration_seconds",
            "From the first add of a key until it was handed out",
            &stats.latency,
        ),
        ("informer_workqueue_work_duration_seconds", "How long keys were in hand", &stats.work_duration),
    ] {
        let labels = vec![("plugin".to_owned(), plugin.to_owned())];
        into.histogram(name, help, labels, histogram);
    }
}
