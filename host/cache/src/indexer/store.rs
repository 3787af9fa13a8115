//! The data behind the indexer's lock, and one change of it.

use std::sync::Arc;

use hashbrown::HashMap;
use informer_types::{IndexPaths, Object, Pointer, differs};

use super::{
    ObjectSet,
    index::{Index, IndexValues, Plan},
};

/// The objects by namespace (I-13) and name, and the named indexes over them.
#[derive(Default)]
pub(super) struct Store {
    namespaces: HashMap<Arc<str>, ObjectSet>,
    indexes: Vec<Index>,
    /// How the values of all indexes are found, in their order.
    pub(super) plan: Arc<Plan>,
    pub(super) len: usize,
    /// The number of objects whose JSON an index could not read (I-9, D-9).
    pub(super) index_failures: u64,
}

/// The result of storing an object. The store decides which it is (C-3).
#[derive(Debug)]
pub(crate) enum Present {
    /// Not stored before.
    New(Arc<Object>),
    /// Stored before, in another state.
    Changed { old: Arc<Object>, new: Arc<Object> },
    /// Stored before with the same UID, resource version and content: the stored copy stays.
    Unchanged(Arc<Object>),
}

/// One object put or removed: its state before and after.
#[derive(Clone, Copy)]
pub(super) struct Write<'a> {
    pub(super) old: Option<&'a Arc<Object>>,
    pub(super) new: Option<&'a Arc<Object>>,
}

/// The index values of an object before and after a write. They are read outside the lock, because that takes a pass
/// over the JSON.
#[derive(Default)]
pub(super) struct Values {
    pub(super) old: IndexValues,
    pub(super) new: IndexValues,
    pub(super) failures: u64,
}

// === impl Store ===

impl Store {
    pub(super) fn get(&self, namespace: &str, name: &str) -> Option<&Arc<Object>> {
        self.namespaces.get(namespace)?.get(namespace, name)
    }

    /// The objects of one namespace, or of all namespaces in the order of their names. Objects of one namespace have no order.
    pub(super) fn iter(&self, namespace: Option<&str>) -> Box<dyn Iterator<Item = &Arc<Object>> + '_> {
        match namespace {
            Some(namespace) => Box::new(self.namespaces.get(namespace).into_iter().flat_map(ObjectSet::iter)),
            None => Box::new(self.namespaces(None).flat_map(|(_, objects)| objects.iter())),
        }
    }

    #[cfg(test)]
    pub(super) fn capacity(&self) -> usize {
        self.namespaces.values().map(ObjectSet::capacity).sum()
    }

    /// Computed on demand: the size of an object changes when it is compressed.
    pub(super) fn bytes(&self) -> usize {
        self.iter(None).map(|object| object.memory_bytes()).sum()
    }

    pub(super) fn index(&self, name: &str) -> Option<&Index> {
        self.indexes.iter().find(|index| index.name == name)
    }

    /// The namespaces behind `after`, in the order of their bytes, with their objects.
    pub(super) fn namespaces(&self, after: Option<&str>) -> impl Iterator<Item = (&str, &ObjectSet)> {
        let names = self.namespaces.iter().map(|(name, objects)| (&**name, objects));
        let mut behind: Vec<_> = names.filter(|(name, _)| after.is_none_or(|after| *name > after)).collect();
        behind.sort_unstable_by_key(|(name, _)| *name);
        behind.into_iter()
    }

    pub(super) fn index_names(&self) -> Vec<String> {
        self.indexes.iter().map(|index| index.name.clone()).collect()
    }

    pub(super) fn add_indexes(&mut self, new: Vec<(String, IndexPaths)>) {
        for (name, paths) in new {
            let mut index = Index::new(name, paths);
            let plan = Plan::of([&index]);
            for object in self.namespaces.values().flat_map(ObjectSet::iter) {
                match plan.values(object) {
                    Some(values) => index.insert(object, values.of(0)),
                    None => self.index_failures += 1,
                }
            }
            self.indexes.push(index);
        }
        self.plan = Arc::new(Plan::of(&self.indexes));
    }

    pub(super) fn apply(&mut self, Write { old, new }: Write<'_>, values: &Values) {
        self.index_failures += values.failures;
        if let Some(new) = new {
            self.namespaces.entry(new.key().namespace).or_default().insert(Arc::clone(new));
            self.len += usize::from(old.is_none());
        } else if let Some(old) = old
            && let Some(set) = self.namespaces.get_mut(old.namespace())
            && set.remove(old.namespace(), old.name()).is_some()
        {
            self.len -= 1;
            if set.is_empty() {
                self.namespaces.remove(old.namespace());
            }
        }
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

// === impl Present ===

impl Present {
    pub(super) fn of(old: Option<Arc<Object>>, new: Arc<Object>) -> Self {
        match old {
            None => Self::New(new),
            Some(old) if is_unchanged(&old, &new) => Self::Unchanged(old),
            Some(old) => Self::Changed { old, new },
        }
    }

    /// The object that is stored now.
    pub(crate) fn object(&self) -> &Object {
        match self {
            Self::New(object) | Self::Changed { new: object, .. } | Self::Unchanged(object) => object,
        }
    }

    /// The write to apply. Returns `None` if nothing changed.
    pub(super) fn write(&self) -> Option<Write<'_>> {
        match self {
            Self::New(new) => Some(Write { old: None, new: Some(new) }),
            Self::Changed { old, new } => Some(Write { old: Some(old), new: Some(new) }),
            Self::Unchanged(_) => None,
        }
    }
}

/// Returns true for the same state of the same object (D-5). The content counts, too: after a change of a CRD or an upgrade of
/// the API server, the server sends another form of the stored object, with new defaults for example, at the same resource
/// version. If the server sends no resource versions, the content alone decides.
pub(crate) fn is_unchanged(old: &Arc<Object>, new: &Arc<Object>) -> bool {
    old.resource_version() == new.resource_version()
        && old.uid() == new.uid()
        && (Arc::ptr_eq(old, new) || has_same_content(old, new))
}

/// Compares the texts, and only if they differ the values: the order of keys has no meaning. If a text cannot be read, the
/// contents differ, so that the new object replaces the old one.
fn has_same_content(old: &Object, new: &Object) -> bool {
    let (Ok(old), Ok(new)) = (old.json(), new.json()) else { return false };
    let whole = Pointer::of::<&str>([]);
    *old == *new || matches!(differs(&old, &new, &[whole]), Ok(false))
}

// === impl Values ===

impl Values {
    pub(super) fn of(plan: &Plan, write: Write<'_>) -> Self {
        if plan.is_empty() {
            return Self::default();
        }
        // An unreadable object has no values. The old one was counted when it was stored (I-9, D-9).
        let old = write.old.map(|old| plan.values(old));
        let new = write.new.map(|new| plan.values(new));
        let failures = u64::from(matches!(new, Some(None)));
        Self { old: old.flatten().unwrap_or_default(), new: new.flatten().unwrap_or_default(), failures }
    }
}
