//! A stored object: its JSON in the parts that answers need, and the values that selectors need.

use std::sync::Arc;

use bytes::Bytes;
use serde_json::Value;

use crate::{
    object::{Fields, Object},
    registry::Resource,
};

/// Namespace and name, ordered as in lists. The namespace of a cluster-scoped object is empty.
#[derive(Debug, Clone, PartialEq, Eq, Hash, PartialOrd, Ord)]
pub(crate) struct ObjectKey {
    pub(crate) namespace: String,
    pub(crate) name: String,
}

/// An immutable object at one resourceVersion.
///
/// The JSON has no `apiVersion` and `kind`, because they depend on the version that a client requests. The metadata is
/// separate, because some clients request only the metadata.
#[derive(Debug)]
pub(crate) struct Stored {
    pub(crate) key: ObjectKey,
    pub(crate) rv: u64,
    pub(crate) uid: String,
    metadata: Bytes,
    /// All other fields: empty, or `,"spec":{...},"status":{...}`.
    rest: Bytes,
    header: Arc<Header>,
}

/// Values that are read without parsing the JSON.
#[derive(Debug)]
struct Header {
    /// Sorted by key.
    labels: Vec<(String, String)>,
    fields: Vec<(String, String)>,
    owners: Vec<String>,
    deleting: bool,
}

/// An object before it is written: it only lacks its resourceVersion.
#[derive(Debug)]
pub(crate) struct Draft {
    pub(crate) key: ObjectKey,
    metadata: Fields,
    rest: Bytes,
    header: Arc<Header>,
}

// === impl ObjectKey ===

impl ObjectKey {
    pub(crate) fn new(namespace: impl Into<String>, name: impl Into<String>) -> Self {
        Self { namespace: namespace.into(), name: name.into() }
    }
}

// === impl Draft ===

impl Draft {
    /// Encodes the object, before any lock is taken.
    pub(crate) fn new(resource: &Resource, mut object: Object) -> Self {
        resource.rename_for_storage(&mut object);
        let labels = object.metadata.get("labels").and_then(Value::as_object).into_iter().flatten();
        let labels = labels.filter_map(|(key, value)| Some((key.clone(), value.as_str()?.to_owned())));
        let mut labels: Vec<_> = labels.collect();
        labels.sort();
        let owners = object.list_at(&["metadata", "ownerReferences"]).iter();
        let header = Arc::new(Header {
            labels,
            fields: resource.field_values(&object),
            owners: owners.filter_map(|owner| Some(owner.get("uid")?.as_str()?.to_owned())).collect(),
            deleting: object.is_deleting(),
        });
        let key = ObjectKey::new(object.namespace(), object.name());
        let metadata = std::mem::take(&mut object.metadata);
        let mut rest = Vec::new();
        for (field, value) in &object.fields {
            if !matches!(field.as_str(), "apiVersion" | "kind") {
                rest.extend_from_slice(format!(",{}:{value}", Value::from(field.as_str())).as_bytes());
            }
        }
        Self { key, metadata, rest: rest.into(), header }
    }

    /// The size in bytes of the JSON without the metadata.
    pub(crate) fn len(&self) -> usize {
        self.rest.len()
    }

    /// Returns true if the draft differs from `current` at most in the version.
    pub(super) fn is_same(&self, current: &Stored) -> bool {
        self.rest == current.rest && self.metadata == current.metadata_fields()
    }

    /// Completes the object with its version.
    pub(crate) fn store(mut self, rv: u64) -> Stored {
        self.metadata.insert("resourceVersion".into(), rv.to_string().into());
        let uid = self.metadata.get("uid").and_then(Value::as_str).unwrap_or_default().to_owned();
        Stored {
            key: self.key,
            rv,
            uid,
            metadata: Value::Object(self.metadata).to_string().into(),
            rest: self.rest,
            header: self.header,
        }
    }
}

// === impl Stored ===

impl Stored {
    fn metadata_fields(&self) -> Fields {
        serde_json::from_slice(&self.metadata).unwrap_or_default()
    }

    /// Decodes a working copy in the version of `resource`.
    pub(crate) fn decode(&self, resource: &Resource) -> Object {
        let mut document = Vec::new();
        self.write_stored(&resource.api_version(), &resource.kind, &mut document);
        // This module serialised the bytes. An empty object is a harmless fallback.
        let object: Option<Object> = serde_json::from_slice(&document).ok().and_then(Object::from_value);
        let mut object = object.unwrap_or_default();
        resource.rename_from_storage(&mut object);
        object
    }

    /// Appends the whole document in the version of `resource`.
    pub(crate) fn write_document(&self, resource: &Resource, out: &mut Vec<u8>) {
        if resource.renames.is_empty() {
            self.write_stored(&resource.api_version(), &resource.kind, out);
        } else {
            out.extend_from_slice(self.decode(resource).into_value().to_string().as_bytes());
        }
    }

    fn write_stored(&self, api_version: &str, kind: &str, out: &mut Vec<u8>) {
        let head = format!("{{\"kind\":\"{kind}\",\"apiVersion\":\"{api_version}\",\"metadata\":");
        append(out, [head.as_bytes(), &self.metadata, &self.rest, b"}"]);
    }

    /// Appends the document without `kind` and `apiVersion`, which is the form of items in built-in lists.
    pub(crate) fn write_bare(&self, out: &mut Vec<u8>) {
        append(out, [b"{\"metadata\":", &self.metadata, &self.rest, b"}"]);
    }

    /// Appends a `PartialObjectMetadata`.
    pub(crate) fn write_partial(&self, out: &mut Vec<u8>) {
        let head = b"{\"kind\":\"PartialObjectMetadata\",\"apiVersion\":\"meta.k8s.io/v1\",\"metadata\":";
        append(out, [head, &self.metadata, b"}", b""]);
    }

    /// The same object with another version: a watch sends it as the last state of an object that is gone.
    pub(crate) fn at_version(&self, rv: u64) -> Self {
        let (key, metadata) = (self.key.clone(), self.metadata_fields());
        Draft { key, metadata, rest: self.rest.clone(), header: self.header.clone() }.store(rv)
    }

    pub(crate) fn label(&self, key: &str) -> Option<&str> {
        let labels = &self.header.labels;
        let at = labels.binary_search_by(|(have, _)| have.as_str().cmp(key)).ok()?;
        labels.get(at).map(|(_, value)| value.as_str())
    }

    /// The value of a selectable field; empty if the field has no value.
    pub(crate) fn field(&self, path: &str) -> &str {
        match path {
            "metadata.name" => &self.key.name,
            "metadata.namespace" => &self.key.namespace,
            _ => self.header.fields.iter().find(|(have, _)| have == path).map_or("", |(_, value)| value),
        }
    }

    /// The owner reference with this UID.
    pub(crate) fn owner_reference(&self, uid: &str) -> Option<Value> {
        let references = self.metadata_fields().remove("ownerReferences")?;
        let found = references.as_array()?.iter().find(|one| one.get("uid").is_some_and(|have| have == uid));
        found.cloned()
    }

    /// The UIDs of the owners.
    pub(crate) fn owners(&self) -> &[String] {
        &self.header.owners
    }

    pub(crate) fn is_deleting(&self) -> bool {
        self.header.deleting
    }
}

fn append(out: &mut Vec<u8>, parts: [&[u8]; 4]) {
    parts.iter().for_each(|part| out.extend_from_slice(part));
}
