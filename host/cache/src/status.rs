//! How an informer is doing, in terms an operator can act on.

mod cell;
mod remedy;
mod text;
mod trouble;

use std::{collections::BTreeMap, fmt, time::Duration};

use informer_types::ObjectKey;

pub(crate) use cell::ReflectorCell;
pub use trouble::Trouble;

use crate::{ErrorClass, InformerKey};

/// A snapshot of an informer's state.
#[derive(Clone, Debug)]
pub struct InformerStatus {
    /// Which informer.
    pub key: InformerKey,
    /// The phase that most needs attention among the reflectors.
    pub phase: Phase,
    /// True once the first list of every namespace is in the cache (C-12). It says nothing about now: see
    /// `phase` and `reflectors`.
    pub synced: bool,
    /// The resource version that the cache holds at least; none before the first list, or where several
    /// namespaces are watched and the versions have no order. See
    /// [`last_synced_version`](crate::SharedInformer::last_synced_version).
    pub last_synced_version: Option<String>,
    /// Objects in the cache.
    pub objects: usize,
    /// Their memory in bytes, without the tables.
    pub bytes: usize,
    /// Deltas that wait for the controller.
    pub queued_deltas: usize,
    /// Listeners by name, and whether each has synced (P-16).
    pub listeners: Vec<(String, bool)>,
    /// One for each namespace watched.
    pub reflectors: Vec<ReflectorStatus>,
    /// Sums over the reflectors, and what the controller counts.
    pub counters: Counters,
}

/// A snapshot of one reflector's state.
#[derive(Clone, Debug)]
pub struct ReflectorStatus {
    /// None: all namespaces.
    pub namespace: Option<String>,
    /// What it is doing.
    pub phase: Phase,
    /// For how long.
    pub phase_age: Duration,
    /// The last failure, kept after recovery.
    pub last_error: Option<LastError>,
    /// Why the cache does not have the first state, or the one after a gap, yet; none: it has, or what it
    /// waits for is the answer to a request just sent.
    pub unsynced_because: Option<String>,
    /// Why plain lists are used although streaming lists are asked for.
    pub plain_lists_because: Option<String>,
    /// Failures since something last went well.
    pub consecutive_failures: u32,
    /// Since the first of these failures.
    pub failing_for: Option<Duration>,
    /// Until the next try, where it waits for one.
    pub retry_in: Option<Duration>,
    /// For how long, at most, something that was seen has not been in the cache; zero while the cache has all.
    pub lag: Duration,
    /// Since the last event or bookmark.
    pub last_event_age: Option<Duration>,
    /// The last resource version seen on the wire.
    pub observed_version: String,
    /// The last resource version applied to the cache (I-11).
    pub applied_version: String,
    /// Objects that could not be decoded, and why; their last good state stays in the cache (D-2). At most a
    /// thousand are kept here.
    pub quarantined: BTreeMap<ObjectKey, String>,
    /// What it counted.
    pub counters: Counters,
}

/// What a reflector is doing.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Phase {
    /// The factory has not been started since the informer was asked for.
    NotStarted,
    /// Asks what the resource is.
    Discovering,
    /// The server does not serve the resource, as far as anybody can tell; waits for its CRD (D-12).
    WaitingForResource,
    /// Lists.
    Listing,
    /// A watch is open: all is well.
    Watching,
    /// Waits after a failure; see `last_error`.
    BackingOff,
    /// Stopped; it does not start again (C-1).
    Stopped,
    /// A bug of the host ended it; see `last_error`.
    Failed,
}

/// A failure, told for an operator.
#[derive(Clone, Debug)]
pub struct LastError {
    /// What happened and what would help.
    pub text: String,
    /// What it means.
    pub class: ErrorClass,
    /// Since it happened.
    pub age: Duration,
}

/// What has been counted since the start.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Counters {
    /// Lists that succeeded.
    pub lists: u64,
    /// Those of them that were not the first.
    pub relists: u64,
    /// Those of them that were streaming lists.
    pub streaming_lists: u64,
    /// Streaming lists given up for a plain one (R-45, D-3).
    pub streaming_fallbacks: u64,
    /// Streaming lists that were compared with a plain one and found equal.
    pub consistent_lists: u64,
    /// Watches opened.
    pub watches: u64,
    /// Objects seen on watches.
    pub events: u64,
    /// Bookmarks seen.
    pub bookmarks: u64,
    /// Failed lists and watches.
    pub failures: u64,
    /// Objects of another type, tables and objects without metadata: skipped.
    pub skipped: u64,
    /// Objects that did not decode (D-2), with and without a readable key.
    pub quarantined: u64,
    /// How often the server ceased to serve the resource (D-12).
    pub vanished: u64,
    /// Watches given up because they were silent for too long.
    pub silent_watches: u64,
    /// Unchanged objects that were not delivered (D-5), once each, however many listeners there are.
    pub suppressed_unchanged: u64,
    /// Notifications lost because a sink panicked.
    pub sink_panics: u64,
    /// Objects that an index could not read (D-9).
    pub index_failures: u64,
}

// === impl Phase ===

impl Phase {
    /// The word used in logs, metrics and status.
    pub fn as_str(self) -> &'static str {
        match self {
            Self::NotStarted => "not-started",
            Self::Discovering => "discovering",
            Self::WaitingForResource => "waiting-for-resource",
            Self::Listing => "listing",
            Self::Watching => "watching",
            Self::BackingOff => "backing-off",
            Self::Stopped => "stopped",
            Self::Failed => "failed",
        }
    }

    /// The higher, the more it needs attention.
    pub(crate) fn urgency(self) -> u8 {
        match self {
            Self::Watching => 0,
            Self::Listing => 1,
            Self::Discovering => 2,
            Self::NotStarted => 3,
            Self::WaitingForResource => 4,
            Self::BackingOff => 5,
            Self::Stopped => 6,
            Self::Failed => 7,
        }
    }
}

impl fmt::Display for Phase {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(self.as_str())
    }
}

// === impl Counters ===

impl std::ops::AddAssign for Counters {
    fn add_assign(&mut self, other: Self) {
        self.lists += other.lists;
        self.relists += other.relists;
        self.streaming_lists += other.streaming_lists;
        self.streaming_fallbacks += other.streaming_fallbacks;
        self.consistent_lists += other.consistent_lists;
        self.watches += other.watches;
        self.events += other.events;
        self.bookmarks += other.bookmarks;
        self.failures += other.failures;
        self.skipped += other.skipped;
        self.quarantined += other.quarantined;
        self.vanished += other.vanished;
        self.silent_watches += other.silent_watches;
        self.suppressed_unchanged += other.suppressed_unchanged;
        self.sink_panics += other.sink_panics;
        self.index_failures += other.index_failures;
    }
}

/// `1 object`, `2 objects`.
pub(crate) fn counted<N: fmt::Display + PartialEq + From<u8> + Copy>(count: N, noun: &str) -> String {
    let plural = if count == N::from(1) { "" } else { "s" };
    format!("{count} {noun}{plural}")
}
