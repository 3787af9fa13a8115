//! The conditions of a subscription.

use std::collections::BTreeSet;

use informer_types::{
    AnnotationSelector, Change, FieldSelector, InvalidJson, LabelSelector, Pointer, differs,
    differs_from_digests, locate, members_differ,
};

use super::when::{Subject, When};

/// The conditions of one subscription. The documentation of the module `filter` defines their order and meaning.
#[derive(Clone, Debug, PartialEq)]
pub struct FilterConfig {
    /// Which calls are made.
    pub events: Events,
    /// What happens to the objects that exist when the subscription starts.
    pub initial: Initial,
    /// The namespaces whose objects are delivered. An empty set selects all objects. Any other set selects no object without a
    /// namespace.
    pub namespaces: BTreeSet<String>,
    /// Selects objects by the labels of their namespace (D-20). An empty selector selects all objects. Any other selector selects
    /// no object without a namespace. [`Filter::set_namespace`](super::Filter::set_namespace) reports which namespaces match.
    pub namespaces_labels: LabelSelector,
    /// Selects objects by their labels. An empty selector selects all.
    pub labels: LabelSelector,
    /// Selects objects by their annotations. An empty selector selects all.
    pub annotations: AnnotationSelector,
    /// Selects objects by their fields. An empty selector selects all.
    pub fields: FieldSelector,
    /// Selects objects or changes by an expression.
    pub when: Option<When>,
    /// Which updates are changes. Others do not pass.
    pub changed: Changed,
}

/// What happens to the objects that exist when a subscription starts.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub enum Initial {
    /// They are delivered as additions.
    #[default]
    Deliver,
    /// They are not delivered.
    Skip,
    /// They are delivered if they changed since the plugin acknowledged them, also in an earlier process; and objects that it
    /// acknowledged and that are gone are delivered as deletions. See [`Filter::recalling`](super::Filter::recalling).
    Changed,
}

/// Which updates are changes. If nothing is set, all of them are.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Changed {
    /// An update is a change if `metadata.generation` differs. For an object without a generation, such as a ConfigMap, it is a
    /// change if anything differs but `metadata` and `status`, or if the deletion of the object was requested.
    pub generation: bool,
    /// Parts of the objects are not kept, so an object without a generation cannot be compared: each update is a change.
    pub partial: bool,
    /// An update is a change if the value at one of these pointers differs.
    pub pointers: Vec<Pointer>,
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
            initial: Initial::Deliver,
            namespaces: BTreeSet::new(),
            namespaces_labels: LabelSelector::default(),
            labels: LabelSelector::default(),
            annotations: AnnotationSelector::default(),
            fields: FieldSelector::default(),
            when: None,
            changed: Changed::default(),
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
            || !self.namespaces_labels.is_empty()
            || !self.labels.is_empty()
            || !self.annotations.is_empty()
            || !self.fields.is_empty()
            || self.when_of(Subject::Object).is_some()
    }

    /// Returns true if the filter may withhold the addition of an object that it selects: `events` has no additions, or `when` depends on
    /// more than the object.
    pub(super) fn withholds_additions(&self) -> bool {
        !self.events.add || (self.when.is_some() && self.when_of(Subject::Object).is_none())
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

// === impl Changed ===

impl Changed {
    /// Returns true if every update is a change.
    pub fn is_empty(&self) -> bool {
        !self.generation && self.pointers.is_empty()
    }

    /// Returns true if an update from one text to the other is a change. `one_is_partial` is true if one object is whole and the other
    /// one is partial, so that its text may have digests.
    pub(super) fn differ(&self, old: &str, new: &str, one_is_partial: bool) -> Result<bool, InvalidJson> {
        if self.generation && self.generation_differs(old, new)? {
            return Ok(true);
        }
        if one_is_partial {
            differs_from_digests(old, new, &self.pointers)
        } else {
            differs(old, new, &self.pointers)
        }
    }

    fn generation_differs(&self, old: &str, new: &str) -> Result<bool, InvalidJson> {
        let generation = [Pointer::of(["metadata", "generation"])];
        let has_generation = locate(new, &generation)?.into_iter().any(|range| range.is_some());
        if has_generation {
            return differs(old, new, &generation);
        }
        let deletion = [Pointer::of(["metadata", "deletionTimestamp"])];
        Ok(self.partial
            || differs(old, new, &deletion)?
            || members_differ(old, new, &["apiVersion", "kind", "metadata", "status"])?)
    }
}

impl FromIterator<Pointer> for Changed {
    fn from_iter<I: IntoIterator<Item = Pointer>>(pointers: I) -> Self {
        Self { pointers: pointers.into_iter().collect(), ..Self::default() }
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
