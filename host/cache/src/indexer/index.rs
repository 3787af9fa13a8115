//! A named index: the objects by their values at one or several paths.

use std::{
    collections::BTreeMap,
    ops::Bound::{Excluded, Unbounded},
    sync::Arc,
};

use informer_types::{IndexPath, IndexPaths, Object, Pointer, locate};

use super::ObjectSet;

/// The objects by value (I-5 to I-7).
pub(crate) struct Index {
    pub(super) name: String,
    pub(super) paths: IndexPaths,
    values: BTreeMap<Box<str>, ObjectSet>,
}

/// The paths of all indexes, arranged so that one pass over an object finds the first part of each.
#[derive(Debug, Default)]
pub(crate) struct Plan {
    /// The first part of each path.
    first: Vec<Pointer>,
    /// Each path, with the slot of its index.
    paths: Vec<(usize, IndexPath)>,
    indexes: usize,
}

/// The values of one object, one list for each index.
#[derive(Debug, Default, PartialEq, Eq)]
pub(crate) struct IndexValues(Vec<Vec<String>>);

// === impl Index ===

impl Index {
    pub(crate) fn new(name: String, paths: IndexPaths) -> Self {
        Self { name, paths, values: BTreeMap::new() }
    }

    pub(crate) fn get(&self, value: &str) -> impl Iterator<Item = &Arc<Object>> {
        self.values.get(value).into_iter().flat_map(ObjectSet::iter)
    }

    /// The values behind `after`, in the order of their bytes, with their objects.
    pub(super) fn values(&self, after: Option<&str>) -> impl Iterator<Item = (&str, &ObjectSet)> {
        let from = after.map_or(Unbounded, Excluded);
        self.values.range::<str, _>((from, Unbounded)).map(|(value, objects)| (&**value, objects))
    }

    #[cfg(test)]
    pub(crate) fn is_empty(&self) -> bool {
        self.values.is_empty()
    }

    pub(crate) fn insert(&mut self, object: &Arc<Object>, values: &[String]) {
        for value in values {
            let set = self.values.entry(value.as_str().into()).or_default();
            set.insert(Arc::clone(object));
        }
    }

    /// Removes an object. A value without objects is removed too (I-6).
    pub(crate) fn remove(&mut self, object: &Object, values: &[String]) {
        for value in values {
            if let Some(set) = self.values.get_mut(value.as_str()) {
                set.remove(object.namespace(), object.name());
                if set.is_empty() {
                    self.values.remove(value.as_str());
                }
            }
        }
    }
}

// === impl IndexValues ===

impl IndexValues {
    pub(crate) fn of(&self, slot: usize) -> &[String] {
        self.0.get(slot).map_or(&[], Vec::as_slice)
    }
}

// === impl Plan ===

impl Plan {
    /// The plan for these indexes, in their order.
    pub(crate) fn of<'a>(indexes: impl IntoIterator<Item = &'a Index>) -> Self {
        let mut plan = Self::default();
        for index in indexes {
            for path in index.paths.iter() {
                plan.first.push(path.first().clone());
                plan.paths.push((plan.indexes, path.clone()));
            }
            plan.indexes += 1;
        }
        plan
    }

    pub(crate) fn is_empty(&self) -> bool {
        self.indexes == 0
    }

    /// The values of an object for each index, sorted and without duplicates. Returns `None` if the object cannot be read (I-9).
    pub(crate) fn values(&self, object: &Object) -> Option<IndexValues> {
        let json = object.json().ok()?;
        let found = locate(&json, &self.first).ok()?;
        let mut values = vec![Vec::new(); self.indexes];
        for (range, (slot, path)) in found.into_iter().zip(&self.paths) {
            if let (Some(text), Some(values)) =
                (range.and_then(|range| json.get(range)), values.get_mut(*slot))
            {
                path.collect(text, values);
            }
        }
        for values in &mut values {
            values.sort();
            values.dedup();
        }
        Some(IndexValues(values))
    }
}
