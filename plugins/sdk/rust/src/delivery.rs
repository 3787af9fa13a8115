//! Facts about the current call.

use std::time::Duration;

use crate::host;

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
