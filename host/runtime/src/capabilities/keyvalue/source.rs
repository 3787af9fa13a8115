//! The store of the key-values, as the capability needs it, and the counters of its use.

use std::sync::Arc;

use futures::future::{BoxFuture, ready};
use parking_lot::Mutex;
use serde::{Deserialize, Serialize};

use crate::capabilities::rate_budget::RateBudget;

/// The cost of an entry of a write beside its bytes: each entry takes the database time, however small it is.
const ENTRY_BYTES: usize = 1 << 10;

/// The most bytes that a plugin's keys, values and bucket names may have together.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Quota(pub u64);

/// One bucket of a plugin. It belongs to the name of the plugin in the configuration and survives reloads of the plugin.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Place {
    /// The name of the plugin.
    pub plugin: Arc<str>,
    /// The name of the bucket.
    pub bucket: Arc<str>,
}

/// The result of a function of [`KeyValueSource`].
pub type Kept<'a, T> = BoxFuture<'a, Result<T, KeyValueError>>;

/// Stores the key-values of all plugins, separate for each plugin.
///
/// Every function does all or nothing, and its writes are durable when it returns. If the future of a write is dropped, the
/// write may still be executed. Writes that wait are committed together, in turns by plugin.
pub trait KeyValueSource: Send + Sync + 'static {
    /// The values, in the order of the keys.
    ///
    /// # Errors
    /// [`KeyValueError::TooLarge`] if the values have more than `most_bytes` bytes together.
    fn get(&self, place: Place, keys: Vec<String>, most_bytes: usize) -> Kept<'_, Vec<Option<Vec<u8>>>>;

    /// Returns true if the key exists.
    ///
    /// # Errors
    /// [`KeyValueError::Unavailable`].
    fn exists(&self, place: Place, key: String) -> Kept<'_, bool>;

    /// At most `most` keys: those after `after`, or the first ones.
    ///
    /// # Ordering
    /// Sorted by bytes.
    ///
    /// # Errors
    /// [`KeyValueError::Unavailable`].
    fn keys(&self, place: Place, after: Option<String>, most: usize) -> Kept<'_, Vec<String>>;

    /// Sets the keys that have a value and deletes the others, in the order given.
    ///
    /// # Errors
    /// [`KeyValueError::Quota`] if the plugin would store more than the quota, unless the changes reduce what it stores.
    fn change(&self, place: Place, changes: Vec<(String, Option<Vec<u8>>)>, quota: Quota) -> Kept<'_, ()>;

    /// Adds `delta` to the decimal number under the key and returns the sum. A missing key counts as 0.
    ///
    /// # Errors
    /// [`KeyValueError::NotANumber`] if the value is not a number, or if the sum exceeds 64 bits.
    fn increment(&self, place: Place, key: String, delta: u64, quota: Quota) -> Kept<'_, u64>;
}

/// Why a plugin's key-values cannot be read or written. The text is for the plugin.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
pub enum KeyValueError {
    /// The write would exceed the quota of the grant.
    #[error("quota exceeded: {wanted} bytes with this write, `keyvalue` under [plugin.grant] allows {quota}")]
    Quota {
        /// Bytes stored after the write.
        wanted: u64,
        /// Bytes that the grant allows.
        quota: u64,
    },
    /// The answer exceeds the plugin's limit.
    #[error(
        "the values have more than the plugin's limit of {limit} bytes: read fewer keys at once, or raise `response`"
    )]
    TooLarge {
        /// The limit, in bytes.
        limit: usize,
    },
    /// The value cannot be incremented.
    #[error(
        "the value of `{key}` cannot be incremented: the value or the sum is not a decimal number of 64 bits"
    )]
    NotANumber {
        /// The key.
        key: String,
    },
    /// The plugin has no budget left for this write before the deadline of its call.
    #[error(
        "the plugin writes more than {per_second} times a second, and no further write fits before the deadline of this call: write several keys at once, write less, or raise `keyvalue-writes` under [plugin.limits]"
    )]
    TooOften {
        /// The limit.
        per_second: u32,
    },
    /// The database does not work now, as the host's log and `/readyz` report in detail, or the host has lost its lease.
    #[error("the host's state cannot be used: {0}")]
    Unavailable(&'static str),
}

/// The cost of a write in bytes: the keys and values, and a kibibyte for each entry. The budget of the plugin pays it, and it is the
/// size of the write in a commit.
pub fn write_cost(changes: &[(String, Option<Vec<u8>>)]) -> usize {
    changes.iter().map(|(key, value)| entry_cost(key, value.as_deref())).sum()
}

/// The cost of a write of one entry, as by [`write_cost`]. A deletion has no value.
pub fn entry_cost(key: &str, value: Option<&[u8]>) -> usize {
    ENTRY_BYTES.saturating_add(key.len()).saturating_add(value.map_or(0, <[u8]>::len))
}

/// The key-values of a host without state: every call fails with [`KeyValueError::Unavailable`].
#[derive(Clone, Copy, Debug, Default)]
pub struct NoKeyValues;

/// Calls of `wasi:keyvalue`, by their result.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "kebab-case", default)]
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

/// The state that all calls of one plugin share, over all its versions.
#[derive(Debug, Default)]
pub(crate) struct KeyValueCounters {
    stats: Mutex<KeyValueStats>,
    /// The writes that the plugin may make.
    pub(super) writes: RateBudget,
}

// === impl NoKeyValues ===

impl KeyValueSource for NoKeyValues {
    fn get(&self, _: Place, _: Vec<String>, _: usize) -> Kept<'_, Vec<Option<Vec<u8>>>> {
        nothing()
    }

    fn exists(&self, _: Place, _: String) -> Kept<'_, bool> {
        nothing()
    }

    fn keys(&self, _: Place, _: Option<String>, _: usize) -> Kept<'_, Vec<String>> {
        nothing()
    }

    fn change(&self, _: Place, _: Vec<(String, Option<Vec<u8>>)>, _: Quota) -> Kept<'_, ()> {
        nothing()
    }

    fn increment(&self, _: Place, _: String, _: u64, _: Quota) -> Kept<'_, u64> {
        nothing()
    }
}

fn nothing<'a, T: Send + 'a>() -> Kept<'a, T> {
    Box::pin(ready(Err(KeyValueError::Unavailable("this host stores nothing"))))
}

// === impl KeyValueCounters ===

impl KeyValueCounters {
    pub(super) fn ended(&self, write: bool, error: Option<&KeyValueError>) {
        let mut stats = self.stats.lock();
        let counter = match error {
            Some(KeyValueError::Unavailable(_)) => &mut stats.failed,
            Some(_) => &mut stats.refused,
            None if write => &mut stats.writes,
            None => &mut stats.reads,
        };
        *counter += 1;
    }

    pub(crate) fn snapshot(&self) -> KeyValueStats {
        *self.stats.lock()
    }
}
