//! The notifications that listeners receive, and the interface through which the cache delivers them.

use std::{collections::VecDeque, sync::Arc};

use crate::{Cause, Object, ObjectKey, Observed, Source, SyncToken};

/// What happened to one object. The store decides which of the three it is (C-3).
#[derive(Clone, Debug)]
pub enum Change {
    /// The object was not in the cache before, or it was in the cache and is replayed (causes `initial` and `replay`).
    Added {
        /// The state that the cache has now.
        object: Arc<Object>,
    },
    /// The object was in the cache with the same UID (D-6).
    Updated {
        /// The state that the cache had before. It need not be the state directly before `new` (P-23).
        old: Arc<Object>,
        /// The state that the cache has now.
        new: Arc<Object>,
    },
    /// The object was deleted.
    Deleted {
        /// The last known state.
        object: Arc<Object>,
        /// False if the deletion itself was missed, so that `object` may be stale (client-go's
        /// `DeletedFinalStateUnknown`, Q-5).
        final_state_known: bool,
    },
}

/// One change of one object, as the cache delivers it. A clone copies pointers, not objects.
#[derive(Clone, Debug)]
pub struct Notification {
    /// The shared informer that made it.
    pub source: Source,
    /// What happened.
    pub change: Change,
    /// Why it was made.
    pub cause: Cause,
    /// Held until the notification is settled, if the listener's synced state (P-16) or a replay waits for it.
    pub initial: Option<SyncToken>,
    /// When the cache received the change, and the trace of its event.
    pub observed: Observed,
}

/// Receives the notifications of a listener. `dispatch` implements it with a plugin's queue.
pub trait NotificationSink: Send + Sync + 'static {
    /// Receives one notification. The caller holds the informer's lock (C-10), so an implementation must not block, call the
    /// cache, or fail.
    ///
    /// # Ordering
    /// Calls for one informer do not overlap and follow the order of the delta queue, so the states of one object arrive in the
    /// order in which the API server wrote them.
    fn offer(&self, notification: Notification);

    /// Receives several notifications in their order, as if they were offered one by one. An implementation can take its locks
    /// once for all of them. It removes each notification that it receives from `notifications`, also one on which it panics.
    fn offer_all(&self, notifications: &mut VecDeque<Notification>) {
        while let Some(notification) = notifications.pop_front() {
            self.offer(notification);
        }
    }

    /// Called when the sink has been offered every object of the first list, or every object of the cache if the listener joined
    /// later. The listener has not synced before `initial` and its clones are dropped. The caller holds the informer's lock, and
    /// calls this at most once for a listener.
    fn listed(&self, _initial: SyncToken) {}
}

impl Change {
    /// The newest known state: the added, the updated, or the deleted object.
    pub fn object(&self) -> &Arc<Object> {
        match self {
            Self::Added { object } | Self::Deleted { object, .. } => object,
            Self::Updated { new, .. } => new,
        }
    }

    /// The old state of an update, and then the newest known state.
    pub fn states(&self) -> impl Iterator<Item = &Arc<Object>> {
        let old = match self {
            Self::Updated { old, .. } => Some(old),
            Self::Added { .. } | Self::Deleted { .. } => None,
        };
        old.into_iter().chain([self.object()])
    }

    /// The word in configuration, logs and metrics: `add`, `update` or `delete`.
    pub fn verb(&self) -> &'static str {
        match self {
            Self::Added { .. } => "add",
            Self::Updated { .. } => "update",
            Self::Deleted { .. } => "delete",
        }
    }
}

impl Notification {
    /// The key of the object. Every notification has one (P-22).
    pub fn key(&self) -> ObjectKey {
        self.change.object().key()
    }
}
