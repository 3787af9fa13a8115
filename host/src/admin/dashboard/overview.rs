//! The state of the host in short, which every open page shows.

use serde::Serialize;

use crate::admin::types::Election;

/// One row for each informer and plugin.
#[derive(Clone, Debug, Default, Serialize)]
#[serde(rename_all = "kebab-case")]
pub struct Overview {
    /// The host itself.
    pub host: OverviewHost,
    /// The informers. An informer that is being replaced comes before the others.
    pub informers: Vec<InformerRow>,
    /// The plugins, in the order of the configuration.
    pub plugins: Vec<PluginRow>,
}

/// The host itself.
#[derive(Clone, Debug, Default, Serialize)]
#[serde(rename_all = "kebab-case")]
pub struct OverviewHost {
    /// Version of the host.
    pub version: String,
    /// Why the host is not ready.
    pub unready: Sentences,
    /// Problems that do not keep the host from serving.
    pub degraded: Sentences,
    /// The election that the host takes part in; `None` without `lease` under `[host]`.
    pub election: Option<Election>,
    /// The log filter in force.
    pub log: Option<String>,
    /// The database file; `None` if the state is in memory.
    pub state: Option<String>,
    /// Bytes of the objects in caches, in queues, and in lists that are arriving.
    pub cache_bytes: usize,
    /// The most bytes of all objects.
    pub cache_ceiling_bytes: Option<usize>,
    /// Bytes that are charged to living instances of guests.
    pub guest_bytes: u64,
    /// The most bytes of all guests.
    pub guest_ceiling_bytes: Option<u64>,
    /// The sums of the rows.
    pub totals: Totals,
    /// The number of the newest log line of a plugin.
    pub newest_line: u64,
    /// The number of reloads that did something since the start.
    pub reloads: u64,
}

/// Some sentences of a list that may be long.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize)]
pub struct Sentences {
    /// The number of sentences.
    pub count: usize,
    /// The first of them.
    pub first: Vec<String>,
}

/// The sums of the rows.
#[derive(Clone, Copy, Debug, Default, Serialize)]
#[serde(rename_all = "kebab-case")]
pub struct Totals {
    /// Informers that have synced.
    pub synced: usize,
    /// Objects in all caches.
    pub objects: usize,
    /// Plugins with a version in service.
    pub serving: usize,
    /// Plugins of which a queue is in quarantine.
    pub quarantined: usize,
    /// Notifications and keys that are not in flight.
    pub pending: usize,
    /// Dead letters of notifications, of keys and of signals.
    pub dead_letters: usize,
    /// Calls of guests that ended.
    pub calls: u64,
}

/// One informer with its cache.
#[derive(Clone, Debug, Default, Serialize)]
#[serde(rename_all = "kebab-case")]
pub struct InformerRow {
    /// Distinguishes the row from all others.
    pub id: String,
    /// Resource, namespaces and selector in one text.
    pub watch: String,
    /// The resource.
    pub gvr: String,
    /// The phase of the reflector that most needs attention.
    pub phase: &'static str,
    /// True once the first list is in the cache.
    pub synced: bool,
    /// True if the informer only serves until a changed watch replaces it.
    pub superseded: bool,
    /// The longest time that a received change may have been missing in the cache.
    pub lag_ms: u64,
    /// How old the data may be, if no watch keeps it current: `data as of 3 min ago`.
    pub age: Option<String>,
    /// Objects in the cache.
    pub objects: usize,
    /// Bytes of the objects.
    pub bytes: usize,
    /// Deltas that wait for the controller.
    pub queued: usize,
    /// Objects received by watches.
    pub events: u64,
    /// Successful lists that were not the first.
    pub relists: u64,
    /// Failed lists and watches.
    pub failures: u64,
    /// The present failures, one sentence each.
    pub troubles: Vec<String>,
}

/// One plugin.
#[derive(Clone, Debug, Default, Serialize)]
#[serde(rename_all = "kebab-case")]
pub struct PluginRow {
    /// Name in the configuration.
    pub name: String,
    /// `serving`, `loading`, `standing by` on a host that does not lead, `refused`, `paused` or `quarantine`.
    pub state: &'static str,
    /// Why it is not simply serving, in a sentence.
    pub why: Option<String>,
    /// The name and version that the guest gives itself.
    pub version: Option<String>,
    /// Calls that ended.
    pub calls: u64,
    /// Calls that failed.
    pub failures: u64,
    /// Half of the calls since the start took at most this long.
    pub p50_ms: Option<f64>,
    /// 99 % of the calls since the start took at most this long.
    pub p99_ms: Option<f64>,
    /// Bytes that are charged to living instances.
    pub memory_bytes: u64,
    /// Notifications that are not in flight.
    pub pending: usize,
    /// Notifications and keys in flight.
    pub in_flight: usize,
    /// Keys of its own that are not in flight.
    pub keys: usize,
    /// Age of the oldest notification that is not settled.
    pub oldest_ms: Option<u64>,
    /// Dead letters of notifications, of keys and of signals.
    pub dead_letters: usize,
    /// The kinds of grants that it has.
    pub grants: Vec<&'static str>,
}

// === impl Sentences ===

impl Sentences {
    /// Keeps the first 20.
    pub(crate) fn of(mut all: Vec<String>) -> Self {
        let count = all.len();
        all.truncate(20);
        Self { count, first: all }
    }
}
