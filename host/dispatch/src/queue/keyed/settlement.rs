//! What becomes of a notification after an attempt.

use std::time::{Duration, Instant};

use informer_types::{Failure, Step, Then};

use super::{Keyed, Taken, explain::Ended};
use crate::{
    DeadLetter, Fate, Settled, Settlement,
    entry::Tokens,
    pending::Effect,
    queue::{
        quarantine::Verdict,
        slot::{Place, SlotId},
    },
    retry::MAX_RETRY_DELAY,
};

/// Who should look again.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(in crate::queue) enum Wake {
    /// Nobody.
    Nobody,
    /// Somebody who waits.
    One,
    /// Everybody: a quarantine ended, or its next probe has a time.
    All,
}

/// What [`Keyed::settle`] leaves to its caller.
#[derive(Debug)]
pub(in crate::queue) struct Outcome {
    pub(in crate::queue) settled: Settled,
    pub(in crate::queue) wake: Wake,
    /// To be dropped outside the lock.
    pub(in crate::queue) released: Tokens,
}

// === impl Keyed ===

impl Keyed {
    /// Ends what [`Keyed::take`] began.
    pub(in crate::queue) fn settle(&mut self, taken: Taken, settlement: Settlement, now: Instant) -> Outcome {
        let ended = self.ended(&taken, settlement.failure(), now);
        let outcome = match settlement {
            Settlement::NotCalled => return self.take_back(taken, now),
            Settlement::Untold => return self.pass_over(taken),
            Settlement::Acknowledged => self.acknowledge(taken),
            Settlement::Permanent { failure } => self.refuse(taken, failure),
            Settlement::Retry { delay, floor, failure } => match self.fail(&taken, &failure, now) {
                Some(begins) => self.spare(taken, begins, floor, failure, now),
                None => self.retry(taken, delay, floor, now),
            },
            Settlement::Spent { floor, fate, failure } => match self.fail(&taken, &failure, now) {
                Some(begins) => self.spare(taken, begins, floor, failure, now),
                None => self.spend(taken, floor, fate, failure, now),
            },
        };
        self.note_ended(ended, Ended::then(&outcome.settled));
        outcome
    }

    /// Tells the circuit. Where the call is not to be held against its object: whether the quarantine begins with it.
    fn fail(&mut self, taken: &Taken, failure: &Failure, now: Instant) -> Option<bool> {
        let was_open = self.circuit.is_open();
        let began = self.began(taken, now);
        let verdict = self.circuit.failed(&taken.id, began, failure, now);
        (verdict == Verdict::Spared).then_some(!was_open)
    }

    /// Puts it back as if the call had not been made.
    fn spare(
        &mut self,
        mut taken: Taken,
        begins: bool,
        floor: Duration,
        failure: Failure,
        now: Instant,
    ) -> Outcome {
        taken.entry.attempts -= 1;
        let outcome = self.retry(taken, floor, floor, now);
        if outcome.settled == Settled::Discarded {
            return outcome;
        }
        let next = self.circuit.next(now).unwrap_or(now);
        let probe_in = next.saturating_duration_since(now);
        Outcome { settled: Settled::Quarantined { begins, failure, probe_in }, wake: Wake::All, ..outcome }
    }

    /// Its attempts are spent.
    fn spend(
        &mut self,
        mut taken: Taken,
        floor: Duration,
        fate: Fate,
        failure: Failure,
        now: Instant,
    ) -> Outcome {
        let rule = self.rule();
        let slot = self.slots.get(taken.id);
        if slot.is_some_and(|slot| slot.pending.supersedes(rule, &taken.entry)) {
            return self.retry(taken, floor, floor, now);
        }
        if fate != Fate::Quarantine {
            return self.give_up(taken, fate, failure);
        }
        if self.circuit.is_outdated(self.began(&taken, now)) {
            // The version that failed is gone: its attempts start anew with this one.
            taken.entry.attempts = 0;
            return self.retry(taken, floor, floor, now);
        }
        self.circuit.open(&failure, now);
        taken.entry.attempts = 1;
        self.spare(taken, true, floor, failure, now)
    }

    /// The handler does not want it, now or ever.
    fn refuse(&mut self, taken: Taken, failure: Failure) -> Outcome {
        self.circuit.undecided(&taken.id, true);
        let open = self.circuit.is_open();
        let outcome = self.give_up(taken, Fate::DeadLetter, failure);
        Outcome { wake: if open { Wake::All } else { outcome.wake }, ..outcome }
    }

    /// Takes back what was neither delivered nor refused: the host cut the attempt short.
    pub(in crate::queue) fn give_back(&mut self, taken: Taken, now: Instant) -> Outcome {
        if !self.closed {
            self.counts.given_back += 1;
        }
        self.circuit.undecided(&taken.id, false);
        let ended = self.ended(&taken, None, now);
        self.note_ended(ended, if self.closed { Then::Discarded } else { Then::GivenBack });
        let open = self.circuit.is_open();
        let outcome = self.put_back(taken, Duration::ZERO, Duration::ZERO, now);
        Outcome { wake: if open { Wake::All } else { outcome.wake }, ..outcome }
    }

    /// There was no attempt.
    fn take_back(&mut self, mut taken: Taken, now: Instant) -> Outcome {
        taken.entry.attempts = taken.entry.attempts.saturating_sub(1);
        self.give_back(taken, now)
    }

    /// There was nobody to tell.
    fn pass_over(&mut self, taken: Taken) -> Outcome {
        self.counts.cancelled += 1;
        self.circuit.undecided(&taken.id, false);
        let (object, verb) = (&taken.object, taken.entry.change.verb());
        self.tracer.note(&object.source, || (object.key.clone(), Step::Cancelled { verb }));
        let open = self.circuit.is_open();
        let outcome = self.done(taken, Settled::Untold);
        Outcome { wake: if open { Wake::All } else { outcome.wake }, ..outcome }
    }

    fn acknowledge(&mut self, taken: Taken) -> Outcome {
        self.counts.acknowledged += 1;
        self.dead_letters.withdraw(&taken.object);
        if taken.entry.attempts > 1 {
            self.budget.retry_succeeded();
        }
        match self.circuit.succeeded() {
            Verdict::Closed => Outcome { wake: Wake::All, ..self.done(taken, Settled::Recovered) },
            Verdict::Counts | Verdict::Spared => self.done(taken, Settled::Acknowledged),
        }
    }

    fn give_up(&mut self, taken: Taken, fate: Fate, failure: Failure) -> Outcome {
        let letter = DeadLetter::new(taken.object.clone(), &taken.entry, failure);
        match fate {
            // Nothing is given up for the sake of a quarantine.
            Fate::DeadLetter | Fate::Quarantine => {
                self.counts.dead += 1;
                self.dead_letters.keep(letter.clone());
            }
            Fate::Drop => self.counts.dropped += 1,
        }
        self.done(taken, Settled::GaveUp { fate, letter })
    }

    fn retry(&mut self, taken: Taken, delay: Duration, floor: Duration, now: Instant) -> Outcome {
        if !self.closed {
            self.counts.retried += 1;
        }
        self.put_back(taken, delay, floor, now)
    }

    fn put_back(&mut self, taken: Taken, delay: Duration, floor: Duration, now: Instant) -> Outcome {
        if self.closed {
            self.counts.discarded += 1;
            return self.done(taken, Settled::Discarded);
        }
        self.in_flight -= 1;
        let Taken { id, entry, .. } = taken;
        let rule = self.rule();
        let Some(slot) = self.slots.get_mut(id) else {
            // Not reached: a slot stays while it is in hand.
            return Outcome { settled: Settled::Discarded, wake: Wake::Nobody, released: entry.tokens };
        };
        let effect = slot.pending.put_back(rule, entry);
        self.count(&effect);
        let superseded = matches!(effect, Effect::Merged { newer: true, .. });
        let delay = if superseded { floor } else { delay };
        self.wait(id, delay, floor, now);
        let released = if let Effect::Cancelled(released) = effect { released } else { Tokens::default() };
        Outcome { settled: Settled::Retrying { delay, superseded }, wake: Wake::One, released }
    }

    fn wait(&mut self, id: SlotId, delay: Duration, floor: Duration, now: Instant) {
        let (due, floor) = (now + delay.min(MAX_RETRY_DELAY), now + floor.min(MAX_RETRY_DELAY));
        if due <= now {
            return self.enter_lane(id);
        }
        if let Some(slot) = self.slots.get_mut(id) {
            slot.place = Place::Waiting { due, floor };
            self.waits.insert((due, id));
        }
    }

    /// Lets the object go on, or forgets it where nothing is pending.
    fn done(&mut self, taken: Taken, settled: Settled) -> Outcome {
        self.in_flight -= 1;
        let Taken { id, entry, .. } = taken;
        let more = self.slots.get(id).is_some_and(|slot| !slot.pending.is_empty());
        if more {
            self.enter_lane(id);
        } else {
            self.forget(id);
        }
        Outcome { settled, wake: if more { Wake::One } else { Wake::Nobody }, released: entry.tokens }
    }
}
