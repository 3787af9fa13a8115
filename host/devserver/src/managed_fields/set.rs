//! A set of fields, which `FieldsV1` encodes.

use std::{collections::BTreeSet, ops::Bound};

use serde_json::{Map, Value};

use super::path;
use crate::patch::list_kind::{Layout, ListKind};

/// A path of steps. A step is `f:<field>`, `k:<keys of a list item>` or `v:<value of a set>`.
pub(super) type Path = Vec<String>;

/// Field paths. A path comes before the paths below it.
pub(super) type FieldSet = BTreeSet<Path>;

/// All fields of a document.
pub(super) fn of(document: &Value, layout: Layout) -> FieldSet {
    let mut set = FieldSet::new();
    if document.as_object().is_none_or(|fields| !fields.is_empty()) {
        collect(document, layout, &mut Vec::new(), &mut Path::new(), &mut set);
    }
    set
}

/// Adds the fields of the value at `path`. `names` are the field names in the path.
fn collect<'v>(
    value: &'v Value,
    layout: Layout,
    names: &mut Vec<&'v str>,
    path: &mut Path,
    set: &mut FieldSet,
) {
    match value {
        Value::Object(fields) if !fields.is_empty() && !layout.is_atomic_map(names) => {
            for (field, value) in fields {
                names.push(field);
                path.push(format!("f:{field}"));
                collect(value, layout, names, path, set);
                path.pop();
                names.pop();
            }
        }
        Value::Array(items) if !items.is_empty() && layout.list_kind(names) != ListKind::Atomic => {
            for item in items {
                match layout.list_kind(names) {
                    ListKind::Map(keys) => {
                        path.push(path::item_step(item, keys));
                        collect(item, layout, names, path, set);
                    }
                    _ => path.push(format!("v:{item}")),
                }
                set.insert(path.clone());
                path.pop();
            }
        }
        _ => {
            set.insert(path.clone());
        }
    }
}

/// Returns true if the path or a path below it is in the set.
pub(super) fn holds(set: &FieldSet, path: &[String]) -> bool {
    set.contains(path) || holds_below(set, path)
}

/// Returns true if the path is in the set and no path below it is.
pub(super) fn holds_leaf(set: &FieldSet, path: &[String]) -> bool {
    set.contains(path) && !holds_below(set, path)
}

fn holds_below(set: &FieldSet, path: &[String]) -> bool {
    let mut after = set.range::<[String], _>((Bound::Excluded(path), Bound::Unbounded));
    after.next().is_some_and(|next| next.starts_with(path))
}

/// Reads `FieldsV1`. A value that is not an object counts as empty.
pub(super) fn from_json(json: &Value) -> FieldSet {
    let mut set = FieldSet::new();
    if let Value::Object(fields) = json {
        read(fields, &mut Path::new(), &mut set);
    }
    set
}

fn read(fields: &Map<String, Value>, path: &mut Path, set: &mut FieldSet) {
    for (step, inner) in fields {
        if step == "." {
            set.insert(path.clone());
            continue;
        }
        path.push(step.clone());
        match inner {
            Value::Object(inner) if !inner.is_empty() => read(inner, path, set),
            _ => {
                set.insert(path.clone());
            }
        }
        path.pop();
    }
}

/// Writes `FieldsV1`.
pub(super) fn to_json(set: &FieldSet) -> Value {
    let mut root = Value::Object(Map::new());
    for path in set {
        let mut node = &mut root;
        for step in path {
            node = &mut node[step.as_str()];
            if node.is_null() {
                *node = Value::Object(Map::new());
            }
        }
        if holds_below(set, path) {
            node["."] = Value::Object(Map::new());
        }
    }
    root
}
