//! `[plugin.workqueue]`

use std::{
    num::{NonZeroU32, NonZeroUsize},
    sync::LazyLock,
    time::Duration,
};

use super::queue::WORKER_COUNT;
use crate::config::{
    key::{Key, Section},
    value::Count,
};

/// Some ten MiB of keys of the usual length, and more objects than most clusters have of one resource.
const CAPACITY: NonZeroUsize = NonZeroUsize::new(100_000).unwrap();

/// client-go's default (W-9): a conflict is over after a few milliseconds.
const MIN: Duration = Duration::from_millis(5);

/// client-go's default (W-9): a key that cannot be reconciled costs one call in a quarter of an hour.
const MAX: Duration = Duration::from_secs(1000);

/// The sustained rate of retries is client-go's default (W-9).
const QPS: NonZeroU32 = NonZeroU32::new(10).unwrap();

/// The burst of retries is client-go's default (W-9).
const BURST: NonZeroU32 = NonZeroU32::new(100).unwrap();

/// The queue of keys of a plugin that reconciles.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Workqueue {
    /// Keys reconciled at the same time, each in an instance of its own.
    pub workers: NonZeroUsize,
    /// The most distinct keys that the plugin itself has added and that are pending, delayed or in flight.
    pub capacity: NonZeroUsize,
    /// Consecutive failed calls after which a key is given up. `None`, the default, means never: a controller has to
    /// succeed in the end, and its backoff makes retries cheap (W-13).
    pub attempts: Option<NonZeroU32>,
    /// The wait after the first failure. Never zero.
    pub min: Duration,
    /// The longest wait, at least `min`.
    pub max: Duration,
    /// Keys per second that are retried, all together: the sustained rate.
    pub qps: NonZeroU32,
    /// Keys that may be retried at once after a pause.
    pub burst: NonZeroU32,
}

type K<V> = Key<Workqueue, V>;

/// The least is the resolution of the timer, and the most is a day.
pub(super) const WAIT: (Duration, Duration) = (Duration::from_millis(1), Duration::from_secs(24 * 60 * 60));
/// Ten million keys of 1 KiB take 10 GiB.
const KEYS: (Count, Count) = (Count(1), Count(10_000_000));
/// More requests per second than any API server accepts.
const RATE: (Count, Count) = (Count(1), Count(100_000));

pub(super) static WORKQUEUE: LazyLock<Section<Workqueue>> = LazyLock::new(|| Section {
    doc: "The queue of keys of a component that exports `reconciler`. After a failed call the key waits \
          `min`, then twice as long after each further failure, up to `max`.",
    keys: vec![
        K::<Count>::new("workers", |queue| &mut queue.workers)
            .within(WORKER_COUNT)
            .doc("Keys reconciled at the same time."),
        K::<Count>::new("capacity", |queue| &mut queue.capacity).within(KEYS).doc(
            "The most distinct keys in the queue that the plugin itself has added. A further key gets \
                 the error limit-exceeded.",
        ),
        K::<Count>::new("attempts", |queue| &mut queue.attempts)
            .doc("Consecutive failed calls after which a key becomes a dead letter. 0 means never."),
        K::<Duration>::new("min", |queue| &mut queue.min)
            .within(WAIT)
            .doc("The wait after the first failure."),
        K::<Duration>::new("max", |queue| &mut queue.max).within(WAIT).doc("The longest wait."),
        K::<Count>::new("qps", |queue| &mut queue.qps).within(RATE).doc(
            "Keys per second that are retried, all together: the sustained rate; `burst` may exceed it \
             briefly.",
        ),
        K::<Count>::new("burst", |queue| &mut queue.burst)
            .within(RATE)
            .doc("Keys that may be retried at once after a pause."),
    ],
});

// === impl Workqueue ===

impl Default for Workqueue {
    fn default() -> Self {
        Self {
            workers: NonZeroUsize::MIN,
            capacity: CAPACITY,
            attempts: None,
            min: MIN,
            max: MAX,
            qps: QPS,
            burst: BURST,
        }
    }
}
