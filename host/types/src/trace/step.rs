//! What a stage may decide about an object.

use std::time::Duration;

use super::Version;
use crate::{Cause, Failure};

/// One decision, in the order of the stages. A stage that decides nothing writes nothing: the delta queue neither merges nor
/// drops, so its part is the time between the first two steps; a filter without conditions lets everything through.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Step {
    /// The reflector decoded an event of the watch and put it into the delta queue.
    Seen {
        /// As the API server calls it.
        event: WatchVerb,
        /// Of the object.
        version: Version,
    },
    /// The reflector could not decode it; what the cache has stays (D-2).
    Undecodable {
        /// Where it says so itself.
        version: Version,
    },
    /// The indexer stored a state (C-3).
    Stored {
        /// Seen on the watch, or in a list.
        cause: Cause,
        /// What was stored before, under whatever UID; none: nothing was.
        old: Option<Version>,
        /// What is stored now.
        new: Version,
    },
    /// The watch told what the indexer had already; nobody is told, but who asked for it (D-5). Where a list says so of an
    /// object, it is no step: a list would push everything else out of the trace.
    Unchanged {
        /// Stored before and now.
        version: Version,
    },
    /// The indexer removed the object.
    Removed {
        /// Seen on the watch, or missing in a list.
        cause: Cause,
        /// What was stored; none: nothing was (D-11).
        last: Option<Version>,
    },
    /// The processor told every listener.
    Distributed {
        /// `add`, `update` or `delete`; so below.
        verb: &'static str,
        /// Why it is told; so below.
        cause: Cause,
        /// How many there are.
        listeners: usize,
    },
    /// The processor told the listener of one plugin, which joined late, whose period was over, or which asked.
    Told {
        /// What.
        verb: &'static str,
        /// Why.
        cause: Cause,
    },
    /// The watch that takes over from another is behind it: what it says is older than what the plugin knows, and is not
    /// told (point 2 of the contract).
    Withheld {
        /// What.
        verb: &'static str,
        /// Of the object that was not told.
        version: Version,
        /// What the plugin knows.
        known: Version,
    },
    /// The filter of a subscription let it through.
    Passed {
        /// What it was offered.
        offered: &'static str,
        /// What the handler is to be told: another verb where the object came to match, or does no longer (P-21).
        verb: &'static str,
        /// Why.
        cause: Cause,
    },
    /// The filter of a subscription did not let it through.
    Suppressed {
        /// What.
        verb: &'static str,
        /// Why it was told.
        cause: Cause,
        /// The first condition that said so, by its key in `[[plugin.on]]`.
        by: &'static str,
    },
    /// A condition of the filter had no answer, which counts as yes (D-9).
    Undecided {
        /// Without a value of the object.
        why: Box<str>,
    },
    /// The plugin's queue took it in.
    Queued {
        /// What.
        verb: &'static str,
        /// Why.
        cause: Cause,
    },
    /// It became part of what waited for the object already.
    Merged {
        /// What.
        verb: &'static str,
        /// Why.
        cause: Cause,
        /// What it became part of, as it is now; of several the newest.
        into: &'static str,
    },
    /// It and what waited took each other away: the handler never has to know.
    Cancelled {
        /// What came.
        verb: &'static str,
    },
    /// The queue was closed.
    Discarded {
        /// What waited, or came.
        verb: &'static str,
    },
    /// A call was made and ended.
    Called {
        /// What was told.
        verb: &'static str,
        /// Why.
        cause: Cause,
        /// 1 for the first.
        attempt: u32,
        /// Since the oldest of what was merged into it entered the queue, until the call.
        queued: Duration,
        /// The call itself.
        took: Duration,
        /// Why it failed, in a few words; none: it did not.
        failure: Option<Box<Failure>>,
        /// What it led to.
        then: Then,
    },
    /// The key of its name was added to the plugin's own workqueue, by a handler or for a component without any (W-2).
    KeyAdded {
        /// What that led to.
        led_to: Enqueued,
    },
    /// The workqueue was full.
    KeyRefused {
        /// Distinct keys it may hold.
        capacity: usize,
    },
    /// A worker took the key (W-3).
    KeyTaken {
        /// 1 for the first, and one more for each call in a row that failed.
        attempt: u32,
        /// Since its first add.
        waited: Duration,
    },
    /// The worker is done with the key (W-1).
    KeyDone {
        /// As it was taken.
        attempt: u32,
        /// The call itself.
        took: Duration,
        /// Why it failed, in a few words; none: it did not.
        failure: Option<Box<Failure>>,
        /// What it led to.
        then: KeyThen,
    },
    /// The worker could make no call: the version in service takes no keys.
    KeyNotCalled {
        /// Until a worker takes the key again.
        again_in: Duration,
    },
    /// The workqueue is closed (W-5, W-8).
    KeyDiscarded,
}

/// What the adding of a key led to.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Enqueued {
    /// It waits for a worker.
    Waits,
    /// It did before.
    WaitsAlready,
    /// It is in hand, and waits again afterwards.
    WaitsAfterCall,
    /// It waits once this is over.
    Delayed {
        /// From now on.
        by: Duration,
    },
    /// It is due no later already (W-7).
    DueAlready,
}

/// What the end of a key's call led to.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum KeyThen {
    /// Nothing more.
    Done,
    /// It is reconciled again, because it failed or because it asked.
    Again {
        /// After this long at the latest.
        after: Duration,
    },
    /// It is a dead letter until it is reconciled; it is not called for unless somebody adds it again.
    GivenUp,
    /// The host cut the call short, and it waits as before.
    PutBack,
    /// The plugin is in quarantine: the failure is not held against the key, and it waits.
    Spared,
    /// The workqueue is closed.
    Discarded,
}

/// An event of a watch.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum WatchVerb {
    /// `ADDED`
    Added,
    /// `MODIFIED`
    Modified,
    /// `DELETED`
    Deleted,
}

/// What a call led to.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Then {
    /// It is delivered.
    Acknowledged,
    /// It is delivered, and that ended the plugin's quarantine.
    Recovered,
    /// It is tried again.
    Retry {
        /// After this long.
        after: Duration,
        /// As part of newer state, which waited already.
        superseded: bool,
    },
    /// It does not count as an attempt: the plugin is in quarantine, since this call or before, and it waits there.
    Quarantined {
        /// Until a call is made again.
        probe_in: Duration,
    },
    /// It is given up, and kept as a dead letter.
    DeadLetter,
    /// It is given up, as configured.
    Dropped,
    /// The host cut the call short, and it waits as before.
    GivenBack,
    /// The queue was closed.
    Discarded,
}

// === impl Step ===

impl Step {
    /// The stage that took it.
    pub fn stage(&self) -> &'static str {
        match self {
            Self::Seen { .. } | Self::Undecodable { .. } => "reflector",
            Self::Stored { .. } | Self::Unchanged { .. } | Self::Removed { .. } => "indexer",
            Self::Distributed { .. } | Self::Told { .. } | Self::Withheld { .. } => "listener",
            Self::Passed { .. } | Self::Suppressed { .. } | Self::Undecided { .. } => "filter",
            Self::Queued { .. } | Self::Merged { .. } | Self::Cancelled { .. } | Self::Discarded { .. } => {
                "queue"
            }
            Self::Called { .. } => "dispatch",
            Self::KeyAdded { .. }
            | Self::KeyRefused { .. }
            | Self::KeyTaken { .. }
            | Self::KeyDone { .. }
            | Self::KeyNotCalled { .. }
            | Self::KeyDiscarded => "workqueue",
        }
    }
}

// === impl WatchVerb ===

impl WatchVerb {
    /// As on the wire.
    pub fn as_str(self) -> &'static str {
        match self {
            Self::Added => "ADDED",
            Self::Modified => "MODIFIED",
            Self::Deleted => "DELETED",
        }
    }
}
