//! The caches, as the lister capability needs them.

use std::sync::Arc;

use futures::future::BoxFuture;
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

    /// Waits until the cache, or the part of it that is this namespace, is at least as new as this version of the
    /// collection; for as long as the caller likes.
    ///
    /// # Errors
    /// [`ListError`] where no informer serves the resource, or the version cannot be compared.
    ///
    /// # Cancel safety
    /// A dropped future changes nothing.
    fn wait_until<'a>(
        &'a self,
        gvr: &'a Gvr,
        namespace: Option<&'a str>,
        resource_version: &'a str,
    ) -> BoxFuture<'a, Result<(), ListError>>;
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
    /// The text says what a version looks like.
    #[error("{0}")]
    InvalidVersion(String),
}
