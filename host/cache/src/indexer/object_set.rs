//! A set of objects by key that stores only pointers.

use std::{hash::BuildHasher, sync::Arc};

use hashbrown::{DefaultHashBuilder, HashTable};
use informer_types::Object;

/// Objects by namespace and name. The key of an entry is the object's own, not a copy.
#[derive(Default)]
pub(crate) struct ObjectSet {
    table: HashTable<Arc<Object>>,
    hasher: DefaultHashBuilder,
}

// === impl ObjectSet ===

impl ObjectSet {
    pub(crate) fn with_capacity(capacity: usize) -> Self {
        Self { table: HashTable::with_capacity(capacity), hasher: DefaultHashBuilder::default() }
    }

    pub(crate) fn get(&self, namespace: &str, name: &str) -> Option<&Arc<Object>> {
        self.table.find(hash(&self.hasher, namespace, name), |object| is(object, namespace, name))
    }

    /// Stores the object and returns the one that was stored under its key.
    pub(crate) fn insert(&mut self, object: Arc<Object>) -> Option<Arc<Object>> {
        let (namespace, name) = (object.namespace(), object.name());
        let hash_of = hash(&self.hasher, namespace, name);
        if let Some(slot) = self.table.find_mut(hash_of, |found| is(found, namespace, name)) {
            return Some(std::mem::replace(slot, object));
        }
        self.table
            .insert_unique(hash_of, object, |object| hash(&self.hasher, object.namespace(), object.name()));
        None
    }

    pub(crate) fn remove(&mut self, namespace: &str, name: &str) -> Option<Arc<Object>> {
        let entry = self
            .table
            .find_entry(hash(&self.hasher, namespace, name), |object| is(object, namespace, name))
            .ok()?;
        let (object, _) = entry.remove();
        // A table that was once much larger releases its memory.
        if self.table.len() < self.table.capacity() / 8 {
            self.table.shrink_to_fit(|object| hash(&self.hasher, object.namespace(), object.name()));
        }
        Some(object)
    }

    pub(crate) fn iter(&self) -> impl Iterator<Item = &Arc<Object>> {
        self.table.iter()
    }

    #[cfg(test)]
    pub(crate) fn capacity(&self) -> usize {
        self.table.capacity()
    }

    pub(crate) fn len(&self) -> usize {
        self.table.len()
    }

    pub(crate) fn is_empty(&self) -> bool {
        self.table.is_empty()
    }
}

fn hash(hasher: &DefaultHashBuilder, namespace: &str, name: &str) -> u64 {
    hasher.hash_one((namespace, name))
}

fn is(object: &Object, namespace: &str, name: &str) -> bool {
    object.name() == name && object.namespace() == namespace
}
