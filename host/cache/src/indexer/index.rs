//! A named index: the objects by their value at a JSON pointer.

use std::{borrow::Cow, collections::HashMap, sync::Arc};

use informer_types::{Object, Pointer, locate};
use serde_json::{Value, value::RawValue};

use super::ObjectSet;

/// The objects by value (I-5 to I-7).
pub(crate) struct Index {
    pub(super) name: String,
    pub(super) pointer: Pointer,
    values: HashMap<Box<str>, ObjectSet>,
}

/// The values of one object, one list for each index.
#[derive(Debug, Default, PartialEq, Eq)]
pub(crate) struct IndexValues(Vec<Vec<String>>);

// === impl Index ===

impl Index {
    pub(crate) fn new(name: String, pointer: Pointer) -> Self {
        Self { name, pointer, values: HashMap::new() }
    }

    pub(crate) fn get(&self, value: &str) -> impl Iterator<Item = &Arc<Object>> {
        self.values.get(value).into_iter().flat_map(ObjectSet::iter)
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

/// The values of an object at each pointer. A scalar is one value, an array has the values of its scalars, and anything
/// else, including `null`, has no value. Returns `None` if the object cannot be read (I-9).
pub(crate) fn values(object: &Object, pointers: &[Pointer]) -> Option<IndexValues> {
    let json = object.json().ok()?;
    let found = locate(&json, pointers).ok()?;
    let texts = found.into_iter().map(|range| range.and_then(|range| json.get(range)));
    Some(IndexValues(texts.map(|text| text.map_or_else(Vec::new, values_in)).collect()))
}

fn values_in(text: &str) -> Vec<String> {
    let elements: Vec<Cow<'_, str>> = if text.starts_with('[') {
        let raw: Vec<&RawValue> = serde_json::from_str(text).unwrap_or_default();
        raw.into_iter().map(|raw| Cow::Borrowed(raw.get())).collect()
    } else {
        vec![Cow::Borrowed(text)]
    };
    let mut values: Vec<String> = elements.iter().filter_map(|element| scalar(element)).collect();
    values.sort();
    values.dedup();
    values
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
            (r#"["a", 1, null, {"x":1}, ["b"], "a"]"#, &["1", "a"]),
        ] {
            assert_eq!(values_in(text), expected, "{text}");
        }
    }
}
