//! Reads the cache.

use std::{fmt, sync::Arc};

use informer_types::{LabelSelector, Object, ObjectKey};
use tokio::sync::watch;

use crate::indexer::Indexer;

/// client-go's name for the index that every informer has (F-8, I-13). A configured index of this name comes first.
const NAMESPACE_INDEX: &str = "namespace";

/// Reads one informer's cache; never asks the API server (L-1). Cheap to clone.
///
/// Every answer comes from one consistent state of the cache (I-1) and is at least as new as any notification
/// the reader has in hand. It may be stale, and before the informer has synced it may be incomplete (L-5,
/// I-16). The objects are shared and immutable (I-4).
#[derive(Clone)]
pub struct Lister {
    indexer: Arc<Indexer>,
    synced: watch::Receiver<bool>,
}

/// Which objects to list. All conditions hold together.
#[derive(Clone, Copy, Debug)]
pub struct ListQuery<'a> {
    /// None or empty: all namespaces (L-4).
    pub namespace: Option<&'a str>,
    /// Empty: all objects (L-3).
    pub labels: &'a LabelSelector,
    /// The name of an index and the value to look up in it. `namespace` is there without being configured; its
    /// value for cluster-scoped objects is empty (F-8, I-13).
    pub index: Option<(&'a str, &'a str)>,
}

/// A query for an index that the informer does not have (I-7).
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
#[error("there is no index `{name}`; {}", known(.indexes))]
pub struct UnknownIndex {
    /// What was asked for.
    pub name: String,
    /// What there is.
    pub indexes: Vec<String>,
}

// === impl Lister ===

impl Lister {
    pub(crate) fn new(indexer: Arc<Indexer>, synced: watch::Receiver<bool>) -> Self {
        Self { indexer, synced }
    }

    /// The object of this key, if it is cached (L-2).
    pub fn get(&self, key: &ObjectKey) -> Option<Arc<Object>> {
        self.indexer.get(&key.namespace, &key.name)
    }

    /// The objects that satisfy the query.
    ///
    /// # Ordering
    /// By namespace, then by name, so that a reader can page.
    ///
    /// # Errors
    /// [`UnknownIndex`] where the informer has no such index.
    pub fn list(&self, query: &ListQuery<'_>) -> Result<Vec<Arc<Object>>, UnknownIndex> {
        let namespace = query.namespace.filter(|namespace| !namespace.is_empty());
        let mut objects = match query.index {
            Some((name, value)) => {
                let mut objects = match self.indexer.by_index(name, value) {
                    Ok(objects) => objects,
                    Err(_) if name == NAMESPACE_INDEX => self.indexer.list(Some(value)),
                    Err(indexes) => return Err(UnknownIndex { name: name.to_owned(), indexes }),
                };
                objects.retain(|object| namespace.is_none_or(|namespace| object.namespace() == namespace));
                objects
            }
            None => self.indexer.list(namespace),
        };
        // Outside the lock: the objects cannot change.
        if !query.labels.is_empty() {
            objects.retain(|object| query.labels.selects(object));
        }
        objects.sort_unstable_by(|left, right| {
            (left.namespace(), left.name()).cmp(&(right.namespace(), right.name()))
        });
        Ok(objects)
    }

    /// Objects in the cache.
    pub fn len(&self) -> usize {
        self.indexer.len()
    }

    /// True where the cache is empty.
    pub fn is_empty(&self) -> bool {
        self.len() == 0
    }

    /// True once the first list of every namespace watched is in the cache (C-12).
    pub fn has_synced(&self) -> bool {
        *self.synced.borrow()
    }
}

impl fmt::Debug for Lister {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("Lister").field("objects", &self.len()).field("synced", &self.has_synced()).finish()
    }
}

fn known(indexes: &[String]) -> String {
    if indexes.is_empty() {
        "the watch configures none".to_owned()
    } else {
        format!("the watch configures {}", indexes.join(", "))
    }
}
