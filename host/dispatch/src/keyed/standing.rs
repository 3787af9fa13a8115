//! The place of one key, for `informer explain`.

use std::time::Duration;

/// The place of a key in a queue.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Stands {
    /// The next free worker may take the key.
    Ready,
    /// The key failed or was added with a delay, and its wait is not over.
    Waiting {
        /// Time until the wait is over.
        retry_in: Duration,
    },
    /// A worker has the key.
    InFlight {
        /// Time since the worker took the key.
        lasting: Duration,
    },
}
