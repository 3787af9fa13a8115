//! What the rest of the process lends to a plugin.

use std::sync::Arc;

use informer_types::Workqueue;

use crate::{
    LogSink,
    capabilities::{ClientSource, ConfigSource, HttpClient, KeyValueSource, ListerSource},
};

/// Where a plugin's capabilities get what they hand out. The composition root fills it in. Cheap to clone.
#[derive(Clone)]
pub struct Sources {
    /// The host's caches.
    pub lister: Arc<dyn ListerSource>,
    /// The API server.
    pub client: ClientSource,
    /// Makes its HTTP requests.
    pub http: HttpClient,
    /// Where its lines go.
    pub log: Arc<dyn LogSink>,
    /// What it keeps.
    pub keyvalue: Arc<dyn KeyValueSource>,
    /// The files of its configuration.
    pub config: Arc<dyn ConfigSource>,
    /// The plugin's own queue of keys.
    pub workqueue: Arc<dyn Workqueue>,
}

impl std::fmt::Debug for Sources {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.debug_struct("Sources").finish_non_exhaustive()
    }
}
