//! Paths to the values of an index.

use std::{fmt, str::FromStr};

use serde_json::{Value, value::RawValue};

use crate::{InvalidJson, InvalidPointer, Pointer, locate};

/// Stands for every element of an array.
const EVERY: &str = "*";

/// The paths to the values of one index. The values of an object are those at all paths.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct IndexPaths(Vec<IndexPath>);

/// A JSON pointer in which the token `*` stands for every element of an array: `/spec/volumes/*/configMap/name`. There is nothing
/// below `*` if the value there is no array. A member that is itself named `*` cannot be named.
///
/// The values at a path are the scalar there, or each scalar of the array there.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct IndexPath {
    first: Pointer,
    /// The pointer behind each `*`, in order.
    below: Vec<Pointer>,
}

// === impl IndexPaths ===

impl IndexPaths {
    /// Each path, in the order in which they were given.
    pub fn iter(&self) -> impl Iterator<Item = &IndexPath> {
        self.0.iter()
    }

    /// The values of an object, of which this is the JSON text. They are sorted and without duplicates.
    ///
    /// # Errors
    /// The errors of [`locate()`].
    pub fn values(&self, json: &str) -> Result<Vec<String>, InvalidJson> {
        let first: Vec<&Pointer> = self.iter().map(IndexPath::first).collect();
        let mut values = Vec::new();
        for (path, range) in self.iter().zip(locate(json, &first)?) {
            if let Some(text) = range.and_then(|range| json.get(range)) {
                path.collect(text, &mut values);
            }
        }
        values.sort();
        values.dedup();
        Ok(values)
    }
}

impl FromIterator<IndexPath> for IndexPaths {
    fn from_iter<I: IntoIterator<Item = IndexPath>>(paths: I) -> Self {
        Self(paths.into_iter().collect())
    }
}

/// One path.
impl FromStr for IndexPaths {
    type Err = InvalidPointer;

    fn from_str(text: &str) -> Result<Self, InvalidPointer> {
        Ok(Self(vec![text.parse()?]))
    }
}

// === impl IndexPath ===

impl IndexPath {
    /// The pointer up to the first `*`: all values are at it or below it.
    pub fn first(&self) -> &Pointer {
        &self.first
    }

    /// Adds the values of the path to `values`, in the order of the text. `text` is the JSON text at [`first`](Self::first). A
    /// scalar is one value, an array has the values of its scalars, and anything else, including `null`, has no value.
    pub fn collect(&self, text: &str, values: &mut Vec<String>) {
        collect(text, &self.below, values);
    }
}

impl FromStr for IndexPath {
    type Err = InvalidPointer;

    fn from_str(text: &str) -> Result<Self, InvalidPointer> {
        let whole: Pointer = text.parse()?;
        let mut parts = whole.tokens().split(|token| token == EVERY);
        let first = Pointer::of(parts.next().unwrap_or_default());
        Ok(Self { first, below: parts.map(Pointer::of).collect() })
    }
}

impl fmt::Display for IndexPath {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{}", self.first)?;
        self.below.iter().try_for_each(|pointer| write!(f, "/{EVERY}{pointer}"))
    }
}

/// Adds the values of a path to `values`. `text` is the JSON text before the next `*`, and `below` are the pointers behind this `*` and
/// all later ones. If `below` is empty, the text itself has the values: it is a scalar, or an array of scalars. Otherwise the search
/// continues in each element of the array, at the first pointer of `below`.
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
    fn the_values_of_all_paths_are_sorted_and_without_duplicates() {
        let paths: IndexPaths = ["/spec/volumes/*/name", "/spec/main", "/none"]
            .iter()
            .map(|path| path.parse().unwrap())
            .collect();
        let object = r#"{"spec":{"main":"a","volumes":[{"name":"c"},{"name":"a"},{}]}}"#;

        assert_eq!(paths.values(object).unwrap(), ["a", "c"]);
        assert!(paths.values("{").is_err());
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
