//! Facts about the call in hand.

use std::time::Duration;

use crate::host;

/// Facts about the call in hand.
#[derive(Debug, Clone, PartialEq, Eq)]
#[non_exhaustive]
pub struct Delivery {
    /// 1 for the first attempt to deliver this notification, or to reconcile this key; 0 in `start` and `stop`.
    pub attempt: u32,
    /// How long the notification, or the key, waited in its queue, in whole milliseconds; zero in `start` and `stop`.
    pub queued: Duration,
    /// The name of the plugin in `informer.toml`.
    pub plugin: String,
    /// The version of the host.
    pub host_version: String,
}

/// Asks the host about the call in hand.
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
