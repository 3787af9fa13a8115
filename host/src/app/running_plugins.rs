//! The plugins of a running host.

use std::sync::Arc;

use parking_lot::RwLock;

use super::running_plugin::RunningPlugin;

/// The plugins, in the order of the configuration. Cheap to clone; all clones share one list.
#[derive(Clone, Default)]
pub(super) struct RunningPlugins(Arc<RwLock<Arc<[Arc<RunningPlugin>]>>>);

// === impl RunningPlugins ===

impl RunningPlugins {
    /// The present plugins.
    pub(super) fn all(&self) -> Arc<[Arc<RunningPlugin>]> {
        Arc::clone(&self.0.read())
    }

    pub(super) fn find(&self, name: &str) -> Option<Arc<RunningPlugin>> {
        self.0.read().iter().find(|plugin| plugin.name() == name).cloned()
    }

    pub(super) fn replace(&self, plugins: Vec<Arc<RunningPlugin>>) {
        *self.0.write() = plugins.into();
    }
}
