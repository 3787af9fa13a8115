//! The conditions of a subscription.

use std::collections::BTreeSet;

use informer_types::{Change, FieldSelector, LabelSelector, Pointer};

use super::when::{Subject, When};

/// The conditions of one subscription. The documentation of the module `filter` defines their order and meaning.
#[derive(Clone, Debug, PartialEq)]
pub struct FilterConfig {
    /// Which calls are made.
    pub events: Events,
    /// If false, additions of the first list do not pass.
    pub initial: bool,
    /// The namespaces whose objects are delivered. Empty means all namespaces. An object without a namespace is in none of a
    /// set that is not empty.
    pub namespaces: BTreeSet<String>,
    /// Selects objects by their labels. An empty selector selects all.
    pub labels: LabelSelector,
    /// Selects objects by their fields. An empty selector selects all.
    pub fields: FieldSelector,
    /// Selects objects or changes by an expression.
    pub when: Option<When>,
    /// An update passes only if the value at one of these pointers differs. If empty, every update passes.
    pub changed: Vec<Pointer>,
}

/// Which calls are made.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Events {
    /// `on-add`
    pub add: bool,
    /// `on-update`
    pub update: bool,
    /// `on-delete`
    pub delete: bool,
}

// === impl FilterConfig ===

impl Default for FilterConfig {
    /// No conditions: everything passes.
    fn default() -> Self {
        Self {
            events: Events::ALL,
            initial: true,
            namespaces: BTreeSet::new(),
            labels: LabelSelector::default(),
            fields: FieldSelector::default(),
            when: None,
            changed: Vec::new(),
        }
    }
}

impl FilterConfig {
    /// The expression. Returns `None` if it has another subject.
    pub(super) fn when_of(&self, subject: Subject) -> Option<&When> {
        self.when.as_ref().filter(|when| when.subject() == subject)
    }

    /// Returns true if there is a condition on objects.
    pub(super) fn selects_objects(&self) -> bool {
        !self.namespaces.is_empty()
            || !self.labels.is_empty()
            || !self.fields.is_empty()
            || self.when_of(Subject::Object).is_some()
    }

    /// Returns true if objects of this namespace can be delivered.
    pub(super) fn selects_namespace(&self, namespace: &str) -> bool {
        self.namespaces.is_empty() || self.namespaces.contains(namespace)
    }

    /// Returns true if there is no condition.
    pub(super) fn is_open(&self) -> bool {
        *self == Self::default()
    }
}

// === impl Events ===

impl Events {
    /// All calls, which is the default.
    pub const ALL: Self = Self { add: true, update: true, delete: true };

    pub(super) fn include(self, change: &Change) -> bool {
        match change {
            Change::Added { .. } => self.add,
            Change::Updated { .. } => self.update,
            Change::Deleted { .. } => self.delete,
        }
    }
}
