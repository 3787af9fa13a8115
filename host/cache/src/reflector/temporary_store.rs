//! The content of an unfinished streaming list.

use std::{collections::BTreeMap, sync::Arc};

use informer_types::{Object, ObjectKey};

use crate::{
    decode::{ListPage, Undecodable},
    indexer::ObjectSet,
};

/// The objects of an unfinished streaming list by key, in the form in which the cache keeps them: at the end
/// only pointers move.
#[derive(Default)]
pub(super) struct TemporaryStore {
    objects: ObjectSet,
    /// The objects whose latest state did not decode (D-2).
    undecodable: BTreeMap<ObjectKey, Undecodable>,
}

// === impl TemporaryStore ===

impl TemporaryStore {
    /// Stores an object. As in the store, ADDED and MODIFIED have the same effect (C-3).
    pub(super) fn set(&mut self, object: Arc<Object>) {
        if !self.undecodable.is_empty() {
            self.undecodable.remove(&object.key());
        }
        self.objects.insert(object);
    }

    pub(super) fn remove(&mut self, key: &ObjectKey) {
        self.undecodable.remove(key);
        self.objects.remove(&key.namespace, &key.name);
    }

    /// Records that the object's latest state did not decode. An earlier state that decoded stays (D-2).
    pub(super) fn refuse(&mut self, key: ObjectKey, undecodable: Undecodable) {
        self.undecodable.insert(key, undecodable);
    }

    /// Returns the finished list, in the order of a plain list.
    pub(super) fn into_list(self, resource_version: String) -> ListPage {
        let mut objects: Vec<Arc<Object>> = self.objects.iter().cloned().collect();
        objects.sort_unstable_by(|one, other| {
            (one.namespace(), one.name()).cmp(&(other.namespace(), other.name()))
        });
        ListPage {
            resource_version,
            continue_token: String::new(),
            objects,
            undecodable: self.undecodable.into_values().collect(),
        }
    }
}
