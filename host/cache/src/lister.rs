//! Reads the cache.

use std::{fmt, sync::Arc};

use informer_types::{LabelSelector, Object, ObjectKey};
use tokio::sync::watch;

use crate::indexer::{Indexer, NAMESPACE_INDEX, ValueQuery};

/// Reads one informer's cache. It never sends a request to the API server (L-1). Cheap to clone.
///
/// Every result comes from one consistent state of the cache (I-1). That state is at least as new as any notification
/// that the reader has received. It may be stale, and before the informer has synced it may be incomplete (L-5, I-16).
/// The objects are shared and immutable (I-4).
#[derive(Clone)]
pub struct Lister {
    indexer: Arc<Indexer>,
    synced: watch::Receiver<bool>,
}

/// Selects the objects to list. An object must meet all conditions.
#[derive(Clone, Copy, Debug)]
pub struct ListQuery<'a> {
    /// The namespace. `None` or the empty string means all namespaces (L-4).
    pub namespace: Option<&'a str>,
    /// A label selector. The empty selector selects all objects (L-3).
    pub labels: &'a LabelSelector,
    /// The name of an index and the value to look up. The index `namespace` always exists; its value for cluster-scoped
    /// objects is empty (F-8, I-13).
    pub index: Option<(&'a str, &'a str)>,
}

/// The informer does not have the requested index (I-7).
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
#[error("there is no index `{name}`; {}", known(.indexes))]
pub struct UnknownIndex {
    /// The requested index.
    pub name: String,
    /// The indexes of the informer.
    pub indexes: Vec<String>,
}

// === impl Lister ===

impl Lister {
    pub(crate) fn new(indexer: Arc<Indexer>, synced: watch::Receiver<bool>) -> Self {
        Self { indexer, synced }
    }

    /// Returns the cached object with this key, if there is one (L-2).
    pub fn get(&self, key: &ObjectKey) -> Option<Arc<Object>> {
        self.indexer.get(&key.namespace, &key.name)
    }

    /// Returns the objects that meet the query.
    ///
    /// # Ordering
    /// The objects are sorted by namespace and then by name, so that a reader can page.
    ///
    /// # Errors
    /// [`UnknownIndex`] if the informer does not have the index.
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
        // This is done outside the lock, because objects are immutable.
        if !query.labels.is_empty() {
            objects.retain(|object| query.labels.selects(object));
        }
        sort(&mut objects);
        Ok(objects)
    }

    /// Returns a page of the values of an index, each with the number of objects that have it.
    ///
    /// # Ordering
    /// The values are sorted by their bytes. Pages do not come from one state of the cache.
    ///
    /// # Errors
    /// [`UnknownIndex`] if the informer does not have the index.
    pub fn index_values(&self, query: &ValueQuery<'_>) -> Result<Vec<(String, usize)>, UnknownIndex> {
        let unknown = |indexes| UnknownIndex { name: query.index.to_owned(), indexes };
        self.indexer.index_values(query).map_err(unknown)
    }

    /// The number of objects in the cache.
    pub fn len(&self) -> usize {
        self.indexer.len()
    }

    /// Returns true if the cache is empty.
    pub fn is_empty(&self) -> bool {
        self.len() == 0
    }

    /// Returns true once the first list of every watched namespace is in the cache (C-12).
    pub fn has_synced(&self) -> bool {
        *self.synced.borrow()
    }
}

impl fmt::Debug for Lister {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("Lister").field("objects", &self.len()).field("synced", &self.has_synced()).finish()
    }
}

/// Sorts by namespace and then by name. The indexer returns the namespaces in their order, so the first sort is usually a single
/// pass, and the sort of each namespace compares names alone.
fn sort(objects: &mut [Arc<Object>]) {
    objects.sort_unstable_by(|left, right| left.namespace().cmp(right.namespace()));
    for of_namespace in objects.chunk_by_mut(|left, right| left.namespace() == right.namespace()) {
        of_namespace.sort_unstable_by(|left, right| left.name().cmp(right.name()));
    }
}

fn known(indexes: &[String]) -> String {
    if indexes.is_empty() {
        "the watch configures none".to_owned()
    } else {
        format!("the watch configures {}", indexes.join(", "))
    }
}

#[cfg(test)]
mod tests {
    use informer_types::{Body, Header};

    use super::*;

    #[test]
    fn objects_are_sorted_by_namespace_and_name_with_and_without_an_index() {
        let indexer = Indexer::default();
        let paths = "/part".parse().unwrap();
        indexer.add_indexes([(&"by-part".to_owned(), &paths)]).unwrap();
        // An object of one namespace follows an object of another one. A namespace begins with the name of another one.
        for name in ["c", "a-b", "b", "a"] {
            for namespace in ["b", "a-b", "", "a"] {
                let header = Header { namespace: namespace.into(), name: name.into(), ..Header::default() };
                let body = Body::Raw(r#"{"part":"of"}"#.into());
                indexer.put(Arc::new(Object::new(&header, body).unwrap()));
            }
        }
        let lister = Lister::new(Arc::new(indexer), watch::channel(true).1);
        let labels = LabelSelector::default();
        let keys = |namespace: Option<&str>, index: Option<(&str, &str)>| {
            let objects = lister.list(&ListQuery { namespace, labels: &labels, index }).unwrap();
            objects.iter().map(|object| object.key()).collect::<Vec<ObjectKey>>()
        };
        let by_part = Some(("by-part", "of"));

        let all = keys(None, None);

        assert_eq!(all.len(), 16);
        assert!(all.is_sorted(), "{all:?}");
        assert_eq!(keys(None, by_part), all);
        let of_one: Vec<ObjectKey> = all.into_iter().filter(|key| &*key.namespace == "a").collect();
        assert_eq!(of_one.len(), 4);
        assert_eq!(keys(Some("a"), None), of_one);
        assert_eq!(keys(Some("a"), by_part), of_one);
    }

    #[test]
    #[ignore = "needs valgrind"]
    fn a_thousand_objects_are_listed_by_label_within_their_instructions() {
        let indexer = Arc::new(Indexer::default());
        for number in 0..1_000 {
            let header = Header {
                namespace: "shop".into(),
                name: format!("pod-{number}").into(),
                labels: vec![("app".into(), format!("app-{}", number % 4).into())],
                ..Header::default()
            };
            indexer.put(Arc::new(Object::new(&header, Body::Raw("{}".into())).unwrap()));
        }
        let lister = Lister::new(indexer, watch::channel(true).1);
        let labels: LabelSelector = "app=app-1".parse().unwrap();
        let query = ListQuery { namespace: Some("shop"), labels: &labels, index: None };
        const TEST: &str = "lister::tests::a_thousand_objects_are_listed_by_label_within_their_instructions";

        for _ in 0..informer_instructions::rounds(TEST, 20, 4_488_000) {
            assert_eq!(lister.list(&query).unwrap().len(), 250);
        }
    }
}
