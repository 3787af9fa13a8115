//! The notification queue as a data structure: the caller passes the time.

mod settlement;

use std::time::Instant;

use informer_types::{Cause, EventTrace, Failure, FailureKind, Notification, Step, TokenBucket, Tracer};

use super::{
    config::{Delivery, QueueConfig},
    keying::{Keying, Mode},
    stats::{Backlog, QueueStats, Standing},
};
use crate::{
    coalesce::{Effect, Merge, Pending},
    dead_letter::DeadLetter,
    entry::{Entry, ObjectRef, Tokens},
    keyed::{Circuit, Face, Idle, Keyed, Lane, Place, SlotId},
    letters::LetterBox,
    receipts::Receipts,
    retry::RetryBudget,
};

/// See [`Queue`](super::Queue) for the promises.
#[derive(Debug)]
pub(super) struct Notifications {
    pub(super) keyed: Keyed<ObjectRef, Item>,
    pub(super) keying: Option<Keying>,
    pub(super) letters: LetterBox<DeadLetter>,
    pub(super) receipts: Receipts,
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
    /// The workers that have to look after the present change.
    wake: usize,
    /// The sync tokens that the present change releases.
    released: Tokens,
}

/// What is pending or in flight for an object.
#[derive(Debug)]
pub(super) struct Item {
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

/// What the step of a notification that arrives shows.
struct Arrived {
    verb: &'static str,
    cause: Cause,
    trace: EventTrace,
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

// === impl Notifications ===

impl Notifications {
    pub(super) fn new(config: &QueueConfig, tracer: Tracer) -> Self {
        Self {
            keyed: Keyed::new(config.quarantine.clone()),
            keying: None,
            letters: LetterBox::new(config.dead_letters),
            receipts: Receipts::default(),
            delivery: Delivery::new(config.delivery),
            rate: bucket(config),
            held_by_rate: false,
            budget: RetryBudget::new(config.retry_budget),
            held_by_budget: false,
            counts: QueueStats::default(),
            pending: 0,
            closed: false,
            tracer,
            wake: 0,
            released: Tokens::default(),
        }
    }

    pub(super) fn configure(&mut self, config: &QueueConfig) {
        self.delivery.set_mode(config.delivery);
        if !matches!((&self.rate, config.rate), (Some(bucket), Some(rate)) if bucket.has_rate(rate.per_second, rate.tokens()))
        {
            self.rate = bucket(config);
        }
        self.budget.share = config.retry_budget;
        self.keyed.circuit.set_config(config.quarantine.clone());
        self.letters.set_capacity(config.dead_letters);
    }

    /// A version is in service. If it takes keys, everything pending becomes keys.
    pub(super) fn decide(&mut self, handles: bool, reconciles: bool) {
        let Some(keying) = self.keying.as_mut().filter(|_| !self.closed) else { return };
        let before = keying.mode();
        keying.decide(handles, reconciles);
        self.receipts.switch(keying.mode() != Mode::Keys);
        if before == keying.mode() || keying.mode() != Mode::Keys {
            return;
        }
        for id in self.keyed.ids(|_| true) {
            let Some((object, pending)) = self.take_pending(id) else { continue };
            self.keyed.stop_waiting(id);
            self.end_if_empty(id);
            for entry in pending {
                self.enqueue(&object, entry, before == Mode::Undecided);
            }
        }
    }

    /// Takes in a notification, in constant time, or in logarithmic time of the number of waits if a wait gets shorter. If
    /// each change is kept, the notification that exceeds the capacity merges everything pending.
    pub(super) fn offer(&mut self, notification: Notification, now: Instant) {
        self.counts.offered += 1;
        let key = notification.key();
        let (source, mut entry) = Entry::new(notification, now);
        if entry.cause == Cause::Initial && self.receipts.keeps(&source) {
            // The handler may have seen the object in an earlier process, so it has to receive the deletion.
            entry.unseen = false;
        }
        let object = ObjectRef { source, key };
        if self.closed {
            self.counts.discarded += 1;
            self.discard(&object, entry);
            return;
        }
        match &mut self.keying {
            Some(keying) if keying.mode() == Mode::Keys => return self.enqueue(&object, entry, false),
            Some(keying) if keying.mode() == Mode::Undecided => keying.note(&object, &entry),
            _ => {}
        }
        self.make_room();
        let id = match self.keyed.find(&object) {
            Some(id) => id,
            None => {
                let item = Item { pending: Pending::default(), floor: now, in_flight: None };
                self.keyed.insert(object, item)
            }
        };
        self.extend(id, entry);
    }

    /// Discards what is pending, and from now on every offer and every retry.
    pub(super) fn close(&mut self) -> Backlog {
        self.closed = true;
        let mut backlog = Backlog::default();
        for id in self.keyed.ids(|_| true) {
            let Some((object, pending)) = self.take_pending(id) else { continue };
            backlog.note(&object, pending.len());
            pending.into_iter().for_each(|entry| self.discard(&object, entry));
            self.end_if_empty(id);
        }
        self.counts.discarded += backlog.notifications;
        backlog
    }

    /// Returns true if nothing is in flight, and nothing will be handed out before `until` unless it is offered. A pause and a
    /// quarantine count as quiet: a plugin that does not work must not delay the shutdown.
    pub(super) fn is_quiet(&self, until: Instant, now: Instant) -> bool {
        let later = || self.next_due(now).is_none_or(|due| due > until);
        self.keyed.in_flight() == 0
            && (self.keyed.circuit.holds_back() || (!self.keyed.has_ready() && later()))
    }

    pub(super) fn stats(&self, now: Instant) -> QueueStats {
        let oldest = self.keyed.slots().flat_map(|slot| slot.payload.queued()).min();
        let (dead_letters, dead_letters_evicted) = self.letters.counts();
        QueueStats {
            pending: self.pending,
            waiting: self.keyed.waiting(),
            next_retry: self.keyed.next_retry(Item::attempts, now),
            in_flight: self.keyed.in_flight(),
            objects: self.keyed.len(),
            oldest: oldest.map(|oldest| now.saturating_duration_since(oldest)),
            dead_letters,
            dead_letters_evicted,
            paused: self.keyed.circuit.paused,
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
            attempts: item.attempts(),
            since: now.saturating_duration_since(oldest),
        })
    }

    // --- taking in

    /// Takes in a notification of an object.
    fn extend(&mut self, id: SlotId, mut entry: Entry) {
        let rule = self.delivery.rule();
        let Some(slot) = self.keyed.get_mut(id) else {
            // Not reached: the map has existing slots only.
            return self.released.add(entry.tokens);
        };
        if let Some(in_flight) = slot.payload.in_flight {
            // The handler may be seeing the object now, unless the call is its deletion.
            entry.unseen = in_flight.deletion && !entry.is_deletion();
        }
        let arrived = Arrived::of(&entry);
        let effect = slot.payload.pending.push(rule, entry);
        arrived.note(&self.tracer, &slot.key, &effect);
        let newer = self.count(effect);
        self.advance(id, newer);
        self.end_if_empty(id);
    }

    /// Merges everything pending if the queue falls behind.
    fn make_room(&mut self) {
        if !self.delivery.falls_behind(self.pending) {
            return;
        }
        self.counts.overflows += 1;
        for id in self.keyed.ids(|slot| slot.payload.pending.len() > 1) {
            let newer = self.merge_pending(id);
            self.advance(id, newer);
            self.end_if_empty(id);
        }
    }

    /// Merges the pending entries of one object. Returns true if the oldest entry now has newer state.
    fn merge_pending(&mut self, id: SlotId) -> bool {
        let (mut newer, mut merged) = (false, Pending::default());
        let rule = self.delivery.rule();
        let Some((object, entries)) = self.take_pending(id) else { return false };
        for entry in entries {
            let arrived = Arrived::of(&entry);
            let effect = merged.push(rule, entry);
            if !matches!(effect, Effect::Grew) {
                arrived.note(&self.tracer, &object, &effect);
            }
            newer |= self.count(effect);
        }
        if let Some(slot) = self.keyed.get_mut(id) {
            slot.payload.pending = merged;
        }
        newer
    }

    /// Takes everything that is pending for an object.
    fn take_pending(&mut self, id: SlotId) -> Option<(ObjectRef, Pending)> {
        let slot = self.keyed.get_mut(id)?;
        let pending = std::mem::take(&mut slot.payload.pending);
        self.pending -= pending.len();
        Some((slot.key.clone(), pending))
    }

    /// Moves an object forward after a notification was added: into its lane, or to the end of the shorter wait that newer
    /// state has.
    fn advance(&mut self, id: SlotId, newer: bool) {
        let Some(slot) = self.keyed.get(id).filter(|slot| slot.in_flight_since().is_none()) else { return };
        let floor = slot.payload.floor;
        match slot.due() {
            Some(due) if newer && floor < due => {
                self.keyed.wait_until(id, floor);
                self.wake(1);
            }
            Some(_) => {}
            None => {
                self.wake(usize::from(slot.place() == Place::Idle));
                self.make_ready(id);
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

    /// Adds the keys of a notification to the workqueue. With that the notification is acknowledged. If a key is too long, the
    /// notification becomes a dead letter.
    fn enqueue(&mut self, object: &ObjectRef, entry: Entry, added: bool) {
        if let Some(keying) = &self.keying {
            match keying.enqueue(object, &entry, added) {
                Ok(()) => {
                    self.counts.acknowledged += 1;
                    self.letters.withdraw(object);
                }
                Err(error) => {
                    self.counts.dead += 1;
                    let failure = Failure::new(FailureKind::Host, error.to_string());
                    self.letters.keep(DeadLetter::new(object.clone(), &entry, failure));
                }
            }
        }
        self.released.add(entry.tokens);
    }

    /// Wakes this many workers.
    fn wake(&mut self, workers: usize) {
        self.wake = self.wake.saturating_add(workers);
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
            _ if self.keyed.circuit.paused => return None,
            _ if self.keyed.has_ready() => ready(),
            Some(due) => ready().max(due).max(self.budget.next(now)),
            None => return None,
        };
        Some(next.max(self.keyed.circuit.next(now)?))
    }

    // --- counting

    /// Counts the effect of an entry. Returns true if the oldest entry now has newer state.
    fn count(&mut self, effect: Effect) -> bool {
        match effect {
            Effect::Grew => self.pending += 1,
            Effect::Merged { merge, newer } => {
                self.counts.merged.count(merge);
                return newer;
            }
            Effect::Cancelled(tokens) => {
                self.pending -= 1;
                self.counts.cancelled += 2;
                self.released.add(tokens);
            }
        }
        false
    }

    fn discard(&mut self, object: &ObjectRef, entry: Entry) {
        let step = || (object.key.clone(), Step::Discarded { verb: entry.change.verb() });
        self.tracer.note_of(&object.source, &entry.observed.trace, None, step);
        self.released.add(entry.tokens);
    }
}

impl Face for Notifications {
    type Held = Taken;
    type Released = Tokens;

    /// Hands out the next ready object. From here on its attempt counts.
    fn take(&mut self, now: Instant) -> Option<Taken> {
        if !self.keyed.circuit.admits(now) {
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

    fn give_back(&mut self, taken: Taken, now: Instant) {
        self.put_back(taken, true, now);
    }

    fn circuit(&mut self) -> &mut Circuit {
        &mut self.keyed.circuit
    }

    fn effects(&mut self) -> (usize, Tokens) {
        (std::mem::take(&mut self.wake), std::mem::take(&mut self.released))
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

    /// Failed calls of the oldest pending entry. No other entry was called yet.
    fn attempts(&self) -> u32 {
        self.pending.iter().next().map_or(0, |entry| entry.attempts)
    }
}

// === impl Arrived ===

impl Arrived {
    fn of(entry: &Entry) -> Self {
        let trace = entry.observed.trace.clone();
        Self { verb: entry.change.verb(), cause: entry.cause, trace }
    }

    /// Writes the step that the notification took.
    fn note(&self, tracer: &Tracer, object: &ObjectRef, effect: &Effect) {
        let Self { verb, cause, .. } = *self;
        let step = || match effect {
            Effect::Grew => Step::Queued { verb, cause },
            Effect::Merged { merge, .. } => Step::Merged { verb, cause, into: word(*merge) },
            Effect::Cancelled(_) => Step::Cancelled { verb },
        };
        tracer.note_of(&object.source, &self.trace, None, || (object.key.clone(), step()));
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
