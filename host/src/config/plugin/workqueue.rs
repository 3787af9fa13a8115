//! `[plugin.workqueue]`

use std::{
    num::{NonZeroU32, NonZeroUsize},
    time::Duration,
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
    /// Distinct keys at most: pending, delayed and in flight.
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
