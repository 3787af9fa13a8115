//! The frames of a watch.

use bytes::Bytes;
use serde_json::{Value, json};

use crate::Status;

/// The bytes of one frame of a watch, including the newline. They need not be valid.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Frame(Bytes);

// === impl Frame ===

impl Frame {
    /// An event of any type, including types that do not exist.
    #[must_use]
    pub fn event(kind: &str, object: &Value) -> Self {
        Self::raw(format!("{}\n", json!({"type": kind, "object": object})))
    }

    /// An ERROR event: the watch failed with this status.
    #[must_use]
    pub fn error(status: &Status) -> Self {
        Self::event("ERROR", &status.to_json())
    }

    /// A bookmark: all changes up to this version have been sent.
    #[must_use]
    pub fn bookmark(version: u64) -> Self {
        Self::marked_bookmark(version, None)
    }

    /// The bookmark that ends the initial events of a streaming list. Clients accept only the value "true".
    #[must_use]
    pub fn end_mark(version: u64, value: &str) -> Self {
        Self::marked_bookmark(version, Some(value))
    }

    /// Exactly these bytes; no newline is added.
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
