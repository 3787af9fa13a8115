//! The store: every object of the informer, by key, by namespace and by named index.
//!
//! One writer, the controller; many readers. Every read is answered from one consistent state (I-1). An
//! object costs one pointer and a byte or two here: its key is its own namespace and name.

mod object_set;
mod replace;
mod store;
mod write;

use std::sync::Arc;

use informer_types::{Object, ObjectKey, Pointer};
use parking_lot::RwLock;

pub(crate) use object_set::ObjectSet;
pub(crate) use write::Present;

use store::Store;
use write::{Values, Write};

/// The thread-safe store of one informer.
#[derive(Default)]
pub(crate) struct Indexer {
    store: RwLock<Store>,
}

/// An index name that is taken (I-8).
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
#[error("there is already an index `{0}`, at another pointer")]
pub(crate) struct IndexExists(pub(crate) String);

// === impl Indexer ===

impl Indexer {
    /// Adds indexes and fills them from what is stored, in one step for readers (I-8). One that is there
    /// already, at the same pointer, is left alone. Must not run beside a write: hold the informer's lock.
    pub(crate) fn add_indexes<'a>(
        &self,
        indexes: impl IntoIterator<Item = (&'a String, &'a Pointer)>,
    ) -> Result<(), IndexExists> {
        let mut store = self.store.write();
        let mut new = Vec::new();
        for (name, pointer) in indexes {
            match store.index(name) {
                Some(index) if index.pointer() == pointer => {}
                Some(_) => return Err(IndexExists(name.clone())),
                None => new.push((name.clone(), pointer.clone())),
            }
        }
        store.add_indexes(new);
        Ok(())
    }

    /// The object of this key.
    pub(crate) fn get(&self, namespace: &str, name: &str) -> Option<Arc<Object>> {
        self.store.read().get(namespace, name).cloned()
    }

    /// Everything, of one namespace if one is given, in no order (I-14).
    pub(crate) fn list(&self, namespace: Option<&str>) -> Vec<Arc<Object>> {
        self.store.read().iter(namespace).cloned().collect()
    }

    /// What an index has under a value (I-7); an error names the indexes there are.
    pub(crate) fn by_index(&self, name: &str, value: &str) -> Result<Vec<Arc<Object>>, Vec<String>> {
        let store = self.store.read();
        let index = store.index(name).ok_or_else(|| store.index_names())?;
        Ok(index.get(value).cloned().collect())
    }

    /// Objects.
    pub(crate) fn len(&self) -> usize {
        self.store.read().len()
    }

    /// The memory of the objects, in bytes; the tables of the indexer itself are left out. Looks at every object: some
    /// milliseconds for 100,000 of them.
    pub(crate) fn bytes(&self) -> usize {
        self.store.read().bytes()
    }

    /// Objects whose JSON an index could not read (I-9, D-9).
    pub(crate) fn index_failures(&self) -> u64 {
        self.store.read().index_failures()
    }

    /// Stores the object, unless it is stored in this very state.
    pub(crate) fn put(&self, object: Arc<Object>) -> Present {
        let store = self.store.read();
        let old = store.get(object.namespace(), object.name()).cloned();
        let pointers = store.pointers();
        drop(store);
        // Only the controller writes: what was read above still holds below.
        let present = Present::of(old, object);
        if let Some(write) = present.write() {
            let values = Values::of(&pointers, write);
            self.store.write().apply(write, &values);
        }
        present
    }

    /// Removes the object of this key and returns it.
    pub(crate) fn remove(&self, key: &ObjectKey) -> Option<Arc<Object>> {
        let store = self.store.read();
        let old = store.get(&key.namespace, &key.name).cloned()?;
        let pointers = store.pointers();
        drop(store);
        let write = Write::Remove(&old);
        let values = Values::of(&pointers, write);
        self.store.write().apply(write, &values);
        Some(old)
    }
}

#[cfg(test)]
mod tests;
