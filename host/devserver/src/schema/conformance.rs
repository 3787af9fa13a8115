//! Checks a JSON document against the fields of its kind, as Go's typed decoding does.

use base64::{
    Engine as _, alphabet,
    engine::general_purpose::{GeneralPurpose, GeneralPurposeConfig},
};
use serde_json::Value;

use super::{Field, Message, Schema, Shape, Type};

/// The base64 that Go decodes: with padding, and with any bits after the last byte.
const BASE64: GeneralPurpose = GeneralPurpose::new(
    &alphabet::STANDARD,
    GeneralPurposeConfig::new().with_decode_allow_trailing_bits(true),
);

/// A value with another type than its field.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
#[error("json: cannot unmarshal {found} into field {path} of type {expected}")]
pub(crate) struct Misfit {
    /// The path of the field, such as `spec.template.spec.containers[0].image`.
    pub(crate) path: String,
    pub(crate) expected: &'static str,
    pub(crate) found: &'static str,
}

/// Removes fields that the kind does not have, and returns their paths. A custom kind may have any field.
///
/// # Errors
/// [`Misfit`] for the first value with the wrong type.
pub(crate) fn conform(api_version: &str, kind: &str, document: &mut Value) -> Result<Vec<String>, Misfit> {
    let schema = Schema::get();
    let mut check = Check { schema, path: Vec::new(), unknown: Vec::new() };
    if let (Some(message), Value::Object(fields)) = (schema.root(api_version, kind), document) {
        let types: Vec<(String, Value)> =
            ["apiVersion", "kind"].iter().filter_map(|field| fields.remove_entry(*field)).collect();
        check.message(message, fields)?;
        fields.extend(types);
    }
    Ok(check.unknown)
}

struct Check {
    schema: &'static Schema,
    path: Vec<String>,
    unknown: Vec<String>,
}

// === impl Check ===

impl Check {
    fn message(
        &mut self,
        message: &'static Message,
        fields: &mut crate::object::Fields,
    ) -> Result<(), Misfit> {
        let mut dropped = Vec::new();
        for (name, value) in fields.iter_mut() {
            self.path.push(name.clone());
            match message.named(self.schema, name) {
                Some(field) => self.field(field, value)?,
                None => {
                    self.unknown.push(self.place());
                    dropped.push(name.clone());
                }
            }
            self.path.pop();
        }
        for name in dropped {
            fields.remove(&name);
        }
        Ok(())
    }

    fn field(&mut self, field: &'static Field, value: &mut Value) -> Result<(), Misfit> {
        match (&field.shape, value) {
            (_, Value::Null) => Ok(()),
            (Shape::One, value) => self.value(&field.kind, value),
            (Shape::List, Value::Array(items)) => {
                let mut items = items.iter_mut().enumerate();
                items.try_for_each(|(at, item)| self.step(format!("[{at}]"), &field.kind, item))
            }
            (Shape::Map, Value::Object(entries)) => {
                entries.iter_mut().try_for_each(|(key, value)| self.step(key.clone(), &field.kind, value))
            }
            (Shape::List, found) => Err(self.misfit("list", found)),
            (Shape::Map, found) => Err(self.misfit("map", found)),
        }
    }

    fn step(&mut self, step: String, kind: &'static Type, value: &mut Value) -> Result<(), Misfit> {
        self.path.push(step);
        self.value(kind, value)?;
        self.path.pop();
        Ok(())
    }

    fn value(&mut self, kind: &'static Type, value: &mut Value) -> Result<(), Misfit> {
        let is_time = |text: &str| text.parse::<jiff::Timestamp>().is_ok();
        let (fits, expected) = match (kind, &mut *value) {
            (_, Value::Null) | (Type::RawJson, _) => return Ok(()),
            (Type::Message(name), Value::Object(fields)) => {
                return match self.schema.message(name) {
                    Some(message) => self.message(message, fields),
                    None => Ok(()),
                };
            }
            (Type::Message(_), _) => (false, "object"),
            (Type::Bytes, Value::String(text)) if !is_base64(text.as_str()) => {
                let (path, found) = (self.place(), "a text in another encoding");
                return Err(Misfit { path, expected: "base64", found });
            }
            (Type::Time | Type::MicroTime, value) => (value.as_str().is_some_and(is_time), "time"),
            (Type::Text | Type::Bytes | Type::Duration, value) => (value.is_string(), "string"),
            (Type::Integer, value) => (value.is_i64() || value.is_u64(), "integer"),
            (Type::Float, value) => (value.is_number(), "number"),
            (Type::Boolean, value) => (value.is_boolean(), "bool"),
            (Type::Quantity, value) => (value.is_string() || value.is_number(), "quantity"),
            (Type::IntOrString, value) => {
                (value.is_string() || value.is_i64() || value.is_u64(), "integer or string")
            }
        };
        if fits { Ok(()) } else { Err(self.misfit(expected, value)) }
    }

    fn misfit(&self, expected: &'static str, found: &Value) -> Misfit {
        let found = match found {
            Value::Null => "null",
            Value::Bool(_) => "bool",
            Value::Number(_) => "number",
            Value::String(_) => "string",
            Value::Array(_) => "array",
            Value::Object(_) => "object",
        };
        Misfit { path: self.place(), expected, found }
    }

    fn place(&self) -> String {
        self.path.join(".").replace(".[", "[")
    }
}

/// Returns true if Go decodes the text, which may have line breaks.
fn is_base64(text: &str) -> bool {
    let text: String = text.chars().filter(|c| !matches!(c, '\r' | '\n')).collect();
    BASE64.decode(text).is_ok()
}

#[cfg(test)]
mod tests {
    use serde_json::json;

    use super::*;

    fn check(document: Value) -> (Result<Vec<String>, Misfit>, Value) {
        let mut document = document;
        (conform("apps/v1", "Deployment", &mut document), document)
    }

    #[test]
    fn unknown_fields_are_removed_and_returned() {
        let (unknown, rest) = check(json!({
            "apiVersion": "apps/v1", "kind": "Deployment", "metadata": {"name": "a", "colour": "red"},
            "spec": {"replica": 1, "template": {"spec": {"containers": [{"name": "c", "imag": "i"}]}}},
        }));
        assert_eq!(
            unknown.unwrap(),
            ["metadata.colour", "spec.replica", "spec.template.spec.containers[0].imag"]
        );
        let expected = json!({
            "apiVersion": "apps/v1", "kind": "Deployment", "metadata": {"name": "a"},
            "spec": {"template": {"spec": {"containers": [{"name": "c"}]}}},
        });
        assert_eq!(rest, expected);
    }

    #[test]
    fn fields_of_inlined_messages_are_known() {
        let volumes = json!([{"name": "v", "emptyDir": {}}, {"name": "s", "secret": {"secretName": "x"}}]);
        let probe = json!({"httpGet": {"port": "web"}, "periodSeconds": 3});
        let container = json!({"name": "c", "livenessProbe": probe, "resources": {"limits": {"cpu": 1}}});
        let document =
            json!({"spec": {"template": {"spec": {"volumes": volumes, "containers": [container]}}}});
        let (unknown, rest) = check(document.clone());
        assert_eq!((unknown.unwrap(), rest), (vec![], document));
    }

    #[test]
    fn a_value_of_the_wrong_type_is_reported_with_its_path() {
        for (document, path, expected, found) in [
            (json!({"spec": {"replicas": "1"}}), "spec.replicas", "integer", "string"),
            (json!({"spec": {"replicas": 1.5}}), "spec.replicas", "integer", "number"),
            (json!({"spec": []}), "spec", "object", "array"),
            (json!({"metadata": {"labels": {"a": 1}}}), "metadata.labels.a", "string", "number"),
            (json!({"metadata": {"finalizers": "x"}}), "metadata.finalizers", "list", "string"),
            (
                json!({"metadata": {"creationTimestamp": "soon"}}),
                "metadata.creationTimestamp",
                "time",
                "string",
            ),
        ] {
            let misfit = check(document).0.unwrap_err();
            assert_eq!((misfit.path.as_str(), misfit.expected, misfit.found), (path, expected, found));
        }
    }

    #[test]
    fn a_custom_kind_may_have_any_field() {
        let mut document = json!({"spec": {"anything": [1, "two"]}});
        assert_eq!(conform("example.com/v1", "Widget", &mut document), Ok(vec![]));
    }
}
