//! One key of a queue.

use std::time::Instant;

use slab::Slab;

use super::standing::Stands;

/// The place of a slot in the slab.
pub(crate) type SlotId = usize;

/// All slots of a queue.
pub(crate) type Slots<K, P> = Slab<Slot<K, P>>;

/// When a wait ends. The number orders waits that end at the same instant: first in, first out.
pub(crate) type Due = (Instant, u64);

/// A key that is ready, waiting or in flight. The slot of any other key is removed.
#[derive(Debug)]
pub(crate) struct Slot<K, P> {
    pub(crate) key: K,
    /// What the queue is to hand out for the key.
    pub(crate) payload: P,
    pub(super) place: Place,
    pub(super) due: Option<Due>,
    pub(super) links: Links,
}

/// The place of a key. The end of a wait is recorded beside the place, because a key of a workqueue may wait while it is ready
/// or in flight.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Place {
    /// A worker has the key.
    InFlight {
        /// When the worker took the key.
        since: Instant,
    },
    /// The next free worker may take the key.
    Ready {
        /// The lane that the key is in.
        lane: Lane,
    },
    /// Neither of the two.
    Idle,
}

/// The two lanes of ready keys.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub(crate) enum Lane {
    /// Keys of live changes, and keys that a guest added.
    Live,
    /// Keys of the first list, of relists, resyncs and replays.
    #[default]
    Backlog,
}

/// The neighbours of a slot in its lane.
#[derive(Clone, Copy, Debug, Default)]
pub(super) struct Links {
    pub(super) before: Option<SlotId>,
    pub(super) after: Option<SlotId>,
}

// === impl Slot ===

impl<K, P> Slot<K, P> {
    pub(super) fn new(key: K, payload: P) -> Self {
        Self { key, payload, place: Place::Idle, due: None, links: Links::default() }
    }

    pub(crate) fn place(&self) -> Place {
        self.place
    }

    /// When the worker took the key. Returns `None` if no worker has it.
    pub(crate) fn in_flight_since(&self) -> Option<Instant> {
        match self.place {
            Place::InFlight { since } => Some(since),
            Place::Ready { .. } | Place::Idle => None,
        }
    }

    /// When the wait of the key ends. Returns `None` if the key does not wait.
    pub(crate) fn due(&self) -> Option<Instant> {
        self.due.map(|(due, _)| due)
    }

    /// The place of the key at `now`, for `informer explain`.
    pub(crate) fn stands(&self, now: Instant) -> Stands {
        match (self.place(), self.due()) {
            (Place::InFlight { since }, _) => {
                Stands::InFlight { lasting: now.saturating_duration_since(since) }
            }
            (Place::Idle, Some(due)) => Stands::Waiting { retry_in: due.saturating_duration_since(now) },
            (Place::Ready { .. } | Place::Idle, _) => Stands::Ready,
        }
    }
}

// === impl Lane ===

impl Lane {
    pub(crate) fn of(live: bool) -> Self {
        if live { Self::Live } else { Self::Backlog }
    }
}
