//! The host's caches, as the capability needs them.

use std::{sync::Arc, time::Duration};

use futures::future::BoxFuture;
use informer_types::{Gvr, LabelSelector, Namespaces, Object, ObjectKey};

/// Reads from the host's caches. No function makes a request to the API server.
pub trait ListerSource: Send + Sync + 'static {
    /// The object of this key. Returns `None` if it is not cached.
    ///
    /// # Errors
    /// [`ListError::UnknownResource`] if no informer serves the resource.
    fn get(&self, gvr: &Gvr, key: &ObjectKey) -> Result<Option<Arc<Object>>, ListError>;

    /// The matching objects, all from one snapshot of the cache.
    ///
    /// # Ordering
    /// Sorted by namespace, then by name.
    ///
    /// # Errors
    /// [`ListError`] if no informer serves the resource, or the resource has no such index.
    fn list(&self, gvr: &Gvr, query: &ListerQuery<'_>) -> Result<Vec<Arc<Object>>, ListError>;

    /// A page of the values of an index, each with the number of objects that have it.
    ///
    /// # Ordering
    /// Sorted by the bytes of the values.
    ///
    /// # Errors
    /// [`ListError`] if no informer serves the resource, or the resource has no such index.
    fn index_values(&self, gvr: &Gvr, page: &IndexPage<'_>) -> Result<Vec<(String, usize)>, ListError>;

    /// Returns the state of the cache, and its age.
    ///
    /// # Errors
    /// [`ListError::UnknownResource`] if no informer serves the resource.
    fn state(&self, gvr: &Gvr) -> Result<CacheState, ListError>;

    /// Returns true once the first list is in the cache.
    ///
    /// # Errors
    /// [`ListError::UnknownResource`] if no informer serves the resource.
    fn has_synced(&self, gvr: &Gvr) -> Result<bool, ListError>;

    /// Waits until the cache is at least as new as this version of the collection. If `namespace` is given, only the
    /// objects of this namespace need to be. There is no time limit. The wait for a namespace that no informer watches does not end.
    ///
    /// # Errors
    /// [`ListError`] if no informer serves the resource, or the version cannot be compared.
    ///
    /// # Cancel safety
    /// Dropping the future changes nothing.
    fn wait_until<'a>(
        &'a self,
        gvr: &'a Gvr,
        namespace: Option<&'a str>,
        resource_version: &'a str,
    ) -> BoxFuture<'a, Result<(), ListError>>;
}

/// Conditions that select objects. An object must meet all of them.
#[derive(Clone, Copy, Debug)]
pub struct ListerQuery<'a> {
    /// The namespace. `None` means all namespaces.
    pub namespace: Option<&'a str>,
    /// The labels. An empty selector matches all objects.
    pub labels: &'a LabelSelector,
    /// The name of an index and the value to look up. `None` means no lookup.
    pub index: Option<(&'a str, &'a str)>,
}

/// Selects values of an index. A value without an object that counts is left out.
#[derive(Clone, Copy, Debug)]
pub struct IndexPage<'a> {
    /// The name of the index.
    pub index: &'a str,
    /// The namespaces whose objects count.
    pub namespaces: &'a Namespaces,
    /// The last value of the page before. `None` means the first page.
    pub after: Option<&'a str>,
    /// The most values on the page.
    pub limit: usize,
}

/// The state of a cache.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct CacheState {
    /// True once the first list is in the cache.
    pub synced: bool,
    /// The version that the cache has reached; empty if it has no single version.
    pub resource_version: String,
    /// The time since the last list, event or bookmark. `None` before the first list.
    pub age: Option<Duration>,
}

/// Why the caches cannot answer a query.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
pub enum ListError {
    /// No informer serves the resource.
    #[error("this host does not watch {0}: add a [[watch]] for it")]
    UnknownResource(Gvr),
    /// The resource has no such index. The text names the existing ones.
    #[error("{0}")]
    UnknownIndex(String),
    /// The text is not a version. The message shows the form of a version.
    #[error("{0}")]
    InvalidVersion(String),
}
