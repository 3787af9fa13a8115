//! The state of the whole host.

use std::path::PathBuf;

use serde::{Deserialize, Serialize};

use super::{Informer, Plugin};

/// The answer to `GET /status`: every informer, plugin and queue, with its state and counters. It holds no object bodies
/// and no secrets.
#[derive(Clone, Debug, Default, Serialize, Deserialize)]
#[serde(rename_all = "kebab-case", default)]
pub struct Status {
    /// Version of the host.
    pub version: String,
    /// Why the host is not ready, one sentence each. Empty if it is ready.
    pub unready: Vec<String>,
    /// What is wrong although the host serves, one sentence each. Empty if all is well.
    pub degraded: Vec<String>,
    /// The database file; `None` if the state is in memory.
    pub state: Option<PathBuf>,
    /// The log filter in force.
    pub log: Option<String>,
    /// The informers. An informer that is being replaced comes before the others.
    pub informers: Vec<Informer>,
    /// The configuration file.
    pub configuration: Configuration,
    /// The plugins, in the order of the configuration.
    pub plugins: Vec<Plugin>,
}

/// The configuration file of the host.
#[derive(Clone, Debug, Default, Serialize, Deserialize)]
#[serde(rename_all = "kebab-case", default)]
pub struct Configuration {
    /// Why the present content of the file is not in force; `None` if it is.
    pub refused: Option<Vec<String>>,
}

// === impl Status ===

impl Status {
    /// Returns true if the host is ready and nothing it does fails.
    pub fn is_well(&self) -> bool {
        self.unready.is_empty() && self.degraded.is_empty()
    }
}
