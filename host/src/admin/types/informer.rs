//! The state of one informer.

use std::collections::BTreeMap;

use serde::{Deserialize, Serialize};

/// One informer with its cache.
#[derive(Clone, Debug, Default, Serialize, Deserialize)]
#[serde(rename_all = "kebab-case", default)]
pub struct Informer {
    /// Resource, namespaces and selector in one text.
    pub watch: String,
    /// True if the informer only serves until a changed watch replaces it.
    pub superseded: bool,
    /// The selector that is sent to the API server.
    pub selector: Selector,
    /// The phase that most needs attention among the reflectors.
    pub phase: String,
    /// True once the first list of every namespace is in the cache.
    pub synced: bool,
    /// Why the informer has not synced.
    pub unsynced_because: Option<String>,
    /// The whole state in one sentence.
    pub text: String,
    /// What fails at present.
    pub troubles: Vec<Trouble>,
    /// The resource version that the cache has reached.
    pub last_synced_version: Option<String>,
    /// Number of objects in the cache.
    pub objects: usize,
    /// Memory of these objects, in bytes.
    pub bytes: usize,
    /// Deltas that wait for the controller.
    pub queued_deltas: usize,
    /// The subscriptions that the informer serves.
    pub listeners: Vec<Listener>,
    /// One for each watched namespace, or one for all namespaces.
    pub reflectors: Vec<Reflector>,
    /// What the informer has counted since its start.
    pub counters: InformerCounters,
}

/// The selectors of a watch.
#[derive(Clone, Debug, Default, Serialize, Deserialize)]
#[serde(default)]
pub struct Selector {
    /// Label selector.
    pub labels: String,
    /// Field selector.
    pub fields: String,
}

/// A subscription to an informer.
#[derive(Clone, Debug, Default, Serialize, Deserialize)]
#[serde(default)]
pub struct Listener {
    /// Name of the plugin.
    pub name: String,
    /// True once every initial notification is settled.
    pub synced: bool,
}

/// Something that fails at present.
#[derive(Clone, Debug, Default, Serialize, Deserialize)]
#[serde(rename_all = "kebab-case", default)]
pub struct Trouble {
    /// The namespace; `None` means all namespaces.
    pub namespace: Option<String>,
    /// The whole trouble in one sentence.
    pub text: String,
    /// What fails.
    pub what: String,
    /// The class of the error.
    pub class: Option<String>,
    /// Time since the trouble began, in milliseconds.
    pub lasting_ms: u64,
    /// Consecutive failures.
    pub failures: u32,
    /// Time until the next attempt, in milliseconds.
    pub retry_in_ms: Option<u64>,
    /// What would help.
    pub remedy: Option<String>,
}

/// One reflector.
#[derive(Clone, Debug, Default, Serialize, Deserialize)]
#[serde(rename_all = "kebab-case", default)]
pub struct Reflector {
    /// The namespace; `None` means all namespaces.
    pub namespace: Option<String>,
    /// What the reflector does.
    pub phase: String,
    /// Time in this phase, in milliseconds.
    pub phase_age_ms: u64,
    /// Failures since the last success.
    pub consecutive_failures: u32,
    /// Time since the first of these failures, in milliseconds.
    pub failing_for_ms: Option<u64>,
    /// Time until the next attempt, in milliseconds.
    pub retry_in_ms: Option<u64>,
    /// Longest time that something received is not in the cache yet, in milliseconds.
    pub lag_ms: u64,
    /// The last failure; it stays here after recovery.
    pub last_error: Option<LastError>,
    /// Why the cache does not have the first list yet.
    pub unsynced_because: Option<String>,
    /// Why plain lists replace streaming lists.
    pub plain_lists_because: Option<String>,
    /// Time since the last event or bookmark, in milliseconds.
    pub last_event_age_ms: Option<u64>,
    /// The last resource version received.
    pub observed_version: String,
    /// The last resource version applied to the cache.
    pub applied_version: String,
    /// Objects that cannot be decoded, with the reason.
    pub quarantined: BTreeMap<String, String>,
}

/// A failure of a reflector.
#[derive(Clone, Debug, Default, Serialize, Deserialize)]
#[serde(rename_all = "kebab-case", default)]
pub struct LastError {
    /// What happened, and what would help.
    pub text: String,
    /// The class of the error.
    pub class: String,
    /// Time since the failure, in milliseconds.
    pub age_ms: u64,
}

/// What an informer has counted since its start.
#[derive(Clone, Debug, Default, Serialize, Deserialize)]
#[serde(rename_all = "kebab-case", default)]
pub struct InformerCounters {
    /// Lists that succeeded.
    pub lists: u64,
    /// Lists that succeeded and were not the first.
    pub relists: u64,
    /// Streaming lists that succeeded.
    pub streaming_lists: u64,
    /// Streaming lists that a plain list replaced.
    pub streaming_fallbacks: u64,
    /// Streaming lists that were compared with a plain list and were equal.
    pub consistent_lists: u64,
    /// Watches opened.
    pub watches: u64,
    /// Objects received on watches.
    pub events: u64,
    /// Bookmarks received on watches.
    pub bookmarks: u64,
    /// Lists and watches that failed.
    pub failures: u64,
    /// Objects skipped because they have another type.
    pub skipped: u64,
    /// Objects that could not be decoded.
    pub quarantined: u64,
    /// Times that the server stopped serving the resource.
    pub vanished: u64,
    /// Watches closed because nothing arrived.
    pub silent_watches: u64,
    /// Unchanged objects that were not delivered.
    pub suppressed_unchanged: u64,
    /// Notifications lost because of a bug of the host.
    pub sink_panics: u64,
    /// Objects that an index could not read.
    pub index_failures: u64,
}
