//! One entry of `metadata.managedFields`.

use serde::{Deserialize, Serialize};
use serde_json::{Value, json};

use super::set::{self as fields, FieldSet};
use crate::{
    object::{set, text_of, timestamp},
    patch::list_kind::Layout,
};

/// The origin of a write.
#[derive(Debug, Clone, Copy)]
pub(crate) struct Writer<'a> {
    pub(crate) manager: &'a str,
    pub(crate) api_version: &'a str,
    /// Empty for the object itself.
    pub(crate) subresource: &'a str,
    pub(crate) layout: Layout,
}

/// The kind of write through which a manager owns fields.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize)]
pub(super) enum Operation {
    Apply,
    Update,
}

/// The fields that one manager owns through one kind of write.
#[derive(Debug, Clone)]
pub(super) struct Entry {
    pub(super) manager: String,
    operation: Operation,
    pub(super) api_version: String,
    subresource: String,
    pub(super) time: String,
    pub(super) set: FieldSet,
}

// === impl Entry ===

impl Entry {
    pub(super) fn new(operation: Operation, writer: Writer<'_>, set: FieldSet) -> Self {
        Self {
            manager: writer.manager.to_owned(),
            operation,
            api_version: writer.api_version.to_owned(),
            subresource: writer.subresource.to_owned(),
            time: timestamp(),
            set,
        }
    }

    /// Returns true if the entry belongs to this writer and this kind of write.
    pub(super) fn is_of(&self, operation: Operation, writer: Writer<'_>) -> bool {
        self.operation == operation
            && self.manager == writer.manager
            && self.subresource == writer.subresource
            // An apply in another version replaces the entry of the manager, as in kube-apiserver.
            && (operation == Operation::Apply || self.api_version == writer.api_version)
    }

    /// Returns `None` if the operation or the set of fields is missing.
    pub(super) fn from_json(json: &Value) -> Option<Self> {
        let text = |field: &str| text_of(json, field).to_owned();
        Some(Self {
            manager: text("manager"),
            operation: Operation::deserialize(json.get("operation")?).ok()?,
            api_version: text("apiVersion"),
            subresource: text("subresource"),
            time: text("time"),
            set: fields::from_json(json.get("fieldsV1")?),
        })
    }

    pub(super) fn to_json(&self) -> Value {
        let mut entry = json!({
            "manager": self.manager,
            "operation": self.operation,
            "apiVersion": self.api_version,
            "time": self.time,
            "fieldsType": "FieldsV1",
            "fieldsV1": fields::to_json(&self.set),
        });
        if !self.subresource.is_empty() {
            set(&mut entry, "subresource", self.subresource.as_str());
        }
        entry
    }
}
