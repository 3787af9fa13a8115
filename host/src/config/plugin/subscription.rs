//! `[[plugin.on]]`: what a plugin hears of one watch.

use std::{collections::BTreeSet, time::Duration};

pub use informer_dispatch::Events;
use informer_dispatch::When;
use informer_types::{FieldSelector, Gvr, LabelSelector, Pointer};

use super::Enqueue;

/// What a plugin hears of one watch.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Subscription {
    /// The resource; it is watched.
    pub watch: Gvr,
    /// Which calls are made. At least one.
    pub events: Events,
    /// The namespaces whose objects are delivered; the watch covers each of them. Empty means all that the watch covers.
    pub namespaces: BTreeSet<String>,
    /// Of which objects, by their labels; empty: of all.
    pub labels: LabelSelector,
    /// Of which objects, by their fields, applied by the host; empty: of all.
    pub fields: FieldSelector,
    /// Of which objects or changes, by an expression.
    pub when: Option<When>,
    /// An update counts only if the value at one of these differs; none: always. All of them are of what is kept.
    pub changed: Vec<Pointer>,
    /// The period of its own or that of the watch; none: never.
    pub resync: Option<Duration>,
    /// Which objects are delivered after a relist.
    pub relist: Relist,
    /// What becomes of the objects that are there when it starts.
    pub initial: Initial,
    /// What becomes a key, where the component takes keys and no notifications.
    pub enqueue: Enqueue,
}

/// Which objects are delivered after a relist.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub enum Relist {
    /// Those that changed meanwhile (D-5).
    #[default]
    Changed,
    /// All, as client-go does.
    All,
}

/// What becomes of the objects that are there when a subscription starts.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub enum Initial {
    /// Each is delivered as an addition, flagged.
    #[default]
    Deliver,
    /// None is; the plugin hears of changes only.
    Skip,
}
