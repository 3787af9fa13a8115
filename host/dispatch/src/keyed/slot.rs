//! One key of a queue, and the two lanes of ready keys, with a fair ratio between them.

use std::time::{Duration, Instant};

use serde::{Serialize, Serializer};
use serde_json::json;
use slab::Slab;

/// Turns of the live lane for each turn of the backlog lane. Four to one keeps the delay of a live change short behind any
/// number of listed objects (kubernetes#68179), and keeps a list moving under any rate of live changes
/// (controller-runtime#3496).
const LIVE_TURNS: u8 = 4;

/// The place of a slot in the slab.
pub(crate) type SlotId = usize;

/// All slots of a queue.
pub(crate) type Slots<K, P> = Slab<Slot<K, P>>;

/// When a wait ends. The number orders waits that end at the same instant: first in, first out.
pub(crate) type Due = (Instant, u64);

/// A key that is ready, delayed or in flight. The slot of any other key is removed.
#[derive(Debug)]
pub(crate) struct Slot<K, P> {
    pub(crate) key: K,
    /// The payload that the queue hands out with the key.
    pub(crate) payload: P,
    pub(super) place: Place,
    pub(super) due: Option<Due>,
    /// When the key is quiet. Boxed, because most queues have none.
    pub(super) quiet: Option<Box<Due>>,
    links: Links,
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
struct Links {
    before: Option<SlotId>,
    after: Option<SlotId>,
}

/// The place of a key in a queue. JSON has all fields in each case.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Stands {
    /// The next free worker may take the key.
    Ready,
    /// The key failed, was added with a delay or is not quiet yet, and its wait is not over.
    Delayed {
        /// Time until the wait is over.
        retry_in: Duration,
    },
    /// A worker has the key.
    InFlight {
        /// Time since the worker took the key.
        lasting: Duration,
    },
}

/// Both lanes. A slot is in at most one lane, and at most once. Each lane is a list linked through the slots, so a slot
/// leaves the middle of its lane in constant time.
#[derive(Debug, Default)]
pub(super) struct Lanes {
    live: Ends,
    backlog: Ends,
    /// Turns that the live lane took in a row while the backlog lane was not empty.
    turns: u8,
}

#[derive(Debug, Default)]
struct Ends {
    first: Option<SlotId>,
    last: Option<SlotId>,
}

// === impl Stands ===

impl Serialize for Stands {
    fn serialize<S: Serializer>(&self, to: S) -> Result<S::Ok, S::Error> {
        let (place, retry_in, lasting) = match *self {
            Self::Ready => ("ready", None, None),
            Self::Delayed { retry_in } => ("delayed", Some(retry_in), None),
            Self::InFlight { lasting } => ("in-flight", None, Some(lasting)),
        };
        let [retry_in, lasting] = [retry_in, lasting]
            .map(|time| time.map(|time| u64::try_from(time.as_millis()).unwrap_or(u64::MAX)));
        json!({"place": place, "retry-in-ms": retry_in, "in-flight-ms": lasting}).serialize(to)
    }
}

// === impl Slot ===

impl<K, P> Slot<K, P> {
    pub(super) fn new(key: K, payload: P) -> Self {
        Self { key, payload, place: Place::Idle, due: None, quiet: None, links: Links::default() }
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

    /// When the key is quiet. Returns `None` if it does not wait for that.
    pub(crate) fn quiet(&self) -> Option<Instant> {
        self.quiet.as_deref().map(|(due, _)| *due)
    }

    /// The place of the key at `now`, for `informer explain`.
    pub(crate) fn stands(&self, now: Instant) -> Stands {
        match (self.place(), self.due().into_iter().chain(self.quiet()).min()) {
            (Place::InFlight { since }, _) => {
                Stands::InFlight { lasting: now.saturating_duration_since(since) }
            }
            (Place::Idle, Some(due)) => Stands::Delayed { retry_in: due.saturating_duration_since(now) },
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

// === impl Lanes ===

impl Lanes {
    pub(super) fn push<K, P>(&mut self, slots: &mut Slots<K, P>, id: SlotId, lane: Lane) {
        self.ends(lane).push(slots, id);
    }

    pub(super) fn remove<K, P>(&mut self, slots: &mut Slots<K, P>, id: SlotId, lane: Lane) {
        self.ends(lane).remove(slots, id);
    }

    /// The slot whose turn it is.
    pub(super) fn first(&self) -> Option<SlotId> {
        if self.is_turn_of_live() { self.live.first } else { self.backlog.first }
    }

    /// Removes and returns the slot whose turn it is.
    pub(super) fn pop<K, P>(&mut self, slots: &mut Slots<K, P>) -> Option<SlotId> {
        let live = self.is_turn_of_live();
        self.turns = if live && self.backlog.first.is_some() { self.turns + 1 } else { 0 };
        let ends = self.ends(Lane::of(live));
        let id = ends.first?;
        ends.remove(slots, id);
        Some(id)
    }

    fn is_turn_of_live(&self) -> bool {
        match (self.live.first, self.backlog.first) {
            (Some(_), Some(_)) => self.turns < LIVE_TURNS,
            (live, _) => live.is_some(),
        }
    }

    pub(super) fn is_empty(&self) -> bool {
        self.live.first.is_none() && self.backlog.first.is_none()
    }

    fn ends(&mut self, lane: Lane) -> &mut Ends {
        match lane {
            Lane::Live => &mut self.live,
            Lane::Backlog => &mut self.backlog,
        }
    }
}

// === impl Ends ===

impl Ends {
    fn push<K, P>(&mut self, slots: &mut Slots<K, P>, id: SlotId) {
        let before = self.last.replace(id);
        if let Some(slot) = slots.get_mut(id) {
            slot.links = Links { before, after: None };
        }
        match before.and_then(|before| slots.get_mut(before)) {
            Some(before) => before.links.after = Some(id),
            None => self.first = Some(id),
        }
    }

    fn remove<K, P>(&mut self, slots: &mut Slots<K, P>, id: SlotId) {
        let Some(slot) = slots.get_mut(id) else { return };
        let Links { before, after } = std::mem::take(&mut slot.links);
        match before.and_then(|before| slots.get_mut(before)) {
            Some(slot) => slot.links.after = after,
            None => self.first = after,
        }
        match after.and_then(|after| slots.get_mut(after)) {
            Some(slot) => slot.links.before = before,
            None => self.last = before,
        }
    }
}
