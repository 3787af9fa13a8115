//! What a subscription asks for.

use std::collections::BTreeSet;

use informer_types::{Change, FieldSelector, LabelSelector, Pointer};

use super::when::{Subject, When};

/// What one subscription asks for; see the module for the order and the meaning.
#[derive(Clone, Debug, PartialEq)]
pub struct FilterConfig {
    /// Which calls are made.
    pub events: Events,
    /// Whether the objects that are there at the start are told.
    pub initial: bool,
    /// The namespaces whose objects are delivered. Empty means all namespaces. An object without a namespace is in none
    /// of a set that is not empty.
    pub namespaces: BTreeSet<String>,
    /// Which objects, by their labels; empty: all.
    pub labels: LabelSelector,
    /// Which objects, by their fields; empty: all.
    pub fields: FieldSelector,
    /// Which objects, or which changes, by an expression.
    pub when: Option<When>,
    /// An update is told only if the value at one of these differs; empty: always.
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
    /// Everything passes.
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
    /// The expression, if it is about this.
    pub(super) fn when_of(&self, subject: Subject) -> Option<&When> {
        self.when.as_ref().filter(|when| when.subject() == subject)
    }

    /// There is a condition on objects.
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

    /// Everything passes.
    pub(super) fn is_open(&self) -> bool {
        self.events == Events::ALL
            && self.initial
            && !self.selects_objects()
            && self.when.is_none()
            && self.changed.is_empty()
    }
}

// === impl Events ===

impl Events {
    /// All of them: the default.
    pub const ALL: Self = Self { add: true, update: true, delete: true };

    pub(super) fn include(self, change: &Change) -> bool {
        match change {
            Change::Added { .. } => self.add,
            Change::Updated { .. } => self.update,
            Change::Deleted { .. } => self.delete,
        }
    }
}
