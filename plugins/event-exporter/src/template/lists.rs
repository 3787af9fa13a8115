//! Functions of lists and maps.

use serde_json::{Map, Value};

use super::{
    error::TemplateError,
    values::{LARGEST, equal, print, sorted, truth, whole},
};

pub(super) const NAMES: &[&str] = &[
    "list",
    "dict",
    "index",
    "get",
    "hasKey",
    "keys",
    "values",
    "first",
    "last",
    "rest",
    "has",
    "join",
    "split",
    "splitList",
    "slice",
    "until",
    "compact",
    "uniq",
    "sortAlpha",
];

/// The longest list of numbers that `until` makes.
const LONGEST: i64 = 1000;

pub(super) fn call(name: &str, arguments: &[Value]) -> Result<Value, TemplateError> {
    match (name, arguments) {
        ("list", items) => Ok(Value::from(items.to_vec())),
        ("dict", pairs) => dict(pairs),
        ("index", [value, keys @ ..]) => index(value, keys),
        ("get", [Value::Object(fields), key]) => {
            Ok(fields.get(&print(key)).cloned().unwrap_or_else(|| Value::from("")))
        }
        ("get", [Value::Null, _]) => Ok(Value::from("")),
        ("hasKey", [Value::Object(fields), key]) => Ok(Value::Bool(fields.contains_key(&print(key)))),
        ("hasKey", [Value::Null, _]) => Ok(Value::Bool(false)),
        ("keys", [Value::Object(fields)]) => {
            Ok(sorted(fields).map(|(name, _)| Value::from(name.as_str())).collect())
        }
        ("values", [Value::Object(fields)]) => Ok(sorted(fields).map(|(_, value)| value.clone()).collect()),
        ("keys" | "values", [Value::Null]) => Ok(Value::Array(Vec::new())),
        ("has", [_, Value::Null]) => Ok(Value::Bool(false)),
        ("has", [item, Value::Array(items)]) => Ok(Value::Bool(items.iter().any(|own| equal(own, item)))),
        ("join", [separator, items]) => join(&print(separator), items),
        ("split" | "splitList", [separator, text]) => split(name, &print(separator), &print(text)),
        ("until", [Value::Null]) => Ok(Value::Array(Vec::new())),
        ("until", [count]) => Ok((0..whole(count)?.min(LONGEST)).map(Value::from).collect()),
        ("slice", [value, from, to @ ..]) => slice(value, from, to.first()),
        (_, [Value::Array(items)]) => of_list(name, items),
        (_, [Value::Null]) => Ok(Value::Null),
        _ => Err(TemplateError::arguments(arguments)),
    }
}

fn of_list(name: &str, items: &[Value]) -> Result<Value, TemplateError> {
    match name {
        "first" => Ok(items.first().cloned().unwrap_or_default()),
        "last" => Ok(items.last().cloned().unwrap_or_default()),
        "rest" => Ok(Value::from(items.get(1..).unwrap_or_default().to_vec())),
        "compact" => Ok(items.iter().filter(|item| truth(item)).cloned().collect()),
        "uniq" => {
            let mut unique: Vec<Value> = Vec::new();
            // Each item is compared with all before it.
            for item in items.iter().take(1000) {
                if !unique.iter().any(|own| equal(own, item)) {
                    unique.push(item.clone());
                }
            }
            Ok(Value::from(unique))
        }
        "sortAlpha" => {
            let mut texts: Vec<String> = items.iter().map(print).collect();
            texts.sort_unstable();
            Ok(Value::from(texts))
        }
        _ => Err(TemplateError::arguments(items)),
    }
}

fn dict(pairs: &[Value]) -> Result<Value, TemplateError> {
    let mut fields = Map::new();
    for pair in pairs.chunks(2) {
        let [name, value] = pair else { return Err(TemplateError::new("a key has no value")) };
        fields.insert(print(name), value.clone());
    }
    Ok(Value::Object(fields))
}

/// An item of a list, or the value of a key. Several keys look up one in the other.
fn index(value: &Value, keys: &[Value]) -> Result<Value, TemplateError> {
    let mut at = value;
    for key in keys {
        let found = match at {
            Value::Object(fields) => fields.get(&print(key)),
            Value::Array(items) => {
                let place = usize::try_from(whole(key)?).ok();
                let item = place.and_then(|place| items.get(place));
                Some(item.ok_or_else(|| TemplateError::new(format!("there is no item {}", print(key))))?)
            }
            Value::Null => None,
            other => return Err(TemplateError::new(format!("`{}` has no items", print(other)))),
        };
        let Some(found) = found else { return Ok(Value::Null) };
        at = found;
    }
    Ok(at.clone())
}

fn join(separator: &str, items: &Value) -> Result<Value, TemplateError> {
    let Value::Array(items) = items else { return Ok(Value::from(print(items))) };
    if separator.len().saturating_mul(items.len()) > LARGEST {
        return Err(TemplateError::new(format!("the result has more than {LARGEST} bytes")));
    }
    let texts: Vec<String> = items.iter().map(print).collect();
    Ok(Value::from(texts.join(separator)))
}

/// `split` makes a map with the keys `_0`, `_1` and so on, as sprig does; `splitList` makes a list.
fn split(name: &str, separator: &str, text: &str) -> Result<Value, TemplateError> {
    if separator.is_empty() {
        return Err(TemplateError::new("the separator is empty"));
    }
    let parts = text.split(separator);
    Ok(if name == "split" {
        let fields = parts.enumerate().map(|(at, part)| (format!("_{at}"), Value::from(part)));
        Value::Object(fields.collect())
    } else {
        parts.map(Value::from).collect()
    })
}

fn slice(value: &Value, from: &Value, to: Option<&Value>) -> Result<Value, TemplateError> {
    let place = |value: &Value| {
        usize::try_from(whole(value)?).map_err(|_| TemplateError::new("a position must not be negative"))
    };
    let from = place(from)?;
    let to = to.map(place).transpose()?;
    let outside = || TemplateError::new("the positions are outside of the value");
    match value {
        Value::String(text) => {
            let part = text.get(from..to.unwrap_or(text.len())).ok_or_else(outside)?;
            Ok(Value::from(part))
        }
        Value::Array(items) => {
            let part = items.get(from..to.unwrap_or(items.len())).ok_or_else(outside)?;
            Ok(Value::from(part.to_vec()))
        }
        Value::Null => Ok(Value::Null),
        other => Err(TemplateError::new(format!("`{}` cannot be sliced", print(other)))),
    }
}
