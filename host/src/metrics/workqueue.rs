//! The workqueue of one plugin: client-go's workqueue metrics (W-14), and the results of its keys.

use informer_dispatch::workqueue::WorkqueueStats;

use super::family::Family;

pub(super) const FAMILIES: &[Family<WorkqueueStats>] = &[
    Family::counter("informer_workqueue_adds", "Keys added that were not waiting already", |keys| keys.adds),
    Family::counter("informer_workqueue_retries", "Keys added with a delay", |keys| keys.retries),
    Family::counter("informer_workqueue_refused", "Keys refused because the workqueue was full", |keys| {
        keys.refused
    }),
    Family::counter(
        "informer_workqueue_succeeded",
        "Calls that succeeded and requested nothing more",
        |keys| keys.succeeded,
    ),
    Family::counter(
        "informer_workqueue_requeued",
        "Calls that succeeded and requested another call",
        |keys| keys.requeued,
    ),
    Family::counter("informer_workqueue_failed", "Calls that failed", |keys| keys.failed),
    Family::counter(
        "informer_workqueue_put_back",
        "Calls that the host interrupted or could not make",
        |keys| keys.put_back,
    ),
    Family::counter(
        "informer_workqueue_discarded",
        "Keys discarded when the workqueue was shut down",
        |keys| keys.discarded,
    ),
    Family::counter("informer_workqueue_dropped", "Keys given up", |keys| keys.dropped),
    Family::counter(
        "informer_workqueue_dropped_keys_evicted",
        "Dead letters of keys that newer ones replaced",
        |keys| keys.dropped_keys_evicted,
    ),
    Family::counter(
        "informer_workqueue_quarantines",
        "Times that the reconciler was put in quarantine",
        |keys| keys.quarantines,
    ),
    Family::gauge(
        "informer_workqueue_depth",
        "Keys that wait for a worker, and keys in flight that will wait again",
        |keys| keys.depth,
    ),
    Family::gauge("informer_workqueue_delayed", "Keys that wait for a time", |keys| keys.delayed),
    Family::gauge("informer_workqueue_dropped_keys", "Dead letters of keys", |keys| keys.dropped_keys),
    Family::gauge("informer_workqueue_quarantined", "1 while the reconciler is in quarantine", |keys| {
        keys.quarantine.is_some().into()
    }),
    Family::gauge("informer_workqueue_in_hand", "Keys in flight", |keys| keys.in_flight),
    Family::seconds(
        "informer_workqueue_unfinished_work_seconds",
        "Time of all present calls together",
        |keys| Some(keys.unfinished_work),
    ),
    Family::seconds(
        "informer_workqueue_longest_running_seconds",
        "Time of the oldest present call",
        |keys| Some(keys.longest_running),
    ),
    Family::histogram(
        "informer_workqueue_queue_duration_seconds",
        "Time from the first add of a key until a worker took it",
        |keys| &keys.latency,
    ),
    Family::histogram("informer_workqueue_work_duration_seconds", "Time that keys were in flight", |keys| {
        &keys.work_duration
    }),
];
