//! The data behind the indexer's lock.

use std::{collections::HashMap, sync::Arc};

use informer_types::{Object, Pointer};

use super::{
    ObjectSet,
    index::{self, Index},
    write::{Values, Write},
};

/// The objects by namespace (I-13) and name, and the named indexes over them.
#[derive(Default)]
pub(super) struct Store {
    namespaces: HashMap<Arc<str>, ObjectSet>,
    indexes: Vec<Index>,
    pointers: Arc<[Pointer]>,
    len: usize,
    index_failures: u64,
}

// === impl Store ===

impl Store {
    pub(super) fn get(&self, namespace: &str, name: &str) -> Option<&Arc<Object>> {
        self.namespaces.get(namespace)?.get(namespace, name)
    }

    pub(super) fn iter(&self, namespace: Option<&str>) -> Box<dyn Iterator<Item = &Arc<Object>> + '_> {
        match namespace {
            Some(namespace) => Box::new(self.namespaces.get(namespace).into_iter().flat_map(ObjectSet::iter)),
            None => Box::new(self.namespaces.values().flat_map(ObjectSet::iter)),
        }
    }

    pub(super) fn len(&self) -> usize {
        self.len
    }

    #[cfg(test)]
    pub(super) fn capacity(&self) -> usize {
        self.namespaces.values().map(ObjectSet::capacity).sum()
    }

    /// Computed on demand: the size of an object changes when it is compressed.
    pub(super) fn bytes(&self) -> usize {
        self.iter(None).map(|object| object.memory_bytes()).sum()
    }

    pub(super) fn index_failures(&self) -> u64 {
        self.index_failures
    }

    pub(super) fn index(&self, name: &str) -> Option<&Index> {
        self.indexes.iter().find(|index| index.name() == name)
    }

    pub(super) fn index_names(&self) -> Vec<String> {
        self.indexes.iter().map(|index| index.name().to_owned()).collect()
    }

    /// The pointers of all indexes, in their order.
    pub(super) fn pointers(&self) -> Arc<[Pointer]> {
        Arc::clone(&self.pointers)
    }

    pub(super) fn add_indexes(&mut self, new: Vec<(String, Pointer)>) {
        for (name, pointer) in new {
            let mut index = Index::new(name, pointer);
            for object in self.namespaces.values().flat_map(ObjectSet::iter) {
                match index::values(object, std::slice::from_ref(index.pointer())) {
                    Ok(values) => index.insert(object, values.of(0)),
                    Err(_) => self.index_failures += 1,
                }
            }
            self.indexes.push(index);
        }
        self.pointers = self.indexes.iter().map(|index| index.pointer().clone()).collect();
    }

    pub(super) fn apply(&mut self, write: Write<'_>, values: &Values) {
        self.index_failures += values.failures;
        match write {
            Write::Put { old, new } => {
                self.namespaces.entry(new.key().namespace).or_default().insert(Arc::clone(new));
                self.len += usize::from(old.is_none());
                self.reindex(old, Some(new), values);
            }
            Write::Remove(old) => {
                if let Some(set) = self.namespaces.get_mut(old.namespace())
                    && set.remove(old.namespace(), old.name()).is_some()
                {
                    self.len -= 1;
                    if set.is_empty() {
                        self.namespaces.remove(old.namespace());
                    }
                }
                self.reindex(Some(old), None, values);
            }
        }
    }

    fn reindex(&mut self, old: Option<&Arc<Object>>, new: Option<&Arc<Object>>, values: &Values) {
        for (slot, index) in self.indexes.iter_mut().enumerate() {
            if let Some(old) = old {
                index.remove(old, values.old.of(slot));
            }
            if let Some(new) = new {
                index.insert(new, values.new.of(slot));
            }
        }
    }
}
