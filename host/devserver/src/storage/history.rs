//! The changes that a collection remembers, in version order.

use std::{
    collections::{HashMap, VecDeque},
    sync::Arc,
};

use super::{Event, ObjectKey, Stored};

/// The number of changes kept for open watches even if the limit is lower. An open watch is ended as too slow only
/// when it is further behind.
const OPEN_WATCH_REACH: usize = 4096;

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
