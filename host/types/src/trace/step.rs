//! The decisions that stages make about an object.

use std::time::Duration;

use serde::Serialize;

use super::Version;
use crate::{Cause, Failure, micros, millis};

/// One decision, in the order of the stages. A stage that decides nothing records nothing: the delta queue neither merges nor
/// drops deltas, and a filter without conditions accepts everything. The time between the first two steps is the time in the
/// delta queue.
///
/// As JSON it is an object with the values of the decision, without its name.
#[derive(Clone, Debug, PartialEq, Eq, Serialize)]
#[serde(untagged)]
pub enum Step {
    /// The reflector decoded an event of the watch and put it into the delta queue.
    Seen {
        /// The type of the event.
        #[serde(skip)]
        event: WatchVerb,
        /// The object's version.
        version: Version,
    },
    /// The reflector could not decode the object; the cache keeps its last good state (D-2).
    Undecodable {
        /// The object's version, if it is readable.
        version: Version,
    },
    /// The indexer stored a state (C-3).
    Stored {
        /// `live` if the state came from the watch; otherwise it came from a list.
        cause: Cause,
        /// The state stored before, under any UID. `None` if there was none.
        #[serde(rename = "old-version", skip_serializing_if = "Option::is_none")]
        old: Option<Version>,
        /// The state stored now.
        #[serde(rename = "version")]
        new: Version,
    },
    /// The watch sent a state that the indexer already had. Only listeners that requested unchanged objects are notified (D-5).
    /// For a list this is not recorded, because a list would push all other steps out of the trace.
    Unchanged {
        /// The version stored before and now.
        version: Version,
    },
    /// The indexer removed the object.
    Removed {
        /// `live` if the watch sent the deletion; otherwise a list lacked the object, or the resource was removed.
        cause: Cause,
        /// The last stored state. `None` if there was none (D-11).
        #[serde(rename = "old-version", skip_serializing_if = "Option::is_none")]
        last: Option<Version>,
    },
    /// The processor notified every listener.
    Distributed {
        /// `add`, `update` or `delete`, here and in the other steps.
        verb: &'static str,
        /// The cause of the notification, here and in the other steps.
        cause: Cause,
        /// The number of listeners.
        listeners: usize,
    },
    /// The processor notified the listener of one plugin only, for example because the listener joined late, its resync period elapsed,
    /// or it requested a replay.
    Notified {
        /// The kind of change.
        verb: &'static str,
        /// The cause.
        cause: Cause,
    },
    /// A watch that replaces another one lags behind it. The notification is older than the state that the plugin has, so the
    /// plugin does not receive it: an object never goes back in time (`host/docs/contract.md`, Order).
    Withheld {
        /// The kind of change.
        verb: &'static str,
        /// The version that was withheld.
        version: Version,
        /// The version that the plugin has.
        #[serde(rename = "known-version")]
        known: Version,
    },
    /// The filter of a subscription accepted the notification.
    Passed {
        /// The kind of change that was offered.
        offered: &'static str,
        /// The kind of change that the handler receives. It differs from `offered` if the object has come to match the
        /// filter, or no longer matches (P-21).
        verb: &'static str,
        /// The cause.
        cause: Cause,
    },
    /// The filter of a subscription rejected the notification.
    Suppressed {
        /// The kind of change.
        verb: &'static str,
        /// The cause.
        cause: Cause,
        /// The first condition that rejected it, by its key in `[[plugin.on]]`.
        by: &'static str,
    },
    /// A condition of the filter could not be evaluated, which counts as a match (D-9).
    Undecided {
        /// The reason, without any value of the object.
        why: Box<str>,
    },
    /// The plugin's queue accepted the notification.
    Queued {
        /// The kind of change.
        verb: &'static str,
        /// The cause.
        cause: Cause,
    },
    /// The notification was merged into the pending one of the object.
    Merged {
        /// The kind of change.
        verb: &'static str,
        /// The cause.
        cause: Cause,
        /// The kind of the newest pending change.
        into: &'static str,
    },
    /// The notification and the pending one cancelled each other: the handler receives neither.
    Cancelled {
        /// The kind of change that arrived.
        verb: &'static str,
    },
    /// The queue was closed.
    Discarded {
        /// The kind of change that was pending or arrived.
        verb: &'static str,
    },
    /// A call of the handler ended.
    Called {
        /// The kind of change that was delivered.
        verb: &'static str,
        /// The cause.
        cause: Cause,
        /// The number of the attempt, starting at 1.
        attempt: u32,
        /// The time from the arrival of the oldest merged notification to the call.
        #[serde(rename = "queued-ms", with = "millis")]
        queued: Duration,
        /// The duration of the call.
        #[serde(rename = "took-us", with = "micros")]
        took: Duration,
        /// Why it failed, in short. `None` if it succeeded.
        #[serde(skip_serializing_if = "Option::is_none")]
        failure: Option<Box<Failure>>,
        /// The consequence.
        #[serde(flatten)]
        then: Then,
    },
    /// The object's key was added to the plugin's own workqueue (W-2).
    KeyAdded {
        /// The consequence.
        #[serde(flatten)]
        led_to: Enqueued,
    },
    /// The workqueue was full.
    KeyRefused {
        /// The maximum number of distinct keys.
        capacity: usize,
    },
    /// A worker took the key (W-3).
    KeyTaken {
        /// The number of the attempt: 1, and one more for each failed call in a row.
        attempt: u32,
        /// The time since the key was first added.
        #[serde(rename = "queued-ms", with = "millis")]
        waited: Duration,
    },
    /// A worker finished the call for the key (W-1).
    KeyDone {
        /// The number of the attempt.
        attempt: u32,
        /// The duration of the call.
        #[serde(rename = "took-us", with = "micros")]
        took: Duration,
        /// Why it failed, in short. `None` if it succeeded.
        #[serde(skip_serializing_if = "Option::is_none")]
        failure: Option<Box<Failure>>,
        /// The consequence.
        #[serde(flatten)]
        then: KeyThen,
    },
    /// The workqueue is closed (W-5, W-8).
    KeyDiscarded,
}

/// The consequence of adding a key.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize)]
#[serde(untagged)]
pub enum Enqueued {
    /// The key is ready.
    Waits,
    /// The key was dirty already: it is ready, or becomes ready after its call.
    WaitsAlready,
    /// The key is in flight and becomes ready after its call.
    WaitsAfterCall,
    /// The key becomes ready after a delay.
    Delayed {
        /// The delay from now.
        #[serde(rename = "delay-ms", with = "millis")]
        by: Duration,
    },
    /// The key is due earlier already (W-7).
    DueAlready,
}

/// The consequence of the end of a call for a key.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize)]
#[serde(untagged)]
pub enum KeyThen {
    /// The key is done.
    Done,
    /// The key is reconciled again, because the call failed or requested it.
    Again {
        /// The longest time until then.
        #[serde(rename = "retry-in-ms", with = "millis")]
        after: Duration,
    },
    /// The key is a dead letter until it is added again and reconciled.
    GivenUp,
    /// The host cancelled the call, and the key is ready again.
    GivenBack,
    /// The plugin is in quarantine: the failure does not count against the key, and the key stays in the queue.
    Spared,
    /// The workqueue is closed.
    Discarded,
}

/// The type of a watch event.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum WatchVerb {
    /// `ADDED`
    Added,
    /// `MODIFIED`
    Modified,
    /// `DELETED`
    Deleted,
}

/// The consequence of a call of the handler.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize)]
#[serde(untagged)]
pub enum Then {
    /// The notification is delivered.
    Acknowledged,
    /// The notification is delivered, which ended the plugin's quarantine.
    Recovered,
    /// The notification is retried.
    Retry {
        /// The time until then.
        #[serde(rename = "retry-in-ms", with = "millis")]
        after: Duration,
        /// True if it was merged into a newer pending notification.
        #[serde(skip)]
        superseded: bool,
    },
    /// The plugin is in quarantine since this call or before. The notification stays pending, and the call does not count as an
    /// attempt.
    Quarantined {
        /// The time until the next probe.
        #[serde(skip)]
        probe_in: Duration,
    },
    /// The notification is given up and kept as a dead letter.
    DeadLetter,
    /// The notification is given up and dropped, as configured.
    Dropped,
    /// The host cancelled the call, and the notification is pending again.
    GivenBack,
    /// The queue was closed.
    Discarded,
}

// === impl Step ===

impl Step {
    /// The stage that made the decision.
    pub fn stage(&self) -> &'static str {
        match self {
            Self::Seen { .. } | Self::Undecodable { .. } => "reflector",
            Self::Stored { .. } | Self::Unchanged { .. } | Self::Removed { .. } => "indexer",
            Self::Distributed { .. } | Self::Notified { .. } | Self::Withheld { .. } => "listener",
            Self::Passed { .. } | Self::Suppressed { .. } | Self::Undecided { .. } => "filter",
            Self::Queued { .. } | Self::Merged { .. } | Self::Cancelled { .. } | Self::Discarded { .. } => {
                "queue"
            }
            Self::Called { .. } => "dispatch",
            Self::KeyAdded { .. }
            | Self::KeyRefused { .. }
            | Self::KeyTaken { .. }
            | Self::KeyDone { .. }
            | Self::KeyDiscarded => "workqueue",
        }
    }
}

// === impl WatchVerb ===

impl WatchVerb {
    /// The type as it is written in the event.
    pub fn as_str(self) -> &'static str {
        match self {
            Self::Added => "ADDED",
            Self::Modified => "MODIFIED",
            Self::Deleted => "DELETED",
        }
    }
}
