//! The conversion of a free table to JSON text.

use serde_json::{Map, Number, Value};
use toml::de::DeValue;

use crate::config::problem::{Fault, Problems};

/// The deepest nesting that is accepted. The JSON parser of a plugin recurses on a small stack; serde_json itself stops at
/// 128 levels.
const MAX_DEPTH: usize = 64;

/// The value as compact JSON with sorted keys. Dates become texts. Returns `None` if a value has no equal in JSON; the
/// problem is noted at the place of the value.
pub(in crate::config) fn text(
    root: (&DeValue<'_>, usize),
    path: &str,
    problems: &mut Problems<'_>,
) -> Option<String> {
    Some(convert(root, (path, 0), problems)?.to_string())
}

fn convert(
    (value, at): (&DeValue<'_>, usize),
    (path, depth): (&str, usize),
    problems: &mut Problems<'_>,
) -> Option<Value> {
    if depth > MAX_DEPTH {
        let remedy = format!("use at most {MAX_DEPTH} levels");
        problems.add(at, path, Fault::new("tables and arrays are nested too deeply", remedy));
        return None;
    }
    match value {
        DeValue::String(text) => Some(Value::String(text.to_string())),
        DeValue::Boolean(truth) => Some(Value::Bool(*truth)),
        DeValue::Datetime(date) => Some(Value::String(date.to_string())),
        DeValue::Integer(number) => {
            let parsed = i64::from_str_radix(number.as_str(), number.radix()).ok().map(Value::from);
            parsed.or_else(|| refuse(format!("{number} does not fit 64 bits"), at, path, problems))
        }
        DeValue::Float(number) => {
            let parsed = number.as_str().parse().ok().and_then(Number::from_f64).map(Value::Number);
            parsed.or_else(|| refuse(format!("the number {number} has no equal in JSON"), at, path, problems))
        }
        DeValue::Array(items) => {
            // All elements are converted, so that the problem of each is noted.
            let convert_item = |(index, item): (usize, &toml::Spanned<DeValue<'_>>)| {
                let path = format!("{path}[{index}]");
                let at = problems.place(item.span());
                convert((item.get_ref(), at), (&path, depth + 1), problems)
            };
            let converted: Vec<Option<Value>> = items.iter().enumerate().map(convert_item).collect();
            converted.into_iter().collect::<Option<Vec<Value>>>().map(Value::Array)
        }
        DeValue::Table(entries) => {
            let convert_entry = |(key, value): (&toml::Spanned<_>, &toml::Spanned<DeValue<'_>>)| {
                let key: &toml::de::DeString<'_> = key.get_ref();
                let path = format!("{path}.{key}");
                let at = problems.place(value.span());
                let value = convert((value.get_ref(), at), (&path, depth + 1), problems)?;
                Some((key.to_string(), value))
            };
            let converted: Vec<Option<(String, Value)>> = entries.iter().map(convert_entry).collect();
            converted.into_iter().collect::<Option<Map<String, Value>>>().map(Value::Object)
        }
    }
}

fn refuse(message: String, at: usize, path: &str, problems: &mut Problems<'_>) -> Option<Value> {
    problems.add(at, path, Fault::new(message, "write it as a text"));
    None
}
