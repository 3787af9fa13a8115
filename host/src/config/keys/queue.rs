//! `[plugin.queue]`

use std::num::{NonZeroU32, NonZeroUsize};

use crate::config::{
    key::{
        Key, Section,
        Shown::{ByDefault, ByDefaultAnd, Example},
    },
    plugin::{CAPACITY, WORKERS},
    value::{Count, DeliveryKind, Number, Scalar},
};

/// `[plugin.queue]` as it is written.
#[derive(Clone, Debug)]
pub(in crate::config) struct QueueKeys {
    pub(in crate::config) workers: NonZeroUsize,
    pub(in crate::config) delivery: DeliveryKind,
    pub(in crate::config) capacity: NonZeroUsize,
    pub(in crate::config) rate: Option<f64>,
    pub(in crate::config) burst: Option<NonZeroU32>,
}

type K<V> = Key<QueueKeys, V>;

/// Each worker keeps an instance: at the default memory limit 256 of them may hold 16 GiB.
pub(super) const WORKER_COUNT: (Count, Count) = (Count(1), Count(256));
/// Each pending event may hold a state of an object that nothing else holds.
const CAPACITY_COUNT: (Count, Count) = (Count(1), Count(1_000_000));
/// From a call in a quarter of an hour to more than any plugin makes.
const PER_SECOND: (Number, Number) = (Number(0.001), Number(1_000_000.0));

pub(super) static QUEUE: Section<QueueKeys> = Section {
    doc: "How notifications wait for the plugin.",
    keys: &[
        &K::<Count> {
            name: "workers",
            doc: "Calls at the same time, each for another object. With one worker the notifications of all objects are \
                  delivered in order; with more workers only those of each object.",
            shown: ByDefault(|keys| keys.workers.to_string()),
            bounds: Some(WORKER_COUNT),
            set: |keys, it| keys.workers = it.value.non_zero_size().unwrap_or(keys.workers),
        },
        &K::<DeliveryKind> {
            name: "delivery",
            doc: "\"latest\": pending changes of one object merge into one. \"every\": each change is delivered, in order; \
                  a change that fails is retried until it succeeds or is given up, and later changes of its object wait.",
            shown: ByDefaultAnd(|keys| Scalar::shown(&keys.delivery), "\"every\""),
            bounds: None,
            set: |keys, it| keys.delivery = it.value,
        },
        &K::<Count> {
            name: "capacity",
            doc: "With \"every\": pending changes after which the queue merges, with the cause `replay`, until half of \
                  them are left. No deletion and no final state is lost. Default: 10000.",
            shown: Example("10000\ndelivery = \"every\""),
            bounds: Some(CAPACITY_COUNT),
            set: |keys, it| keys.capacity = it.value.non_zero_size().unwrap_or(keys.capacity),
        },
        &K::<Number> {
            name: "rate",
            doc: "Calls per second, retries included: the sustained rate; `burst` may exceed it briefly. Default: no limit.",
            shown: Example("50"),
            bounds: Some(PER_SECOND),
            set: |keys, it| keys.rate = Some(it.value.0),
        },
        &K::<Count> {
            name: "burst",
            doc: "Calls that may start at once after a pause. Default: `rate`, rounded up.",
            shown: Example("100\nrate = 50"),
            bounds: Some(CAPACITY_COUNT),
            set: |keys, it| keys.burst = it.value.non_zero(),
        },
    ],
};

// === impl QueueKeys ===

impl Default for QueueKeys {
    fn default() -> Self {
        Self { workers: WORKERS, delivery: DeliveryKind::Latest, capacity: CAPACITY, rate: None, burst: None }
    }
}
