//! What one plugin has to do with an object.

use informer_types::{Gvr, ObjectKey};

use super::RunningPlugin;

// === impl RunningPlugin ===

impl RunningPlugin {
    /// None where it does not subscribe to the resource; else the condition of its subscription that excludes the object as
    /// it is in the cache, by its key in `[[plugin.on]]`, if one does.
    pub(in crate::app) fn hears(&self, gvr: &Gvr, key: &ObjectKey) -> Option<Option<&'static str>> {
        self.claims.lock().hears(gvr, key)
    }
}
