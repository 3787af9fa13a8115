//! A pending notification, or several merged into one, and the object that it is about.

use std::{fmt, sync::Arc, time::Instant};

use informer_types::{Cause, Change, Delivery, Notification, Object, ObjectKey, Observed, Source, SyncToken};

/// An object of a shared informer. An object that was deleted and created again under the same name has the same reference,
/// because order is kept per name, not per UID. Cheap to clone.
#[derive(Clone, Debug, PartialEq, Eq, Hash, PartialOrd, Ord)]
pub struct ObjectRef {
    /// The shared informer that serves the object.
    pub source: Source,
    /// The key of the object.
    pub key: ObjectKey,
}

/// A notification in the queue, with what the queue tracks about it.
#[derive(Debug)]
pub(crate) struct Entry {
    pub(crate) change: Change,
    pub(crate) cause: Cause,
    /// When the cache received the change, the oldest one if several merged, and the trace of its event.
    pub(crate) observed: Observed,
    /// When the notification entered the queue, the oldest one if several merged.
    pub(crate) queued: Instant,
    /// Calls made for this entry; see [`coalesce`](crate::coalesce) for the effect of merging.
    pub(crate) attempts: u32,
    /// The retry budget has counted the first attempt. It does not count the attempt again if the attempt is taken back.
    pub(crate) counted: bool,
    /// The handler never saw this object: nothing of it was ever handed out, except perhaps its deletion. True only for
    /// additions, and for an update behind a deletion.
    pub(crate) unseen: bool,
    /// A live notification is part of the entry, so the entry belongs in the live lane.
    pub(crate) live: bool,
    pub(crate) tokens: Tokens,
}

/// The sync tokens of all notifications merged into an entry. They are held until the entry is settled (P-16).
#[derive(Debug, Default)]
pub(crate) struct Tokens {
    first: Option<SyncToken>,
    /// Almost always empty, and then without an allocation.
    more: Vec<SyncToken>,
}

// === impl ObjectRef ===

impl fmt::Display for ObjectRef {
    /// `v1/pods shop/web-1`.
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{} {}", self.source, self.key)
    }
}

// === impl Entry ===

impl Entry {
    /// The entry of a notification that was just offered, and its source.
    ///
    /// An addition of an object that the queue does not have is unseen, because the store reports that the object was not in
    /// the cache. A replay repeats earlier notifications, so it is never unseen.
    pub(crate) fn new(notification: Notification, now: Instant) -> (Source, Self) {
        let Notification { source, change, cause, initial, observed } = notification;
        let entry = Self {
            unseen: matches!(change, Change::Added { .. }) && cause != Cause::Replay,
            live: cause == Cause::Live,
            change,
            cause,
            observed,
            queued: now,
            attempts: 0,
            counted: false,
            tokens: Tokens { first: initial, more: Vec::new() },
        };
        (source, entry)
    }

    /// Returns true if the object changed and still exists. A first list, a resync, a replay and a deletion are no such change, nor
    /// is a relist that found the same version.
    pub(crate) fn is_change(&self) -> bool {
        let changed = match &self.change {
            Change::Added { .. } => true,
            Change::Updated { old, new } => !is_same_version(old, new),
            Change::Deleted { .. } => false,
        };
        changed && matches!(self.cause, Cause::Live | Cause::Relist)
    }

    /// Returns true if the content of the object changed at the same version (D-5). A notification about an unchanged object has
    /// the same state twice.
    pub(crate) fn is_renewal(&self) -> bool {
        matches!(&self.change, Change::Updated { old, new }
            if !Arc::ptr_eq(old, new) && is_same_version(old, new))
    }

    pub(crate) fn is_deletion(&self) -> bool {
        matches!(self.change, Change::Deleted { .. })
    }

    /// The delivery that a worker passes to the handler. The queue keeps the sync tokens and releases them itself, however
    /// long the handler keeps its copy.
    pub(crate) fn delivery(&self, source: Source, now: Instant) -> Delivery {
        Delivery {
            notification: Notification {
                source,
                change: self.change.clone(),
                cause: self.cause,
                initial: None,
                observed: self.observed.clone(),
            },
            attempt: self.attempts,
            queued: now.saturating_duration_since(self.queued),
        }
    }
}

/// Returns true if both are states of the same object at the same version. Their content may differ (D-5). Some servers send no
/// versions. Two different states without a version count as two versions.
pub(crate) fn is_same_version(one: &Arc<Object>, another: &Arc<Object>) -> bool {
    let has_version = !one.resource_version().is_empty();
    let is_same = one.resource_version() == another.resource_version() && one.uid() == another.uid();
    Arc::ptr_eq(one, another) || (has_version && is_same)
}

// === impl Tokens ===

impl Tokens {
    /// The tokens of both.
    pub(crate) fn and(mut self, other: Self) -> Self {
        self.add(other);
        self
    }

    pub(crate) fn add(&mut self, other: Self) {
        for token in other.first.into_iter().chain(other.more) {
            match &self.first {
                None => self.first = Some(token),
                Some(_) => self.more.push(token),
            }
        }
    }
}
