//! The state of the whole host.

use std::{fmt, path::PathBuf};

use informer_cache::{CacheMemory, InformerStatus};
use informer_runtime::GuestMemory;
use serde::{Deserialize, Serialize};

use super::Plugin;

/// The answer to `GET /status`: every informer, plugin and queue, with its state and counters. It holds no object bodies
/// and no secrets.
#[derive(Clone, Debug, Default, Serialize, Deserialize)]
#[serde(rename_all = "kebab-case", default)]
pub struct Status {
    /// Version of the host.
    pub version: String,
    /// Which host it is.
    #[serde(flatten)]
    pub identity: Identity,
    /// Why the host is not ready, one sentence each. Empty if it is ready.
    pub unready: Vec<String>,
    /// Problems that do not keep the host from serving, one sentence each. Empty if all is well.
    pub degraded: Vec<String>,
    /// The sentences of `unready` and `degraded` that no other part of this answer shows. They are about the host, the kinds that
    /// patterns stand for, the lease, the state, dead letters in memory only, timers without a handler, and components that are
    /// being compiled.
    pub host_problems: Vec<String>,
    /// Why traces cannot be sent; `None` if they can, or if there are none.
    pub telemetry: Option<String>,
    /// The database file; `None` if the state is in memory.
    pub state: Option<PathBuf>,
    /// The log filter in force.
    pub log: Option<String>,
    /// The informers. An informer that is being replaced comes before the others.
    pub informers: Vec<Informer>,
    /// The Plugin objects of the cluster; `None` without `[tenancy]`.
    pub objects: Option<PluginObjects>,
    /// The state of the configuration file.
    pub configuration: Configuration,
    /// The election that the host takes part in; `None` without `lease` under `[host]`.
    pub election: Option<Election>,
    /// The memory of the objects in all caches and queues.
    pub cache_memory: CacheMemory,
    /// The memory of the guests of all plugins.
    pub guest_memory: GuestMemory,
    /// The plugins, in the order of the configuration.
    pub plugins: Vec<Plugin>,
}

/// Which host it is. Each answer of the admin endpoint has it in the headers `informer-process` and
/// `informer-configuration`.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "kebab-case", default)]
pub struct Identity {
    /// The number of its process, in the PID namespace of the host.
    pub process: u32,
    /// The absolute path of its configuration file; `None` if it runs without one.
    #[serde(rename = "configuration-file")]
    pub configuration: Option<PathBuf>,
}

/// The state of the configuration file.
#[derive(Clone, Debug, Default, Serialize, Deserialize)]
#[serde(rename_all = "kebab-case", default)]
pub struct Configuration {
    /// Why the present content of the file is not in force; `None` if it is.
    pub refused: Option<Vec<String>>,
    /// The keys of the configuration in force that wait for the next start of the host.
    pub needs_restart: Vec<String>,
}

/// The election of the host that calls its plugins.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
#[serde(default)]
pub struct Election {
    /// The lease: `NAMESPACE/NAME`.
    pub lease: String,
    /// True if this host leads.
    pub leads: bool,
    /// The identity that the lease names, if another host leads; `None` if this host leads or if no leader is known.
    pub leader: Option<String>,
}

/// The Plugin objects of the cluster.
#[derive(Clone, Debug, Default, Serialize, Deserialize)]
#[serde(rename_all = "kebab-case", default)]
pub struct PluginObjects {
    /// Objects whose spec is in force.
    pub accepted: usize,
    /// Objects whose spec is refused.
    pub refused: usize,
    /// The newest refused objects, at most ten.
    pub newest_refused: Vec<RefusedObject>,
}

/// A Plugin object that is refused.
#[derive(Clone, Debug, Default, Serialize, Deserialize)]
#[serde(default)]
pub struct RefusedObject {
    /// Name of its plugin: `shop/reloader`, or `cluster:janitor`.
    pub plugin: String,
    /// The reason of the condition `Loaded`.
    pub reason: String,
    /// The problem, with a remedy.
    pub message: String,
}

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
    /// Why the informer has not synced.
    pub unsynced_because: Option<String>,
    /// The whole state in one sentence.
    pub text: String,
    /// The present failures.
    pub troubles: Vec<Trouble>,
    /// The state in detail.
    #[serde(flatten)]
    pub status: InformerStatus,
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

/// Something that fails at present.
#[derive(Clone, Debug, Default, Serialize, Deserialize)]
#[serde(default)]
pub struct Trouble {
    /// The whole trouble in one sentence.
    pub text: String,
    /// The parts of the sentence.
    #[serde(flatten)]
    pub trouble: informer_cache::Trouble,
}

// === impl Status ===

impl Status {
    /// Returns true if the host is ready and nothing it does fails.
    pub fn is_well(&self) -> bool {
        self.unready.is_empty() && self.degraded.is_empty()
    }
}

// === impl Identity ===

impl fmt::Display for Identity {
    /// `process 4711 with the configuration /etc/informer/informer.toml`
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "process {} ", self.process)?;
        match &self.configuration {
            Some(path) => write!(f, "with the configuration {}", path.display()),
            None => f.write_str("without a configuration file"),
        }
    }
}

// === impl Informer ===

impl Informer {
    pub(crate) fn new(status: InformerStatus, superseded: bool) -> Self {
        let trouble = |trouble: informer_cache::Trouble| Trouble { text: trouble.to_string(), trouble };
        Self {
            watch: status.key.to_string(),
            superseded,
            selector: Selector { labels: status.key.labels.clone(), fields: status.key.fields.clone() },
            unsynced_because: status.unsynced_because(),
            text: status.to_string(),
            troubles: status.troubles().into_iter().map(trouble).collect(),
            status,
        }
    }
}
