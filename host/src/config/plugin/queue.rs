//! What waits for a plugin.

use std::num::{NonZeroU32, NonZeroUsize};

/// One worker is first in, first out across objects, which is what a new plugin is easiest to reason about
/// with (section 4 of the contract: with more, only the order per object is promised).
pub const WORKERS: NonZeroUsize = NonZeroUsize::MIN;

/// Some MiB where each holds a state of an object that nobody else holds any more.
pub const CAPACITY: NonZeroUsize = NonZeroUsize::new(10_000).unwrap();

/// The queue of a plugin.
#[derive(Clone, Debug, PartialEq)]
pub struct Queue {
    /// Calls that may run at once, each for another object and in an instance of its own.
    pub workers: NonZeroUsize,
    /// What is done with several changes of one object.
    pub delivery: Delivery,
    /// None: as many calls as the workers make.
    pub rate: Option<Rate>,
}

/// What is done with changes of one object that wait.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub enum Delivery {
    /// They merge.
    #[default]
    Latest,
    /// Each is delivered, as long as no more than these wait in all; else they merge for a while.
    Every {
        /// Events.
        capacity: NonZeroUsize,
    },
}

/// How many calls are made at most.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct Rate {
    /// In the long run. Never zero.
    pub per_second: f64,
    /// At once, after a pause.
    pub burst: NonZeroU32,
}

// === impl Queue ===

impl Default for Queue {
    fn default() -> Self {
        Self { workers: WORKERS, delivery: Delivery::default(), rate: None }
    }
}
