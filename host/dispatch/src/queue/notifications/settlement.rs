//! What becomes of a notification after its attempt.

use std::time::{Duration, Instant};

use informer_types::{AddError, Failure, FailureKind, Step, Then};

use super::{Arrived, Notifications, Taken};
use crate::{
    ObjectRef,
    dead_letter::DeadLetter,
    entry::{Entry, Tokens},
    keyed::{Spared, Verdict, Wake},
    pending::Effect,
    queue::keying::{Keying, Mode},
    retry::{Fate, MAX_RETRY_DELAY, Settled, Settlement},
};

/// The end of an attempt.
#[derive(Debug)]
pub(in crate::queue) struct Outcome {
    pub(in crate::queue) settled: Settled,
    /// Sync tokens to be dropped outside the lock.
    pub(in crate::queue) released: Tokens,
}

/// How long a retry waits.
#[derive(Clone, Copy, Debug)]
struct Wait {
    delay: Duration,
    /// Newer state waits no longer than this.
    floor: Duration,
}

/// A call that ended, for its step. `None` if no steps are written.
struct Ended(Option<Box<Call>>);

struct Call {
    object: ObjectRef,
    arrived: Arrived,
    attempt: u32,
    queued: Duration,
    took: Duration,
    failure: Option<Box<Failure>>,
}

// === impl Notifications ===

impl Notifications {
    /// Settles a notification in flight.
    pub(in crate::queue) fn settle(
        &mut self,
        taken: Taken,
        settlement: Settlement,
        now: Instant,
    ) -> (Outcome, Wake) {
        let ended = self.ended(&taken, settlement.failure(), now);
        if settlement.is_retry() && self.takes_keys() {
            // The version in service has no handler, so there is nothing to retry.
            self.note_ended(ended, Then::GivenBack);
            return self.turn_into_keys(taken);
        }
        let (outcome, wake) = match settlement {
            Settlement::Acknowledged => self.acknowledge(taken),
            Settlement::Permanent { failure } => self.refuse(taken, failure),
            Settlement::Retry { delay, floor, failure } => match self.keyed.failed(taken.id, &failure, now) {
                Some(spared) => self.spare(taken, spared, floor, failure, now),
                None => self.retry(taken, Wait { delay, floor }, now),
            },
            Settlement::Spent { floor, fate, failure } => match self.keyed.failed(taken.id, &failure, now) {
                Some(spared) => self.spare(taken, spared, floor, failure, now),
                None => self.spend(taken, floor, fate, failure, now),
            },
        };
        self.note_ended(ended, then(&outcome.settled));
        (outcome, wake)
    }

    /// Takes back a notification that was neither delivered nor refused, because the host cut the attempt short.
    pub(super) fn put_back(&mut self, taken: Taken, now: Instant) -> (Outcome, Wake) {
        self.keyed.circuit.undecided(taken.id, false);
        let ended = self.ended(&taken, None, now);
        self.note_ended(ended, if self.closed { Then::Discarded } else { Then::GivenBack });
        if !self.closed {
            self.counts.given_back += 1;
        }
        if self.takes_keys() {
            return self.turn_into_keys(taken);
        }
        let (outcome, wake) = self.wait(taken, Wait { delay: Duration::ZERO, floor: Duration::ZERO }, now);
        (outcome, self.wake_for_probe(wake))
    }

    /// Takes back a notification for which no call was made, so the attempt does not count.
    pub(in crate::queue) fn put_back_uncalled(&mut self, mut taken: Taken, now: Instant) -> (Outcome, Wake) {
        taken.entry.attempts = taken.entry.attempts.saturating_sub(1);
        self.put_back(taken, now)
    }

    /// Keeps a dead letter for a notification whose key is too long.
    pub(super) fn refuse_key(&mut self, object: &ObjectRef, entry: &Entry, error: &AddError) {
        self.counts.dead += 1;
        let failure = Failure::new(FailureKind::Host, error.to_string());
        self.letters.keep(DeadLetter::new(object.clone(), entry, failure));
    }

    fn takes_keys(&self) -> bool {
        !self.closed && self.keying.as_ref().map(Keying::mode) == Some(Mode::Keys)
    }

    fn turn_into_keys(&mut self, taken: Taken) -> (Outcome, Wake) {
        self.keyed.circuit.undecided(taken.id, false);
        let Taken { id, object, entry, .. } = taken;
        let released = self.enqueue(&object, entry, false);
        let wake = self.end(id);
        (Outcome { settled: Settled::Enqueued, released }, wake)
    }

    /// Puts a notification back as if its call had not been made.
    fn spare(
        &mut self,
        mut taken: Taken,
        spared: Spared,
        floor: Duration,
        failure: Failure,
        now: Instant,
    ) -> (Outcome, Wake) {
        taken.entry.attempts -= 1;
        let (outcome, wake) = self.retry(taken, Wait { delay: floor, floor }, now);
        if outcome.settled == Settled::Discarded {
            return (outcome, wake);
        }
        let Spared { begins, probe_in } = spared;
        (Outcome { settled: Settled::Quarantined { begins, failure, probe_in }, ..outcome }, Wake::All)
    }

    /// The attempts of a notification are spent.
    fn spend(
        &mut self,
        mut taken: Taken,
        floor: Duration,
        fate: Fate,
        failure: Failure,
        now: Instant,
    ) -> (Outcome, Wake) {
        let rule = self.delivery.rule();
        let slot = self.keyed.get(taken.id);
        if slot.is_some_and(|slot| slot.payload.pending.supersedes(rule, &taken.entry)) {
            return self.retry(taken, Wait { delay: floor, floor }, now);
        }
        if fate != Fate::Quarantine {
            return self.give_up(taken, fate, failure);
        }
        if self.keyed.circuit.is_outdated(taken.since) {
            // The version that failed is gone. The attempts start over with the present one.
            taken.entry.attempts = 0;
            return self.retry(taken, Wait { delay: floor, floor }, now);
        }
        self.keyed.circuit.open(&failure, now);
        taken.entry.attempts = 1;
        let spared = Spared { begins: true, probe_in: self.keyed.probe_in(now) };
        self.spare(taken, spared, floor, failure, now)
    }

    /// The handler refused a notification for good.
    fn refuse(&mut self, taken: Taken, failure: Failure) -> (Outcome, Wake) {
        self.keyed.circuit.undecided(taken.id, true);
        let (outcome, wake) = self.give_up(taken, Fate::DeadLetter, failure);
        (outcome, self.wake_for_probe(wake))
    }

    fn acknowledge(&mut self, taken: Taken) -> (Outcome, Wake) {
        self.counts.acknowledged += 1;
        self.letters.withdraw(&taken.object);
        if taken.entry.attempts > 1 {
            self.budget.retry_succeeded();
        }
        let (settled, recovered) = match self.keyed.circuit.succeeded() {
            Verdict::Closed => (Settled::Recovered, true),
            Verdict::Counts | Verdict::Spared => (Settled::Acknowledged, false),
        };
        let wake = self.end(taken.id);
        let outcome = Outcome { settled, released: taken.entry.tokens };
        (outcome, if recovered { Wake::All } else { wake })
    }

    fn give_up(&mut self, taken: Taken, fate: Fate, failure: Failure) -> (Outcome, Wake) {
        let letter = DeadLetter::new(taken.object, &taken.entry, failure);
        match fate {
            // A quarantine never gives a notification up.
            Fate::DeadLetter | Fate::Quarantine => {
                self.counts.dead += 1;
                self.letters.keep(letter.clone());
            }
            Fate::Drop => self.counts.dropped += 1,
        }
        let wake = self.end(taken.id);
        (Outcome { settled: Settled::GaveUp { fate, letter }, released: taken.entry.tokens }, wake)
    }

    fn retry(&mut self, taken: Taken, wait: Wait, now: Instant) -> (Outcome, Wake) {
        if !self.closed {
            self.counts.retried += 1;
        }
        self.wait(taken, wait, now)
    }

    /// Makes a notification pending again, and its object wait.
    fn wait(&mut self, taken: Taken, wait: Wait, now: Instant) -> (Outcome, Wake) {
        let Taken { id, entry, .. } = taken;
        if self.closed {
            self.counts.discarded += 1;
            let wake = self.end(id);
            return (Outcome { settled: Settled::Discarded, released: entry.tokens }, wake);
        }
        let rule = self.delivery.rule();
        self.keyed.end(id);
        let Some(slot) = self.keyed.get_mut(id) else {
            // Not reached: a slot stays while its object is in flight.
            return (Outcome { settled: Settled::Discarded, released: entry.tokens }, Wake::None);
        };
        let effect = slot.payload.pending.put_back(rule, entry);
        let floor = now + wait.floor.min(MAX_RETRY_DELAY);
        (slot.payload.in_flight, slot.payload.floor) = (None, floor);
        self.count(&effect);
        let superseded = matches!(effect, Effect::Merged { newer: true, .. });
        let delay = if superseded { wait.floor } else { wait.delay };
        let due = now + delay.min(MAX_RETRY_DELAY);
        if due <= now {
            self.make_ready(id);
        } else {
            self.keyed.wait_until(id, due);
        }
        let released = if let Effect::Cancelled(released) = effect { released } else { Tokens::default() };
        (Outcome { settled: Settled::Retrying { delay, superseded }, released }, Wake::One)
    }

    /// The object is no longer in flight. It becomes ready if something is pending, and is forgotten if not.
    fn end(&mut self, id: crate::keyed::SlotId) -> Wake {
        self.keyed.end(id);
        let Some(slot) = self.keyed.get_mut(id) else { return Wake::None };
        slot.payload.in_flight = None;
        if slot.payload.pending.is_empty() {
            self.keyed.forget(id);
            return Wake::None;
        }
        self.make_ready(id);
        Wake::One
    }

    /// In a quarantine the next probe may be due at once, for any worker.
    fn wake_for_probe(&self, wake: Wake) -> Wake {
        if self.keyed.circuit.is_open() { Wake::All } else { wake }
    }

    fn ended(&self, taken: &Taken, failure: Option<&Failure>, now: Instant) -> Ended {
        Ended(self.tracer.is_on().then(|| {
            let Taken { object, entry, since, .. } = taken;
            Box::new(Call {
                object: object.clone(),
                arrived: Arrived::new(entry),
                attempt: entry.attempts,
                queued: since.saturating_duration_since(entry.queued),
                took: now.saturating_duration_since(*since),
                failure: failure.map(|failure| Box::new(failure.brief())),
            })
        }))
    }

    fn note_ended(&self, ended: Ended, then: Then) {
        let Some(call) = ended.0 else { return };
        let Call { object, arrived: Arrived { verb, cause }, attempt, queued, took, failure } = *call;
        let step = Step::Called { verb, cause, attempt, queued, took, failure, then };
        self.tracer.note(&object.source, || (object.key, step));
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
