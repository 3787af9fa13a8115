//! The parts of the process that a plugin's capabilities use.

use std::{sync::Arc, time::Duration};

use informer_types::Workqueue;

use crate::{
    LogSink,
    capabilities::{ClientSource, ConfigSource, HttpClient, KeyValueSource, ListerSource, TimerSource},
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
    /// The timers that the plugin sets itself.
    pub timers: Arc<dyn TimerSource>,
    /// The clock that guests read by `wasi:clocks/wall-clock`; `None` means the clock of the system.
    pub wall_clock: Option<Arc<dyn WallClock>>,
}

/// A clock for guests in place of the clock of the system.
pub trait WallClock: Send + Sync + 'static {
    /// Time since 1970-01-01T00:00:00Z.
    fn now(&self) -> Duration;
}

impl std::fmt::Debug for Sources {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.debug_struct("Sources").finish_non_exhaustive()
    }
}
