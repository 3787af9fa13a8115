//! The identity of an object within a plugin's queue.

use std::fmt;

use informer_types::{ObjectKey, Source};

/// One object of one shared informer. An object that was deleted and created again is the same one here:
/// order is kept per name, not per UID. Cheap to clone.
#[derive(Clone, Debug, PartialEq, Eq, Hash, PartialOrd, Ord)]
pub struct ObjectRef {
    /// The shared informer that serves it.
    pub source: Source,
    /// Its key there.
    pub key: ObjectKey,
}

// === impl ObjectRef ===

impl fmt::Display for ObjectRef {
    /// `v1/pods shop/web-1`.
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{} {}", self.source, self.key)
    }
}
