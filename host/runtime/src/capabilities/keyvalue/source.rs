//! What keeps the key-values, as the capability needs it.

use std::sync::Arc;

use futures::future::BoxFuture;

/// Bytes that a plugin's keys, values and the names of their buckets may have together.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Quota(pub u64);

/// Keeps the key-values of all plugins, each apart from the others: a bucket belongs to a plugin's name in the
/// configuration, and survives reloads of it.
///
/// Every function is one transaction: it does all or nothing, and what it wrote is durable when it returns. A dropped
/// future lets a transaction go on to its end.
pub trait KeyValueSource: Send + Sync + 'static {
    /// The values, in the order of the keys.
    ///
    /// # Errors
    /// [`KeyValueError::TooLarge`] where they have more bytes together than `most_bytes`.
    fn get(
        &self,
        plugin: Arc<str>,
        bucket: Arc<str>,
        keys: Vec<String>,
        most_bytes: usize,
    ) -> BoxFuture<'_, Result<Vec<Option<Vec<u8>>>, KeyValueError>>;

    /// Whether there is such a key.
    ///
    /// # Errors
    /// [`KeyValueError::Unavailable`].
    fn exists(
        &self,
        plugin: Arc<str>,
        bucket: Arc<str>,
        key: String,
    ) -> BoxFuture<'_, Result<bool, KeyValueError>>;

    /// The keys after this one, or from the first on; at most so many.
    ///
    /// # Ordering
    /// By their bytes.
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

    /// Sets what has a value and deletes what has none, in this order.
    ///
    /// # Errors
    /// [`KeyValueError::Quota`] where more would be kept than the quota, unless it becomes less by it.
    fn change(
        &self,
        plugin: Arc<str>,
        bucket: Arc<str>,
        changes: Vec<(String, Option<Vec<u8>>)>,
        quota: Quota,
    ) -> BoxFuture<'_, Result<(), KeyValueError>>;

    /// Adds to the decimal number that the value is; none counts as 0. Gives the sum.
    ///
    /// # Errors
    /// [`KeyValueError::NotANumber`], also where the sum has no room in 64 bits.
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
    /// The grant allows less.
    #[error("quota exceeded: {wanted} bytes with this write, `keyvalue` under [plugin.grant] allows {quota}")]
    Quota {
        /// What would be kept.
        wanted: u64,
        /// What may be kept.
        quota: u64,
    },
    /// The answer exceeds the plugin's limit.
    #[error(
        "the values have more than the plugin's limit of {limit} bytes: ask for fewer, or raise `response`"
    )]
    TooLarge {
        /// The limit, in bytes.
        limit: usize,
    },
    /// The value is something else.
    #[error(
        "the value of `{key}` cannot be incremented: it is no decimal number of 64 bits, or the sum is none"
    )]
    NotANumber {
        /// The key.
        key: String,
    },
    /// The database does not work now; the host's log and `/readyz` say more.
    #[error("the host's state cannot be used: {0}")]
    Unavailable(&'static str),
}
