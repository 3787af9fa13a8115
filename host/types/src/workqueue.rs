//! The queue of keys of one plugin, as the plugin itself sees it.

use std::time::Duration;

/// client-go's rate-limited workqueue, but for `Get` and `Done`, which the workers keep to themselves. `dispatch`
/// implements it; `runtime` hands it to the guest.
///
/// After the shutdown of the queue what is added is ignored silently (W-5).
pub trait Workqueue: Send + Sync + 'static {
    /// Adds a key. One that waits already is not added twice; one that is being reconciled is reconciled once more
    /// afterwards, however often it is added meanwhile (W-2).
    ///
    /// # Errors
    /// [`AddError`]: nothing was added.
    fn add(&self, key: &str) -> Result<(), AddError>;

    /// Adds a key after this long, at once where it is zero. Of several times for one key the earliest counts (W-7).
    ///
    /// # Errors
    /// [`AddError`]: nothing was added.
    fn add_after(&self, key: &str, delay: Duration) -> Result<(), AddError>;

    /// Adds a key after its backoff, which grows with each call until it is forgotten (W-9, W-10).
    ///
    /// # Errors
    /// [`AddError`]: nothing was added, and the backoff did not grow.
    fn add_rate_limited(&self, key: &str) -> Result<(), AddError>;

    /// Starts the backoff of a key over; the key itself stays where it is (W-12).
    fn forget(&self, key: &str);

    /// How often a key was added by [`add_rate_limited`](Self::add_rate_limited) since it was forgotten (W-10).
    fn num_requeues(&self, key: &str) -> u32;

    /// Keys that wait for a worker: neither those in hand nor those whose time has not come (W-6).
    fn waiting(&self) -> usize;
}

/// Why a key was not added.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
pub enum AddError {
    /// The queue is full.
    #[error("the workqueue holds {capacity} keys, which is `capacity` of [plugin.workqueue]")]
    Full {
        /// Distinct keys it may hold.
        capacity: usize,
    },
    /// Keys are names, not places to keep things.
    #[error("a key of {bytes} bytes; at most {limit}")]
    TooLong {
        /// Its length.
        bytes: usize,
        /// The longest allowed.
        limit: usize,
    },
}
