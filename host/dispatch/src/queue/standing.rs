//! Where one object stands in a queue.

use std::time::Duration;

/// An object with something pending or in hand.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Standing {
    /// Its place.
    pub stands: Stands,
    /// What is pending, `add`, `update` or `delete` each, in its order; what a worker has in hand is no longer pending.
    pub pending: Vec<&'static str>,
    /// Calls made for the first of these.
    pub attempts: u32,
    /// Since the oldest of it, in hand or not, was queued.
    pub since: Duration,
}

/// The places.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Stands {
    /// The next free worker may have it.
    Ready,
    /// It failed, or its time has not come.
    Waiting {
        /// Until it may be tried.
        retry_in: Duration,
    },
    /// A worker has it.
    InHand {
        /// For so long.
        lasting: Duration,
    },
}
