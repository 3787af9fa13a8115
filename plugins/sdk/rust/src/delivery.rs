//! Facts about the current call.

use std::time::Duration;

use crate::{Error, host};

/// Facts about the current call.
#[derive(Debug, Clone, PartialEq, Eq)]
#[non_exhaustive]
pub struct Delivery {
    /// The number of this attempt to deliver the notification or to reconcile the key. The first attempt is 1. It is 0 in
    /// `start` and `stop`.
    pub attempt: u32,
    /// How long the notification or the key waited in its queue, in whole milliseconds. It is zero in `start` and `stop`.
    pub queued: Duration,
    /// The name of the plugin in `informer.toml`.
    pub plugin: String,
    /// The version of the host.
    pub host_version: String,
}

/// Returns facts about the current call.
///
/// ```
/// # informer_sdk::testing::TestHost::new();
/// use informer_sdk::{delivery, log};
///
/// let attempt = delivery::current().attempt;
/// if attempt > 3 {
///     log::warn!(attempt = attempt; "this takes many attempts");
/// }
/// ```
#[must_use]
pub fn current() -> Delivery {
    let info = host::delivery::current();
    Delivery {
        attempt: info.attempt,
        queued: Duration::from_millis(info.queued_ms.into()),
        plugin: info.plugin,
        host_version: info.host_version,
    }
}

/// Asks for another call of the handler for the object of this call, this time after the call returns ok.
///
/// The object is delivered as by a resync: `on_update` in the state that the cache has then, twice, with the cause `Resync`. Any other
/// call for the object ends the wait, and may ask anew. The wait survives instances and reloads, not the host. The time is rounded
/// down to milliseconds and at most 49 days.
///
/// # Errors
/// Returns [`Error::Host`] outside calls of a handler. A reconciler returns
/// [`Reconciled::RequeueAfter`](crate::Reconciled::RequeueAfter) instead.
///
/// ```
/// # informer_sdk::testing::TestHost::new();
/// use std::time::Duration;
///
/// use informer_sdk::{Event, Result, delivery};
///
/// fn on_add(certificate: &Event) -> Result {
///     // Looks at it once an hour, whether it changes or not.
///     delivery::call_again(Duration::from_secs(3600))?;
///     Ok(())
/// }
/// ```
pub fn call_again(after: Duration) -> Result<(), Error> {
    let millis = u32::try_from(after.as_millis()).unwrap_or(u32::MAX);
    Ok(host::delivery::call_again(millis)?)
}
