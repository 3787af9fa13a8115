//! Counters of the key-values of one plugin.

use parking_lot::Mutex;

use super::KeyValueError;

/// Calls of `wasi:keyvalue`, by their result.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct KeyValueStats {
    /// Calls that read.
    pub reads: u64,
    /// Calls that wrote.
    pub writes: u64,
    /// Calls refused because of the quota, a limit, or a value that is not a number.
    pub refused: u64,
    /// Calls that failed because the host's state is unavailable.
    pub failed: u64,
}

#[derive(Debug, Default)]
pub(crate) struct KeyValueCounters(Mutex<KeyValueStats>);

// === impl KeyValueCounters ===

impl KeyValueCounters {
    pub(super) fn ended(&self, write: bool, error: Option<&KeyValueError>) {
        let mut stats = self.0.lock();
        let counter = match error {
            Some(KeyValueError::Unavailable(_)) => &mut stats.failed,
            Some(_) => &mut stats.refused,
            None if write => &mut stats.writes,
            None => &mut stats.reads,
        };
        *counter += 1;
    }

    pub(crate) fn snapshot(&self) -> KeyValueStats {
        *self.0.lock()
    }
}
