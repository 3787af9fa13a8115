//! The notification queue as a data structure: the caller passes the time.

mod arrived;
mod item;
mod settlement;

use std::{
    collections::BTreeMap,
    time::{Duration, Instant},
};

use informer_types::{Cause, Failure, FailureKind, Notification, Source, Step, TokenBucket, Tracer, WorkKey};

use super::{
    config::{Merging, QueueConfig},
    keying::{Keying, Mode},
    stats::{Backlog, QueueStats, Standing},
};
use crate::{
    coalesce::{Effect, Pending},
    dead_letter::DeadLetter,
    entry::{Entry, ObjectRef, Tokens},
    keyed::{Circuit, Idle, Keyed, Lane, Place, QueueState, Slot, SlotId},
    letters::LetterBox,
    receipts::Receipts,
    retry::RetryBudget,
};

use arrived::Arrived;
use item::{InFlight, Item};

/// See [`Queue`](super::Queue) for the promises.
#[derive(Debug)]
pub(super) struct Notifications {
    pub(super) keyed: Keyed<ObjectRef, Item>,
    pub(super) keying: Option<Keying>,
    pub(super) letters: LetterBox<DeadLetter>,
    pub(super) receipts: Receipts,
    merging: Merging,
    /// How long an object has to be quiet before its change is delivered.
    settle: BTreeMap<Source, Duration>,
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
    pub(super) tracer: Tracer,
    /// The workers that have to look after the present change.
    wake: usize,
    /// The sync tokens that the present change releases.
    released: Tokens,
}

/// A notification in flight.
#[derive(Debug)]
pub(super) struct Taken {
    id: SlotId,
    pub(super) object: ObjectRef,
    pub(super) entry: Entry,
    /// No other notification may be in its call.
    pub(super) alone: bool,
    /// When the worker took it.
    pub(super) since: Instant,
}

// === impl Notifications ===

impl Notifications {
    pub(super) fn new(config: &QueueConfig) -> Self {
        Self {
            keyed: Keyed::new(config.quarantine.clone()),
            keying: None,
            letters: LetterBox::new(config.dead_letters),
            receipts: Receipts::default(),
            merging: Merging::new(config.delivery),
            settle: config.settle.clone(),
            rate: config.bucket(),
            held_by_rate: false,
            budget: RetryBudget::new(config.retry_budget),
            held_by_budget: false,
            counts: QueueStats::default(),
            pending: 0,
            closed: false,
            tracer: Tracer::default(),
            wake: 0,
            released: Tokens::default(),
        }
    }

    pub(super) fn configure(&mut self, config: &QueueConfig, now: Instant) {
        self.merging.set_mode(config.delivery);
        if !matches!((&self.rate, config.rate), (Some(bucket), Some(rate)) if bucket.has_rate(rate.per_second, rate.tokens()))
        {
            self.rate = config.bucket();
        }
        self.budget.share = config.retry_budget;
        self.keyed.circuit.set_config(config.quarantine.clone());
        self.letters.set_capacity(config.dead_letters);
        if self.settle != config.settle {
            self.set_settle(config.settle.clone(), now);
        }
    }

    /// Changes how long objects have to be quiet. Objects that are not quiet yet wait for that time from their last change.
    pub(super) fn set_settle(&mut self, settle: BTreeMap<Source, Duration>, now: Instant) {
        self.settle = settle;
        for id in self.keyed.ids(|slot| slot.payload.settling.is_some()) {
            self.advance(id, false, now);
        }
    }

    /// The version in service has no handler, only a reconciler.
    fn takes_keys(&self) -> bool {
        !self.closed && self.keying.as_ref().map(Keying::mode) == Some(Mode::Keys)
    }

    /// A version is in service. If it takes keys, everything pending becomes keys, and a quarantine ends, because no probe could end it.
    pub(super) fn decide(&mut self, handles: bool, reconciles: bool) {
        let Some(keying) = &mut self.keying else { return };
        if self.closed {
            return keying.hold(!reconciles);
        }
        let (before, is_complete) = (keying.mode(), keying.decide(handles, reconciles));
        self.receipts.switch(keying.mode() != Mode::Keys);
        if before == keying.mode() || keying.mode() != Mode::Keys {
            return;
        }
        self.keyed.circuit.end();
        for id in self.keyed.ids(|_| true) {
            let Some((object, pending)) = self.take_pending(id) else { continue };
            self.keyed.stop_waiting(id);
            self.keyed.end_quiet(id);
            self.keyed.get_mut(id).into_iter().for_each(|slot| slot.payload.settling = None);
            self.end_if_empty(id);
            for entry in pending {
                self.enqueue(&object, entry, before == Mode::Undecided && is_complete);
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
        let settles = entry.is_change() && self.settle.contains_key(&object.source);
        match &mut self.keying {
            Some(keying) if keying.mode() == Mode::Keys && !settles => {
                return self.enqueue_at_once(&object, entry);
            }
            Some(keying) if keying.mode() == Mode::Undecided => keying.note(&object, &entry),
            _ => {}
        }
        self.make_room(now);
        let id = match self.keyed.find(&object) {
            Some(id) => id,
            None => self.keyed.insert(object, Item::new(now)),
        };
        self.extend(id, entry, now);
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
        self.keyed.in_flight() == 0 && (self.keyed.circuit.holds_back() || later())
    }

    pub(super) fn stats(&self, now: Instant) -> QueueStats {
        let oldest = self.keyed.slots().flat_map(|slot| slot.payload.queued()).min();
        let (dead_letters, dead_letters_evicted) = self.letters.counts();
        let settling = self.keyed.settling();
        QueueStats {
            pending: self.pending,
            delayed: self.keyed.delayed() + settling,
            settling,
            next_retry: self.keyed.next_retry(Item::attempts, now),
            in_flight: self.keyed.in_flight(),
            objects: self.keyed.len(),
            oldest: oldest.map(|oldest| now.saturating_duration_since(oldest)),
            dead_letters,
            dead_letters_evicted,
            paused: self.keyed.circuit.paused,
            behind: self.merging.is_behind(self.pending),
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
            quiet_in: slot.quiet().map(|quiet| quiet.saturating_duration_since(now)),
        })
    }

    // --- taking in

    /// Takes in a notification of an object.
    fn extend(&mut self, id: SlotId, mut entry: Entry, now: Instant) {
        let rule = self.merging.rule();
        self.note_change(id, &entry, now);
        let Some(slot) = self.keyed.get_mut(id) else {
            // Not reached: the map has existing slots only.
            return self.released.add(entry.tokens);
        };
        if let Some(in_flight) = slot.payload.in_flight {
            // The handler may be seeing the object now, unless the call is its deletion.
            entry.unseen = in_flight.deletion && !entry.is_deletion();
        }
        if entry.is_renewal() && !slot.payload.pending.iter().chain([&entry]).any(|entry| entry.unseen) {
            self.receipts.renewed(&slot.key, &entry.change);
        }
        let arrived = Arrived::of(&entry);
        let effect = slot.payload.pending.push(rule, entry);
        arrived.note(&self.tracer, &slot.key, &effect);
        let newer = self.count(id, effect);
        self.advance(id, newer, now);
        self.end_if_empty(id);
    }

    /// Begins, prolongs or ends the wait until an object is quiet.
    fn note_change(&mut self, id: SlotId, entry: &Entry, now: Instant) {
        let Some(slot) = self.keyed.get_mut(id) else { return };
        let quiet = self.settle.get(&slot.key.source).copied().filter(|_| entry.is_change());
        let is_retried = slot.due().is_some();
        slot.payload.note_change(entry, quiet, is_retried, now);
        if let (Some(settling), Some(keying)) = (&mut slot.payload.settling, &self.keying)
            && keying.mode() == Mode::Keys
        {
            settling.note(keying.keys(&slot.key, entry));
        }
    }

    /// When an object is quiet, if its next notification waits for that.
    fn quiet_at(&self, id: SlotId, now: Instant) -> Option<Instant> {
        let slot = self.keyed.get(id)?;
        slot.payload.quiet_at(*self.settle.get(&slot.key.source)?, now)
    }

    /// Merges everything pending if the queue falls behind.
    fn make_room(&mut self, now: Instant) {
        if !self.merging.falls_behind(self.pending) {
            return;
        }
        self.counts.overflows += 1;
        for id in self.keyed.ids(|slot| slot.payload.pending.len() > 1) {
            let newer = self.merge_pending(id);
            self.advance(id, newer, now);
            self.end_if_empty(id);
        }
    }

    /// Merges the pending entries of one object. Returns true if the oldest entry now has newer state.
    fn merge_pending(&mut self, id: SlotId) -> bool {
        let (mut newer, mut merged) = (false, Pending::default());
        let rule = self.merging.rule();
        let Some((object, entries)) = self.take_pending(id) else { return false };
        for entry in entries {
            let arrived = Arrived::of(&entry);
            let effect = merged.push(rule, entry);
            if !matches!(effect, Effect::Grew) {
                arrived.note(&self.tracer, &object, &effect);
            }
            newer |= self.count(id, effect);
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

    /// Decides when an object is handed out, after its pending notifications changed. The object goes into its lane, waits until it is
    /// quiet, or waits for its retry. Newer state shortens the wait for a retry to the floor, also newer state that came earlier and
    /// waits until the object is quiet.
    fn advance(&mut self, id: SlotId, newer: bool, now: Instant) {
        let Some(slot) = self.keyed.get(id).filter(|slot| slot.in_flight_since().is_none()) else { return };
        let (floor, idle) = (slot.payload.floor, slot.place() == Place::Idle);
        let newer = newer || slot.quiet().is_some();
        match (slot.due(), self.quiet_at(id, now)) {
            (Some(_), Some(quiet)) if newer => self.wait_for_quiet(id, quiet.max(floor)),
            (Some(_), Some(_)) => {}
            (None, Some(quiet)) => {
                self.keyed.leave_lane(id);
                self.wait_for_quiet(id, quiet);
            }
            (Some(due), None) => {
                self.keyed.end_quiet(id);
                if newer && floor < due {
                    self.keyed.wait_until(id, floor);
                    self.wake(1);
                }
            }
            (None, None) => {
                self.keyed.end_quiet(id);
                self.wake(usize::from(idle));
                self.make_ready(id);
            }
        }
    }

    fn wait_for_quiet(&mut self, id: SlotId, quiet: Instant) {
        let before = self.keyed.get(id).and_then(Slot::quiet);
        if before != Some(quiet) {
            self.keyed.quiet_at(id, quiet);
            // A worker that sleeps until an earlier time looks again by itself.
            self.wake(usize::from(before.is_none_or(|before| quiet < before)));
        }
    }

    /// Forgets an object that has nothing pending and nothing in flight.
    fn end_if_empty(&mut self, id: SlotId) {
        let slot = self.keyed.get(id);
        if slot.is_some_and(|slot| slot.in_flight_since().is_none() && slot.payload.pending.is_empty()) {
            self.keyed.forget(id);
        }
    }

    /// Adds the keys of a notification that does not wait. The keys of a deletion come after the keys of earlier changes.
    fn enqueue_at_once(&mut self, object: &ObjectRef, entry: Entry) {
        if let Some(id) = self.keyed.find(object).filter(|_| entry.is_deletion()) {
            self.enqueue_pending(id);
        }
        self.enqueue(object, entry, false);
    }

    /// Adds the keys of all changes of an object that is quiet.
    fn enqueue_pending(&mut self, id: SlotId) {
        let settling = self.keyed.get_mut(id).and_then(|slot| slot.payload.settling.take());
        self.keyed.end_quiet(id);
        let Some((object, pending)) = self.take_pending(id) else { return };
        self.end_if_empty(id);
        let keys = settling.map(|settling| settling.into_keys()).unwrap_or_default();
        for entry in pending {
            self.enqueue_keys(&object, entry, &keys, false);
        }
    }

    /// Adds the keys of a notification to the workqueue.
    fn enqueue(&mut self, object: &ObjectRef, entry: Entry, added: bool) {
        let keys = self.keying.as_ref().map(|keying| keying.keys(object, &entry)).unwrap_or_default();
        self.enqueue_keys(object, entry, &keys, added);
    }

    /// Adds keys of a notification to the workqueue. With that the notification is acknowledged. If a key is too long, the
    /// notification becomes a dead letter.
    fn enqueue_keys(&mut self, object: &ObjectRef, entry: Entry, keys: &[WorkKey], added: bool) {
        if let Some(keying) = &self.keying {
            match keying.enqueue(keys, object, &entry, added) {
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

    /// Hands out the next ready object for a worker that has taken one already. Returns `None` if the next object has to be
    /// delivered alone.
    pub(super) fn take_along(&mut self, now: Instant) -> Option<Taken> {
        if self.takes_keys() || !self.keyed.circuit.admits(now) {
            return None;
        }
        self.end_waits(now);
        let next = self.keyed.get(self.keyed.first_ready()?)?;
        if next.payload.alone { None } else { self.hand_out(now) }
    }

    /// Hands out the object whose turn it is. From here on its attempt counts.
    fn hand_out(&mut self, now: Instant) -> Option<Taken> {
        self.pass_rate(now)?;
        let id = self.keyed.begin(now)?;
        let slot = self.keyed.get_mut(id)?;
        let mut entry = slot.payload.pending.pop()?;
        if slot.payload.pending.is_empty() {
            slot.payload.settling = None;
        }
        slot.payload.in_flight = Some(InFlight::of(&entry, self.receipts.expiries()));
        // From here on the handler may have seen the object.
        (entry.attempts, entry.unseen) = (entry.attempts.saturating_add(1), false);
        if !std::mem::replace(&mut entry.counted, true) {
            self.budget.first_attempt();
            self.receipts.begun(&slot.key, &entry.change);
        }
        let taken = Taken { id, object: slot.key.clone(), alone: slot.payload.alone, entry, since: now };
        self.pending -= 1;
        self.merging.catch_up(self.pending);
        self.counts.delivered += 1;
        Some(taken)
    }

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

    /// Objects that are quiet become ready, or their keys are added.
    fn end_quiets(&mut self, now: Instant) {
        while let Some(id) = self.keyed.pop_quiet(now) {
            if self.keyed.get(id).is_some_and(|slot| slot.due().is_some()) {
                // A retry, which the budget may hold back.
                self.keyed.wait_until(id, now);
            } else {
                self.make_ready(id);
            }
        }
    }

    fn end_waits(&mut self, now: Instant) {
        self.end_quiets(now);
        while self.keyed.first_due().is_some_and(|due| due <= now) {
            if !self.budget.allows(now) {
                self.held_by_budget = true;
                return;
            }
            self.counts.over_budget += u64::from(std::mem::take(&mut self.held_by_budget));
            if let Some((id, _)) = self.keyed.pop_due(now) {
                self.make_retry_ready(id);
            }
        }
    }

    /// A retry is due. What is pending with it does not wait until the object is quiet.
    fn make_retry_ready(&mut self, id: SlotId) {
        self.keyed.end_quiet(id);
        if let Some(slot) = self.keyed.get_mut(id) {
            slot.payload.end_settling();
        }
        self.make_ready(id);
    }

    /// Puts an object into its lane, or adds its keys if the plugin takes keys.
    fn make_ready(&mut self, id: SlotId) {
        if self.takes_keys() {
            return self.enqueue_pending(id);
        }
        let Some(slot) = self.keyed.get(id) else { return };
        self.keyed.make_ready(id, Lane::of(slot.payload.pending.is_live()));
    }

    /// The earliest time at which something can be handed out. Returns `None` if an offer, a settlement or the end of a pause has to
    /// come first.
    fn next_due(&self, now: Instant) -> Option<Instant> {
        if self.takes_keys() {
            return self.keyed.first_quiet();
        }
        let ready = || self.rate.as_ref().map_or(now, |rate| rate.next(now));
        let retry = self.keyed.first_due().map(|due| due.max(self.budget.next(now)));
        let next = match retry.into_iter().chain(self.keyed.first_quiet()).min() {
            _ if self.keyed.circuit.paused => return None,
            _ if self.keyed.has_ready() => ready(),
            Some(due) => ready().max(due),
            None => return None,
        };
        Some(next.max(self.keyed.circuit.next(now)?))
    }

    // --- counting

    /// Counts the effect of an entry. Returns true if the oldest entry now has newer state.
    fn count(&mut self, id: SlotId, effect: Effect) -> bool {
        match effect {
            Effect::Grew => self.pending += 1,
            Effect::Merged { merge, newer } => {
                self.counts.merged.count(merge);
                return newer;
            }
            Effect::Cancelled { tokens, object } => {
                self.pending -= 1;
                self.counts.cancelled += 2;
                self.released.add(tokens);
                if let Some(slot) = self.keyed.get(id) {
                    self.receipts.abandoned(&slot.key.source, &object);
                }
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

impl QueueState for Notifications {
    type Held = Taken;
    type Released = Tokens;

    fn take(&mut self, now: Instant) -> Option<Taken> {
        if self.takes_keys() {
            self.end_quiets(now);
            return None;
        }
        if !self.keyed.circuit.admits(now) {
            return None;
        }
        self.end_waits(now);
        self.hand_out(now)
    }

    fn idle(&self, now: Instant) -> Idle {
        if self.closed { Idle::Over } else { Idle::Until(self.next_due(now)) }
    }

    /// Something will be handed out later without a further offer.
    fn wakes_another(&mut self, _now: Instant) -> bool {
        self.keyed.has_waits() || (self.rate.is_some() && self.keyed.has_ready())
    }

    fn give_back(&mut self, taken: Taken, now: Instant) {
        self.put_back(taken, true, now);
    }

    fn circuit(&mut self) -> &mut Circuit {
        &mut self.keyed.circuit
    }

    fn sort_backlog(&mut self) {
        self.keyed.sort_backlog();
    }

    fn wakes(&mut self) -> usize {
        std::mem::take(&mut self.wake)
    }

    fn released(&mut self) -> Tokens {
        std::mem::take(&mut self.released)
    }
}
