//! The JSON bodies that a plugin sends.
//!
//! The host builds no tree of a body: it would take a hundred times the memory of the text.

use std::borrow::Cow;

use informer_types::{Pointer, locate};
use serde::{Deserialize, de::IgnoredAny};
use serde_json::{Map, Value, error::Category, value::RawValue};

use super::error::shown;
use crate::bindings::informer::plugin::client::{ApiError, DeleteOptions, Propagation};

/// The API server takes JSON bodies of 3 MiB; etcd takes objects of 1.5 MiB.
const BODY_BYTES: usize = 3 << 20;

/// The deepest nesting of objects and arrays, the limit of `serde_json`. Objects of Kubernetes are nested about 20 deep.
const MAX_DEPTH: usize = 127;

/// The identity in an object's text. A duplicate key is refused: the server might read the other one.
#[derive(Default, Deserialize)]
#[serde(expecting = "an object")]
pub(super) struct Head<'a> {
    #[serde(borrow, rename = "apiVersion")]
    pub(super) api_version: Option<&'a RawValue>,
    #[serde(borrow, default)]
    metadata: Option<Metadata<'a>>,
}

#[derive(Default, Deserialize)]
#[serde(expecting = "an object")]
pub(super) struct Metadata<'a> {
    #[serde(borrow)]
    pub(super) name: Option<&'a RawValue>,
    #[serde(borrow)]
    pub(super) namespace: Option<&'a RawValue>,
    #[serde(borrow)]
    uid: Option<&'a RawValue>,
}

/// Parses the identity of an object and checks that the whole text is JSON.
pub(super) fn object(text: &str) -> Result<Head<'_>, ApiError> {
    check_size(text.len())?;
    if !text.trim_start().starts_with('{') {
        return Err(other(text, "the body is not a JSON object"));
    }
    serde_json::from_str(text).map_err(|error| match error.classify() {
        Category::Data => ApiError::bad_argument(format!("the body is not an object of Kubernetes: {error}")),
        _ => not_json(&error),
    })
}

/// Checks that the text is a JSON patch (RFC 6902).
pub(super) fn operations(text: &str) -> Result<(), ApiError> {
    check_size(text.len())?;
    if !text.trim_start().starts_with('[') {
        return Err(other(text, "a JSON patch is an array of operations"));
    }
    serde_json::from_str(text).map(|IgnoredAny| ()).map_err(|error| not_json(&error))
}

/// Refuses a body that is larger than the API server accepts.
pub(super) fn check_size(bytes: usize) -> Result<(), ApiError> {
    if bytes <= BODY_BYTES {
        return Ok(());
    }
    let message = format!("the body has {bytes} bytes; the API server accepts at most {BODY_BYTES}");
    Err(ApiError::bad_argument(message))
}

/// Rewrites a text that [`object`] or [`operations`] accepted: without white space and needless escapes, and with the
/// escapes that YAML needs. The server reads the body of server-side apply as YAML; JSON and YAML readers must agree.
pub(super) fn compact(text: &str) -> Result<String, ApiError> {
    let mut compacted = String::with_capacity(text.len());
    let (mut rest, mut depth) = (text, 0_usize);
    while let Some(first) = rest.chars().next() {
        let length = if first == '"' { string(rest) } else { first.len_utf8() };
        let (token, after) = rest.split_at(length);
        rest = after;
        match first {
            '{' | '[' => depth += 1,
            '}' | ']' => depth = depth.saturating_sub(1),
            _ => {}
        }
        if depth > MAX_DEPTH {
            let message = format!("the body is nested deeper than {MAX_DEPTH} objects and arrays");
            return Err(ApiError::bad_argument(message));
        }
        if first == '"' && token.contains('\\') {
            let plain: String = serde_json::from_str(token).map_err(|error| not_json(&error))?;
            push(&mut compacted, &Value::from(plain).to_string());
        } else if !first.is_ascii_whitespace() {
            push(&mut compacted, token);
        }
    }
    check_size(compacted.len())?;
    Ok(compacted)
}

/// Appends a token, with escapes for characters that YAML reads in another way. Only strings have such characters.
fn push(text: &mut String, token: &str) {
    let mut rest = token;
    while let Some(at) = rest.find(differs_in_yaml) {
        let (plain, after) = rest.split_at(at);
        let mut after = after.chars();
        text.push_str(plain);
        if let Some(character) = after.next() {
            text.push_str(&format!("\\u{:04x}", u32::from(character)));
        }
        rest = after.as_str();
    }
    text.push_str(rest);
}

/// Characters that a JSON string may hold as they are, and that YAML 1.1 reads as line ends or byte order marks, or refuses.
/// All of them have four hexadecimal digits.
fn differs_in_yaml(character: char) -> bool {
    matches!(character, '\u{7f}'..='\u{9f}' | '\u{2028}' | '\u{2029}' | '\u{feff}' | '\u{fffe}' | '\u{ffff}')
}

/// The length in bytes of the JSON string at the start of the text, including its quotes.
fn string(text: &str) -> usize {
    let mut escaped = true;
    let end = text.bytes().position(|byte| {
        let ends = byte == b'"' && !escaped;
        // `escaped` starts as true so that the opening quote does not end the string.
        escaped = byte == b'\\' && !escaped;
        ends
    });
    end.map_or(text.len(), |end| end + 1)
}

fn other(text: &str, what: &str) -> ApiError {
    match serde_json::from_str(text) {
        Ok(IgnoredAny) => ApiError::bad_argument(what),
        Err(error) => not_json(&error),
    }
}

fn not_json(error: &serde_json::Error) -> ApiError {
    ApiError::bad_argument(format!("the body is not JSON: {error}"))
}

/// The body of a deletion. With a body the server ignores all options in the query, even `dryRun`.
pub(super) fn delete_options(options: &DeleteOptions) -> Value {
    let text = |value: &Option<String>| value.as_deref().map(Value::from);
    let preconditions =
        given([("uid", text(&options.uid)), ("resourceVersion", text(&options.resource_version))]);
    let propagation = options.propagation.map(|propagation| match propagation {
        Propagation::Background => "Background",
        Propagation::Foreground => "Foreground",
        Propagation::Orphan => "Orphan",
    });
    let body = given([
        ("apiVersion", Some("v1".into())),
        ("kind", Some("DeleteOptions".into())),
        ("preconditions", (!preconditions.is_empty()).then(|| preconditions.into())),
        ("propagationPolicy", propagation.map(Value::from)),
        ("dryRun", options.dry_run.then(|| vec!["All"].into())),
    ]);
    body.into()
}

/// The fields that have a value.
fn given<const N: usize>(fields: [(&str, Option<Value>); N]) -> Map<String, Value> {
    fields.into_iter().filter_map(|(name, value)| Some((name.to_owned(), value?))).collect()
}

/// The text at the pointer of a JSON document; empty if there is none.
pub(super) fn text(json: &[u8], pointer: &str) -> String {
    let find = || {
        let json = std::str::from_utf8(json).ok()?;
        let pointer: Pointer = pointer.parse().ok()?;
        let range = locate(json, std::slice::from_ref(&pointer)).ok()?.into_iter().next()??;
        serde_json::from_str::<String>(json.get(range)?).ok()
    };
    find().unwrap_or_default()
}

// === impl Head ===

impl<'a> Head<'a> {
    /// The object's name; empty if the server is to choose one.
    pub(super) fn name(&self) -> Result<Cow<'a, str>, ApiError> {
        Ok(field("/metadata/name", self.metadata().name)?.unwrap_or_default())
    }

    /// Returns true if the object has a UID. The server refuses to create such an object.
    pub(super) fn has_uid(&self) -> Result<bool, ApiError> {
        Ok(field("/metadata/uid", self.metadata().uid)?.is_some_and(|uid| !uid.is_empty()))
    }

    pub(super) fn metadata(&self) -> &Metadata<'a> {
        const NONE: &Metadata<'static> = &Metadata { name: None, namespace: None, uid: None };
        self.metadata.as_ref().unwrap_or(NONE)
    }
}

/// The text of a field. Returns `None` if the field is missing or `null`.
pub(super) fn field<'a>(pointer: &str, raw: Option<&'a RawValue>) -> Result<Option<Cow<'a, str>>, ApiError> {
    let Some(raw) = raw.map(RawValue::get) else { return Ok(None) };
    let plain = raw.strip_prefix('"').and_then(|rest| rest.strip_suffix('"'));
    match plain {
        Some(plain) if !plain.contains('\\') => Ok(Some(Cow::Borrowed(plain))),
        _ => serde_json::from_str(raw).map(|text: String| Some(Cow::Owned(text))).map_err(|_| {
            ApiError::bad_argument(format!("{pointer} of the object is {}, not a text", shown(raw)))
        }),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn compacted(text: &str) -> Result<String, String> {
        compact(text).map_err(|error| error.message)
    }

    #[test]
    fn a_body_is_sent_without_white_space_and_needless_escapes() {
        for (text, expected) in [
            ("{ \"a\" : [ 1e5 , true,\tnull ]\r\n}", "{\"a\":[1e5,true,null]}"),
            (
                r#"{"a b": "c\\ \" d", "\/": "\ud83d\ude00\u0001"}"#,
                "{\"a b\":\"c\\\\ \\\" d\",\"/\":\"😀\\u0001\"}",
            ),
            (r#"{"": "\\"}"#, r#"{"":"\\"}"#),
            ("[12345678901234567890123]", "[12345678901234567890123]"),
            ("[\"a\u{85}\u{2028}b\u{7f}\u{9f}\u{a0}ü\"]", "[\"a\\u0085\\u2028b\\u007f\\u009f\u{a0}ü\"]"),
            (r#"{"\n\u2029\ufeff":"\uffff"}"#, r#"{"\n\u2029\ufeff":"\uffff"}"#),
        ] {
            assert_eq!(compacted(text).unwrap(), expected);
            let same: Value = serde_json::from_str(text).unwrap();
            assert_eq!(serde_json::from_str::<Value>(expected).unwrap(), same);
        }
        let breaks = format!("[\"{}\"]", "\u{2028}".repeat(BODY_BYTES / 6));
        assert!(compacted(&breaks).unwrap_err().starts_with("the body has 3145732 bytes"));
        assert!(compacted(r#"["\ud800"]"#).unwrap_err().starts_with("the body is not JSON: "));
        let deep = |levels: usize| format!("{}{}", "[".repeat(levels), "]".repeat(levels));
        assert!(compacted(&deep(MAX_DEPTH)).is_ok());
        assert!(compacted(&deep(MAX_DEPTH + 1)).unwrap_err().contains("nested deeper than 127"));
    }

    #[test]
    fn duplicate_keys_of_the_identity_are_refused() {
        let refused = |text| object(text).err().unwrap().message;
        for text in [
            r#"{"metadata":{"name":"a"},"metadata":{}}"#,
            r#"{"metadata":{"name":"a","n\u0061me":"b"}}"#,
            r#"{"apiVersion":"v1","apiVersion":"v2"}"#,
        ] {
            assert!(refused(text).contains("duplicate field"), "{}", refused(text));
        }
        assert!(refused(r#"{"metadata":"x"}"#).contains("expected an object"));
        assert!(refused(r#"{"spec":{"#).starts_with("the body is not JSON: EOF"));
        let escaped = object(r#"{"metadata":{"n\u0061me":"\u0061","uid":null}}"#).unwrap();
        assert_eq!((&*escaped.name().unwrap(), escaped.has_uid().unwrap()), ("a", false));
        assert_eq!(&*object(r#"{"metadata":null}"#).unwrap().name().unwrap(), "");
    }
}
