//! The state of an informer, in terms that an operator can act on.

mod cell;
mod remedy;
mod trouble;
mod undecoded;

use std::{collections::BTreeMap, fmt, time::Duration};

use informer_types::{ObjectKey, counted, millis};
use serde::{Deserialize, Serialize};

pub(crate) use cell::ReflectorCell;
pub use trouble::Trouble;
pub use undecoded::Undecoded;

use crate::{ErrorClass, InformerKey};

/// A snapshot of an informer's state. As JSON it has no `key`.
#[derive(Clone, Debug, Default, Serialize, Deserialize)]
#[serde(rename_all = "kebab-case", default)]
pub struct InformerStatus {
    /// The informer's key.
    #[serde(skip)]
    pub key: InformerKey,
    /// The phase of the reflector that most needs attention.
    pub phase: Phase,
    /// True once the first list of every namespace is in the cache (C-12). It does not mean that the cache is up to
    /// date: see `phase` and `reflectors`.
    pub synced: bool,
    /// True if bugs of the host keep ending the informer: five times in a row, the last time within ten minutes. A new process may
    /// help.
    pub keeps_ending: bool,
    /// The resource version that the cache is at least at. `None` before the first list, or if several namespaces are
    /// watched and the versions have no order. See [`last_synced_version`](crate::SharedInformer::last_synced_version).
    pub last_synced_version: Option<String>,
    /// The number of objects in the cache.
    pub objects: usize,
    /// The memory of the objects in bytes, without the tables.
    pub bytes: usize,
    /// The number of deltas that wait for the controller.
    pub queued_deltas: usize,
    /// The listeners in the order in which they were added.
    pub listeners: Vec<ListenerStatus>,
    /// One for each watched namespace.
    pub reflectors: Vec<ReflectorStatus>,
    /// The sums over all reflectors, and the controller's counters.
    pub counters: Counters,
}

/// The memory of all objects of the process, and its ceiling.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "kebab-case", default)]
pub struct CacheMemory {
    /// Bytes of the objects in caches, in queues, and in lists that are arriving.
    pub used_bytes: usize,
    /// The most bytes. `None` means that there is no ceiling.
    pub ceiling_bytes: Option<usize>,
}

/// The state of one listener.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct ListenerStatus {
    /// The name in its configuration.
    pub name: String,
    /// True once every initial notification is settled (P-16).
    pub synced: bool,
}

/// A snapshot of one reflector's state.
#[derive(Clone, Debug, Default, Serialize, Deserialize)]
#[serde(rename_all = "kebab-case", default)]
pub struct ReflectorStatus {
    /// The watched namespace. `None` means all namespaces.
    pub namespace: Option<String>,
    /// The present activity of the reflector.
    pub phase: Phase,
    /// The time since it entered the phase.
    #[serde(rename = "phase-age-ms", with = "millis")]
    pub phase_age: Duration,
    /// The last failure, kept after recovery.
    pub last_error: Option<LastError>,
    /// Why the cache does not have the first state yet, or the state after a gap. `None` if it has, or if the reflector
    /// just waits for the answer to a request.
    pub unsynced_because: Option<String>,
    /// Why plain lists are used although streaming lists are configured.
    pub plain_lists_because: Option<String>,
    /// The number of failures since the last success.
    pub consecutive_failures: u32,
    /// The time since the first of these failures.
    #[serde(rename = "failing-for-ms", with = "millis")]
    pub failing_for: Option<Duration>,
    /// The time until the next attempt, if the reflector waits for one.
    #[serde(rename = "retry-in-ms", with = "millis")]
    pub retry_in: Option<Duration>,
    /// The longest time that a received change may have been missing in the cache. Zero if the cache has all changes.
    #[serde(rename = "lag-ms", with = "millis")]
    pub lag: Duration,
    /// The time since the last event or bookmark.
    #[serde(rename = "last-event-age-ms", with = "millis")]
    pub last_event_age: Option<Duration>,
    /// The time since the last list, event or bookmark: the cache shows at least the state of that time. While the server does not
    /// serve the resource and the cache is empty, the age counts from the last lookup that did not find the resource. `None` before
    /// the first list.
    #[serde(rename = "data-age-ms", with = "millis")]
    pub data_age: Option<Duration>,
    /// The last resource version received.
    pub observed_version: String,
    /// The last resource version applied to the cache (I-11).
    pub applied_version: String,
    /// The objects that could not be decoded, with the reason. Their last good state stays in the cache (D-2). At most
    /// 1,000 objects are listed here.
    pub quarantined: BTreeMap<ObjectKey, String>,
    /// True if `quarantined` may lack objects: in or since the last list, a key was unreadable, or `quarantined` was full.
    pub more_quarantined: bool,
    /// The reflector's counters. The JSON has only their sums over all reflectors.
    #[serde(skip)]
    pub counters: Counters,
}

/// The activity of a reflector. The phases are in ascending order of urgency: the last one most needs attention.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, PartialOrd, Ord, Serialize, Deserialize)]
#[serde(rename_all = "kebab-case")]
pub enum Phase {
    /// A watch is open: the normal state.
    Watching,
    /// It lists.
    Listing,
    /// It looks up the resource.
    Discovering,
    /// The informer was requested, but the factory has not been started since.
    #[default]
    NotStarted,
    /// The server does not serve the resource; the reflector waits for its CRD (D-12).
    WaitingForResource,
    /// It waits after a failure; see `last_error`.
    BackingOff,
    /// It has stopped and does not start again (C-1).
    Stopped,
}

/// A failure, described for an operator.
#[derive(Clone, Debug, Serialize, Deserialize)]
pub struct LastError {
    /// The failure, with a remedy.
    pub text: String,
    /// The class of the failure.
    pub class: ErrorClass,
    /// The remedy. `None` if it follows from the class.
    pub remedy: Option<String>,
    /// The time since it happened.
    #[serde(rename = "age-ms", with = "millis")]
    pub age: Duration,
}

/// Counters since the start.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "kebab-case", default)]
pub struct Counters {
    /// Successful lists.
    pub lists: u64,
    /// Successful lists that were not the first.
    pub relists: u64,
    /// Successful lists that were streaming lists.
    pub streaming_lists: u64,
    /// Streaming lists that were replaced by a plain list (R-45, D-3).
    pub streaming_fallbacks: u64,
    /// Streaming lists that were compared with a plain list and equal to it.
    pub consistent_lists: u64,
    /// Opened watches.
    pub watches: u64,
    /// Objects received by watches.
    pub events: u64,
    /// Received bookmarks.
    pub bookmarks: u64,
    /// Failed lists, watches and lookups of the resource, and bugs of the host that ended the informer.
    pub failures: u64,
    /// Skipped objects: of another type, tables, or without metadata.
    pub skipped: u64,
    /// Objects that did not decode, with or without a readable key (D-2).
    pub quarantined: u64,
    /// How often the server stopped serving the resource (D-12).
    pub vanished: u64,
    /// Watches that were given up because they were silent for too long.
    pub silent_watches: u64,
    /// Unchanged objects that a relist or a watch brought and that no listener was notified of (D-5).
    pub suppressed_unchanged: u64,
    /// Notifications that were lost because a sink panicked.
    pub sink_panics: u64,
    /// Objects that an index could not read (D-9).
    pub index_failures: u64,
    /// How often the informer was started again because a bug of the host had ended it.
    pub restarts: u64,
}

// === impl InformerStatus ===

impl fmt::Display for InformerStatus {
    /// One line: `v1/pods: watching, synced, 12 objects`, followed by the troubles.
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let synced = if self.synced { "synced" } else { "not synced" };
        write!(f, "{}: {}, {synced}, {}", self.key, self.phase, counted(self.objects as u64, "object"))?;
        if let Some(age) = self.age_in_words() {
            write!(f, ", {age}")?;
        }
        let troubles = self.troubles();
        for trouble in &troubles {
            write!(f, "; {trouble}")?;
        }
        if let Some(reason) = self.unsynced_because().filter(|_| troubles.is_empty()) {
            write!(f, "; unsynced because {reason}")?;
        }
        for reason in self.reflectors.iter().filter_map(|reflector| reflector.plain_lists_because.as_ref()) {
            write!(f, "; plain lists because {reason}")?;
        }
        Ok(())
    }
}

// === impl Phase ===

impl Phase {
    /// The name of the phase in logs, metrics and status.
    pub fn as_str(self) -> &'static str {
        match self {
            Self::NotStarted => "not-started",
            Self::Discovering => "discovering",
            Self::WaitingForResource => "waiting-for-resource",
            Self::Listing => "listing",
            Self::Watching => "watching",
            Self::BackingOff => "backing-off",
            Self::Stopped => "stopped",
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
        self.restarts += other.restarts;
    }
}
