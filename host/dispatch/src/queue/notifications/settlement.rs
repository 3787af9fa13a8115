//! Settles a notification after an attempt.

use std::time::{Duration, Instant};

use informer_types::{Change, EventTrace, Failure, Step, Then};

use super::{Notifications, Taken};
use crate::{
    coalesce::Rule,
    dead_letter::DeadLetter,
    entry::ObjectRef,
    keyed::{ALL_WORKERS, SlotId, Spared},
    retry::{Fate, MAX_RETRY_DELAY, Settled, Settlement},
};

/// The step of a call that ended.
struct Called {
    object: ObjectRef,
    trace: EventTrace,
    step: Step,
}

// === impl Notifications ===

impl Notifications {
    /// Settles a notification in flight.
    pub(in crate::queue) fn settle(&mut self, taken: Taken, settlement: Settlement, now: Instant) -> Settled {
        let called = self.called(&taken, settlement.failure(), now);
        if settlement.is_retry() && self.takes_keys() {
            // The version in service has no handler, so there is nothing to retry.
            self.note_called(called, Then::GivenBack);
            return self.turn_into_keys(taken, now);
        }
        let settled = match settlement {
            Settlement::Acknowledged => self.acknowledge(taken, now),
            Settlement::Permanent { failure } => {
                self.keyed.circuit.undecided(taken.id, true);
                let settled = self.give_up(taken, Fate::DeadLetter, failure, now);
                self.wake_for_probe();
                settled
            }
            Settlement::Retry { delay, floor, failure } => match self.keyed.failed(taken.id, &failure, now) {
                Some(spared) => self.spare(taken, spared, floor, failure, now),
                None => self.retry(taken, delay, floor, now),
            },
            Settlement::Spent { floor, fate, failure } => match self.keyed.failed(taken.id, &failure, now) {
                Some(spared) => self.spare(taken, spared, floor, failure, now),
                None => self.spend(taken, floor, fate, failure, now),
            },
        };
        self.note_called(called, then(&settled));
        settled
    }

    /// Takes back a notification without a result of its own: the host cut the call short or made none, or the call failed for a
    /// batch as a whole. The attempt counts only if `was_called`.
    pub(in crate::queue) fn put_back(&mut self, mut taken: Taken, was_called: bool, now: Instant) {
        taken.entry.attempts = taken.entry.attempts.saturating_sub(u32::from(!was_called));
        self.keyed.circuit.undecided(taken.id, false);
        let called = self.called(&taken, None, now);
        self.note_called(called, if self.closed { Then::Discarded } else { Then::GivenBack });
        self.counts.given_back += u64::from(!self.closed);
        if self.takes_keys() {
            self.turn_into_keys(taken, now);
        } else {
            self.wait(taken, Duration::ZERO, Duration::ZERO, now);
            self.wake_for_probe();
        }
    }

    /// Takes back a notification whose call for several notifications failed. The call does not count as an attempt, and the next call
    /// has only this object.
    pub(in crate::queue) fn split(&mut self, taken: Taken, now: Instant) {
        if let Some(slot) = self.keyed.get_mut(taken.id) {
            slot.payload.alone = true;
        }
        self.put_back(taken, false, now);
    }

    fn turn_into_keys(&mut self, taken: Taken, now: Instant) -> Settled {
        self.keyed.circuit.undecided(taken.id, false);
        self.enqueue(&taken.object, taken.entry, false);
        self.end(taken.id, now);
        Settled::Enqueued
    }

    /// Puts a notification back as if its call had not been made.
    fn spare(
        &mut self,
        mut taken: Taken,
        Spared { begins, probe_in }: Spared,
        floor: Duration,
        failure: Failure,
        now: Instant,
    ) -> Settled {
        taken.entry.attempts -= 1;
        let settled = self.retry(taken, floor, floor, now);
        if settled == Settled::Discarded {
            return settled;
        }
        self.wake(ALL_WORKERS);
        Settled::Quarantined { begins, failure, probe_in }
    }

    /// The attempts of a notification are spent.
    fn spend(
        &mut self,
        mut taken: Taken,
        floor: Duration,
        fate: Fate,
        failure: Failure,
        now: Instant,
    ) -> Settled {
        let rule = self.present_rule();
        let slot = self.keyed.get(taken.id);
        if slot.is_some_and(|slot| slot.payload.pending.supersedes(rule, &taken.entry)) {
            // Nothing is left to retry. Only the newer state is delivered, and it may have to wait until the object is quiet.
            return self.retry(taken, MAX_RETRY_DELAY, floor, now);
        }
        if fate != Fate::Quarantine {
            return self.give_up(taken, fate, failure, now);
        }
        if self.keyed.circuit.is_outdated(taken.since) {
            // The version that failed is gone. The attempts start over with the present one.
            taken.entry.attempts = 0;
            return self.retry(taken, floor, floor, now);
        }
        self.keyed.circuit.open(&failure, now);
        taken.entry.attempts = 1;
        let spared = Spared { begins: true, probe_in: self.keyed.probe_in(now) };
        self.spare(taken, spared, floor, failure, now)
    }

    fn acknowledge(&mut self, taken: Taken, now: Instant) -> Settled {
        self.counts.acknowledged += 1;
        self.letters.withdraw(&taken.object);
        let item = self.keyed.get(taken.id).map(|slot| &slot.payload);
        let item = item.filter(|item| !item.pending.renews(&taken.entry));
        let expiries = item.and_then(|item| Some(item.in_flight?.expiries));
        self.receipts.acknowledged(&taken.object, &taken.entry.change, expiries);
        if taken.entry.attempts > 1 {
            self.budget.retry_succeeded();
        }
        self.released.add(taken.entry.tokens);
        self.end(taken.id, now);
        if !self.keyed.circuit.succeeded() {
            return Settled::Acknowledged;
        }
        self.wake(ALL_WORKERS);
        Settled::Recovered
    }

    fn give_up(&mut self, taken: Taken, fate: Fate, failure: Failure, now: Instant) -> Settled {
        if let Change::Deleted { object, .. } = &taken.entry.change {
            self.receipts.abandoned(&taken.object.source, object);
        }
        let letter = DeadLetter::new(taken.object, &taken.entry, failure);
        match fate {
            // A quarantine never gives a notification up.
            Fate::DeadLetter | Fate::Quarantine => {
                self.counts.dead += 1;
                self.letters.keep(letter.clone());
            }
            Fate::Drop => self.counts.dropped += 1,
        }
        self.released.add(taken.entry.tokens);
        self.end(taken.id, now);
        Settled::GaveUp { fate, letter }
    }

    /// Repeats a call after `delay`. Newer state that replaces the notification is delivered after `floor`. If the newer state waits
    /// until the object is quiet, it is delivered then, but not before `floor`, and at the latest after `delay`.
    fn retry(&mut self, taken: Taken, delay: Duration, floor: Duration, now: Instant) -> Settled {
        self.counts.retried += u64::from(!self.closed);
        self.wait(taken, delay, floor, now)
    }

    /// The merging rule for a call that ended. Deletions of unseen objects may have made room since the last offer.
    fn present_rule(&mut self) -> Rule {
        self.merging.catch_up(self.pending);
        self.merging.rule()
    }

    /// Makes a notification pending again. Its object waits until the call is repeated.
    fn wait(&mut self, taken: Taken, delay: Duration, floor: Duration, now: Instant) -> Settled {
        let Taken { id, entry, .. } = taken;
        if self.closed {
            self.counts.discarded += 1;
            self.released.add(entry.tokens);
            self.end(id, now);
            return Settled::Discarded;
        }
        let rule = self.present_rule();
        self.keyed.end(id);
        let Some(slot) = self.keyed.get_mut(id) else {
            // Not reached: a slot stays while its object is in flight.
            self.released.add(entry.tokens);
            return Settled::Discarded;
        };
        let effect = slot.payload.pending.put_back(rule, entry);
        (slot.payload.in_flight, slot.payload.floor) = (None, now + floor.min(MAX_RETRY_DELAY));
        let superseded = self.count(id, effect);
        let quiet = self
            .quiet_at(id, now)
            .filter(|_| superseded)
            .map(|quiet| quiet.max(now + floor.min(MAX_RETRY_DELAY)));
        let delay = if superseded && quiet.is_none() { floor } else { delay };
        let due = now + delay.min(MAX_RETRY_DELAY);
        if due <= now {
            self.make_retry_ready(id);
        } else {
            self.keyed.wait_until(id, due);
            quiet.inspect(|quiet| self.keyed.quiet_at(id, *quiet));
        }
        self.wake(1);
        let delay = quiet.map_or(delay, |quiet| delay.min(quiet.saturating_duration_since(now)));
        Settled::Retrying { delay, superseded }
    }

    /// The object is no longer in flight. If something is pending, it becomes ready or waits until it is quiet; if not,
    /// it is forgotten.
    fn end(&mut self, id: SlotId, now: Instant) {
        self.keyed.end(id);
        let Some(slot) = self.keyed.get_mut(id) else { return };
        (slot.payload.in_flight, slot.payload.alone) = (None, false);
        if slot.payload.pending.is_empty() {
            self.keyed.forget(id);
        } else {
            self.advance(id, false, now);
        }
    }

    /// In a quarantine the next probe may be due at once, for any worker.
    fn wake_for_probe(&mut self) {
        if self.keyed.circuit.is_open() {
            self.wake(ALL_WORKERS);
        }
    }

    /// The step of a call that ended, without what follows. Returns `None` if no steps are written.
    fn called(&self, taken: &Taken, failure: Option<&Failure>, now: Instant) -> Option<Called> {
        self.tracer.is_on().then(|| {
            let Taken { object, entry, since, .. } = taken;
            let step = Step::Called {
                verb: entry.change.verb(),
                cause: entry.cause,
                attempt: entry.attempts,
                queued: since.saturating_duration_since(entry.queued),
                took: now.saturating_duration_since(*since),
                failure: failure.map(|failure| Box::new(failure.brief())),
                then: Then::GivenBack,
            };
            Called { object: object.clone(), trace: entry.observed.trace.clone(), step }
        })
    }

    /// Writes the step of a call that ended, with what follows.
    fn note_called(&self, called: Option<Called>, follows: Then) {
        let Some(Called { object, trace, mut step }) = called else { return };
        if let Step::Called { then, .. } = &mut step {
            *then = follows;
        }
        self.tracer.note_of(&object.source, &trace, None, || (object.key, step));
    }
}

fn then(settled: &Settled) -> Then {
    match settled {
        Settled::Acknowledged | Settled::Enqueued => Then::Acknowledged,
        Settled::Recovered => Then::Recovered,
        Settled::Retrying { delay, superseded } => Then::Retry { after: *delay, superseded: *superseded },
        Settled::Quarantined { probe_in, .. } => Then::Quarantined { probe_in: *probe_in },
        Settled::GaveUp { fate: Fate::Drop, .. } => Then::Dropped,
        Settled::GaveUp { .. } => Then::DeadLetter,
        Settled::Discarded => Then::Discarded,
    }
}
