//! The changes that reflectors see.

use std::{sync::Arc, time::Instant};

use informer_types::{Object, ObjectKey};

/// One entry of the delta queue: what the reflector of one scope saw. The store decides later whether it is an
/// addition or an update (C-3).
#[derive(Debug)]
pub(crate) struct Delta {
    pub(crate) kind: DeltaKind,
    /// When it was received.
    pub(crate) observed: Instant,
}

/// The number of a reflector within its informer. There is one for each watched namespace.
pub(crate) type Scope = usize;

#[derive(Debug)]
pub(crate) enum DeltaKind {
    Added(Scope, Arc<Object>),
    Updated(Scope, Arc<Object>),
    /// The last state, with the resource version of the deletion (C-4).
    Deleted(Scope, Arc<Object>),
    /// A deletion whose last state did not decode (D-2).
    DeletedKey(Scope, ObjectKey),
    /// A whole list as one entry. When it is applied, the store determines which objects are gone.
    ReplacedAll(Scope, Replacement),
    /// The resync period of a listener has elapsed.
    SyncAll,
    /// A bookmark: it changes the store's resource version and nothing else (Q-32, C-8).
    Bookmark(Scope, String),
}

/// The content of a list.
#[derive(Debug, Default)]
pub(crate) struct Replacement {
    pub(crate) resource_version: String,
    /// In list order.
    pub(crate) objects: Vec<Arc<Object>>,
    /// The keys of listed objects that did not decode; the store keeps their last good state (D-2).
    pub(crate) quarantined: Vec<ObjectKey>,
}

// === impl Delta ===

impl Delta {
    /// A delta that was received now.
    pub(crate) fn now(kind: DeltaKind) -> Self {
        Self { kind, observed: tokio::time::Instant::now().into_std() }
    }
}
