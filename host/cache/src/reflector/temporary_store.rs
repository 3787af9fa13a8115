//! What a streaming list has brought so far.

use std::{collections::BTreeMap, sync::Arc};

use informer_types::{Object, ObjectKey};

use crate::{
    decode::{ListPage, Undecodable},
    indexer::ObjectSet,
};

/// The objects of an unfinished streaming list, by key, in the form in which the cache will keep them:
/// at its end only pointers move.
#[derive(Default)]
pub(super) struct TemporaryStore {
    objects: ObjectSet,
    /// What did not decode when it was last seen (D-2).
    undecodable: BTreeMap<ObjectKey, Undecodable>,
}

// === impl TemporaryStore ===

impl TemporaryStore {
    /// ADDED and MODIFIED are one and the same here, as in the store (C-3).
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

    /// The object is there, but did not decode; what decoded of it before stays (D-2).
    pub(super) fn refuse(&mut self, key: ObjectKey, undecodable: Undecodable) {
        self.undecodable.insert(key, undecodable);
    }

    /// The list that it has become, in the order of a plain one.
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
