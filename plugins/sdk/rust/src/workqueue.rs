//! The plugin's own rate-limited queue of keys: client-go's workqueue.
//!
//! Handlers put keys in; the host takes them out and calls `reconcile` ([`Reconciler`](crate::Reconciler),
//! [`Controller`](crate::Controller)), as many at once as `workers` of `[plugin.workqueue]` says and never two for one key.
//! A key is any text of at most 1 KiB; that of an object is `object.key()` ([`ObjectKey`]).
//!
//! The queue outlives the instance and a reload, and is empty when the host starts: the first list fills it again.
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

/// Adds a key. One that waits already is not added twice; one that is being reconciled is reconciled once more
/// afterwards, however often it is added meanwhile.
///
/// # Errors
/// [`Error::Host`] with `limit-exceeded` where the queue is full, `invalid` where the key is too long.
pub fn add(key: impl Display) -> Result<(), Error> {
    Ok(host::workqueue::add(&key.to_string())?)
}

/// Adds a key after this long, rounded up to whole milliseconds. Of several times for one key the earliest counts.
///
/// # Errors
/// As [`add`].
pub fn add_after(key: impl Display, delay: Duration) -> Result<(), Error> {
    Ok(host::workqueue::add_after(&key.to_string(), whole_millis(delay))?)
}

/// Adds a key after its backoff: each call without a [`forget`] in between doubles the wait.
///
/// # Errors
/// As [`add`].
pub fn add_rate_limited(key: impl Display) -> Result<(), Error> {
    Ok(host::workqueue::add_rate_limited(&key.to_string())?)
}

/// Resets the backoff of a key. The host does so itself after `reconcile` returned
/// [`Reconciled::Done`](crate::Reconciled::Done).
pub fn forget(key: impl Display) {
    host::workqueue::forget(&key.to_string());
}

/// How often a key was added by [`add_rate_limited`], by the plugin or by the host, since it was forgotten.
#[must_use]
pub fn num_requeues(key: impl Display) -> u32 {
    host::workqueue::num_requeues(&key.to_string())
}

/// Keys that wait for a worker: neither those in hand nor those whose time has not come.
#[must_use]
pub fn len() -> usize {
    usize::try_from(host::workqueue::length()).unwrap_or(usize::MAX)
}
