//! What is behind the indexer's lock.

use std::{collections::HashMap, sync::Arc};

use informer_types::{Object, Pointer};

use super::{ObjectSet, Values};
use crate::index::{self, Index};

/// Objects by namespace (I-13) and, within it, by name; and the named indexes over them.
#[derive(Default)]
pub(super) struct Store {
    namespaces: HashMap<Arc<str>, ObjectSet>,
    indexes: Vec<Index>,
    len: usize,
    bytes: usize,
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

    pub(super) fn bytes(&self) -> usize {
        self.bytes
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

    /// Of all indexes, in their order.
    pub(super) fn pointers(&self) -> Vec<Pointer> {
        self.indexes.iter().map(|index| index.pointer().clone()).collect()
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
    }

    pub(super) fn put(&mut self, object: &Arc<Object>, values: &Values) -> Option<Arc<Object>> {
        self.bytes += object.memory_bytes();
        self.index_failures += values.failures;
        let set = self.namespaces.entry(object.key().namespace).or_default();
        let old = set.insert(Arc::clone(object));
        match &old {
            Some(old) => self.bytes -= old.memory_bytes(),
            None => self.len += 1,
        }
        for (slot, index) in self.indexes.iter_mut().enumerate() {
            if let Some(old) = &old {
                index.remove(old, values.old.of(slot));
            }
            index.insert(object, values.new.of(slot));
        }
        old
    }

    pub(super) fn remove(&mut self, object: &Object, values: &Values) {
        let Some(set) = self.namespaces.get_mut(object.namespace()) else {
            return;
        };
        if let Some(old) = set.remove(object.namespace(), object.name()) {
            self.bytes -= old.memory_bytes();
            self.len -= 1;
        }
        if set.is_empty() {
            self.namespaces.remove(object.namespace());
        }
        for (slot, index) in self.indexes.iter_mut().enumerate() {
            index.remove(object, values.old.of(slot));
        }
    }
}
