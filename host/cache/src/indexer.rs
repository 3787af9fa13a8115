//! The store: every object of the informer, by key, by namespace and by named index.
//!
//! The controller is the only writer; there are many readers. Every read sees one consistent state (I-1). An object
//! costs one pointer and a byte or two here: its key is its own namespace and name.

mod index;
mod object_set;
mod store;

use std::{collections::HashSet, sync::Arc};

use informer_types::{IndexPaths, Namespaces, Object, ObjectKey};
use parking_lot::RwLock;

pub(crate) use object_set::ObjectSet;
pub(crate) use store::{Present, is_unchanged};

use store::{Store, Values, Write};

/// client-go's name of the index that every informer has (F-8, I-13). A configured index of this name takes precedence.
pub(crate) const NAMESPACE_INDEX: &str = "namespace";

/// The thread-safe store of one informer.
#[derive(Default)]
pub(crate) struct Indexer {
    store: RwLock<Store>,
}

/// An index of this name exists already, with other paths (I-8).
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
#[error("there is already an index `{0}`, with other paths")]
pub(crate) struct IndexExists(pub(crate) String);

/// Selects values of an index, with the number of objects that have each. A value without such objects is left out.
#[derive(Clone, Copy, Debug)]
pub struct ValueQuery<'a> {
    /// The name of the index. The index `namespace` always exists (F-8, I-13).
    pub index: &'a str,
    /// The namespaces whose objects count.
    pub namespaces: &'a Namespaces,
    /// The last value of the previous page; the page begins behind it. `None` means the first page.
    pub after: Option<&'a str>,
    /// The most values on the page.
    pub limit: usize,
}

/// The result of a replacement.
#[derive(Debug, Default)]
pub(crate) struct Replaced {
    /// The stored objects that the list does not have.
    pub(crate) deleted: Vec<Arc<Object>>,
    /// The listed objects in their order. If a key is listed twice, the last one wins (I-10).
    pub(crate) present: Vec<Present>,
}

// === impl ValueQuery ===

impl ValueQuery<'_> {
    fn page<'v>(&self, values: impl Iterator<Item = (&'v str, &'v ObjectSet)>) -> Vec<(String, usize)> {
        let counted = values.map(|(value, objects)| (value, self.count(objects)));
        let present = counted.filter(|(_, objects)| *objects > 0);
        present.map(|(value, objects)| (value.to_owned(), objects)).take(self.limit).collect()
    }

    fn count(&self, objects: &ObjectSet) -> usize {
        match self.namespaces {
            Namespaces::All => objects.len(),
            some @ Namespaces::Only(_) => {
                objects.iter().filter(|object| some.contains(object.namespace())).count()
            }
        }
    }
}

// === impl Indexer ===

impl Indexer {
    /// Adds indexes and fills them from the stored objects, in one step for readers (I-8). An index that exists already
    /// with the same paths stays as it is. The caller holds the informer's lock, so that no write happens meanwhile.
    ///
    /// # Errors
    /// [`IndexExists`] for the first index that has other paths. All other indexes are added.
    pub(crate) fn add_indexes<'a>(
        &self,
        indexes: impl IntoIterator<Item = (&'a String, &'a IndexPaths)>,
    ) -> Result<(), IndexExists> {
        let mut store = self.store.write();
        let (mut new, mut refused) = (Vec::new(), Ok(()));
        for (name, paths) in indexes {
            match store.index(name) {
                Some(index) if index.paths == *paths => {}
                Some(_) => refused = refused.and(Err(IndexExists(name.clone()))),
                None => new.push((name.clone(), paths.clone())),
            }
        }
        store.add_indexes(new);
        refused
    }

    /// The object of this key.
    pub(crate) fn get(&self, namespace: &str, name: &str) -> Option<Arc<Object>> {
        self.store.read().get(namespace, name).cloned()
    }

    /// All objects, one namespace after the other, or those of one namespace. Objects of one namespace have no order (I-14).
    pub(crate) fn list(&self, namespace: Option<&str>) -> Vec<Arc<Object>> {
        self.store.read().iter(namespace).cloned().collect()
    }

    /// The objects with this value in an index (I-7). If there is no such index, the error is the names of the indexes.
    pub(crate) fn by_index(&self, name: &str, value: &str) -> Result<Vec<Arc<Object>>, Vec<String>> {
        let store = self.store.read();
        let index = store.index(name).ok_or_else(|| store.index_names())?;
        Ok(index.get(value).cloned().collect())
    }

    /// A page of the values of an index. If there is no such index, the error is the names of the indexes.
    pub(crate) fn index_values(&self, query: &ValueQuery<'_>) -> Result<Vec<(String, usize)>, Vec<String>> {
        let store = self.store.read();
        match store.index(query.index) {
            Some(index) => Ok(query.page(index.values(query.after))),
            None if query.index == NAMESPACE_INDEX => Ok(query.page(store.namespaces(query.after))),
            None => Err(store.index_names()),
        }
    }

    /// The number of objects.
    pub(crate) fn len(&self) -> usize {
        self.store.read().len
    }

    /// The memory of the objects in bytes, without the tables of the indexer itself. Visits every object, which takes
    /// some milliseconds for 100,000 of them.
    pub(crate) fn bytes(&self) -> usize {
        self.store.read().bytes()
    }

    /// The number of objects whose JSON an index could not read (I-9, D-9).
    pub(crate) fn index_failures(&self) -> u64 {
        self.store.read().index_failures
    }

    /// Stores the object, unless this very state is stored already.
    #[cfg(test)]
    pub(crate) fn put(&self, object: Arc<Object>) -> Present {
        self.put_over(object, |_| {})
    }

    /// Stores the object, unless this very state is stored already. If another state is stored, `replaces` is called with that
    /// state before it is lost.
    pub(crate) fn put_over(&self, object: Arc<Object>, replaces: impl FnOnce(&Arc<Object>)) -> Present {
        let store = self.store.read();
        let old = store.get(object.namespace(), object.name()).cloned();
        let plan = Arc::clone(&store.plan);
        drop(store);
        // Only the controller writes, so the state that was read above has not changed.
        let present = Present::of(old, object);
        if let Present::Changed { old, .. } = &present {
            replaces(old);
        }
        if let Some(write) = present.write() {
            let values = Values::of(&plan, write);
            self.store.write().apply(write, &values);
        }
        present
    }

    /// Removes the object of this key and returns it.
    pub(crate) fn remove(&self, key: &ObjectKey) -> Option<Arc<Object>> {
        let store = self.store.read();
        let old = store.get(&key.namespace, &key.name).cloned()?;
        let plan = Arc::clone(&store.plan);
        drop(store);
        let write = Write { old: Some(&old), new: None };
        let values = Values::of(&plan, write);
        self.store.write().apply(write, &values);
        Some(old)
    }

    /// Replaces everything stored of `namespace`, or of all namespaces, by `objects`. Objects whose key is in `kept`
    /// stay. Readers see either the state before or the state after.
    pub(crate) fn replace(
        &self,
        namespace: Option<&str>,
        objects: Vec<Arc<Object>>,
        kept: &[ObjectKey],
    ) -> Replaced {
        let replaced = self.compare(namespace, objects, kept);
        let plan = Arc::clone(&self.store.read().plan);
        let deletions = replaced.deleted.iter().map(|old| Write { old: Some(old), new: None });
        let writes: Vec<(Write<'_>, Values)> = deletions
            .chain(replaced.present.iter().filter_map(Present::write))
            .map(|write| (write, Values::of(&plan, write)))
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

#[cfg(test)]
mod tests;
