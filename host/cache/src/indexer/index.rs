//! A named index: the objects by their values at one or several paths.

use std::{
    collections::BTreeMap,
    ops::Bound::{Excluded, Unbounded},
    sync::Arc,
};

use informer_types::{Object, Pointer, locate};
use serde_json::{Value, value::RawValue};

use super::{IndexPaths, ObjectSet};

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
    /// The slot of the index of each path, and the pointers behind each `*`.
    rest: Vec<(usize, Vec<Pointer>)>,
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
                plan.rest.push((plan.indexes, path.below().to_vec()));
            }
            plan.indexes += 1;
        }
        plan
    }

    pub(crate) fn is_empty(&self) -> bool {
        self.indexes == 0
    }

    /// The values of an object for each index, sorted and without duplicates. A scalar is one value, an array has the values of
    /// its scalars, and anything else, including `null`, has no value. Returns `None` if the object cannot be read (I-9).
    pub(crate) fn values(&self, object: &Object) -> Option<IndexValues> {
        let json = object.json().ok()?;
        let found = locate(&json, &self.first).ok()?;
        let mut values = vec![Vec::new(); self.indexes];
        for (range, (slot, below)) in found.into_iter().zip(&self.rest) {
            if let (Some(text), Some(values)) =
                (range.and_then(|range| json.get(range)), values.get_mut(*slot))
            {
                collect(text, below, values);
            }
        }
        for values in &mut values {
            values.sort();
            values.dedup();
        }
        Some(IndexValues(values))
    }
}

/// Adds the values below a JSON text: at it, or if there are pointers, at the first one in each of its elements, and so on.
fn collect(text: &str, below: &[Pointer], values: &mut Vec<String>) {
    let Some((next, below)) = below.split_first() else {
        match elements(text) {
            Some(elements) => values.extend(elements.into_iter().filter_map(|element| scalar(element.get()))),
            None => values.extend(scalar(text)),
        }
        return;
    };
    for element in elements(text).unwrap_or_default() {
        let found = locate(element.get(), std::slice::from_ref(next)).unwrap_or_default();
        if let Some(text) = found.into_iter().flatten().next().and_then(|range| element.get().get(range)) {
            collect(text, below, values);
        }
    }
}

/// The elements of an array. Returns `None` for anything else.
fn elements(text: &str) -> Option<Vec<&RawValue>> {
    text.starts_with('[').then(|| serde_json::from_str(text).unwrap_or_default())
}

fn scalar(text: &str) -> Option<String> {
    if text.starts_with(['{', '[']) {
        return None;
    }
    match serde_json::from_str(text).ok()? {
        Value::String(text) => Some(text),
        Value::Number(number) => Some(number.to_string()),
        Value::Bool(value) => Some(value.to_string()),
        Value::Null | Value::Array(_) | Value::Object(_) => None,
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn values(text: &str, below: &[&str]) -> Vec<String> {
        let below: Vec<Pointer> = below.iter().map(|pointer| pointer.parse().unwrap()).collect();
        let mut values = Vec::new();
        collect(text, &below, &mut values);
        values
    }

    /// Scenario 101.
    #[test]
    fn only_scalars_and_arrays_of_scalars_have_index_values() {
        for (text, expected) in [
            (r#""node-1""#, &["node-1"][..]),
            (r#""\u00e4""#, &["ä"]),
            ("3", &["3"]),
            ("true", &["true"]),
            ("null", &[]),
            ("{}", &[]),
            (r#"["a", 1, null, {"x":1}, ["b"], "a"]"#, &["a", "1", "a"]),
        ] {
            assert_eq!(values(text, &[]), expected, "{text}");
        }
    }

    #[test]
    fn a_star_stands_for_every_element_of_an_array() {
        let volumes = r#"[{"configMap":{"name":"a"}}, {"secret":{}}, 3, [{"configMap":{"name":"no"}}], {"configMap":{"name":"b"}}]"#;
        assert_eq!(values(volumes, &["/configMap/name"]), ["a", "b"]);
        assert_eq!(values(r#"{"0":{"configMap":{"name":"a"}}}"#, &["/configMap/name"]), [""; 0]);

        let nested = r#"[{"env":[{"v":"x"},{"v":"y"}]}, {"env":[]}, {}, {"env":[{"v":"z"}]}]"#;
        assert_eq!(values(nested, &["/env", "/v"]), ["x", "y", "z"]);

        // Elements that are themselves the values.
        assert_eq!(values(r#"[["a"],["b","c"],"d"]"#, &[""]), ["a", "b", "c", "d"]);
    }
}
