//! The core that both queues of a plugin share: slots, lanes, waits, quarantine, and the handle that lets workers wait.
//!
//! [`Keyed`] reads no clock and never waits. A queue puts its own rules on top of it: the notification queue decides what is
//! pending for an object, and the workqueue keeps client-go's `dirty` and `processing` sets.

mod circuit;
mod handle;
mod slot;

use std::{
    borrow::Borrow,
    collections::BTreeMap,
    hash::Hash,
    time::{Duration, Instant},
};

use hashbrown::HashMap;
use informer_types::{Failure, millis};
use serde::{Deserialize, Serialize};

pub(crate) use circuit::Circuit;
pub use circuit::{Quarantine, QuarantineConfig};
pub(crate) use handle::{ALL_WORKERS, Handle, Held, Idle, QueueState};
pub use slot::Stands;
pub(crate) use slot::{Lane, Place, Slot, SlotId};

use slot::{Due, Lanes, Slots};

/// An empty queue with at most this many slots keeps its memory, so that a trickle of events does not allocate.
const KEPT_SLOTS: usize = 1024;

/// Distinct keys, each with its payload.
///
/// # Invariants
/// A key in flight is in no lane, so no key is ever handed out to two workers at once (W-3). The memory of a key is released
/// when the key is forgotten (W-15).
#[derive(Debug)]
pub(crate) struct Keyed<K, P> {
    slots: Slots<K, P>,
    by_key: HashMap<K, SlotId>,
    lanes: Lanes,
    ready: usize,
    waits: BTreeMap<Due, SlotId>,
    /// When the keys that changed are quiet.
    quiets: BTreeMap<Due, SlotId>,
    /// The number of the next wait.
    next_wait: u64,
    in_flight: usize,
    pub(crate) circuit: Circuit,
}

/// A failed call that does not count against its key, because the plugin is in quarantine.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) struct Spared {
    /// The quarantine begins with this call.
    pub(crate) begins: bool,
    /// Time until the next probe.
    pub(crate) probe_in: Duration,
}

/// The key that is called again first after failed calls.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "kebab-case")]
pub struct NextRetry {
    /// The object with its resource, such as `v1/pods shop/web-1`, or the key of a workqueue.
    pub key: String,
    /// Calls that failed in a row.
    pub attempts: u32,
    /// Time until the next call.
    #[serde(rename = "retry-in-ms", with = "millis")]
    pub retry_in: Duration,
}

// === impl Keyed ===

impl<K: Clone + Eq + Hash, P> Keyed<K, P> {
    pub(crate) fn new(quarantine: QuarantineConfig) -> Self {
        Self {
            slots: Slots::new(),
            by_key: HashMap::new(),
            lanes: Lanes::default(),
            ready: 0,
            waits: BTreeMap::new(),
            quiets: BTreeMap::new(),
            next_wait: 0,
            in_flight: 0,
            circuit: Circuit::new(quarantine),
        }
    }

    // --- slots

    pub(crate) fn find<Q: Eq + Hash + ?Sized>(&self, key: &Q) -> Option<SlotId>
    where
        K: Borrow<Q>,
    {
        self.by_key.get(key).copied()
    }

    /// Adds an idle slot for a key that has none.
    pub(crate) fn insert(&mut self, key: K, payload: P) -> SlotId {
        let id = self.slots.insert(Slot::new(key.clone(), payload));
        self.by_key.insert(key, id);
        id
    }

    pub(crate) fn get(&self, id: SlotId) -> Option<&Slot<K, P>> {
        self.slots.get(id)
    }

    pub(crate) fn get_mut(&mut self, id: SlotId) -> Option<&mut Slot<K, P>> {
        self.slots.get_mut(id)
    }

    /// The slots that `which` selects, so that they can be changed one by one.
    pub(crate) fn ids(&self, which: impl Fn(&Slot<K, P>) -> bool) -> Vec<SlotId> {
        self.slots.iter().filter(|(_, slot)| which(slot)).map(|(id, _)| id).collect()
    }

    pub(crate) fn slots(&self) -> impl Iterator<Item = &Slot<K, P>> {
        self.slots.iter().map(|(_, slot)| slot)
    }

    /// Removes a slot, wherever its key is.
    pub(crate) fn forget(&mut self, id: SlotId) -> Option<P> {
        self.leave_lane(id);
        self.stop_waiting(id);
        self.end_quiet(id);
        let slot = self.slots.try_remove(id)?;
        self.by_key.remove(&slot.key);
        self.in_flight -= usize::from(slot.in_flight_since().is_some());
        if self.slots.is_empty() && self.slots.capacity() > KEPT_SLOTS {
            self.slots.shrink_to_fit();
            self.by_key.shrink_to_fit();
        }
        Some(slot.payload)
    }

    // --- lanes

    /// Puts an idle key at the end of a lane. A key in the backlog lane that becomes live moves to the live lane. Any other
    /// key stays where it is.
    pub(crate) fn make_ready(&mut self, id: SlotId, lane: Lane) {
        match self.slots.get(id).map(Slot::place) {
            Some(Place::Idle) => {}
            Some(Place::Ready { lane: Lane::Backlog }) if lane == Lane::Live => self.leave_lane(id),
            _ => return,
        }
        self.lanes.push(&mut self.slots, id, lane);
        self.ready += 1;
        if let Some(slot) = self.slots.get_mut(id) {
            slot.place = Place::Ready { lane };
        }
    }

    /// Makes a ready key idle.
    pub(crate) fn leave_lane(&mut self, id: SlotId) {
        let Some(Place::Ready { lane }) = self.slots.get(id).map(Slot::place) else { return };
        self.lanes.remove(&mut self.slots, id, lane);
        self.ready -= 1;
        if let Some(slot) = self.slots.get_mut(id) {
            slot.place = Place::Idle;
        }
    }

    /// Puts the ready keys of the backlog lane into the order of the keys.
    pub(crate) fn sort_backlog(&mut self)
    where
        K: Ord,
    {
        let mut ready = self.ids(|slot| slot.place() == Place::Ready { lane: Lane::Backlog });
        ready.sort_by_cached_key(|id| self.slots.get(*id).map(|slot| slot.key.clone()));
        for id in ready {
            self.leave_lane(id);
            self.make_ready(id, Lane::Backlog);
        }
    }

    /// The key that [`begin`](Self::begin) hands out next.
    pub(crate) fn first_ready(&self) -> Option<SlotId> {
        self.lanes.first()
    }

    pub(crate) fn has_ready(&self) -> bool {
        !self.lanes.is_empty()
    }

    // --- waits

    /// Sets when the wait of a key ends, in place of an earlier wait.
    pub(crate) fn wait_until(&mut self, id: SlotId, due: Instant) {
        self.stop_waiting(id);
        let due = (due, self.next_wait);
        if let Some(slot) = self.slots.get_mut(id) {
            slot.due = Some(due);
            self.waits.insert(due, id);
            self.next_wait += 1;
        }
    }

    pub(crate) fn stop_waiting(&mut self, id: SlotId) {
        if let Some(due) = self.slots.get_mut(id).and_then(|slot| slot.due.take()) {
            self.waits.remove(&due);
        }
    }

    /// Sets when a key that changed is quiet, in place of an earlier time. A key may wait for that and for its retry at
    /// the same time.
    pub(crate) fn quiet_at(&mut self, id: SlotId, due: Instant) {
        self.end_quiet(id);
        let due = (due, self.next_wait);
        if let Some(slot) = self.slots.get_mut(id) {
            slot.quiet = Some(Box::new(due));
            self.quiets.insert(due, id);
            self.next_wait += 1;
        }
    }

    /// Ends the wait of a key until it is quiet.
    pub(crate) fn end_quiet(&mut self, id: SlotId) {
        if let Some(due) = self.slots.get_mut(id).and_then(|slot| slot.quiet.take()) {
            self.quiets.remove(&*due);
        }
    }

    /// When the first key is quiet.
    pub(crate) fn first_quiet(&self) -> Option<Instant> {
        self.quiets.first_key_value().map(|((due, _), _)| *due)
    }

    /// Returns a key that has become quiet, and ends its wait.
    pub(crate) fn pop_quiet(&mut self, now: Instant) -> Option<SlotId> {
        let (_, &id) = self.quiets.first_key_value().filter(|((due, _), _)| *due <= now)?;
        self.end_quiet(id);
        Some(id)
    }

    /// The end of the earliest wait.
    pub(crate) fn first_due(&self) -> Option<Instant> {
        self.waits.first_key_value().map(|((due, _), _)| *due)
    }

    /// The first wait that follows failed calls, whose number `failed` returns. A key that is ready or in flight is left out, because
    /// its next call does not wait. Returns `None` while a pause or a quarantine holds calls back. Looks at the earliest waits only, so
    /// that a long queue costs no more than a short one.
    pub(crate) fn next_retry(&self, failed: impl Fn(&P) -> u32, now: Instant) -> Option<NextRetry>
    where
        K: ToString,
    {
        const LOOKED_AT: usize = 64;
        if self.circuit.holds_back() {
            return None;
        }
        let earliest = self.waits.iter().take(LOOKED_AT);
        earliest.filter_map(|(due, id)| Some((due.0, self.slots.get(*id)?))).find_map(|(due, slot)| {
            let attempts = failed(&slot.payload);
            (attempts > 0 && slot.place() == Place::Idle).then(|| NextRetry {
                key: slot.key.to_string(),
                attempts,
                retry_in: due.saturating_duration_since(now),
            })
        })
    }

    /// Ends the earliest wait if it is due. Returns the slot and the time at which it was due.
    pub(crate) fn pop_due(&mut self, now: Instant) -> Option<(SlotId, Instant)> {
        let (due, _) = *self.waits.first_key_value().filter(|((due, _), _)| *due <= now)?.0;
        let (_, id) = self.waits.pop_first()?;
        if let Some(slot) = self.slots.get_mut(id) {
            slot.due = None;
        }
        Some((id, due))
    }

    // --- in flight

    /// Hands out the key whose turn it is: the key is in flight until [`end`](Self::end).
    pub(crate) fn begin(&mut self, now: Instant) -> Option<SlotId> {
        let id = self.lanes.pop(&mut self.slots)?;
        self.ready -= 1;
        if let Some(slot) = self.slots.get_mut(id) {
            slot.place = Place::InFlight { since: now };
        }
        self.in_flight += 1;
        self.circuit.begin(id);
        Some(id)
    }

    /// The worker is done with the key. Returns when the worker took it, or `None` if the key is not in flight.
    pub(crate) fn end(&mut self, id: SlotId) -> Option<Instant> {
        let slot = self.slots.get_mut(id)?;
        let since = slot.in_flight_since()?;
        slot.place = Place::Idle;
        self.in_flight -= 1;
        Some(since)
    }

    /// Reports a failed call to the circuit. Returns `None` if the call counts against its key.
    pub(crate) fn failed(&mut self, id: SlotId, failure: &Failure, now: Instant) -> Option<Spared> {
        // The default is not reached: a slot stays while its key is in flight.
        let began = self.slots.get(id).and_then(Slot::in_flight_since).unwrap_or(now);
        let begins = !self.circuit.is_open();
        let spared = self.circuit.spares(id, began, failure, now);
        spared.then(|| Spared { begins, probe_in: self.probe_in(now) })
    }

    /// Time until the next probe of a quarantine.
    pub(crate) fn probe_in(&self, now: Instant) -> Duration {
        self.circuit.next(now).unwrap_or(now).saturating_duration_since(now)
    }

    // --- gauges

    pub(crate) fn len(&self) -> usize {
        self.slots.len()
    }

    pub(crate) fn ready(&self) -> usize {
        self.ready
    }

    /// The number of keys that wait for a retry or for the end of a delay.
    pub(crate) fn delayed(&self) -> usize {
        self.waits.len()
    }

    /// The number of keys that wait only until they are quiet.
    pub(crate) fn settling(&self) -> usize {
        let waits = |id: &SlotId| self.slots.get(*id).is_some_and(|slot| slot.due().is_some());
        self.quiets.values().filter(|id| !waits(id)).count()
    }

    /// Returns true if a key waits for anything.
    pub(crate) fn has_waits(&self) -> bool {
        !self.waits.is_empty() || !self.quiets.is_empty()
    }

    pub(crate) fn in_flight(&self) -> usize {
        self.in_flight
    }

    #[cfg(test)]
    pub(crate) fn slot_capacity(&self) -> usize {
        self.slots.capacity()
    }
}
