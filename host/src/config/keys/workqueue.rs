//! `[plugin.workqueue]`

use std::time::Duration;

use super::queue::WORKER_COUNT;
use crate::config::{
    key::{Key, Section, Shown::ByDefault},
    plugin::Workqueue,
    value::{Count, Scalar},
};

type K<V> = Key<Workqueue, V>;

/// The resolution of the timer, and a day.
pub(super) const WAIT: (Duration, Duration) = (Duration::from_millis(1), Duration::from_secs(24 * 60 * 60));
/// Ten million keys of 1 KiB take 10 GiB.
const KEYS: (Count, Count) = (Count(1), Count(10_000_000));
/// More requests per second than any API server accepts.
const RATE: (Count, Count) = (Count(1), Count(100_000));

pub(super) static WORKQUEUE: Section<Workqueue> = Section {
    doc: "The queue of keys of a component that exports `reconciler`. After a failed call the key waits `min`, then twice as \
          long after each further failure, up to `max`.",
    keys: &[
        &K::<Count> {
            name: "workers",
            doc: "Keys reconciled at the same time.",
            shown: ByDefault(|queue| queue.workers.to_string()),
            bounds: Some(WORKER_COUNT),
            set: |queue, it| queue.workers = it.value.non_zero_size().unwrap_or(queue.workers),
        },
        &K::<Count> {
            name: "capacity",
            doc: "Distinct keys in the queue. A plugin that adds one more gets the error limit-exceeded.",
            shown: ByDefault(|queue| queue.capacity.to_string()),
            bounds: Some(KEYS),
            set: |queue, it| queue.capacity = it.value.non_zero_size().unwrap_or(queue.capacity),
        },
        &K::<Count> {
            name: "attempts",
            doc: "Consecutive failed calls after which a key becomes a dead letter. 0 means never.",
            shown: ByDefault(|queue| queue.attempts.map_or(0, u32::from).to_string()),
            bounds: None,
            set: |queue, it| queue.attempts = it.value.non_zero(),
        },
        &K::<Duration> {
            name: "min",
            doc: "The wait after the first failure.",
            shown: ByDefault(|queue| Scalar::shown(&queue.min)),
            bounds: Some(WAIT),
            set: |queue, it| queue.min = it.value,
        },
        &K::<Duration> {
            name: "max",
            doc: "The longest wait.",
            shown: ByDefault(|queue| Scalar::shown(&queue.max)),
            bounds: Some(WAIT),
            set: |queue, it| queue.max = it.value,
        },
        &K::<Count> {
            name: "qps",
            doc: "Keys per second that are retried, all together: the sustained rate; `burst` may exceed it briefly.",
            shown: ByDefault(|queue| queue.qps.to_string()),
            bounds: Some(RATE),
            set: |queue, it| queue.qps = it.value.non_zero().unwrap_or(queue.qps),
        },
        &K::<Count> {
            name: "burst",
            doc: "Keys that may be retried at once after a pause.",
            shown: ByDefault(|queue| queue.burst.to_string()),
            bounds: Some(RATE),
            set: |queue, it| queue.burst = it.value.non_zero().unwrap_or(queue.burst),
        },
    ],
};
