//! `[[plugin.on]]`: what a plugin hears of one watch.

use std::time::Duration;

use informer_types::Gvr;

/// What a plugin hears of one watch.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Subscription {
    /// The resource; it is watched.
    pub watch: Gvr,
    /// Which calls are made. At least one.
    pub events: Events,
    /// The period of its own or that of the watch; none: never.
    pub resync: Option<Duration>,
    /// Which objects are delivered after a relist.
    pub relist: Relist,
    /// What becomes of the objects that are there when it starts.
    pub initial: Initial,
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

// === impl Events ===

impl Events {
    /// All of them: the default.
    pub const ALL: Self = Self { add: true, update: true, delete: true };
}
