//! Field paths: finds, removes and displays the value at a path.

use serde_json::{Map, Value};

use crate::patch::list_kind::Key;

/// The step to an item of a list that `keys` identify.
pub(super) fn item_step(item: &Value, keys: &[Key]) -> String {
    let mut known: Map<String, Value> = Map::new();
    for key in keys {
        let value = item.get(key.field).cloned().or_else(|| key.default.map(Value::from));
        known.extend(value.map(|value| (key.field.to_owned(), value)));
    }
    format!("k:{}", Value::Object(known))
}

/// Returns true if the step leads to this item. A missing key has its default.
fn is_item(item: &Value, step: &str) -> bool {
    if let Some(value) = step.strip_prefix("v:") {
        return serde_json::from_str::<Value>(value).is_ok_and(|value| value == *item);
    }
    let keys = step.strip_prefix("k:").and_then(|keys| serde_json::from_str::<Map<String, Value>>(keys).ok());
    let defaults = |key: &str| (key == "protocol").then(|| Value::from("TCP"));
    keys.is_some_and(|keys| {
        keys.iter()
            .all(|(key, value)| item.get(key).cloned().or_else(|| defaults(key)).as_ref() == Some(value))
    })
}

/// The value at a path.
pub(super) fn get<'v>(document: &'v Value, path: &[String]) -> Option<&'v Value> {
    path.iter().try_fold(document, |value, step| match step.strip_prefix("f:") {
        Some(field) => value.get(field),
        None => value.as_array()?.iter().find(|item| is_item(item, step)),
    })
}

/// Removes the value at a path, and objects and lists that become empty.
pub(super) fn remove(document: &mut Value, path: &[String]) {
    let Some((step, rest)) = path.split_first() else { return };
    match (document, step.strip_prefix("f:")) {
        (Value::Object(fields), Some(field)) => {
            if let Some(inner) = fields.get_mut(field).filter(|_| !rest.is_empty()) {
                remove(inner, rest);
            }
            if rest.is_empty() || fields.get(field).is_some_and(is_hollow) {
                fields.remove(field);
            }
        }
        (Value::Array(items), None) if rest.is_empty() => items.retain(|item| !is_item(item, step)),
        (Value::Array(items), None) => {
            if let Some(item) = items.iter_mut().find(|item| is_item(item, step)) {
                remove(item, rest);
            }
        }
        _ => {}
    }
}

fn is_hollow(value: &Value) -> bool {
    match value {
        Value::Object(fields) => fields.is_empty(),
        Value::Array(items) => items.is_empty(),
        _ => false,
    }
}

/// The text of a path in messages: `.spec.containers[name="c"].image`.
pub(super) fn display(path: &[String]) -> String {
    let step = |step: &String| {
        if let Some(field) = step.strip_prefix("f:") {
            return format!(".{field}");
        }
        if let Some(value) = step.strip_prefix("v:") {
            return format!("[={value}]");
        }
        let keys =
            step.strip_prefix("k:").and_then(|keys| serde_json::from_str::<Map<String, Value>>(keys).ok());
        let keys = keys.unwrap_or_default();
        let keys: Vec<String> = keys.iter().map(|(key, value)| format!("{key}={value}")).collect();
        format!("[{}]", keys.join(","))
    };
    path.iter().map(step).collect()
}
