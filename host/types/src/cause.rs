//! The causes of notifications.

use std::fmt;

use serde::Serialize;

/// The reason for a notification.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash, Serialize)]
#[serde(rename_all = "kebab-case")]
pub enum Cause {
    /// The watch sent an event. Another case: the labels of the namespace changed, and with that the object entered or left the
    /// subscription.
    Live,
    /// The first list, or the replay to a listener that joined late (client-go's `isInInitialList`, C-11, P-11). Only the first
    /// notification of an object has this cause.
    Initial,
    /// A later list found the change, because the watch missed it.
    Relist,
    /// Nothing changed. The resync period of the subscription has elapsed (P-8), or the time after which the handler requested another
    /// call for the object.
    Resync,
    /// The object is delivered again: on request, because the conditions of the subscription changed, or because a bug of the host may
    /// have kept a notification from the listener. With `delivery = "every"`, this is also the cause of notifications that merged
    /// because too many were pending.
    Replay,
}

// === impl Cause ===

impl Cause {
    /// The word in configuration, logs, metrics and WIT.
    pub fn as_str(self) -> &'static str {
        match self {
            Self::Live => "live",
            Self::Initial => "initial",
            Self::Relist => "relist",
            Self::Resync => "resync",
            Self::Replay => "replay",
        }
    }
}

impl fmt::Display for Cause {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(self.as_str())
    }
}
