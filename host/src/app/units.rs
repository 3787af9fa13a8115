//! The plugins of a running host.

use std::sync::Arc;

use parking_lot::RwLock;

use super::unit::Unit;

/// The plugins, in the order of the configuration. Cheap to clone; all clones see the same.
#[derive(Clone, Default)]
pub(super) struct Units(Arc<RwLock<Arc<[Arc<Unit>]>>>);

// === impl Units ===

impl Units {
    /// Those of this moment.
    pub(super) fn all(&self) -> Arc<[Arc<Unit>]> {
        Arc::clone(&self.0.read())
    }

    pub(super) fn find(&self, name: &str) -> Option<Arc<Unit>> {
        self.0.read().iter().find(|unit| unit.name() == name).cloned()
    }

    pub(super) fn replace(&self, units: Vec<Arc<Unit>>) {
        *self.0.write() = units.into();
    }
}
