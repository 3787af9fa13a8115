//! Strategic merge patch: a merge patch that merges lists by their keys.
//!
//! Follows `strategicpatch` of Kubernetes with its directives `$patch`, `$retainKeys`,
//! `$setElementOrder/…` and `$deleteFromPrimitiveList/…`.

use serde_json::{Map, Value};

use super::{
    PatchError,
    list_kind::{self, Key, ListKind},
};

const PATCH: &str = "$patch";
const RETAIN_KEYS: &str = "$retainKeys";
const ELEMENT_ORDER: &str = "$setElementOrder/";
const DELETE_VALUES: &str = "$deleteFromPrimitiveList/";

type Fields = Map<String, Value>;

/// A copy of `target` with `patch` merged into it.
///
/// # Errors
/// [`PatchError`] for an unknown directive, and for a list item without its merge key.
pub(crate) fn strategic_merge(target: &Value, patch: &Value) -> Result<Value, PatchError> {
    let (Value::Object(target), Value::Object(patch)) = (target, patch) else {
        return Err(PatchError::Malformed("a strategic merge patch must be a JSON object".to_owned()));
    };
    let mut merged = target.clone();
    merge_object(&mut merged, patch, &mut Vec::new())?;
    Ok(Value::Object(merged))
}

fn merge_object<'p>(
    target: &mut Fields,
    patch: &'p Fields,
    path: &mut Vec<&'p str>,
) -> Result<(), PatchError> {
    match directive(patch)? {
        Some(Directive::Delete) => {
            target.clear();
            return Ok(());
        }
        Some(Directive::Replace) => target.clear(),
        Some(Directive::Merge) | None => {}
    }
    if let Some(Value::Array(retained)) = patch.get(RETAIN_KEYS) {
        target.retain(|field, _| retained.iter().any(|one| one == field));
    }
    for (field, change) in patch {
        if let Some(list) = field.strip_prefix(DELETE_VALUES) {
            delete_values(target, list, change);
        } else if !field.starts_with('$') {
            path.push(field);
            merge_field(target, field, change, path)?;
            path.pop();
        }
    }
    for (field, order) in patch {
        if let (Some(list), Value::Array(order)) = (field.strip_prefix(ELEMENT_ORDER), order) {
            path.push(list);
            set_order(target, list, order, list_kind::of(path));
            path.pop();
        }
    }
    Ok(())
}

fn merge_field<'p>(
    target: &mut Fields,
    field: &str,
    change: &'p Value,
    path: &mut Vec<&'p str>,
) -> Result<(), PatchError> {
    match change {
        Value::Null => {
            target.remove(field);
        }
        Value::Object(change) => {
            let slot = target.entry(field).or_insert(Value::Null);
            if !slot.is_object() {
                *slot = Value::Object(Fields::new());
            }
            if let Value::Object(inner) = slot {
                merge_object(inner, change, path)?;
            }
            if directive(change)? == Some(Directive::Delete) {
                target.remove(field);
            }
        }
        Value::Array(change) => {
            let old = match target.remove(field) {
                Some(Value::Array(items)) => items,
                _ => Vec::new(),
            };
            let merged = merge_list(old, change, path)?;
            target.insert(field.to_owned(), Value::Array(merged));
        }
        plain => {
            target.insert(field.to_owned(), plain.clone());
        }
    }
    Ok(())
}

fn merge_list<'p>(
    mut items: Vec<Value>,
    changes: &'p [Value],
    path: &mut Vec<&'p str>,
) -> Result<Vec<Value>, PatchError> {
    match list_kind::of(path) {
        ListKind::Atomic => changes.iter().map(|change| fresh(change, path)).collect(),
        ListKind::Set => {
            for change in changes {
                if !items.contains(change) {
                    items.push(change.clone());
                }
            }
            Ok(items)
        }
        ListKind::Map([key, ..]) => merge_items(items, changes, *key, path),
        ListKind::Map([]) => Ok(items),
    }
}

fn merge_items<'p>(
    mut items: Vec<Value>,
    changes: &'p [Value],
    key: Key,
    path: &mut Vec<&'p str>,
) -> Result<Vec<Value>, PatchError> {
    let fields_of = |change: &'p Value| match change {
        Value::Object(fields) => Ok(fields),
        _ => Err(PatchError::Unfit(format!("the items of {} must be objects", path.join(".")))),
    };
    let changes: Vec<&Fields> = changes.iter().map(fields_of).collect::<Result<_, _>>()?;
    for change in &changes {
        if directive(change)? == Some(Directive::Replace) {
            items.clear();
        }
    }
    for change in changes {
        // An item with nothing but a directive applies to the whole list.
        if change.len() == 1 && change.contains_key(PATCH) {
            continue;
        }
        let Some(id) = change.get(key.field) else {
            let (place, field) = (path.join("."), key.field);
            return Err(PatchError::Unfit(format!(
                "an item of {place} does not contain its merge key {field}"
            )));
        };
        let at = items.iter().position(|item| item.get(key.field) == Some(id));
        match (directive(change)?, at) {
            (Some(Directive::Delete), _) => items.retain(|item| item.get(key.field) != Some(id)),
            (_, Some(at)) => {
                if let Some(Value::Object(item)) = items.get_mut(at) {
                    merge_object(item, change, path)?;
                }
            }
            (_, None) => {
                let mut item = Fields::new();
                merge_object(&mut item, change, path)?;
                items.push(Value::Object(item));
            }
        }
    }
    Ok(items)
}

/// A new value from the patch, without directives and removals.
fn fresh<'p>(change: &'p Value, path: &mut Vec<&'p str>) -> Result<Value, PatchError> {
    let Value::Object(change) = change else { return Ok(change.clone()) };
    let mut item = Fields::new();
    merge_object(&mut item, change, path)?;
    Ok(Value::Object(item))
}

fn delete_values(target: &mut Fields, list: &str, values: &Value) {
    if let (Some(Value::Array(items)), Value::Array(values)) = (target.get_mut(list), values) {
        items.retain(|item| !values.contains(item));
    }
}

/// Sorts the items as in `order`. An item that is not in `order` (it is only on the server) stays before the item that
/// it preceded.
fn set_order(target: &mut Fields, list: &str, order: &[Value], kind: ListKind) {
    let Some(Value::Array(items)) = target.get_mut(list) else { return };
    let rank = |item: &Value| match kind {
        ListKind::Map([key, ..]) => order
            .iter()
            .position(|one| one.get(key.field).is_some() && one.get(key.field) == item.get(key.field)),
        _ => order.iter().position(|one| one == item),
    };
    let mut named = Vec::new();
    let mut others = Vec::new();
    for (at, item) in std::mem::take(items).into_iter().enumerate() {
        match rank(&item) {
            Some(rank) => named.push((rank, at, item)),
            None => others.push((at, item)),
        }
    }
    named.sort_by_key(|(rank, _, _)| *rank);
    let mut others = others.into_iter().peekable();
    for (_, at, item) in named {
        while let Some((_, other)) = others.next_if(|(other, _)| *other < at) {
            items.push(other);
        }
        items.push(item);
    }
    items.extend(others.map(|(_, item)| item));
}

#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum Directive {
    Delete,
    Replace,
    Merge,
}

fn directive(patch: &Fields) -> Result<Option<Directive>, PatchError> {
    match patch.get(PATCH) {
        None => Ok(None),
        Some(Value::String(word)) => match word.as_str() {
            "delete" => Ok(Some(Directive::Delete)),
            "replace" => Ok(Some(Directive::Replace)),
            "merge" => Ok(Some(Directive::Merge)),
            other => {
                Err(PatchError::Malformed(format!("$patch is {other:?}, want delete, replace or merge")))
            }
        },
        Some(other) => Err(PatchError::Malformed(format!("$patch is {other}, want a text"))),
    }
}

#[cfg(test)]
mod tests;
