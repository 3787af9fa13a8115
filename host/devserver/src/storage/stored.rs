//! An object at rest: its JSON, cut where the wire needs it cut, and what selectors look at.

use std::sync::Arc;

use bytes::Bytes;
use serde_json::Value;

use super::ObjectKey;
use crate::{
    object::{Fields, Object},
    registry::Resource,
};

/// An object as it was written at one resourceVersion. Never changes.
///
/// The JSON is kept without `apiVersion` and `kind`, which depend on the version a client asks in,
/// and with the metadata apart, which some clients want alone.
#[derive(Debug)]
pub(crate) struct Stored {
    pub(crate) key: ObjectKey,
    pub(crate) rv: u64,
    pub(crate) uid: String,
    metadata: Bytes,
    /// Everything else: empty, or `,"spec":{...},"status":{...}`.
    rest: Bytes,
    header: Arc<Header>,
}

/// What is known of an object without reading its JSON.
#[derive(Debug)]
struct Header {
    /// Sorted by key.
    labels: Vec<(String, String)>,
    fields: Vec<(String, String)>,
    owners: Vec<String>,
    deleting: bool,
}

/// An object about to be written: complete but for its resourceVersion.
#[derive(Debug)]
pub(crate) struct Draft {
    key: ObjectKey,
    metadata: Fields,
    rest: Bytes,
    header: Arc<Header>,
}

// === impl Header ===

impl Header {
    fn of(resource: &Resource, object: &Object) -> Self {
        let labels = object.labels().map(|(key, value)| (key.to_owned(), value.to_owned()));
        let mut labels: Vec<_> = labels.collect();
        labels.sort();
        let owners = object.owner_references().iter().filter_map(|owner| owner.get("uid")?.as_str());
        Self {
            labels,
            fields: resource.field_values(object),
            owners: owners.map(str::to_owned).collect(),
            deleting: object.is_deleting(),
        }
    }
}

// === impl Draft ===

impl Draft {
    /// Takes the object apart, outside of any lock.
    pub(crate) fn new(resource: &Resource, mut object: Object) -> Self {
        resource.rename_for_storage(&mut object);
        let header = Arc::new(Header::of(resource, &object));
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

    pub(crate) fn key(&self) -> &ObjectKey {
        &self.key
    }

    /// The length of everything but the metadata, as JSON.
    pub(crate) fn len(&self) -> usize {
        self.rest.len()
    }

    /// Whether writing this over `current` would change nothing but the version.
    pub(super) fn is_same(&self, current: &Stored) -> bool {
        self.rest == current.rest && self.metadata == current.metadata_fields()
    }

    /// Stamps the version on it.
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

    /// A working copy, spoken of in the version of `resource`.
    pub(crate) fn decode(&self, resource: &Resource) -> Object {
        let mut document = Vec::new();
        self.write_stored(&resource.api_version(), &resource.kind, &mut document);
        // These bytes were serialised by this module; an empty object is the harmless answer should
        // that ever be wrong.
        let object: Option<Object> = serde_json::from_slice(&document).ok().and_then(Object::from_value);
        let mut object = object.unwrap_or_default();
        resource.rename_from_storage(&mut object);
        object
    }

    /// Appends the whole document, in the version of `resource`.
    pub(crate) fn write_document(&self, resource: &Resource, out: &mut Vec<u8>) {
        if resource.renames.is_empty() {
            self.write_stored(&resource.api_version(), &resource.kind, out);
        } else {
            out.extend_from_slice(self.decode(resource).into_value().to_string().as_bytes());
        }
    }

    fn write_stored(&self, api_version: &str, kind: &str, out: &mut Vec<u8>) {
        out.extend_from_slice(b"{\"kind\":\"");
        out.extend_from_slice(kind.as_bytes());
        out.extend_from_slice(b"\",\"apiVersion\":\"");
        out.extend_from_slice(api_version.as_bytes());
        out.extend_from_slice(b"\",\"metadata\":");
        out.extend_from_slice(&self.metadata);
        out.extend_from_slice(&self.rest);
        out.push(b'}');
    }

    /// Appends the document without `kind` and `apiVersion`, as items of a built-in list are sent.
    pub(crate) fn write_bare(&self, out: &mut Vec<u8>) {
        out.extend_from_slice(b"{\"metadata\":");
        out.extend_from_slice(&self.metadata);
        out.extend_from_slice(&self.rest);
        out.push(b'}');
    }

    /// Appends a `PartialObjectMetadata`.
    pub(crate) fn write_partial(&self, out: &mut Vec<u8>) {
        out.extend_from_slice(
            b"{\"kind\":\"PartialObjectMetadata\",\"apiVersion\":\"meta.k8s.io/v1\",\"metadata\":",
        );
        out.extend_from_slice(&self.metadata);
        out.push(b'}');
    }

    /// The same object under another version: how a watch shows the last state of one that went.
    pub(crate) fn at_version(&self, rv: u64) -> Self {
        let mut metadata = self.metadata_fields();
        metadata.insert("resourceVersion".into(), rv.to_string().into());
        Self {
            key: self.key.clone(),
            rv,
            uid: self.uid.clone(),
            metadata: Value::Object(metadata).to_string().into(),
            rest: self.rest.clone(),
            header: self.header.clone(),
        }
    }

    pub(crate) fn label(&self, key: &str) -> Option<&str> {
        let labels = &self.header.labels;
        let at = labels.binary_search_by(|(have, _)| have.as_str().cmp(key)).ok()?;
        labels.get(at).map(|(_, value)| value.as_str())
    }

    /// The value of a selectable field; a field without a value is empty.
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

    /// The UIDs of its owners.
    pub(crate) fn owners(&self) -> &[String] {
        &self.header.owners
    }

    pub(crate) fn is_deleting(&self) -> bool {
        self.header.deleting
    }
}
