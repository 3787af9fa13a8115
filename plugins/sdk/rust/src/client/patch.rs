//! Patches.

use serde_json::Value;

use super::wit::PatchKind;

/// A change to parts of an object.
///
/// ```
/// use informer_sdk::client::Patch;
/// use serde_json::json;
///
/// let scale = Patch::merge(json!({"spec": {"replicas": 3}}));
/// let label = Patch::json(json!([{"op": "add", "path": "/metadata/labels/tier", "value": "web"}]));
/// # let _ = (scale, label);
/// ```
#[derive(Debug, Clone, PartialEq)]
pub struct Patch {
    kind: PatchKind,
    body: Value,
}

// === impl Patch ===

impl Patch {
    /// A merge patch (RFC 7386). A value replaces the old value, `null` removes it, and an array replaces the whole array.
    #[must_use]
    pub fn merge(body: Value) -> Self {
        Self { kind: PatchKind::Merge, body }
    }

    /// A JSON patch (RFC 6902): an array of operations.
    #[must_use]
    pub fn json(operations: Value) -> Self {
        Self { kind: PatchKind::JsonPatch, body: operations }
    }

    /// A strategic merge patch, for built-in types only: arrays merge by the keys of their type.
    #[must_use]
    pub fn strategic_merge(body: Value) -> Self {
        Self { kind: PatchKind::StrategicMerge, body }
    }

    /// Server-side apply: the fields that the plugin wants to own, with `apiVersion` and `kind`. It creates the object if it
    /// does not exist. It needs `apply` under `write` of the grant.
    #[must_use]
    pub fn apply(object: Value) -> Self {
        Self { kind: PatchKind::Apply, body: object }
    }

    pub(super) fn kind(&self) -> PatchKind {
        self.kind
    }

    pub(super) fn text(&self) -> String {
        self.body.to_string()
    }
}
