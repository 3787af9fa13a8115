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

/// Writes each default into `target` if there is no value or `null` at its place. Missing objects on the way are
/// created; other values on the way are replaced by objects.
pub(crate) fn fill(target: &mut Value, default: Value) {
    match default {
        Value::Object(defaults) if !defaults.is_empty() => {
            if !target.is_object() {
                *target = Value::Object(Fields::new());
            }
            for (field, default) in defaults {
                fill(&mut target[field], default);
            }
        }
        default if target.is_null() => *target = default,
        _ => {}
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
        self.retain_in("finalizers", |entry| entry != finalizer);
    }

    /// Keeps the items of a list in the metadata for which `keep` returns true. An empty list is removed.
    pub(crate) fn retain_in(&mut self, list: &str, keep: impl Fn(&Value) -> bool) {
        if let Some(Value::Array(items)) = self.metadata.get_mut(list) {
            items.retain(keep);
            if items.is_empty() {
                self.metadata.remove(list);
            }
        }
    }

    pub(crate) fn add_finalizer(&mut self, finalizer: &str) {
        let list = self.metadata.entry("finalizers").or_insert_with(|| Value::Array(Vec::new()));
        if let Value::Array(list) = list
            && !list.iter().any(|entry| entry == finalizer)
        {
            list.push(finalizer.into());
        }
    }

    /// The value at a path of field names.
    pub(crate) fn at(&self, path: &[impl AsRef<str>]) -> Option<&Value> {
        let mut path = path.iter().map(AsRef::as_ref);
        let first = match path.next()? {
            "metadata" => self.metadata.get(path.next()?)?,
            field => self.fields.get(field)?,
        };
        path.try_fold(first, |value, field| value.get(field))
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
    pub(crate) fn set_at(&mut self, path: &[impl AsRef<str>], value: Value) {
        let Some((last, parents)) = path.split_last() else { return };
        let mut fields = &mut self.fields;
        for parent in parents {
            let slot = fields.entry(parent.as_ref()).or_insert(Value::Null);
            if !slot.is_object() {
                *slot = Value::Object(Fields::new());
            }
            let Value::Object(inner) = slot else { return };
            fields = inner;
        }
        fields.insert(last.as_ref().to_owned(), value);
    }

    /// Renames a top-level field if the object has it.
    pub(crate) fn rename(&mut self, from: &str, to: &str) {
        let value = self.fields.remove(from);
        self.fields.extend(value.map(|value| (to.to_owned(), value)));
    }

    /// Writes defaults outside the metadata, as [`fill`] does.
    pub(crate) fn fill(&mut self, defaults: Value) {
        let mut fields = Value::Object(std::mem::take(&mut self.fields));
        fill(&mut fields, defaults);
        if let Value::Object(fields) = fields {
            self.fields = fields;
        }
    }
}
