//! What goes over a watch, frame by frame.

use bytes::Bytes;
use serde_json::{Value, json};

use crate::Status;

/// One frame of a watch as it goes over the wire, its newline included. It need not make sense.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Frame(Bytes);

// === impl Frame ===

impl Frame {
    /// An event of any type, also of one that does not exist.
    #[must_use]
    pub fn event(kind: &str, object: &Value) -> Self {
        Self::raw(format!("{}\n", json!({"type": kind, "object": object})))
    }

    /// An ERROR event.
    #[must_use]
    pub fn error(status: &Status) -> Self {
        Self::event("ERROR", &status.to_json())
    }

    /// A bookmark.
    #[must_use]
    pub fn bookmark(version: u64) -> Self {
        Self::marked_bookmark(version, None)
    }

    /// The bookmark that ends the initial events of a streaming list. Only the value "true" counts.
    #[must_use]
    pub fn end_mark(version: u64, value: &str) -> Self {
        Self::marked_bookmark(version, Some(value))
    }

    /// These bytes and no others: no newline is added.
    #[must_use]
    pub fn raw(bytes: impl Into<Bytes>) -> Self {
        Self(bytes.into())
    }

    /// The bytes.
    #[must_use]
    pub fn bytes(&self) -> &Bytes {
        &self.0
    }

    fn marked_bookmark(version: u64, mark: Option<&str>) -> Self {
        let annotations = mark.map(|mark| json!({"k8s.io/initial-events-end": mark}));
        let metadata = json!({
            "resourceVersion": version.to_string(), "creationTimestamp": null, "annotations": annotations,
        });
        Self::event("BOOKMARK", &json!({"kind": "Pod", "apiVersion": "v1", "metadata": metadata}))
    }
}
