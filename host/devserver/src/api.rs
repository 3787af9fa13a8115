//! The shared state of all request handlers.

use std::sync::Arc;

use parking_lot::{Mutex, RwLock};
use tokio::sync::Notify;
use tokio_util::sync::CancellationToken;

use crate::{
    config::Config,
    registry::{Registry, Resource},
    status::ApiResult,
    storage::{Collection, Storage},
};

/// The state of one server.
#[derive(Debug)]
pub(crate) struct Api {
    pub(crate) config: Config,
    pub(crate) registry: Registry,
    pub(crate) storage: Storage,
    /// Held for reading while an object is created in a namespace, and for writing while a namespace is marked as
    /// terminating. So no object can be created in a namespace that is being emptied.
    pub(crate) namespace_gate: RwLock<()>,
    /// Wakes the task that empties namespaces. A wake-up is kept while the task is busy. Several wake-ups may become
    /// one, because the task checks all namespaces.
    pub(crate) namespace_marked: Notify,
    /// Cancelled when the server stops.
    pub(crate) shutdown: CancellationToken,
    open_watches: Mutex<CancellationToken>,
}

// === impl Api ===

impl Api {
    pub(crate) fn new(config: Config, shutdown: CancellationToken) -> Self {
        let storage = Storage::new(config.history_limit);
        Self {
            config,
            registry: Registry::builtin(),
            storage,
            namespace_gate: RwLock::new(()),
            namespace_marked: Notify::new(),
            open_watches: Mutex::new(shutdown.child_token()),
            shutdown,
        }
    }

    pub(crate) fn collection(&self, resource: &Resource) -> Arc<Collection> {
        self.storage.collection(&resource.id())
    }

    /// A built-in resource that the server itself uses.
    pub(crate) fn builtin(&self, group: &str, version: &str, plural: &str) -> ApiResult<Arc<Resource>> {
        let missing = || crate::status::ApiError::internal(format!("{plural} is not served"));
        self.registry.get(group, version, plural).ok_or_else(missing)
    }

    /// A token that is cancelled when the watches that are open now must end.
    pub(crate) fn watches_token(&self) -> CancellationToken {
        self.open_watches.lock().clone()
    }

    /// Ends the watches that are open now. New watches can be opened at once.
    pub(crate) fn end_watches(&self) {
        let ended = std::mem::replace(&mut *self.open_watches.lock(), self.shutdown.child_token());
        ended.cancel();
    }
}
