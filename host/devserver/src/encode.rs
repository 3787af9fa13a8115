//! Encodes objects, lists and watch frames.

use bytes::Bytes;
use serde_json::{Value, json};

use crate::{
    negotiate::View,
    object::set,
    registry::Resource,
    storage::{Event, EventKind, Stored},
    table,
};

/// The metadata of a list.
#[derive(Debug, Default)]
pub(crate) struct ListMeta {
    pub(crate) rv: u64,
    pub(crate) continue_token: Option<String>,
    pub(crate) remaining: Option<usize>,
}

/// Encodes one object.
pub(crate) fn object(resource: &Resource, view: View, object: &Stored) -> Bytes {
    let mut out = Vec::new();
    match view {
        View::Object => object.write_document(resource, &mut out),
        View::Metadata => object.write_partial(&mut out),
        View::Table => out = table::of_object(resource, object).to_string().into_bytes(),
    }
    out.into()
}

/// Encodes a list.
pub(crate) fn list<'a>(
    resource: &Resource,
    view: View,
    meta: &ListMeta,
    objects: impl Iterator<Item = &'a Stored>,
) -> Bytes {
    let api_version = resource.api_version();
    let (kind, version) = match view {
        View::Object => (resource.list_kind.as_str(), api_version.as_str()),
        View::Metadata => ("PartialObjectMetadataList", "meta.k8s.io/v1"),
        View::Table => return table::of_list(resource, &meta.to_json(), objects).to_string().into(),
    };
    let head = format!(
        "{{\"kind\":\"{kind}\",\"apiVersion\":\"{version}\",\"metadata\":{},\"items\":[",
        meta.to_json()
    );
    let mut out = head.into_bytes();
    for (at, object) in objects.enumerate() {
        if at > 0 {
            out.push(b',');
        }
        match view {
            View::Metadata => object.write_partial(&mut out),
            // Like kube-apiserver, write the type of an item only if the kind of the list does not imply it.
            _ if resource.custom || !resource.renames.is_empty() => object.write_document(resource, &mut out),
            _ => object.write_bare(&mut out),
        }
    }
    out.extend_from_slice(b"]}");
    out.into()
}

/// Encodes a change as a watch frame of this kind. Returns `None` if the event has no object for this kind.
pub(crate) fn change(resource: &Resource, view: View, event: &Event, kind: EventKind) -> Option<Bytes> {
    let stored = event.object(kind)?;
    let frame = || frame(kind.as_str(), &object(resource, view, stored));
    Some(match view {
        View::Object => event.frame(kind, &resource.api_version(), frame),
        View::Metadata | View::Table => frame(),
    })
}

/// Encodes a watch frame for an object that existed before the watch began.
pub(crate) fn initial(resource: &Resource, view: View, stored: &Stored) -> Bytes {
    frame(EventKind::Added.as_str(), &object(resource, view, stored))
}

/// Encodes a bookmark. `end` marks the end of the initial events.
pub(crate) fn bookmark(resource: &Resource, view: View, rv: u64, end: bool) -> Bytes {
    let mut metadata = json!({"resourceVersion": rv.to_string()});
    if end {
        set(&mut metadata, "annotations", json!({"k8s.io/initial-events-end": "true"}));
    }
    let named = |kind: &str, api_version: &str, metadata: Value| json!({"kind": kind, "apiVersion": api_version, "metadata": metadata});
    let object = match view {
        View::Object => named(&resource.kind, &resource.api_version(), metadata),
        View::Metadata => named("PartialObjectMetadata", "meta.k8s.io/v1", metadata),
        View::Table => {
            table::of_bookmark(resource, &named(&resource.kind, &resource.api_version(), metadata))
        }
    };
    frame("BOOKMARK", object.to_string().as_bytes())
}

/// Encodes the last frame of a watch that fails.
pub(crate) fn failure(status: &Value) -> Bytes {
    frame("ERROR", status.to_string().as_bytes())
}

fn frame(kind: &str, object: &[u8]) -> Bytes {
    let mut out = Vec::with_capacity(object.len() + 32);
    out.extend_from_slice(b"{\"type\":\"");
    out.extend_from_slice(kind.as_bytes());
    out.extend_from_slice(b"\",\"object\":");
    out.extend_from_slice(object);
    out.extend_from_slice(b"}\n");
    out.into()
}

// === impl ListMeta ===

impl ListMeta {
    fn to_json(&self) -> Value {
        let mut meta = json!({"resourceVersion": self.rv.to_string()});
        if let Some(token) = &self.continue_token {
            set(&mut meta, "continue", token.as_str());
        }
        if let Some(remaining) = self.remaining {
            set(&mut meta, "remainingItemCount", remaining);
        }
        meta
    }
}
