//! The caches, as the lister capability needs them.

use std::sync::Arc;

use informer_types::{Gvr, LabelSelector, Object, ObjectKey};

/// Reads of the host's caches; never of the API server.
pub trait ListerSource: Send + Sync + 'static {
    /// The object of this key, if it is cached.
    ///
    /// # Errors
    /// [`ListError::UnknownResource`] where no informer serves the resource.
    fn get(&self, gvr: &Gvr, key: &ObjectKey) -> Result<Option<Arc<Object>>, ListError>;

    /// The matching objects, all from one state of the cache.
    ///
    /// # Ordering
    /// By namespace, then by name.
    ///
    /// # Errors
    /// [`ListError`] where no informer serves the resource, or it has no such index.
    fn list(&self, gvr: &Gvr, query: &ListerQuery<'_>) -> Result<Vec<Arc<Object>>, ListError>;

    /// True once the first list is in the cache.
    ///
    /// # Errors
    /// [`ListError::UnknownResource`] where no informer serves the resource.
    fn has_synced(&self, gvr: &Gvr) -> Result<bool, ListError>;
}

/// Which objects. All conditions hold together.
#[derive(Clone, Copy, Debug)]
pub struct ListerQuery<'a> {
    /// None: all namespaces.
    pub namespace: Option<&'a str>,
    /// Empty: all objects.
    pub labels: &'a LabelSelector,
    /// An index and the value to look up in it.
    pub index: Option<(&'a str, &'a str)>,
}

/// A question the caches cannot answer.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
pub enum ListError {
    /// No informer serves it.
    #[error("this host does not watch {0}: add a [[watch]] for it")]
    UnknownResource(Gvr),
    /// The text says what there is.
    #[error("{0}")]
    UnknownIndex(String),
}
