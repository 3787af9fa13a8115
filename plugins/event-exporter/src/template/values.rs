//! Values as templates of Go see them: truth, order, size and printing.

use std::cmp::Ordering;

use serde_json::{Map, Value};

use super::error::TemplateError;

/// The largest result of one operation, and of a whole template, in bytes.
pub(super) const LARGEST: usize = 256 << 10;

/// Returns false for `false`, 0, and what is empty or absent.
pub(super) fn truth(value: &Value) -> bool {
    match value {
        Value::Null => false,
        Value::Bool(yes) => *yes,
        Value::Number(number) => number.as_f64() != Some(0.0),
        Value::String(text) => !text.is_empty(),
        Value::Array(items) => !items.is_empty(),
        Value::Object(fields) => !fields.is_empty(),
    }
}

/// Prints as Go does: `[a b]` for a list, `map[a:1 b:2]` for a map. An absent value prints nothing.
pub(super) fn print(value: &Value) -> String {
    match value {
        Value::Null => String::new(),
        Value::Bool(yes) => yes.to_string(),
        Value::Number(number) => number.to_string(),
        Value::String(text) => text.clone(),
        Value::Array(items) => {
            let items: Vec<String> = items.iter().map(print).collect();
            format!("[{}]", items.join(" "))
        }
        Value::Object(fields) => {
            let fields: Vec<String> =
                sorted(fields).map(|(name, value)| format!("{name}:{}", print(value))).collect();
            format!("map[{}]", fields.join(" "))
        }
    }
}

/// The fields in the order of their names.
pub(super) fn sorted(fields: &Map<String, Value>) -> impl Iterator<Item = (&String, &Value)> {
    let mut fields: Vec<_> = fields.iter().collect();
    fields.sort_unstable_by_key(|(name, _)| name.as_str());
    fields.into_iter()
}

/// An estimate of the size in bytes.
pub(super) fn size(value: &Value) -> usize {
    match value {
        Value::Null | Value::Bool(_) | Value::Number(_) => 8,
        Value::String(text) => 8 + text.len(),
        Value::Array(items) => 8 + items.iter().map(size).sum::<usize>(),
        Value::Object(fields) => {
            8 + fields.iter().map(|(name, value)| name.len() + size(value)).sum::<usize>()
        }
    }
}

/// The order of two numbers or two texts.
pub(super) fn compare(left: &Value, right: &Value) -> Result<Ordering, TemplateError> {
    let unlike = || TemplateError::new(format!("`{}` and `{}` have no order", print(left), print(right)));
    match (left, right) {
        (Value::String(left), Value::String(right)) => Ok(left.cmp(right)),
        (Value::Number(one), Value::Number(two)) => match (one.as_i64(), two.as_i64()) {
            (Some(one), Some(two)) => Ok(one.cmp(&two)),
            _ => one.as_f64().partial_cmp(&two.as_f64()).ok_or_else(unlike),
        },
        _ => Err(unlike()),
    }
}

pub(super) fn equal(left: &Value, right: &Value) -> bool {
    compare(left, right).map_or_else(|_| left == right, Ordering::is_eq)
}

/// A whole number: a number, or a text that is one. A fraction is cut.
pub(super) fn whole(value: &Value) -> Result<i64, TemplateError> {
    let number = match value {
        #[expect(clippy::cast_possible_truncation, reason = "a fraction is cut, and a bound is kept")]
        Value::Number(number) => number.as_i64().or_else(|| number.as_f64().map(|float| float as i64)),
        Value::String(text) => text.trim().parse().ok(),
        Value::Bool(yes) => Some(i64::from(*yes)),
        _ => None,
    };
    number.ok_or_else(|| TemplateError::new(format!("`{}` is not a whole number", print(value))))
}

/// The length of a text in bytes, or the number of items.
pub(super) fn length(value: &Value) -> Result<usize, TemplateError> {
    match value {
        Value::String(text) => Ok(text.len()),
        Value::Array(items) => Ok(items.len()),
        Value::Object(fields) => Ok(fields.len()),
        Value::Null => Ok(0),
        other => Err(TemplateError::new(format!("`{}` has no length", print(other)))),
    }
}

/// The JSON name of a field of a Go type: `UID` is `uid`, `APIVersion` is `apiVersion`.
pub(super) fn json_name(name: &str) -> String {
    let capitals = name.chars().take_while(|character| character.is_ascii_uppercase()).count();
    let follows = name.chars().count() > capitals;
    let lowered = if follows && capitals > 1 { capitals - 1 } else { capitals };
    name.chars()
        .enumerate()
        .map(|(at, character)| if at < lowered { character.to_ascii_lowercase() } else { character })
        .collect()
}
