//! The objects and their history: one [`Collection`] for each resource, and one [`Revision`] for all.
//!
//! The resourceVersion is a single counter for the whole server: every write takes the next number. Each
//! collection has its own lock, so writers of different resources do not wait for each other.

use std::{collections::HashMap, sync::Arc};

use parking_lot::RwLock;

use crate::registry::CollectionId;

pub(crate) mod collection;
pub(crate) mod history;
pub(crate) mod owners;
pub(crate) mod stored;

pub(crate) use collection::Collection;
pub(crate) use history::{Event, EventKind, Revision};
pub(crate) use owners::Owners;
pub(crate) use stored::{Draft, ObjectKey, Stored};

/// All collections of the server.
#[derive(Debug)]
pub(crate) struct Storage {
    pub(crate) revision: Arc<Revision>,
    pub(crate) owners: Arc<Owners>,
    history_limit: usize,
    collections: RwLock<HashMap<CollectionId, Arc<Collection>>>,
}

// === impl Storage ===

impl Storage {
    /// `history_limit` is the number of changes that each collection remembers.
    pub(crate) fn new(history_limit: usize) -> Self {
        Self {
            revision: Arc::default(),
            owners: Arc::default(),
            history_limit,
            collections: RwLock::default(),
        }
    }

    /// The collection; the first use creates it.
    pub(crate) fn collection(&self, id: &CollectionId) -> Arc<Collection> {
        if let Some(collection) = self.collections.read().get(id) {
            return collection.clone();
        }
        let mut collections = self.collections.write();
        let made = || {
            let (revision, owners) = (self.revision.clone(), self.owners.clone());
            Arc::new(Collection::new(id.clone(), revision, owners, self.history_limit))
        };
        collections.entry(id.clone()).or_insert_with(made).clone()
    }

    /// Drops a collection and ends its open watches.
    pub(crate) fn drop_collection(&self, id: &CollectionId) {
        if let Some(collection) = self.collections.write().remove(id) {
            collection.closed.cancel();
        }
    }

    /// Forgets all history up to `rv`, like a compaction of etcd.
    pub(crate) fn compact(&self, rv: u64) {
        for collection in self.collections.read().values() {
            collection.compact(rv);
        }
    }
}
