//! A whole list put in the place of what a scope had (I-10, C-6).

use std::{collections::HashSet, sync::Arc};

use informer_types::{Object, ObjectKey};

use super::{Indexer, ObjectSet, Values};

/// What a replacement changed.
#[derive(Debug, Default)]
pub(crate) struct Replaced {
    /// What the list lacks, as the store had it.
    pub(crate) deleted: Vec<Arc<Object>>,
    /// What the list has, in its order; of a key listed twice the last counts (I-10).
    pub(crate) present: Vec<Present>,
}

/// One listed object.
#[derive(Debug)]
pub(crate) enum Present {
    /// Not stored before.
    New(Arc<Object>),
    /// Stored before, in another state.
    Changed { old: Arc<Object>, new: Arc<Object> },
    /// Stored before with the same UID and resource version: the stored copy stays.
    Unchanged(Arc<Object>),
}

/// One object put or removed.
struct Write<'a> {
    old: Option<&'a Arc<Object>>,
    new: Option<&'a Arc<Object>>,
}

// === impl Indexer ===

impl Indexer {
    /// Puts `objects` in the place of everything stored of `namespace`, or of everything. What is stored under
    /// a key in `kept` stays. Readers see all of it or nothing.
    pub(crate) fn replace(
        &self,
        namespace: Option<&str>,
        objects: Vec<Arc<Object>>,
        kept: &[ObjectKey],
    ) -> Replaced {
        let replaced = self.compare(namespace, objects, kept);
        let pointers = self.store.read().pointers();
        let deletions = replaced.deleted.iter().map(|old| Write { old: Some(old), new: None });
        let writes: Vec<(Write<'_>, Values)> = deletions
            .chain(replaced.present.iter().filter_map(Present::write))
            .map(|write| {
                let values =
                    Values::of(&pointers, write.old.map(AsRef::as_ref), write.new.map(AsRef::as_ref));
                (write, values)
            })
            .collect();
        let mut store = self.store.write();
        for (write, values) in writes {
            match write {
                Write { new: Some(new), .. } => {
                    store.put(new, &values);
                }
                Write { old: Some(old), new: None } => store.remove(old, &values),
                Write { old: None, new: None } => {}
            }
        }
        drop(store);
        replaced
    }

    /// The difference between the list and the store. Only the controller writes, so it still holds when it
    /// is applied.
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
            .map(|new| match store.get(new.namespace(), new.name()) {
                None => Present::New(new),
                Some(old) if is_unchanged(old, &new) => Present::Unchanged(Arc::clone(old)),
                Some(old) => Present::Changed { old: Arc::clone(old), new },
            })
            .collect();
        Replaced { deleted, present }
    }
}

impl Present {
    fn write(&self) -> Option<Write<'_>> {
        match self {
            Self::New(new) => Some(Write { old: None, new: Some(new) }),
            Self::Changed { old, new } => Some(Write { old: Some(old), new: Some(new) }),
            Self::Unchanged(_) => None,
        }
    }
}

/// D-5: the same state of the same object. A server that sends no resource versions cannot be taken at its
/// word.
pub(crate) fn is_unchanged(old: &Object, new: &Object) -> bool {
    !new.resource_version().is_empty()
        && old.resource_version() == new.resource_version()
        && old.uid() == new.uid()
}
