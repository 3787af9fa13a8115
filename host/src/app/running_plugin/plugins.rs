//! The plugins of a running host.

use std::sync::Arc;

use parking_lot::RwLock;

use super::RunningPlugin;
use crate::app::objects::is_of_object;

/// The plugins, in the order of the configuration. Cheap to clone; all clones share one list.
#[derive(Clone, Default)]
pub(in crate::app) struct RunningPlugins(Arc<RwLock<Arc<[Arc<RunningPlugin>]>>>);

// === impl RunningPlugins ===

impl RunningPlugins {
    /// The present plugins.
    pub(in crate::app) fn all(&self) -> Arc<[Arc<RunningPlugin>]> {
        Arc::clone(&self.0.read())
    }

    /// The present plugins of the file. The readiness of the host depends on them alone, and not on Plugin objects.
    pub(in crate::app) fn of_file(&self) -> Vec<Arc<RunningPlugin>> {
        self.all().iter().filter(|plugin| !is_of_object(plugin.name())).cloned().collect()
    }

    pub(in crate::app) fn find(&self, name: &str) -> Option<Arc<RunningPlugin>> {
        self.0.read().iter().find(|plugin| plugin.name() == name).cloned()
    }

    pub(in crate::app) fn replace(&self, plugins: Vec<Arc<RunningPlugin>>) {
        *self.0.write() = plugins.into();
    }
}
