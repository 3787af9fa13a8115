//! What the reflectors saw.

use std::{sync::Arc, time::Instant};

use informer_types::{Object, ObjectKey};

/// One entry of the delta queue, as the reflector of one scope saw it. The store decides later what it
/// means (C-3).
#[derive(Debug)]
pub(crate) struct Delta {
    pub(crate) kind: DeltaKind,
    /// When it came off the wire.
    pub(crate) observed: Instant,
}

/// The number of a reflector within its informer: one for each namespace watched.
pub(crate) type Scope = usize;

#[derive(Debug)]
pub(crate) enum DeltaKind {
    Added(Scope, Arc<Object>),
    Updated(Scope, Arc<Object>),
    /// The last state, with the resource version of the deletion (C-4).
    Deleted(Scope, Arc<Object>),
    /// A deletion whose last state did not decode (D-2).
    DeletedKey(Scope, ObjectKey),
    /// A whole list, as one item: which objects are gone is decided when it is applied, against the store as
    /// it then is.
    ReplacedAll(Scope, Replacement),
    /// The resync period of some listener is over.
    SyncAll,
    /// moves the store's resource version and nothing else (Q-32, C-8).
    Bookmark(Scope, String),
}

/// What a list said.
#[derive(Debug, Default)]
pub(crate) struct Replacement {
    pub(crate) resource_version: String,
    /// In list order.
    pub(crate) objects: Vec<Arc<Object>>,
    /// Listed too, but they did not decode: what the store has of them stays (D-2).
    pub(crate) quarantined: Vec<ObjectKey>,
}

// === impl Delta ===

impl Delta {
    /// Seen now.
    pub(crate) fn now(kind: DeltaKind) -> Self {
        Self { kind, observed: tokio::time::Instant::now().into_std() }
    }
}
