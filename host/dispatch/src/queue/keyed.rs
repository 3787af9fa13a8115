//! The queue itself: a plain structure that is told the time and never waits.

mod behind;
mod explain;
mod settlement;

use std::{
    collections::{BTreeSet, HashMap},
    time::Instant,
};

use informer_types::{Notification, Step, TokenBucket, Tracer};

use explain::Told;
pub(super) use settlement::{Outcome, Wake};

use super::{
    DeliveryMode, QueueConfig,
    budget::RetryBudget,
    lane::Lanes,
    quarantine::Circuit,
    slot::{Links, Place, Slot, SlotId, Slots},
    stats::{Backlog, QueueStats},
};
use crate::{
    ObjectRef,
    coalesce::Rule,
    dead_letter::{DeadLetter, Letters},
    entry::{Entry, Tokens},
    pending::{Effect, Pending},
};

/// Below this many slots an empty queue keeps its memory, so that a trickle of events does not allocate.
const KEPT_SLOTS: usize = 1024;

/// See [`Queue`](super::Queue) for what it promises.
#[derive(Debug)]
pub(super) struct Keyed {
    slots: Slots,
    by_object: HashMap<ObjectRef, SlotId>,
    lanes: Lanes,
    /// When those that failed come back.
    waits: BTreeSet<(Instant, SlotId)>,
    dead_letters: Letters<DeadLetter>,
    delivery: DeliveryMode,
    keeps_controllers: bool,
    /// Each change was asked for, but there were too many: they merge for a while.
    behind: bool,
    rate: Option<TokenBucket>,
    /// Something was ready and the rate did not let it go.
    held_by_rate: bool,
    /// A retry was due and the budget did not let it go.
    held_by_budget: bool,
    budget: RetryBudget,
    circuit: Circuit<SlotId>,
    /// The counters; its gauges stay zero.
    counts: QueueStats,
    pending: usize,
    in_flight: usize,
    paused: bool,
    closed: bool,
    tracer: Tracer,
}

/// What [`Keyed::offer`] leaves to its caller.
#[derive(Debug)]
pub(super) struct Offered {
    /// Somebody who waits should look again.
    pub(super) wake: bool,
    /// To be dropped outside the lock.
    pub(super) released: Tokens,
}

/// What a worker has in hand.
#[derive(Debug)]
pub(super) struct Taken {
    pub(super) id: SlotId,
    pub(super) object: ObjectRef,
    pub(super) entry: Entry,
}

// === impl Keyed ===

impl Keyed {
    pub(super) fn new(config: &QueueConfig, tracer: Tracer) -> Self {
        Self {
            slots: Slots::new(),
            by_object: HashMap::new(),
            lanes: Lanes::default(),
            waits: BTreeSet::new(),
            dead_letters: Letters::new(config.dead_letters),
            delivery: config.delivery,
            keeps_controllers: config.controllers,
            behind: false,
            rate: bucket(config),
            held_by_rate: false,
            held_by_budget: false,
            budget: RetryBudget::new(config.retry_budget),
            circuit: Circuit::new(config.quarantine.clone()),
            counts: QueueStats::default(),
            pending: 0,
            in_flight: 0,
            paused: false,
            closed: false,
            tracer,
        }
    }

    /// See [`Queue::configure`](super::Queue::configure).
    pub(super) fn configure(&mut self, config: &QueueConfig) {
        self.delivery = config.delivery;
        self.keeps_controllers = config.controllers;
        self.behind &= self.delivery != DeliveryMode::Latest;
        if !matches!((&self.rate, config.rate), (Some(bucket), Some(rate)) if bucket.has_rate(rate.per_second, rate.tokens()))
        {
            self.rate = bucket(config);
        }
        self.budget.set_share(config.retry_budget);
        self.circuit.set_config(config.quarantine.clone());
        self.dead_letters.set_capacity(config.dead_letters);
    }

    /// See [`Queue::new_version`](super::Queue::new_version).
    pub(super) fn new_version(&mut self, now: Instant) -> bool {
        self.circuit.new_version(now)
    }

    /// Takes in a notification: constant time, or logarithmic in the number of waits where one gets shorter; where each
    /// change is kept, the one in half of `capacity` that is too many merges all of them.
    pub(super) fn offer(&mut self, notification: Notification, now: Instant) -> Offered {
        self.counts.offered += 1;
        let key = notification.key();
        let (source, mut entry) = Entry::new(notification, now);
        if self.closed {
            self.counts.discarded += 1;
            self.tracer.note(&source, || (key, Step::Discarded { verb: entry.change.verb() }));
            return Offered { wake: false, released: entry.tokens };
        }
        if self.keeps_controllers {
            entry.keep_controllers();
        }
        let (room, mut released) = self.make_room();
        let object = ObjectRef { source, key };
        let offered = match self.by_object.get(&object) {
            Some(&id) => self.extend(id, entry),
            None => {
                self.begin(object, entry);
                Offered { wake: true, released: Tokens::default() }
            }
        };
        released = released.and(offered.released);
        Offered { wake: offered.wake || room, released }
    }

    /// Hands out the next ready object. Its attempt counts from here on.
    pub(super) fn take(&mut self, now: Instant) -> Option<Taken> {
        if self.paused || !self.circuit.admits(now) {
            return None;
        }
        self.end_waits(now);
        self.pass_rate(now)?;
        let id = self.lanes.pop(&mut self.slots)?;
        let slot = self.slots.get_mut(id)?;
        let mut entry = slot.pending.pop()?;
        slot.place = Place::InHand { deletion: entry.is_deletion(), queued: entry.queued, since: now };
        entry.attempts = entry.attempts.saturating_add(1);
        let given_up = entry.take_given_up();
        if given_up > 0 && self.counts.controllers_given_up == 0 {
            let (resource, key) = (&slot.object.source, &slot.object.key);
            tracing::warn!(%resource, %key, "an object had too many controllers while it waited; some do not hear of it");
        }
        self.counts.controllers_given_up += given_up;
        let first = entry.attempts == 1;
        let taken = Taken { id, object: slot.object.clone(), entry };
        if first {
            self.budget.first_attempt();
        }
        self.circuit.begin(id);
        self.pending -= 1;
        self.catch_up();
        self.in_flight += 1;
        self.counts.delivered += 1;
        Some(taken)
    }

    /// Discards what is pending, and from now on what is offered or would be tried again.
    pub(super) fn close(&mut self) -> (Backlog, Vec<Tokens>) {
        self.closed = true;
        self.lanes = Lanes::default();
        self.waits.clear();
        let (mut backlog, mut released) = (Backlog::default(), Vec::with_capacity(self.pending));
        for (_, slot) in &mut self.slots {
            let pending = std::mem::take(&mut slot.pending);
            backlog.note(&slot.object, pending.iter().count());
            for entry in pending.iter() {
                let step = || (slot.object.key.clone(), Step::Discarded { verb: entry.change.verb() });
                self.tracer.note(&slot.object.source, step);
            }
            released.extend(pending.into_iter().map(|entry| entry.tokens));
        }
        self.slots.retain(|_, slot| matches!(slot.place, Place::InHand { .. }));
        self.by_object.retain(|_, id| self.slots.contains(*id));
        self.pending = 0;
        self.counts.discarded += backlog.notifications;
        (backlog, released)
    }

    pub(super) fn set_paused(&mut self, paused: bool) {
        self.paused = paused;
    }

    pub(super) fn is_closed(&self) -> bool {
        self.closed
    }

    /// When something may be handed out that is not now; none: when something is offered or settled, or a pause ends.
    pub(super) fn next_due(&self, now: Instant) -> Option<Instant> {
        let ready = || self.rate.as_ref().map_or(now, |rate| rate.next(now));
        let next = match self.waits.first() {
            _ if self.paused => return None,
            _ if !self.lanes.is_empty() => ready(),
            Some((due, _)) => ready().max(*due).max(self.budget.next(now)),
            None => return None,
        };
        Some(next.max(self.circuit.next(now)?))
    }

    /// Something will be handed out later without being offered then.
    pub(super) fn has_more_later(&self) -> bool {
        !self.waits.is_empty() || (self.rate.is_some() && !self.lanes.is_empty())
    }

    /// Nothing is in hand, and nothing will be handed out before `until` unless it is offered. A quarantine is waited for
    /// as little as a pause: a plugin that does not work would hold up the stop.
    pub(super) fn is_quiet(&self, until: Instant, now: Instant) -> bool {
        let later = || self.next_due(now).is_none_or(|due| due > until);
        let held_back = self.paused || self.circuit.is_open();
        self.in_flight == 0 && (held_back || (self.lanes.is_empty() && later()))
    }

    pub(super) fn dead_letters(&self) -> &Letters<DeadLetter> {
        &self.dead_letters
    }

    pub(super) fn dead_letters_mut(&mut self) -> &mut Letters<DeadLetter> {
        &mut self.dead_letters
    }

    pub(super) fn stats(&self, now: Instant) -> QueueStats {
        let in_hand = |slot: &Slot| match slot.place {
            Place::InHand { queued, .. } => Some(queued),
            Place::Ready { .. } | Place::Waiting { .. } => None,
        };
        let oldest = self
            .slots
            .iter()
            .flat_map(|(_, slot)| slot.pending.iter().map(|entry| entry.queued).chain(in_hand(slot)))
            .min();
        QueueStats {
            pending: self.pending,
            waiting: self.waits.len(),
            in_flight: self.in_flight,
            objects: self.slots.len(),
            oldest: oldest.map(|oldest| now.saturating_duration_since(oldest)),
            dead_letters: self.dead_letters.len(),
            dead_letters_evicted: self.dead_letters.evicted(),
            paused: self.paused,
            behind: self.behind,
            quarantine: self.circuit.quarantine(now),
            quarantines: self.circuit.opened(),
            ..self.counts.clone()
        }
    }

    #[cfg(test)]
    pub(super) fn slot_capacity(&self) -> usize {
        self.slots.capacity()
    }

    /// When a worker took what it has in hand.
    fn began(&self, taken: &Taken, now: Instant) -> Instant {
        match self.slots.get(taken.id).map(|slot| slot.place) {
            Some(Place::InHand { since, .. }) => since,
            // Not reached: a slot stays while it is in hand.
            _ => now,
        }
    }

    // --- taking in

    fn begin(&mut self, object: ObjectRef, entry: Entry) {
        let live = entry.live;
        let mut pending = Pending::default();
        let told = Told::of(&entry);
        let effect = pending.push(self.rule(), entry);
        self.count(&effect);
        told.note(&self.tracer, &object, &effect);
        let slot =
            Slot { object: object.clone(), pending, place: Place::Ready { live }, links: Links::default() };
        let id = self.slots.insert(slot);
        self.by_object.insert(object, id);
        self.lanes.push(&mut self.slots, id, live);
    }

    fn extend(&mut self, id: SlotId, mut entry: Entry) -> Offered {
        let rule = self.rule();
        let Some(slot) = self.slots.get_mut(id) else {
            // Not reached: the map holds live slots only.
            return Offered { wake: false, released: entry.tokens };
        };
        if let Place::InHand { deletion, .. } = slot.place {
            // What is in hand may be the object itself, except where it is its deletion.
            entry.unseen = deletion && !entry.is_deletion();
        }
        let told = Told::of(&entry);
        let effect = slot.pending.push(rule, entry);
        told.note(&self.tracer, &slot.object, &effect);
        self.count(&effect);
        match effect {
            Effect::Grew => Offered { wake: self.advance(id, false), released: Tokens::default() },
            Effect::Merged { newer, .. } => {
                Offered { wake: self.advance(id, newer), released: Tokens::default() }
            }
            Effect::Cancelled(released) => {
                self.end_if_empty(id);
                Offered { wake: false, released }
            }
        }
    }

    /// Moves an object forward that something was added to: into the live lane, or to the end of the wait that
    /// newer state has. True where somebody should look again.
    fn advance(&mut self, id: SlotId, newer: bool) -> bool {
        let Some(slot) = self.slots.get_mut(id) else { return false };
        match slot.place {
            Place::Ready { live: false } if slot.pending.is_live() => {
                slot.place = Place::Ready { live: true };
                self.lanes.remove(&mut self.slots, id, false);
                self.lanes.push(&mut self.slots, id, true);
                false
            }
            Place::Waiting { due, floor } if newer && floor < due => {
                slot.place = Place::Waiting { due: floor, floor };
                self.waits.remove(&(due, id));
                self.waits.insert((floor, id));
                true
            }
            Place::Ready { .. } | Place::Waiting { .. } | Place::InHand { .. } => false,
        }
    }

    /// Forgets an object whose pending entries took each other away.
    fn end_if_empty(&mut self, id: SlotId) {
        let Some(slot) = self.slots.get(id).filter(|slot| slot.pending.is_empty()) else { return };
        match slot.place {
            Place::InHand { .. } => return,
            Place::Ready { live } => self.lanes.remove(&mut self.slots, id, live),
            Place::Waiting { due, .. } => {
                self.waits.remove(&(due, id));
            }
        }
        self.forget(id);
    }

    // --- handing out

    /// None where nothing is ready, or the rate does not let it go yet.
    fn pass_rate(&mut self, now: Instant) -> Option<()> {
        if self.lanes.is_empty() {
            return None;
        }
        if let Some(rate) = &mut self.rate {
            if !rate.take(now) {
                self.held_by_rate = true;
                return None;
            }
            self.counts.rate_limited += u64::from(std::mem::take(&mut self.held_by_rate));
        }
        Some(())
    }

    fn end_waits(&mut self, now: Instant) {
        while let Some(&(due, id)) = self.waits.first()
            && due <= now
        {
            if !self.budget.allows(now) {
                self.held_by_budget = true;
                return;
            }
            self.counts.over_budget += u64::from(std::mem::take(&mut self.held_by_budget));
            self.waits.pop_first();
            self.enter_lane(id);
        }
    }

    fn enter_lane(&mut self, id: SlotId) {
        let Some(slot) = self.slots.get_mut(id) else { return };
        let live = slot.pending.is_live();
        slot.place = Place::Ready { live };
        self.lanes.push(&mut self.slots, id, live);
    }

    // --- forgetting and counting

    fn forget(&mut self, id: SlotId) {
        if let Some(slot) = self.slots.try_remove(id) {
            self.by_object.remove(&slot.object);
        }
        if self.slots.is_empty() && self.slots.capacity() > KEPT_SLOTS {
            self.slots.shrink_to_fit();
            self.by_object.shrink_to_fit();
        }
    }

    fn count(&mut self, effect: &Effect) {
        match effect {
            Effect::Grew => self.pending += 1,
            Effect::Merged { merge, .. } => self.counts.merged.count(*merge),
            Effect::Cancelled(_) => {
                self.pending -= 1;
                self.counts.cancelled += 2;
            }
        }
    }
}

fn bucket(config: &QueueConfig) -> Option<TokenBucket> {
    config.rate.map(|rate| TokenBucket::new(rate.per_second, rate.tokens()))
}
