//! A decoded object: the working copy of a request.

use serde_json::{Map, Value};

/// A JSON object.
pub(crate) type Fields = Map<String, Value>;

/// A decoded object. Accessors never fail: a field of the wrong type counts as absent.
#[derive(Debug, Clone, Default, PartialEq)]
pub(crate) struct Object {
    pub(crate) metadata: Fields,
    /// Everything but the metadata.
    pub(crate) fields: Fields,
}

/// Metadata that only the server writes, besides the name and the version.
pub(crate) const SERVER_FIELDS: [&str; 5] =
    ["uid", "creationTimestamp", "deletionTimestamp", "deletionGracePeriodSeconds", "generation"];

/// The text in a field of a JSON object; empty if there is none.
pub(crate) fn text_of<'v>(value: &'v Value, field: &str) -> &'v str {
    value.get(field).and_then(Value::as_str).unwrap_or_default()
}

/// The items of a list in a field of a JSON object; empty if there is none.
pub(crate) fn list_of<'v>(value: &'v Value, field: &str) -> &'v [Value] {
    value.get(field).and_then(Value::as_array).map(Vec::as_slice).unwrap_or_default()
}

/// Sets a field of a JSON object; does nothing to any other value.
pub(crate) fn set(object: &mut Value, field: &str, value: impl Into<Value>) {
    if let Value::Object(fields) = object {
        fields.insert(field.to_owned(), value.into());
    }
}

/// The current time in the format of Kubernetes metadata.
pub(crate) fn timestamp() -> String {
    jiff::Timestamp::now().strftime("%Y-%m-%dT%H:%M:%SZ").to_string()
}

// === impl Object ===

impl Object {
    /// Returns `None` if the document or its metadata is not a JSON object.
    pub(crate) fn from_value(document: Value) -> Option<Self> {
        let Value::Object(mut fields) = document else { return None };
        match fields.remove("metadata") {
            Some(Value::Object(metadata)) => Some(Self { metadata, fields }),
            None | Some(Value::Null) => Some(Self { metadata: Fields::new(), fields }),
            Some(_) => None,
        }
    }

    pub(crate) fn into_value(mut self) -> Value {
        self.fields.insert("metadata".into(), Value::Object(self.metadata));
        Value::Object(self.fields)
    }

    pub(crate) fn api_version(&self) -> &str {
        self.text_at(&["apiVersion"])
    }

    pub(crate) fn kind(&self) -> &str {
        self.text_at(&["kind"])
    }

    pub(crate) fn name(&self) -> &str {
        self.text_at(&["metadata", "name"])
    }

    pub(crate) fn namespace(&self) -> &str {
        self.text_at(&["metadata", "namespace"])
    }

    pub(crate) fn generate_name(&self) -> &str {
        self.text_at(&["metadata", "generateName"])
    }

    pub(crate) fn uid(&self) -> &str {
        self.text_at(&["metadata", "uid"])
    }

    pub(crate) fn resource_version(&self) -> &str {
        self.text_at(&["metadata", "resourceVersion"])
    }

    pub(crate) fn is_deleting(&self) -> bool {
        self.metadata.get("deletionTimestamp").is_some_and(|at| !at.is_null())
    }

    pub(crate) fn finalizers(&self) -> Vec<&str> {
        self.list_at(&["metadata", "finalizers"]).iter().filter_map(Value::as_str).collect()
    }

    pub(crate) fn remove_finalizer(&mut self, finalizer: &str) {
        if let Some(Value::Array(list)) = self.metadata.get_mut("finalizers") {
            list.retain(|entry| entry.as_str() != Some(finalizer));
            if list.is_empty() {
                self.metadata.remove("finalizers");
            }
        }
    }

    pub(crate) fn add_finalizer(&mut self, finalizer: &str) {
        if self.finalizers().contains(&finalizer) {
            return;
        }
        let list = self.metadata.entry("finalizers").or_insert_with(|| Value::Array(Vec::new()));
        if let Value::Array(list) = list {
            list.push(finalizer.into());
        }
    }

    /// The labels, sorted by key.
    pub(crate) fn labels(&self) -> impl Iterator<Item = (&str, &str)> {
        let labels = self.metadata.get("labels").and_then(Value::as_object);
        labels.into_iter().flatten().filter_map(|(key, value)| Some((key.as_str(), value.as_str()?)))
    }

    pub(crate) fn owner_references(&self) -> &[Value] {
        self.list_at(&["metadata", "ownerReferences"])
    }

    /// The value at a path of field names.
    pub(crate) fn at(&self, path: &[&str]) -> Option<&Value> {
        let (first, rest) = match path {
            ["metadata", field, rest @ ..] => (self.metadata.get(*field)?, rest),
            [field, rest @ ..] => (self.fields.get(*field)?, rest),
            [] => return None,
        };
        rest.iter().try_fold(first, |value, field| value.get(field))
    }

    /// The text at a path; empty if there is none.
    pub(crate) fn text_at(&self, path: &[&str]) -> &str {
        self.at(path).and_then(Value::as_str).unwrap_or_default()
    }

    /// The items of the list at a path; empty if there is none.
    pub(crate) fn list_at(&self, path: &[&str]) -> &[Value] {
        self.at(path).and_then(Value::as_array).map(Vec::as_slice).unwrap_or_default()
    }

    /// Writes `value` at a path of field names outside the metadata. Missing objects on the path are created;
    /// other values on the path are replaced by objects.
    pub(crate) fn set_at(&mut self, path: &[&str], value: Value) {
        let Some((last, parents)) = path.split_last() else { return };
        let mut fields = &mut self.fields;
        for parent in parents {
            let slot = fields.entry(*parent).or_insert(Value::Null);
            if !slot.is_object() {
                *slot = Value::Object(Fields::new());
            }
            let Value::Object(inner) = slot else { return };
            fields = inner;
        }
        fields.insert((*last).to_owned(), value);
    }

    /// Renames a top-level field if the object has it.
    pub(crate) fn rename(&mut self, from: &str, to: &str) {
        let value = self.fields.remove(from);
        self.fields.extend(value.map(|value| (to.to_owned(), value)));
    }

    /// Writes `value` at the path if there is no value or `null`.
    pub(crate) fn default_at(&mut self, path: &[&str], value: Value) {
        if self.at(path).is_none_or(Value::is_null) {
            self.set_at(path, value);
        }
    }
}
