//! The plugin's own rate-limited queue of keys. It works like client-go's workqueue.
//!
//! Handlers add keys. The host takes each key out and calls `reconcile` of the [`Reconciler`](crate::Reconciler) or
//! [`Controller`](crate::Controller). At most `workers` of `[plugin.workqueue]` keys are in flight at a time, and a key is never
//! in flight twice. A key is any text of at most 1 KiB. The key of an object is `object.key()`, an [`ObjectKey`].
//!
//! The queue survives reloads of the plugin. It is empty when the host starts, and the first list fills it again.
//!
//! ```
//! use informer_sdk::{Event, Result, workqueue};
//!
//! # fn example(object: &Event) -> Result {
//! workqueue::add(object.key())?;
//! # Ok(())
//! # }
//! ```

use std::{fmt::Display, time::Duration};

use crate::{Error, failure::whole_millis, host};

#[cfg(doc)]
use crate::ObjectKey;

/// Adds a key.
///
/// A key that is pending already is not added twice. A key that is in flight is reconciled once more after its call, even if it
/// is added several times during the call.
///
/// # Errors
/// Returns [`Error::Host`]: `limit-exceeded` if the queue is full, `invalid` if the key is too long.
pub fn add(key: impl Display) -> Result<(), Error> {
    Ok(host::workqueue::add(&key.to_string())?)
}

/// Adds a key after a delay, rounded up to whole milliseconds. If a key is added several times, the earliest deadline wins.
///
/// # Errors
/// Returns the same errors as [`add`].
pub fn add_after(key: impl Display, delay: Duration) -> Result<(), Error> {
    Ok(host::workqueue::add_after(&key.to_string(), whole_millis(delay))?)
}

/// Adds a key after its backoff. The backoff doubles with each call, until [`forget`] resets it.
///
/// # Errors
/// Returns the same errors as [`add`].
pub fn add_rate_limited(key: impl Display) -> Result<(), Error> {
    Ok(host::workqueue::add_rate_limited(&key.to_string())?)
}

/// Resets the backoff of a key. The host does this itself when `reconcile` returns [`Reconciled::Done`](crate::Reconciled::Done)
/// or [`Reconciled::RequeueAfter`](crate::Reconciled::RequeueAfter), and when the key becomes a dead letter.
pub fn forget(key: impl Display) {
    host::workqueue::forget(&key.to_string());
}

/// The number of times that the key was added with a backoff since its backoff was reset: by [`add_rate_limited`], and by the
/// host after [`Reconciled::Requeue`](crate::Reconciled::Requeue) and after each failed call.
#[must_use]
pub fn num_requeues(key: impl Display) -> u32 {
    host::workqueue::num_requeues(&key.to_string())
}

/// The number of keys that are ready for a worker. Keys in flight and delayed keys do not count.
#[must_use]
pub fn len() -> usize {
    usize::try_from(host::workqueue::length()).unwrap_or(usize::MAX)
}
