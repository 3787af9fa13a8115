//! `[plugin.queue]`

use std::num::NonZeroUsize;

use informer_dispatch::{DeliveryMode, Rate};

/// With one worker notifications are delivered in order across objects, which is easiest to reason about. With more
/// workers only the order of each object is promised.
pub(in crate::config) const WORKERS: NonZeroUsize = NonZeroUsize::MIN;

/// Some MiB, if each pending change holds a state that nothing else holds.
pub(in crate::config) const CAPACITY: NonZeroUsize = NonZeroUsize::new(10_000).unwrap();

/// The queue of notifications of a plugin.
#[derive(Clone, Debug, PartialEq)]
pub struct Queue {
    /// Calls at the same time, each for another object and in an instance of its own.
    pub workers: NonZeroUsize,
    /// What happens to pending changes of one object.
    pub delivery: DeliveryMode,
    /// The most calls; `None` means no limit.
    pub rate: Option<Rate>,
}

// === impl Queue ===

impl Default for Queue {
    fn default() -> Self {
        Self { workers: WORKERS, delivery: DeliveryMode::default(), rate: None }
    }
}
