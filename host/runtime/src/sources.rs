//! The parts of the process that a plugin's capabilities use.

use std::{sync::Arc, time::Duration};

use futures::future::{BoxFuture, ready};
use informer_types::{AddError, Gvr, Object, ObjectKey, Workqueue};

use crate::{
    LogLevel, LogLine, LogSink,
    capabilities::{
        CacheState, ClientSource, ConfigSource, HttpClient, IndexPage, KeyValueSource, ListError,
        ListerQuery, ListerSource, NoConfigFiles, NoKeyValues, NoTimers, TimerSource,
    },
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

/// The sources of [`Sources::nothing`]: empty caches, and queues and logs that take nothing.
struct Nothing;

// === impl Sources ===

impl Sources {
    /// Sources without content, for a component that is only examined. `http` is used if the grants allow it.
    pub fn nothing(http: HttpClient) -> Self {
        Self {
            lister: Arc::new(Nothing),
            client: ClientSource::default(),
            http,
            log: Arc::new(Nothing),
            keyvalue: Arc::new(NoKeyValues),
            config: Arc::new(NoConfigFiles),
            workqueue: Arc::new(Nothing),
            timers: Arc::new(NoTimers),
            wall_clock: None,
        }
    }
}

impl std::fmt::Debug for Sources {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.debug_struct("Sources").finish_non_exhaustive()
    }
}

// === impl Nothing ===

impl ListerSource for Nothing {
    fn get(&self, gvr: &Gvr, _: &ObjectKey) -> Result<Option<Arc<Object>>, ListError> {
        Err(ListError::UnknownResource(gvr.clone()))
    }

    fn list(&self, gvr: &Gvr, _: &ListerQuery<'_>) -> Result<Vec<Arc<Object>>, ListError> {
        Err(ListError::UnknownResource(gvr.clone()))
    }

    fn index_values(&self, gvr: &Gvr, _: &IndexPage<'_>) -> Result<Vec<(String, usize)>, ListError> {
        Err(ListError::UnknownResource(gvr.clone()))
    }

    fn state(&self, gvr: &Gvr) -> Result<CacheState, ListError> {
        Err(ListError::UnknownResource(gvr.clone()))
    }

    fn has_synced(&self, gvr: &Gvr) -> Result<bool, ListError> {
        Err(ListError::UnknownResource(gvr.clone()))
    }

    fn wait_until<'a>(
        &'a self,
        gvr: &'a Gvr,
        _: Option<&'a str>,
        _: &'a str,
    ) -> BoxFuture<'a, Result<(), ListError>> {
        Box::pin(ready(Err(ListError::UnknownResource(gvr.clone()))))
    }
}

impl LogSink for Nothing {
    fn enabled(&self, _: &str, _: LogLevel) -> bool {
        false
    }

    fn line(&self, _: &LogLine<'_>) {}
}

/// A queue that drops every key.
impl Workqueue for Nothing {
    fn add(&self, _: &str) -> Result<(), AddError> {
        Ok(())
    }

    fn add_after(&self, _: &str, _: Duration) -> Result<(), AddError> {
        Ok(())
    }

    fn add_rate_limited(&self, _: &str) -> Result<(), AddError> {
        Ok(())
    }

    fn forget(&self, _: &str) {}

    fn num_requeues(&self, _: &str) -> u32 {
        0
    }

    fn waiting(&self) -> usize {
        0
    }
}
