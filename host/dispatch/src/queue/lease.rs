//! What a worker has in hand.

use super::{Queue, keyed::Taken, slot::SlotId};
use crate::{ObjectRef, Settled, Settlement, entry::Entry};

/// The duty to settle what was taken. While it exists, nobody else gets its object.
///
/// A lease that is dropped unsettled puts its notification back, ready at once and before anything newer of the
/// object: the handler may have seen it, so the attempt still counts.
#[derive(Debug)]
pub struct Lease {
    queue: Queue,
    id: SlotId,
    object: ObjectRef,
    /// There until settled.
    entry: Option<Entry>,
}

// === impl Lease ===

impl Lease {
    pub(super) fn new(queue: Queue, id: SlotId, object: ObjectRef, entry: Entry) -> Self {
        Self { queue, id, object, entry: Some(entry) }
    }

    /// What it is about.
    pub fn object(&self) -> &ObjectRef {
        &self.object
    }

    /// Ends it.
    pub fn settle(mut self, settlement: Settlement) -> Settled {
        match self.taken() {
            Some(taken) => self.queue.settle(taken, settlement),
            // Not reached: the entry leaves here only, and `self` with it.
            None => Settled::Discarded,
        }
    }

    fn taken(&mut self) -> Option<Taken> {
        let entry = self.entry.take()?;
        Some(Taken { id: self.id, object: self.object.clone(), entry })
    }
}

impl Drop for Lease {
    fn drop(&mut self) {
        if let Some(taken) = self.taken() {
            self.queue.give_back(taken);
        }
    }
}
