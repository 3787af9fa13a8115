//! One object with something to deliver.

use std::time::Instant;

use slab::Slab;

use crate::{ObjectRef, pending::Pending};

/// Where a slot is in the slab.
pub(super) type SlotId = usize;

/// All slots of a queue.
pub(super) type Slots = Slab<Slot>;

/// An object that has something pending, or in hand, or both. It exists only so long.
#[derive(Debug)]
pub(super) struct Slot {
    pub(super) object: ObjectRef,
    pub(super) pending: Pending,
    pub(super) place: Place,
    pub(super) links: Links,
}

/// Where an object stands. Only a ready one is in a lane, only a waiting one among the waits.
#[derive(Clone, Copy, Debug)]
pub(super) enum Place {
    /// A worker has its oldest entry.
    InHand {
        /// That entry is a deletion: after it the handler knows nothing of the object.
        deletion: bool,
        /// When that entry was queued.
        queued: Instant,
        /// When the worker took it.
        since: Instant,
    },
    /// The next free worker may have it.
    Ready {
        /// In the live lane.
        live: bool,
    },
    /// It failed and comes back later.
    Waiting {
        /// At this time.
        due: Instant,
        /// Newer state need not wait longer than this.
        floor: Instant,
    },
}

/// The neighbours in a lane.
#[derive(Clone, Copy, Debug, Default)]
pub(super) struct Links {
    pub(super) before: Option<SlotId>,
    pub(super) after: Option<SlotId>,
}
