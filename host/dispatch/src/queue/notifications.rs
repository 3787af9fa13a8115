//! The notification queue as a data structure: the caller passes the time.

mod settlement;

use std::time::Instant;

use informer_types::{Cause, Notification, Step, TokenBucket, Tracer};

pub(super) use settlement::Outcome;

use super::{
    budget::RetryBudget,
    config::QueueConfig,
    delivery::Delivery,
    keying::{Keying, Mode},
    stats::{Backlog, QueueStats, Standing},
};
use crate::{
    ObjectRef,
    coalesce::Merge,
    dead_letter::DeadLetter,
    entry::{Entry, Tokens},
    keyed::{Face, Idle, Keyed, Lane, SlotId, Wake},
    letters::LetterBox,
    pending::{Effect, Pending},
};

/// See [`Queue`](super::Queue) for the promises.
#[derive(Debug)]
pub(super) struct Notifications {
    keyed: Keyed<ObjectRef, Item>,
    keying: Option<Keying>,
    letters: LetterBox<DeadLetter>,
    delivery: Delivery,
    rate: Option<TokenBucket>,
    /// A notification was ready, and the rate held it back.
    held_by_rate: bool,
    budget: RetryBudget,
    /// A retry was due, and the budget held it back.
    held_by_budget: bool,
    /// The counters; the gauges in it stay zero.
    counts: QueueStats,
    pending: usize,
    closed: bool,
    tracer: Tracer,
}

/// What is pending or in flight for an object.
#[derive(Debug)]
struct Item {
    pending: Pending,
    /// While the object waits for a retry: newer state does not wait longer than this.
    floor: Instant,
    /// The entry in flight, while there is one.
    in_flight: Option<InFlight>,
}

#[derive(Clone, Copy, Debug)]
struct InFlight {
    /// The entry is a deletion, so the handler does not know the object afterwards.
    deletion: bool,
    /// When the entry was queued.
    queued: Instant,
}

/// What [`Notifications::offer`] leaves to its caller.
#[derive(Debug)]
pub(super) struct Offered {
    /// A worker that waits has to look.
    pub(super) wake: bool,
    /// Sync tokens to be dropped outside the lock.
    pub(super) released: Tokens,
}

/// A notification in flight.
#[derive(Debug)]
pub(super) struct Taken {
    id: SlotId,
    pub(super) object: ObjectRef,
    pub(super) entry: Entry,
    /// When the worker took it.
    pub(super) since: Instant,
}

/// The verb and the cause of a notification, for its steps.
#[derive(Clone, Copy)]
struct Arrived {
    verb: &'static str,
    cause: Cause,
}

// === impl Notifications ===

impl Notifications {
    pub(super) fn new(config: &QueueConfig, tracer: Tracer) -> Self {
        Self {
            keyed: Keyed::new(config.quarantine.clone()),
            keying: None,
            letters: LetterBox::new(config.dead_letters),
            delivery: Delivery::new(config.delivery),
            rate: bucket(config),
            held_by_rate: false,
            budget: RetryBudget::new(config.retry_budget),
            held_by_budget: false,
            counts: QueueStats::default(),
            pending: 0,
            closed: false,
            tracer,
        }
    }

    pub(super) fn configure(&mut self, config: &QueueConfig) {
        self.delivery.set_mode(config.delivery);
        if !matches!((&self.rate, config.rate), (Some(bucket), Some(rate)) if bucket.has_rate(rate.per_second, rate.tokens()))
        {
            self.rate = bucket(config);
        }
        self.budget.set_share(config.retry_budget);
        self.keyed.circuit.set_config(config.quarantine.clone());
        self.letters.set_capacity(config.dead_letters);
    }

    pub(super) fn set_keying(&mut self, keying: Keying) {
        self.keying = Some(keying);
    }

    /// A version is in service. If it takes keys, everything pending becomes keys. Returns sync tokens to be dropped outside
    /// the lock.
    pub(super) fn decide(&mut self, handles: bool, reconciles: bool) -> Vec<Tokens> {
        let Some(keying) = self.keying.as_mut().filter(|_| !self.closed) else { return Vec::new() };
        let before = keying.mode();
        keying.decide(handles, reconciles);
        if before == keying.mode() || keying.mode() != Mode::Keys {
            return Vec::new();
        }
        let mut released = Vec::with_capacity(self.pending);
        let all: Vec<SlotId> = self.keyed.iter().map(|(id, _)| id).collect();
        for id in all {
            let Some(slot) = self.keyed.get_mut(id) else { continue };
            let (object, pending) = (slot.key.clone(), std::mem::take(&mut slot.payload.pending));
            self.keyed.stop_waiting(id);
            self.end_if_empty(id);
            for entry in pending {
                self.pending -= 1;
                released.push(self.enqueue(&object, entry, before == Mode::Undecided));
            }
        }
        released
    }

    /// Returns true if there is a quarantine, whose next probe is due now.
    pub(super) fn new_version(&mut self, now: Instant) -> bool {
        self.keyed.circuit.new_version(now)
    }

    /// Takes in a notification, in constant time, or in logarithmic time of the number of waits if a wait gets shorter. If
    /// each change is kept, the notification that exceeds the capacity merges everything pending.
    pub(super) fn offer(&mut self, notification: Notification, now: Instant) -> Offered {
        self.counts.offered += 1;
        let key = notification.key();
        let (source, entry) = Entry::new(notification, now);
        let object = ObjectRef { source, key };
        if self.closed {
            self.counts.discarded += 1;
            self.note_discarded(&object, &entry);
            return Offered { wake: false, released: entry.tokens };
        }
        match self.keying.as_mut().map_or(Mode::Handlers, |keying| keying.mode()) {
            Mode::Keys => {
                return Offered { wake: false, released: self.enqueue(&object, entry, false) };
            }
            Mode::Undecided => {
                if let Some(keying) = &mut self.keying {
                    keying.note(&object, &entry);
                }
            }
            Mode::Handlers => {}
        }
        let (room, released) = self.make_room();
        let offered = match self.keyed.find(&object) {
            Some(id) => self.extend(id, entry),
            None => self.begin(object, entry, now),
        };
        Offered { wake: offered.wake || room, released: released.and(offered.released) }
    }

    /// Discards what is pending, and from now on every offer and every retry.
    pub(super) fn close(&mut self) -> (Backlog, Vec<Tokens>) {
        self.closed = true;
        let (mut backlog, mut released) = (Backlog::default(), Vec::with_capacity(self.pending));
        let all: Vec<SlotId> = self.keyed.iter().map(|(id, _)| id).collect();
        for id in all {
            let Some(slot) = self.keyed.get_mut(id) else { continue };
            let (object, pending) = (slot.key.clone(), std::mem::take(&mut slot.payload.pending));
            backlog.note(&object, pending.len());
            for entry in pending {
                self.note_discarded(&object, &entry);
                released.push(entry.tokens);
            }
            self.end_if_empty(id);
        }
        self.pending = 0;
        self.counts.discarded += backlog.notifications;
        (backlog, released)
    }

    pub(super) fn set_paused(&mut self, paused: bool) {
        self.keyed.set_paused(paused);
    }

    /// Returns true if nothing is in flight, and nothing will be handed out before `until` unless it is offered. A pause and a
    /// quarantine count as quiet: a plugin that does not work must not delay the shutdown.
    pub(super) fn is_quiet(&self, until: Instant, now: Instant) -> bool {
        let later = || self.next_due(now).is_none_or(|due| due > until);
        let held_back = self.keyed.is_paused() || self.keyed.circuit.is_open();
        self.keyed.in_flight() == 0 && (held_back || (!self.keyed.has_ready() && later()))
    }

    pub(super) fn letters(&self) -> &LetterBox<DeadLetter> {
        &self.letters
    }

    pub(super) fn stats(&self, now: Instant) -> QueueStats {
        let oldest = self.keyed.iter().flat_map(|(_, slot)| slot.payload.queued()).min();
        QueueStats {
            pending: self.pending,
            waiting: self.keyed.waiting(),
            in_flight: self.keyed.in_flight(),
            objects: self.keyed.len(),
            oldest: oldest.map(|oldest| now.saturating_duration_since(oldest)),
            dead_letters: self.letters.count(),
            dead_letters_evicted: self.letters.evicted(),
            paused: self.keyed.is_paused(),
            behind: self.delivery.is_behind(),
            quarantine: self.keyed.circuit.quarantine(now),
            quarantines: self.keyed.circuit.opened(),
            ..self.counts.clone()
        }
    }

    pub(super) fn standing(&self, object: &ObjectRef, now: Instant) -> Option<Standing> {
        let slot = self.keyed.get(self.keyed.find(object)?)?;
        let item = &slot.payload;
        let oldest = item.queued().min().unwrap_or(now);
        Some(Standing {
            stands: slot.stands(now),
            pending: item.pending.iter().map(|entry| entry.change.verb()).collect(),
            // Only the oldest entry may have failed.
            attempts: item.pending.iter().next().map_or(0, |entry| entry.attempts),
            since: now.saturating_duration_since(oldest),
        })
    }

    #[cfg(test)]
    pub(super) fn slot_capacity(&self) -> usize {
        self.keyed.slot_capacity()
    }

    // --- taking in

    fn begin(&mut self, object: ObjectRef, entry: Entry, now: Instant) -> Offered {
        let lane = Lane::of(entry.live);
        let mut item = Item { pending: Pending::default(), floor: now, in_flight: None };
        let arrived = Arrived::new(&entry);
        let effect = item.pending.push(self.delivery.rule(), entry);
        self.count(&effect);
        arrived.note(&self.tracer, &object, &effect);
        let id = self.keyed.insert(object, item);
        self.keyed.make_ready(id, lane);
        Offered { wake: true, released: Tokens::default() }
    }

    fn extend(&mut self, id: SlotId, mut entry: Entry) -> Offered {
        let rule = self.delivery.rule();
        let Some(slot) = self.keyed.get_mut(id) else {
            // Not reached: the map has existing slots only.
            return Offered { wake: false, released: entry.tokens };
        };
        if let Some(in_flight) = slot.payload.in_flight {
            // The handler may be seeing the object now, unless the call is its deletion.
            entry.unseen = in_flight.deletion && !entry.is_deletion();
        }
        let arrived = Arrived::new(&entry);
        let effect = slot.payload.pending.push(rule, entry);
        arrived.note(&self.tracer, &slot.key, &effect);
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

    /// Merges everything pending if the queue falls behind. Returns true if a worker has to look, and sync tokens to be
    /// dropped outside the lock.
    fn make_room(&mut self) -> (bool, Tokens) {
        let (mut wake, mut released) = (false, Tokens::default());
        if self.delivery.falls_behind(self.pending) {
            self.counts.overflows += 1;
            let several = self.keyed.iter().filter(|(_, slot)| slot.payload.pending.len() > 1);
            let several: Vec<SlotId> = several.map(|(id, _)| id).collect();
            for id in several {
                let (newer, tokens) = self.merge_pending(id);
                released = released.and(tokens);
                wake |= self.advance(id, newer);
                self.end_if_empty(id);
            }
        }
        (wake, released)
    }

    /// Merges the pending entries of one object. Returns true if the oldest entry now has newer state.
    fn merge_pending(&mut self, id: SlotId) -> (bool, Tokens) {
        let (mut newer, mut released) = (false, Tokens::default());
        let rule = self.delivery.rule();
        let Some(slot) = self.keyed.get_mut(id) else { return (newer, released) };
        let (entries, object) = (std::mem::take(&mut slot.payload.pending), slot.key.clone());
        self.pending -= entries.len();
        let mut merged = Pending::default();
        for entry in entries {
            let arrived = Arrived::new(&entry);
            let effect = merged.push(rule, entry);
            if !matches!(effect, Effect::Grew) {
                arrived.note(&self.tracer, &object, &effect);
            }
            self.count(&effect);
            match effect {
                Effect::Grew => {}
                Effect::Merged { newer: first, .. } => newer |= first,
                Effect::Cancelled(tokens) => released = released.and(tokens),
            }
        }
        if let Some(slot) = self.keyed.get_mut(id) {
            slot.payload.pending = merged;
        }
        (newer, released)
    }

    /// Moves an object forward after a notification was added: into the live lane, or to the end of the shorter wait that
    /// newer state has. Returns true if a worker has to look.
    fn advance(&mut self, id: SlotId, newer: bool) -> bool {
        let Some(slot) = self.keyed.get(id).filter(|slot| slot.in_flight_since().is_none()) else {
            return false;
        };
        let floor = slot.payload.floor;
        match slot.due() {
            Some(due) if newer && floor < due => {
                self.keyed.wait_until(id, floor);
                true
            }
            Some(_) => false,
            None => {
                if slot.payload.pending.is_live() {
                    self.keyed.make_ready(id, Lane::Live);
                }
                false
            }
        }
    }

    /// Forgets an object that has nothing pending and nothing in flight.
    fn end_if_empty(&mut self, id: SlotId) {
        let slot = self.keyed.get(id);
        if slot.is_some_and(|slot| slot.in_flight_since().is_none() && slot.payload.pending.is_empty()) {
            self.keyed.forget(id);
        }
    }

    /// Adds the keys of a notification to the workqueue. With that the notification is acknowledged. Returns its sync tokens.
    fn enqueue(&mut self, object: &ObjectRef, entry: Entry, added: bool) -> Tokens {
        let Some(keying) = &self.keying else { return entry.tokens };
        let enqueued = if added { keying.check(object, &entry) } else { keying.enqueue(object, &entry) };
        match enqueued {
            Ok(()) => {
                self.counts.acknowledged += 1;
                self.letters.withdraw(object);
            }
            Err(error) => self.refuse_key(object, &entry, &error),
        }
        entry.tokens
    }

    // --- handing out

    /// Returns `None` if nothing is ready, or if the rate holds it back.
    fn pass_rate(&mut self, now: Instant) -> Option<()> {
        if !self.keyed.has_ready() {
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
        while self.keyed.first_due().is_some_and(|due| due <= now) {
            if !self.budget.allows(now) {
                self.held_by_budget = true;
                return;
            }
            self.counts.over_budget += u64::from(std::mem::take(&mut self.held_by_budget));
            if let Some((id, _)) = self.keyed.pop_due(now) {
                self.make_ready(id);
            }
        }
    }

    fn make_ready(&mut self, id: SlotId) {
        let Some(slot) = self.keyed.get(id) else { return };
        self.keyed.make_ready(id, Lane::of(slot.payload.pending.is_live()));
    }

    /// When something can be handed out that cannot be now. Returns `None` if that needs an offer, a settlement or the end of a
    /// pause.
    fn next_due(&self, now: Instant) -> Option<Instant> {
        let ready = || self.rate.as_ref().map_or(now, |rate| rate.next(now));
        let next = match self.keyed.first_due() {
            _ if self.keyed.is_paused() => return None,
            _ if self.keyed.has_ready() => ready(),
            Some(due) => ready().max(due).max(self.budget.next(now)),
            None => return None,
        };
        Some(next.max(self.keyed.circuit.next(now)?))
    }

    // --- counting

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

    fn note_discarded(&self, object: &ObjectRef, entry: &Entry) {
        let step = || (object.key.clone(), Step::Discarded { verb: entry.change.verb() });
        self.tracer.note(&object.source, step);
    }
}

impl Face for Notifications {
    type Held = Taken;

    /// Hands out the next ready object. From here on its attempt counts.
    fn take(&mut self, now: Instant) -> Option<Taken> {
        if !self.keyed.may_hand_out(now) {
            return None;
        }
        self.end_waits(now);
        self.pass_rate(now)?;
        let id = self.keyed.begin(now)?;
        let slot = self.keyed.get_mut(id)?;
        let mut entry = slot.payload.pending.pop()?;
        slot.payload.in_flight = Some(InFlight { deletion: entry.is_deletion(), queued: entry.queued });
        // From here on the handler may have seen the object.
        (entry.attempts, entry.unseen) = (entry.attempts.saturating_add(1), false);
        let taken = Taken { id, object: slot.key.clone(), entry, since: now };
        if taken.entry.attempts == 1 {
            self.budget.first_attempt();
        }
        self.pending -= 1;
        self.delivery.catch_up(self.pending);
        self.counts.delivered += 1;
        Some(taken)
    }

    fn idle(&self, now: Instant) -> Idle {
        if self.closed { Idle::Over } else { Idle::Until(self.next_due(now)) }
    }

    /// Something will be handed out later without a further offer.
    fn wakes_another(&mut self, _now: Instant) -> bool {
        self.keyed.waiting() > 0 || (self.rate.is_some() && self.keyed.has_ready())
    }

    fn give_back(&mut self, taken: Taken, now: Instant) -> (Box<dyn Send>, Wake) {
        let (outcome, wake) = self.put_back(taken, now);
        (Box::new(outcome), wake)
    }
}

fn bucket(config: &QueueConfig) -> Option<TokenBucket> {
    config.rate.map(|rate| TokenBucket::new(rate.per_second, rate.tokens()))
}

// === impl Item ===

impl Item {
    /// When each entry was queued, pending or in flight.
    fn queued(&self) -> impl Iterator<Item = Instant> {
        let in_flight = self.in_flight.map(|in_flight| in_flight.queued);
        self.pending.iter().map(|entry| entry.queued).chain(in_flight)
    }
}

// === impl Arrived ===

impl Arrived {
    fn new(entry: &Entry) -> Self {
        Self { verb: entry.change.verb(), cause: entry.cause }
    }

    /// Writes the step that a notification took.
    fn note(self, tracer: &Tracer, object: &ObjectRef, effect: &Effect) {
        let Self { verb, cause } = self;
        let step = || match effect {
            Effect::Grew => Step::Queued { verb, cause },
            Effect::Merged { merge, .. } => Step::Merged { verb, cause, into: word(*merge) },
            Effect::Cancelled(_) => Step::Cancelled { verb },
        };
        tracer.note(&object.source, || (object.key.clone(), step()));
    }
}

fn word(merge: Merge) -> &'static str {
    match merge {
        Merge::Add => "add",
        Merge::Update => "update",
        Merge::Delete => "delete",
        // A resync changes nothing of the pending notification.
        Merge::Resync => "what it is",
    }
}
