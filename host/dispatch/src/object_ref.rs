//! The identity of an object in a plugin's queue.

use std::fmt;

use informer_types::{ObjectKey, Source};

/// An object of a shared informer. An object that was deleted and created again under the same name has the same reference,
/// because order is kept per name, not per UID. Cheap to clone.
#[derive(Clone, Debug, PartialEq, Eq, Hash, PartialOrd, Ord)]
pub struct ObjectRef {
    /// The shared informer that serves the object.
    pub source: Source,
    /// The key of the object.
    pub key: ObjectKey,
}

// === impl ObjectRef ===

impl fmt::Display for ObjectRef {
    /// `v1/pods shop/web-1`.
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{} {}", self.source, self.key)
    }
}
