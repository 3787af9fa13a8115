//! What the processor tells a listener.

use std::{fmt, sync::Arc, time::Instant};

use crate::{Object, ObjectKey, Source, SyncToken};

/// Why a notification was made.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub enum Cause {
    /// Seen on the watch.
    Live,
    /// Part of the first list, or the replay to a listener that joined late (client-go's
    /// `isInInitialList`, C-11, P-11).
    Initial,
    /// Found by a later list: the change itself was missed.
    Relist,
    /// Nothing changed; the resync period of the subscription is over (P-8).
    Resync,
    /// Asked for again, or several changes that became one where each was asked for and there were too many.
    Replay,
}

/// What happened to one object. The store decided which of the three it is (C-3).
#[derive(Clone, Debug)]
pub enum Change {
    /// The object was not in the cache before.
    Added {
        /// Its first known state.
        object: Arc<Object>,
    },
    /// The object was in the cache, with the same UID (D-6).
    Updated {
        /// The state the cache held before; not necessarily the one just before `new` (P-23).
        old: Arc<Object>,
        /// The state the cache holds now.
        new: Arc<Object>,
    },
    /// The object is gone.
    Deleted {
        /// Its last known state.
        object: Arc<Object>,
        /// False where the deletion itself was missed, so that `object` may be stale
        /// (client-go's `DeletedFinalStateUnknown`, Q-5).
        final_state_known: bool,
    },
}

/// One change of one object, as it leaves the cache. Cloning it copies pointers, not objects.
#[derive(Clone, Debug)]
pub struct Notification {
    /// The shared informer it comes from.
    pub source: Source,
    /// What happened.
    pub change: Change,
    /// Why it is told.
    pub cause: Cause,
    /// Held until the notification is settled, if the handler's sync waits for it (P-16).
    pub initial: Option<SyncToken>,
    /// When the cache took the change in.
    pub observed: Instant,
}

impl Change {
    /// The newest state known: the one added, the new one, or the last before the deletion.
    pub fn object(&self) -> &Arc<Object> {
        match self {
            Self::Added { object } | Self::Deleted { object, .. } => object,
            Self::Updated { new, .. } => new,
        }
    }

    /// The objects that control it, or did before an update, each once. Owners are in the namespace of what they own, or in
    /// none: which, only their resource tells, and the API server's garbage collector knows it. Controllers in no namespace
    /// are rare (nodes of static pods), so all are taken to be in the object's own.
    pub fn controllers(&self) -> Vec<ObjectKey> {
        let of = |object: &Object| {
            object.controller().map(|controller| ObjectKey::new(object.namespace(), &*controller.name))
        };
        let old = match self {
            Self::Updated { old, .. } => of(old),
            Self::Added { .. } | Self::Deleted { .. } => None,
        };
        let new = of(self.object());
        let old = old.filter(|old| Some(old) != new.as_ref());
        old.into_iter().chain(new).collect()
    }

    /// `add`, `update` or `delete`: the word used in configuration, logs and metrics.
    pub fn verb(&self) -> &'static str {
        match self {
            Self::Added { .. } => "add",
            Self::Updated { .. } => "update",
            Self::Deleted { .. } => "delete",
        }
    }
}

impl Notification {
    /// The key of the object it is about; always there, whatever happened (P-22).
    pub fn key(&self) -> ObjectKey {
        self.change.object().key()
    }
}

impl Cause {
    /// The word used in configuration, logs, metrics and WIT.
    pub fn as_str(self) -> &'static str {
        match self {
            Self::Live => "live",
            Self::Initial => "initial",
            Self::Relist => "relist",
            Self::Resync => "resync",
            Self::Replay => "replay",
        }
    }
}

impl fmt::Display for Cause {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(self.as_str())
    }
}
