//! The store of the key-values, as the capability needs it.

use std::sync::Arc;

use futures::future::BoxFuture;

/// The most bytes that a plugin's keys, values and bucket names may have together.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Quota(pub u64);

/// Stores the key-values of all plugins, separate for each plugin. A bucket belongs to the name of a plugin in the
/// configuration and survives reloads of the plugin.
///
/// Every function is one transaction: it does all or nothing, and its writes are durable when it returns. If the future
/// is dropped, the transaction still runs to its end.
pub trait KeyValueSource: Send + Sync + 'static {
    /// The values, in the order of the keys.
    ///
    /// # Errors
    /// [`KeyValueError::TooLarge`] if the values have more than `most_bytes` bytes together.
    fn get(
        &self,
        plugin: Arc<str>,
        bucket: Arc<str>,
        keys: Vec<String>,
        most_bytes: usize,
    ) -> BoxFuture<'_, Result<Vec<Option<Vec<u8>>>, KeyValueError>>;

    /// Returns true if the key exists.
    ///
    /// # Errors
    /// [`KeyValueError::Unavailable`].
    fn exists(
        &self,
        plugin: Arc<str>,
        bucket: Arc<str>,
        key: String,
    ) -> BoxFuture<'_, Result<bool, KeyValueError>>;

    /// At most `most` keys: those after `after`, or the first ones.
    ///
    /// # Ordering
    /// Sorted by bytes.
    ///
    /// # Errors
    /// [`KeyValueError::Unavailable`].
    fn keys(
        &self,
        plugin: Arc<str>,
        bucket: Arc<str>,
        after: Option<String>,
        most: usize,
    ) -> BoxFuture<'_, Result<Vec<String>, KeyValueError>>;

    /// Sets the keys that have a value and deletes the others, in the order given.
    ///
    /// # Errors
    /// [`KeyValueError::Quota`] if the plugin would store more than the quota, unless the changes reduce what it stores.
    fn change(
        &self,
        plugin: Arc<str>,
        bucket: Arc<str>,
        changes: Vec<(String, Option<Vec<u8>>)>,
        quota: Quota,
    ) -> BoxFuture<'_, Result<(), KeyValueError>>;

    /// Adds `delta` to the decimal number under the key and returns the sum. A missing key counts as 0.
    ///
    /// # Errors
    /// [`KeyValueError::NotANumber`] if the value is not a number, or if the sum exceeds 64 bits.
    fn increment(
        &self,
        plugin: Arc<str>,
        bucket: Arc<str>,
        key: String,
        delta: u64,
        quota: Quota,
    ) -> BoxFuture<'_, Result<u64, KeyValueError>>;
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
    /// The database does not work now. The host's log and `/readyz` report the details.
    #[error("the host's state cannot be used: {0}")]
    Unavailable(&'static str),
}
