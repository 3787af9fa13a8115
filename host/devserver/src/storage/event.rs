//! One change of one object in the history.

use std::sync::{Arc, OnceLock};

use bytes::Bytes;

use super::Stored;

/// The type of a watch event.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum EventKind {
    Added,
    Modified,
    Deleted,
}

/// A change. The frame of each kind is encoded once, by the first watch that needs it, and shared.
#[derive(Debug)]
pub(crate) struct Event {
    pub(crate) rv: u64,
    /// The state before the change. `None` means that the object was created.
    pub(crate) before: Option<Arc<Stored>>,
    /// The state after the change. `None` means that the object was deleted.
    pub(crate) after: Option<Arc<Stored>>,
    last_state: OnceLock<Arc<Stored>>,
    /// The encoded frame of each kind and its `apiVersion`.
    frames: [OnceLock<(String, Bytes)>; 3],
}

// === impl EventKind ===

impl EventKind {
    pub(crate) fn as_str(self) -> &'static str {
        match self {
            Self::Added => "ADDED",
            Self::Modified => "MODIFIED",
            Self::Deleted => "DELETED",
        }
    }
}

// === impl Event ===

impl Event {
    pub(super) fn written(before: Option<Arc<Stored>>, after: Arc<Stored>) -> Self {
        let rv = after.rv;
        Self { rv, before, after: Some(after), last_state: OnceLock::new(), frames: Default::default() }
    }

    /// `last` is the state that watches send, with the version of the deletion.
    pub(super) fn deleted(before: Arc<Stored>, last: Arc<Stored>) -> Self {
        let rv = last.rv;
        let last_state = OnceLock::from(last);
        Self { rv, before: Some(before), after: None, last_state, frames: Default::default() }
    }

    /// The state to send with an event of this kind. For a deletion, or an object that no longer matches the selectors
    /// this is the last state with the version of the change.
    pub(crate) fn object(&self, kind: EventKind) -> Option<&Arc<Stored>> {
        match (kind, &self.after, &self.before) {
            (EventKind::Added | EventKind::Modified, Some(after), _) => Some(after),
            (EventKind::Deleted, _, Some(before)) => {
                Some(self.last_state.get_or_init(|| Arc::new(before.at_version(self.rv))))
            }
            _ => None,
        }
    }

    /// The frame of this kind. It is encoded once for the first requested `apiVersion` and shared; watches in another
    /// version encode their own frames.
    pub(crate) fn frame(&self, kind: EventKind, api_version: &str, encode: impl Fn() -> Bytes) -> Bytes {
        let [added, modified, deleted] = &self.frames;
        let slot = match kind {
            EventKind::Added => added,
            EventKind::Modified => modified,
            EventKind::Deleted => deleted,
        };
        let (version, frame) = slot.get_or_init(|| (api_version.to_owned(), encode()));
        if version == api_version { frame.clone() } else { encode() }
    }
}
