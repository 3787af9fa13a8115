//! `[[plugin.on]]`: the changes of one watch that a plugin receives.

use std::{collections::BTreeSet, time::Duration};

pub use informer_dispatch::Events;
use informer_dispatch::When;
use informer_types::{FieldSelector, Gvr, LabelSelector, Pointer};

/// The changes of one watch that a plugin receives.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Subscription {
    /// The resource; it is watched.
    pub watch: Gvr,
    /// The kinds of changes. At least one.
    pub events: Events,
    /// The namespaces whose objects are delivered; the watch covers each of them. Empty means all that the watch covers.
    pub namespaces: BTreeSet<String>,
    /// The labels of the objects; empty selects all.
    pub labels: LabelSelector,
    /// The fields of the objects, evaluated by the host; empty selects all.
    pub fields: FieldSelector,
    /// A condition on objects or on changes.
    pub when: Option<When>,
    /// An update is delivered only if the value at one of these differs; empty delivers all. All pointers lead to what
    /// is kept.
    pub changed: Vec<Pointer>,
    /// The resync period of the subscription, or else of the watch; `None` means never.
    pub resync: Option<Duration>,
    /// The objects that are delivered after a relist.
    pub relist: Relist,
    /// What happens to the objects that exist when the subscription starts.
    pub initial: Initial,
    /// The key that a change adds to the workqueue, if the component takes keys and no notifications.
    pub enqueue: Enqueue,
}

/// The objects that are delivered after a relist.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub enum Relist {
    /// The objects that changed meanwhile (D-5).
    #[default]
    Changed,
    /// All objects, as client-go does.
    All,
}

/// What happens to the objects that exist when a subscription starts.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub enum Initial {
    /// Each is delivered as an addition, marked as initial.
    #[default]
    Deliver,
    /// None of them is delivered.
    Skip,
}

/// The key that a change adds to the workqueue of a component that exports `reconciler` and no `handler`.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub enum Enqueue {
    /// The key of the object.
    #[default]
    Object,
    /// The key of its controlling owner, which is assumed to be in the same namespace.
    Controller,
}
