//! Replaces the objects of a scope by a whole list (I-10, C-6).

use std::{collections::HashSet, sync::Arc};

use informer_types::{Object, ObjectKey};

use super::{
    Indexer, ObjectSet,
    write::{Present, Values, Write},
};

/// The result of a replacement.
#[derive(Debug, Default)]
pub(crate) struct Replaced {
    /// The stored objects that the list does not have.
    pub(crate) deleted: Vec<Arc<Object>>,
    /// The listed objects in their order. If a key is listed twice, the last one wins (I-10).
    pub(crate) present: Vec<Present>,
}

// === impl Indexer ===

impl Indexer {
    /// Replaces everything stored of `namespace`, or of all namespaces, by `objects`. Objects whose key is in `kept`
    /// stay. Readers see either the state before or the state after.
    pub(crate) fn replace(
        &self,
        namespace: Option<&str>,
        objects: Vec<Arc<Object>>,
        kept: &[ObjectKey],
    ) -> Replaced {
        let replaced = self.compare(namespace, objects, kept);
        let pointers = self.store.read().pointers();
        let deletions = replaced.deleted.iter().map(Write::Remove);
        let writes: Vec<(Write<'_>, Values)> = deletions
            .chain(replaced.present.iter().filter_map(Present::write))
            .map(|write| (write, Values::of(&pointers, write)))
            .collect();
        let mut store = self.store.write();
        for (write, values) in writes {
            store.apply(write, &values);
        }
        drop(store);
        replaced
    }

    /// The difference between the list and the store. Only the controller writes, so it is still valid when it is
    /// applied.
    fn compare(&self, namespace: Option<&str>, objects: Vec<Arc<Object>>, kept: &[ObjectKey]) -> Replaced {
        let mut listed = ObjectSet::with_capacity(objects.len());
        for object in &objects {
            listed.insert(Arc::clone(object));
        }
        let kept: HashSet<(&str, &str)> = kept.iter().map(|key| (&*key.namespace, &*key.name)).collect();
        let store = self.store.read();
        let deleted = store
            .iter(namespace)
            .filter(|object| {
                let (namespace, name) = (object.namespace(), object.name());
                listed.get(namespace, name).is_none() && !kept.contains(&(namespace, name))
            })
            .cloned()
            .collect();
        let present = objects
            .into_iter()
            .filter(|object| {
                listed
                    .get(object.namespace(), object.name())
                    .is_some_and(|winner| Arc::ptr_eq(winner, object))
            })
            .map(|new| Present::of(store.get(new.namespace(), new.name()).cloned(), new))
            .collect();
        Replaced { deleted, present }
    }
}
