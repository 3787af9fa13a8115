//! The selectors of a request: namespace, labels and fields.

mod field;
mod label;

pub(crate) use field::FieldSelector;
pub(crate) use label::{LabelSelector, is_label_key, is_label_value};

use crate::storage::Stored;

/// A selector that cannot be parsed.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
#[error("{0}")]
pub(crate) struct InvalidSelector(String);

/// All selectors of a list, a watch or a deletion of a collection.
#[derive(Debug, Clone, Default)]
pub(crate) struct Filter {
    pub(crate) namespace: Option<String>,
    pub(crate) name: Option<String>,
    pub(crate) labels: LabelSelector,
    pub(crate) fields: FieldSelector,
}

// === impl Filter ===

impl Filter {
    pub(crate) fn matches(&self, object: &Stored) -> bool {
        self.namespace.as_ref().is_none_or(|namespace| object.key.namespace == *namespace)
            && self.name.as_ref().is_none_or(|name| object.key.name == *name)
            && self.fields.matches(|path| object.field(path))
            && self.labels.matches(|key| object.label(key))
    }

    /// Returns true if the filter selects by labels or fields.
    pub(crate) fn is_selective(&self) -> bool {
        !self.labels.is_empty() || !self.fields.is_empty()
    }
}
