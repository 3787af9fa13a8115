//! The counter of resourceVersions, and the changes that a collection remembers.

use std::{
    collections::{HashMap, VecDeque},
    sync::{
        Arc, OnceLock,
        atomic::{AtomicU64, Ordering},
    },
    time::Duration,
};

use bytes::Bytes;
use tokio::sync::watch;

use super::{ObjectKey, Stored};

/// The number of changes kept for open watches even if the limit is lower. An open watch is ended as too slow only
/// when it is further behind.
const OPEN_WATCH_REACH: usize = 4096;

/// A counter of writes. It starts at 1, because "0" is never the version of an object.
#[derive(Debug)]
pub(crate) struct Revision {
    last: AtomicU64,
    reached: watch::Sender<u64>,
}

/// The last changes of a collection.
///
/// A *new* request may go back to the floor, which the limit and compaction raise. An *open* watch may go back to the
/// oldest change in the ring. When the ring is full, the oldest change is dropped.
#[derive(Debug)]
pub(crate) struct History {
    ring: VecDeque<Arc<Event>>,
    limit: usize,
    floor: u64,
    forgotten: u64,
}

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

// === impl Revision ===

impl Default for Revision {
    fn default() -> Self {
        Self { last: AtomicU64::new(1), reached: watch::Sender::new(1) }
    }
}

impl Revision {
    /// Takes the next version. Call this while you hold the lock of the collection, so that its history is in version
    /// order.
    pub(super) fn next(&self) -> u64 {
        self.last.fetch_add(1, Ordering::SeqCst) + 1
    }

    /// Wakes tasks that wait for `rv`, after the write is in its collection.
    pub(super) fn announce(&self, rv: u64) {
        self.reached.send_if_modified(|last| {
            let newer = rv > *last;
            *last = rv.max(*last);
            newer
        });
    }

    pub(crate) fn current(&self) -> u64 {
        self.last.load(Ordering::SeqCst)
    }

    /// Waits until the server reaches `rv`. Returns false if that takes longer than `patience`.
    ///
    /// # Cancel safety
    /// Dropping the future has no effect.
    pub(crate) async fn wait_for(&self, rv: u64, patience: Duration) -> bool {
        if self.current() >= rv {
            return true;
        }
        let mut reached = self.reached.subscribe();
        let wait = reached.wait_for(|last| *last >= rv);
        matches!(tokio::time::timeout(patience, wait).await, Ok(Ok(_)))
    }
}

// === impl History ===

impl History {
    pub(super) fn new(limit: usize) -> Self {
        Self { ring: VecDeque::new(), limit, floor: 0, forgotten: 0 }
    }

    pub(super) fn push(&mut self, event: Arc<Event>) {
        self.ring.push_back(event);
        if self.ring.len() > self.limit.max(OPEN_WATCH_REACH)
            && let Some(oldest) = self.ring.pop_front()
        {
            self.forgotten = oldest.rv;
        }
        if let Some(beyond) = self.ring.len().checked_sub(self.limit + 1) {
            let rv = self.ring.get(beyond).map_or(0, |event| event.rv);
            self.compact(rv);
        }
    }

    /// Refuses new requests for versions before `rv`.
    pub(super) fn compact(&mut self, rv: u64) {
        self.floor = self.floor.max(rv);
    }

    /// The oldest version a new list or watch may start from.
    pub(super) fn floor(&self) -> u64 {
        self.floor.max(self.forgotten)
    }

    /// At most `max` changes after `rv`, oldest first. Returns `None` if some of them are forgotten.
    pub(super) fn after(&self, rv: u64, max: usize) -> Option<Vec<Arc<Event>>> {
        if rv < self.forgotten {
            return None;
        }
        let start = self.ring.partition_point(|event| event.rv <= rv);
        Some(self.ring.iter().skip(start).take(max).cloned().collect())
    }

    /// The state at `rv` of each object that changed after `rv`. `None` means that the object did not exist.
    pub(super) fn undo_to(&self, rv: u64) -> HashMap<ObjectKey, Option<Arc<Stored>>> {
        let mut was = HashMap::new();
        for event in self.ring.iter().rev().take_while(|event| event.rv > rv) {
            if let Some(object) = event.before.as_ref().or(event.after.as_ref()) {
                was.insert(object.key.clone(), event.before.clone());
            }
        }
        was
    }
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
        Self {
            rv: after.rv,
            before,
            after: Some(after),
            last_state: OnceLock::new(),
            frames: Default::default(),
        }
    }

    /// A deletion at the version `rv`. Watches send `before`. If an update removed the last finalizer, the other changes of the update are
    /// never stored, as in kube-apiserver.
    pub(super) fn deleted(before: Arc<Stored>, rv: u64) -> Self {
        Self {
            rv,
            before: Some(before),
            after: None,
            last_state: OnceLock::new(),
            frames: Default::default(),
        }
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
        let Some(slot) = self.frames.get(kind as usize) else { return encode() };
        let (version, frame) = slot.get_or_init(|| (api_version.to_owned(), encode()));
        if version == api_version { frame.clone() } else { encode() }
    }
}
