//! Masks an answer by a tree of its values: the reference of the tests. The host builds no tree, because it takes a hundred times the
//! memory of the text.

use bytes::Bytes;
use informer_types::SecretGrants;
use serde_json::{Map, Value};

use super::{
    BY_KEY, FIELDS, VISIBLE,
    answer::{SEARCHED_DEPTH, may_hold_secret},
    masked_text::MASK,
};

/// An answer as [`masked_answer`](super::masked_answer) masks it, if no key appears twice.
pub(super) fn masked_answer(grants: &SecretGrants, answer: Bytes) -> Bytes {
    if !may_hold_secret(&answer) {
        return answer;
    }
    let documents = serde_json::Deserializer::from_slice(&answer).into_iter::<Value>();
    let Ok(mut documents) = documents.collect::<Result<Vec<Value>, _>>() else {
        return Bytes::from_static(MASK.as_bytes());
    };
    let hidden = documents.iter_mut().map(|document| mask_answer(grants, document, false, 0));
    if hidden.filter(|hidden| *hidden).count() == 0 {
        return answer;
    }
    let texts: Vec<String> = documents.iter().map(Value::to_string).collect();
    texts.join("\n").into()
}

/// Masks the Secrets in a value that is an object, a list, a table or an event. Returns true if there are any. `listed` is true
/// for an item of a list of Secrets, which has no kind of its own.
fn mask_answer(grants: &SecretGrants, value: &mut Value, listed: bool, depth: usize) -> bool {
    let Value::Object(fields) = value else { return false };
    let text = |fields: &Map<String, Value>, key: &str| {
        fields.get(key).and_then(Value::as_str).unwrap_or_default().to_owned()
    };
    let (kind, core) = (text(fields, "kind"), !text(fields, "apiVersion").contains('/'));
    if core && (kind == "Secret" || (listed && kind.is_empty())) {
        let metadata = fields.get("metadata").and_then(Value::as_object);
        let of = |key| metadata.map(|metadata| text(metadata, key)).unwrap_or_default();
        let seen = grants.contains(&of("namespace"), &of("name"));
        if !seen {
            mask_secret(fields);
        }
        return !seen;
    }
    let (mut hidden, secrets) = (false, core && kind == "SecretList");
    for key in ["items", "rows", "object"] {
        let below: &mut [Value] = match fields.get_mut(key) {
            Some(Value::Array(entries)) => entries,
            Some(one) => std::slice::from_mut(one),
            None => continue,
        };
        for entry in below {
            hidden |= if depth < SEARCHED_DEPTH {
                mask_answer(grants, entry, secrets, depth + 1)
            } else {
                mask(entry);
                true
            };
        }
    }
    hidden
}

pub(super) fn mask_secret(fields: &mut Map<String, Value>) {
    for (field, value) in fields {
        match (field.as_str(), value) {
            ("metadata", value) => mask_annotations(value),
            (field, _) if FIELDS.contains(&field) => {}
            (_, Value::Null) => {}
            (field, Value::Object(entries)) if BY_KEY.contains(&field) => entries.values_mut().for_each(mask),
            (_, value) => mask(value),
        }
    }
}

fn mask_annotations(metadata: &mut Value) {
    match metadata.get_mut("annotations") {
        None | Some(Value::Null) => {}
        Some(Value::Object(annotations)) => {
            let hidden = annotations.iter_mut().filter(|(name, _)| !VISIBLE.contains(&name.as_str()));
            hidden.for_each(|(_, value)| mask(value));
        }
        Some(other) => mask(other),
    }
}

fn mask(value: &mut Value) {
    *value = MASK.into();
}
