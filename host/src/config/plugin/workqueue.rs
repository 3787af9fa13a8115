//! The plugin's own queue of keys, and who takes them.

use std::{
    num::{NonZeroU32, NonZeroUsize},
    time::Duration,
};

/// As `workers` of `[plugin.queue]`: first in, first out across keys.
pub const WORKERS: NonZeroUsize = NonZeroUsize::MIN;

/// Some ten MiB of keys as long as they usually are, and more objects than most clusters have of one resource.
pub const CAPACITY: NonZeroUsize = NonZeroUsize::new(100_000).unwrap();

/// client-go's default (W-9): a conflict is over after a few milliseconds.
pub const MIN: Duration = Duration::from_millis(5);

/// client-go's default (W-9): a key that cannot be reconciled costs a call in a quarter of an hour.
pub const MAX: Duration = Duration::from_secs(1000);

/// client-go's default (W-9).
pub const QPS: u32 = 10;

/// client-go's default (W-9).
pub const BURST: NonZeroU32 = NonZeroU32::new(100).unwrap();

/// `[plugin.workqueue]`: the queue of a plugin that reconciles.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Workqueue {
    /// Keys that are reconciled at once, each in an instance of its own.
    pub workers: NonZeroUsize,
    /// Distinct keys at most: waiting, delayed and in hand.
    pub capacity: NonZeroUsize,
    /// Calls in a row that may fail before a key is given up. None, the default: a controller has to get there in the
    /// end, and its backoff makes it cheap (W-13).
    pub attempts: Option<NonZeroU32>,
    /// The first wait of a key that comes again. Never zero.
    pub min: Duration,
    /// The longest: `min` or more.
    pub max: Duration,
    /// Keys a second that come again, all together, once `burst` of them did.
    pub qps: NonZeroU32,
    /// See `qps`.
    pub burst: NonZeroU32,
}

/// What becomes a key where a component exports `reconciler` and no `handler`.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub enum Enqueue {
    /// The object of the notification.
    #[default]
    Object,
    /// Its controlling owner, taken to be in the same namespace.
    Controller,
}

// === impl Workqueue ===

impl Default for Workqueue {
    fn default() -> Self {
        Self {
            workers: WORKERS,
            capacity: CAPACITY,
            attempts: None,
            min: MIN,
            max: MAX,
            qps: NonZeroU32::MIN.saturating_add(QPS - 1),
            burst: BURST,
        }
    }
}
