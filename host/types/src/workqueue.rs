//! The workqueue of a plugin, as the plugin sees it.

use std::time::Duration;

/// client-go's rate-limited workqueue without `Get` and `Done`, which only the workers call. `dispatch` implements it, and
/// `runtime` passes it to the guest.
///
/// After the shutdown of the queue, keys that are added are ignored silently (W-5).
pub trait Workqueue: Send + Sync + 'static {
    /// Adds a key. Does nothing if the key is ready already. A key that is being reconciled is reconciled once more afterwards,
    /// however often it is added meanwhile (W-2).
    ///
    /// # Errors
    /// [`AddError`]: nothing was added.
    fn add(&self, key: &str) -> Result<(), AddError>;

    /// Adds a key after a delay, or at once if the delay is zero. If a key is added several times, the earliest deadline wins
    /// (W-7).
    ///
    /// # Errors
    /// [`AddError`]: nothing was added.
    fn add_after(&self, key: &str, delay: Duration) -> Result<(), AddError>;

    /// Adds a key after its backoff, which grows with each call until the key is forgotten (W-9, W-10).
    ///
    /// # Errors
    /// [`AddError`]: nothing was added, and the backoff did not grow.
    fn add_rate_limited(&self, key: &str) -> Result<(), AddError>;

    /// Starts the backoff of a key over. The key itself stays in the queue (W-12).
    fn forget(&self, key: &str);

    /// The number of calls of [`add_rate_limited`](Self::add_rate_limited) for a key since it was forgotten (W-10).
    fn num_requeues(&self, key: &str) -> u32;

    /// The number of ready keys, without keys in flight and delayed keys (W-6).
    fn waiting(&self) -> usize;
}

/// Why a key was not added.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
pub enum AddError {
    /// The guest has added as many distinct keys as it may.
    #[error("the workqueue holds {capacity} keys, which is `capacity` of [plugin.workqueue]")]
    Full {
        /// The number of distinct keys that the guest may add.
        capacity: usize,
    },
    /// The key is too long: keys are names, not storage.
    #[error("a key of {bytes} bytes; at most {limit}")]
    TooLong {
        /// The length of the key.
        bytes: usize,
        /// The longest key allowed.
        limit: usize,
    },
}
