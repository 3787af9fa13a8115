//! Facts about the current call.

use std::time::Duration;

use crate::{Error, failure::whole_millis, host};

/// Facts about the current call.
#[derive(Debug, Clone, PartialEq, Eq)]
#[non_exhaustive]
pub struct Delivery {
    /// The number of this attempt to deliver the notification, to reconcile the key, or to make the call of `on_synced`, `on_timer`
    /// or `on_config`. The first attempt is 1. In `on_batch` it is the highest of all notifications. In `start` and `stop` it is 0.
    pub attempt: u32,
    /// How long the notification, the key or the signal waited in its queue, in whole milliseconds. In `on_batch` it is the longest
    /// of these times. In `start` and `stop` it is zero.
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

/// Requests another call of the handler for the object of this call. The time begins when this call returns ok; if the call
/// fails, the request is ignored.
///
/// The object is delivered as by a resync: the host calls `on_update` with the cause `Resync`, and both the old and the new state
/// are the state that the cache has then. Any other call for the object cancels the request, and may make a new one. A request
/// survives the end of the instance and reloads of the plugin, but not a restart of the host: make it again in `on_add`. The time
/// is rounded up to whole milliseconds and is at most about 49 days.
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
    Ok(host::delivery::call_again(whole_millis(after))?)
}
