//! The identity of a shared informer.

use std::sync::Arc;

use crate::Gvr;

/// The shared informer that a notification comes from. Cheap to clone. Two sources are equal if their resources are.
#[derive(Clone, Debug, PartialEq, Eq, Hash, PartialOrd, Ord)]
pub struct Source(Arc<Gvr>);

impl Source {
    /// The informer of this resource.
    pub fn new(gvr: Gvr) -> Self {
        Self(Arc::new(gvr))
    }

    /// The resource it serves.
    pub fn gvr(&self) -> &Gvr {
        &self.0
    }
}

impl std::fmt::Display for Source {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        self.0.fmt(f)
    }
}
