//! `[plugin.queue]`

use std::{
    num::{NonZeroU32, NonZeroUsize},
    sync::LazyLock,
};

use informer_dispatch::{DeliveryMode, Rate};
use informer_types::MAX_BATCH;

use crate::config::{
    context::useless,
    key::{Draft, Key, Section},
    problem::Problems,
    value::{Choice, Count, Number},
};

/// With one worker notifications are delivered in order across objects, which is easiest to reason about. With more
/// workers only the order of each object is promised.
const WORKERS: NonZeroUsize = NonZeroUsize::MIN;

/// Enough to make bulk requests worth it; a batch of objects of 10 KiB fits into the default limits, even if all are read.
const BATCH: NonZeroUsize = NonZeroUsize::new(100).unwrap();

/// Some MiB, if each pending change holds a state that nothing else holds.
const CAPACITY: NonZeroUsize = NonZeroUsize::new(10_000).unwrap();

/// The queue of notifications of a plugin.
#[derive(Clone, Debug, PartialEq)]
pub struct Queue {
    /// Calls at the same time, each for another object and in an instance of its own.
    pub workers: NonZeroUsize,
    /// The most notifications of one call of `batch-handler`.
    pub batch: NonZeroUsize,
    /// What happens to pending changes of one object.
    pub delivery: DeliveryMode,
    /// The most calls; `None` means no limit.
    pub rate: Option<Rate>,
}

/// `[plugin.queue]` as it is written.
#[derive(Clone, Debug)]
pub(in crate::config) struct QueueKeys {
    workers: NonZeroUsize,
    batch: NonZeroUsize,
    delivery: DeliveryKind,
    capacity: NonZeroUsize,
    rate: Option<f64>,
    burst: Option<NonZeroU32>,
}

/// The value of `delivery`.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum DeliveryKind {
    Latest,
    Every,
}

type K<V> = Key<QueueKeys, V>;

/// Each worker keeps an instance: at the default memory limit 256 of them may hold 16 GiB.
pub(super) const WORKER_COUNT: (Count, Count) = (Count(1), Count(256));
const BATCH_COUNT: (Count, Count) = (Count(1), Count(MAX_BATCH as u32));
/// Each pending event may hold a state of an object that nothing else holds.
const CAPACITY_COUNT: (Count, Count) = (Count(1), Count(1_000_000));
/// The least is one call in a quarter of an hour, and the most is more than any plugin makes.
const PER_SECOND: (Number, Number) = (Number(0.001), Number(1_000_000.0));

pub(super) static QUEUE: LazyLock<Section<QueueKeys>> = LazyLock::new(|| Section {
    doc: "The queue of notifications for the plugin.",
    keys: vec![
        K::<Count>::new("workers", |keys| &mut keys.workers).within(WORKER_COUNT).doc(
            "Calls at the same time, each for another object. With one worker the notifications of all \
             objects are delivered in order; with more workers only those of each object.",
        ),
        K::<Count>::new("batch", |keys| &mut keys.batch).within(BATCH_COUNT).doc(
            "The maximum number of notifications in one call, each of another object, if the component \
             exports `batch-handler`. A call receives the pending notifications and does not wait for more.",
        ),
        K::<DeliveryKind>::new("delivery", |keys| &mut keys.delivery).also("\"every\"").doc(
            "\"latest\": pending changes of one object merge into one. \"every\": each change is \
             delivered, in order; a change that fails is retried until it succeeds or is given up, and \
             later changes of its object wait.",
        ),
        K::<Count>::new("capacity", |keys| &mut keys.capacity)
            .within(CAPACITY_COUNT)
            .example("10000\ndelivery = \"every\"")
            .doc(
                "With \"every\": pending changes after which the queue merges, with the cause `replay`, \
                 until half of them are left. No deletion and no final state is lost. Default: 10000.",
            ),
        K::<Number>::new("rate", |keys| &mut keys.rate).within(PER_SECOND).example("50").doc(
            "Calls per second, retries included: the sustained rate; `burst` may exceed it briefly. \
             Default: no limit.",
        ),
        K::<Count>::new("burst", |keys| &mut keys.burst)
            .within(CAPACITY_COUNT)
            .example("100\nrate = 50")
            .doc("Calls that may start at once after a pause. Default: `rate`, rounded up."),
    ],
});

// === impl Queue ===

impl Default for Queue {
    fn default() -> Self {
        Self { workers: WORKERS, batch: BATCH, delivery: DeliveryMode::default(), rate: None }
    }
}

// === impl QueueKeys ===

impl Default for QueueKeys {
    fn default() -> Self {
        Self {
            workers: WORKERS,
            batch: BATCH,
            delivery: DeliveryKind::Latest,
            capacity: CAPACITY,
            rate: None,
            burst: None,
        }
    }
}

// === impl DeliveryKind ===

impl Choice for DeliveryKind {
    const WORDS: &'static [(&'static str, Self)] = &[("latest", Self::Latest), ("every", Self::Every)];
}

/// Judges the keys that depend on one another.
pub(super) fn queue(table: &Draft<QueueKeys>, problems: &mut Problems<'_>) -> Queue {
    let QueueKeys { workers, batch, delivery, capacity, rate, burst } = table.value;
    if delivery == DeliveryKind::Latest {
        let message = "it has no meaning if changes merge: there are never more than objects";
        useless(problems, table.written("capacity"), message, "remove it, or write delivery = \"every\"");
    }
    if rate.is_none() && !table.is_refused("rate") {
        let message = "it has no meaning without a rate";
        useless(problems, table.written("burst"), message, "remove it, or write `rate` too");
    }
    Queue {
        workers,
        batch,
        delivery: match delivery {
            DeliveryKind::Latest => DeliveryMode::Latest,
            DeliveryKind::Every => DeliveryMode::Every { capacity },
        },
        rate: rate
            .map(|per_second| Rate { per_second, burst: burst.unwrap_or_else(|| a_second_of(per_second)) }),
    }
}

#[expect(
    clippy::cast_possible_truncation,
    clippy::cast_sign_loss,
    reason = "between a thousandth and a million"
)]
fn a_second_of(per_second: f64) -> NonZeroU32 {
    NonZeroU32::new(per_second.ceil() as u32).unwrap_or(NonZeroU32::MIN)
}
