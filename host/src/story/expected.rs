//! One entry of an expected list, and its comparison with what was seen.

use std::{collections::BTreeMap, fmt};

use informer_types::Pattern;
use serde_json::{Map, Value};

use super::{
    file::{Fault, Located},
    seen::{Kind, Seen},
};

/// One entry of a list.
#[derive(Clone, Debug)]
pub(super) struct Expected {
    pub(super) line: usize,
    pattern: Pattern,
    level: Option<String>,
    fields: BTreeMap<String, Pattern>,
    body: Option<Value>,
}

// === impl Expected ===

impl Expected {
    /// The key of the text in an entry with more than a text, and the other keys.
    fn keys(kind: Kind) -> (&'static str, &'static [&'static str]) {
        match kind {
            Kind::Calls | Kind::Failures => ("call", &[]),
            Kind::Log => ("line", &["level", "fields"]),
            Kind::Writes => ("request", &["body"]),
            Kind::Http => ("request", &["headers", "body"]),
        }
    }

    /// Reads one entry: a text, or a table with the text and more.
    pub(super) fn read(kind: Kind, entry: Located<Value>) -> Result<Self, Fault> {
        let Located { line, value } = entry;
        let (text, others) = Self::keys(kind);
        let mut table = match value {
            Value::String(text) => return Ok(Self::of(line, &text)),
            Value::Object(table) => table,
            other => return Err((line, format!("`{other}` is no entry of `{}`: write a text", kind.word()))),
        };
        if let Some(key) = table.keys().find(|key| *key != text && !others.contains(&key.as_str())) {
            let known: Vec<_> = std::iter::once(&text).chain(others).map(|key| format!("`{key}`")).collect();
            let (word, known) = (kind.word(), known.join(", "));
            return Err((line, format!("`{key}` is no key of an entry of `{word}`; it has {known}")));
        }
        let Some(Value::String(pattern)) = table.remove(text) else {
            return Err((line, format!("an entry of `{}` needs a text `{text}`", kind.word())));
        };
        let level = match table.remove("level") {
            None => None,
            Some(Value::String(level)) => Some(level),
            Some(other) => return Err((line, format!("`{other}` is no level: write `info`, for example"))),
        };
        let fields = table.remove("fields").or_else(|| table.remove("headers"));
        let fields = match fields {
            None => BTreeMap::new(),
            Some(Value::Object(fields)) => {
                fields.iter().map(|(name, value)| (name.clone(), Pattern::new(plain(value)))).collect()
            }
            Some(_) => return Err((line, "`fields` and `headers` are tables of texts".to_owned())),
        };
        let pattern = Pattern::new(pattern);
        Ok(Self { line, pattern, level, fields, body: table.remove("body") })
    }

    fn of(line: usize, text: &str) -> Self {
        Self { line, pattern: Pattern::new(text), level: None, fields: BTreeMap::new(), body: None }
    }

    /// Returns why this is not what was seen; `None` if it is.
    pub(super) fn differs(&self, seen: &Seen) -> Option<String> {
        if !self.pattern.fits(&seen.text) {
            return Some(String::new());
        }
        if let Some(level) = &self.level
            && seen.level.as_deref() != Some(level)
        {
            return Some(format!("its level is {}, not {level}", seen.level.as_deref().unwrap_or("unknown")));
        }
        for (name, pattern) in &self.fields {
            match seen.fields.iter().find(|(own, _)| own == name) {
                Some((_, value)) if pattern.fits(value) => {}
                Some((_, value)) => return Some(format!("{name} is `{value}`, not `{}`", pattern)),
                None => return Some(format!("it has no `{name}`")),
            }
        }
        let body = self.body.as_ref()?;
        differs(body, &seen.body, "body")
    }
}

impl fmt::Display for Expected {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        self.pattern.fmt(f)
    }
}

/// Compares a part of a document with the document: a table must have the keys of the part, a list its elements in order, and `*`
/// in a text stands for any characters. Returns the first difference.
pub(super) fn differs(part: &Value, whole: &Value, path: &str) -> Option<String> {
    match (part, whole) {
        (Value::Object(part), Value::Object(whole)) => table_differs(part, whole, path),
        (Value::Array(part), Value::Array(whole)) if part.len() != whole.len() => {
            Some(format!("{path} has {} elements, not {}", whole.len(), part.len()))
        }
        (Value::Array(part), Value::Array(whole)) => part
            .iter()
            .zip(whole)
            .enumerate()
            .find_map(|(at, (part, whole))| differs(part, whole, &format!("{path}[{at}]"))),
        (Value::String(pattern), Value::String(text)) if Pattern::new(pattern).fits(text) => None,
        (part, whole) if part == whole => None,
        (part, Value::Null) => Some(format!("{path} is absent, not {part}")),
        (part, whole) => Some(format!("{path} is {whole}, not {part}")),
    }
}

fn table_differs(part: &Map<String, Value>, whole: &Map<String, Value>, path: &str) -> Option<String> {
    part.iter().find_map(|(key, part)| {
        differs(part, whole.get(key).unwrap_or(&Value::Null), &format!("{path}.{key}"))
    })
}

fn plain(value: &Value) -> String {
    match value {
        Value::String(text) => text.clone(),
        other => other.to_string(),
    }
}

#[cfg(test)]
mod tests {
    use serde_json::json;

    use super::*;

    #[test]
    fn a_part_of_a_document_may_leave_out_keys_but_no_elements() {
        let whole = json!({"a": 1, "b": [{"c": "x1"}, 2], "d": null});
        for (part, why) in [
            (json!({}), None),
            (json!({"b": [{}, 2]}), None),
            (json!({"b": [{"c": "x*"}, 2]}), None),
            (json!({"d": null, "e": null}), None),
            (json!({"a": 2}), Some("body.a is 1, not 2")),
            (json!({"b": [1]}), Some("body.b has 2 elements, not 1")),
            (json!({"b": [{"c": "y"}, 2]}), Some("body.b[0].c is \"x1\", not \"y\"")),
            (json!({"f": "x"}), Some("body.f is absent, not \"x\"")),
        ] {
            assert_eq!(differs(&part, &whole, "body").as_deref(), why, "{part}");
        }
    }
}
