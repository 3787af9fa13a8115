//! The parts of the process that a plugin's capabilities use.

use std::sync::Arc;

use informer_types::Workqueue;

use crate::{
    LogSink,
    capabilities::{ClientSource, ConfigSource, HttpClient, KeyValueSource, ListerSource},
};

/// The parts of the process that a plugin's capabilities use. The composition root fills it in. Cheap to clone.
#[derive(Clone)]
pub struct Sources {
    /// The host's caches.
    pub lister: Arc<dyn ListerSource>,
    /// The client of the API server.
    pub client: ClientSource,
    /// The client of outgoing HTTP.
    pub http: HttpClient,
    /// The sink of the plugin's log lines.
    pub log: Arc<dyn LogSink>,
    /// The store of the plugin's key-values.
    pub keyvalue: Arc<dyn KeyValueSource>,
    /// The plugin's configuration files.
    pub config: Arc<dyn ConfigSource>,
    /// The plugin's own queue of keys.
    pub workqueue: Arc<dyn Workqueue>,
}

impl std::fmt::Debug for Sources {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.debug_struct("Sources").finish_non_exhaustive()
    }
}
