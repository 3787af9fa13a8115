//! What becomes of a notification after an attempt.

use std::time::{Duration, Instant};

use informer_types::Failure;

use super::{Keyed, Taken};
use crate::{
    DeadLetter, Fate, Settled, Settlement,
    entry::Tokens,
    pending::Effect,
    queue::slot::{Place, SlotId},
    retry::MAX_DELAY,
};

/// What [`Keyed::settle`] leaves to its caller.
#[derive(Debug)]
pub(in crate::queue) struct Outcome {
    pub(in crate::queue) settled: Settled,
    /// Somebody who waits should look again.
    pub(in crate::queue) wake: bool,
    /// To be dropped outside the lock.
    pub(in crate::queue) released: Tokens,
}

// === impl Keyed ===

impl Keyed {
    /// Ends what [`Keyed::take`] began.
    pub(in crate::queue) fn settle(&mut self, taken: Taken, settlement: Settlement, now: Instant) -> Outcome {
        match settlement {
            Settlement::Acknowledged => self.acknowledge(taken),
            Settlement::Permanent { failure } => self.give_up(taken, Fate::DeadLetter, failure),
            Settlement::Retry { delay, floor } => self.retry(taken, delay, floor, now),
            Settlement::Spent { floor, fate, failure } => {
                let slot = self.slots.get(taken.id);
                if slot.is_some_and(|slot| slot.pending.supersedes(&taken.entry)) {
                    self.retry(taken, floor, floor, now)
                } else {
                    self.give_up(taken, fate, failure)
                }
            }
        }
    }

    /// Takes back what was neither delivered nor refused: the host cut the attempt short.
    pub(in crate::queue) fn give_back(&mut self, taken: Taken, now: Instant) -> Outcome {
        if !self.closed {
            self.counts.given_back += 1;
        }
        self.put_back(taken, Duration::ZERO, Duration::ZERO, now)
    }

    fn acknowledge(&mut self, taken: Taken) -> Outcome {
        self.counts.acknowledged += 1;
        self.dead_letters.withdraw(&taken.object);
        self.done(taken, Settled::Acknowledged)
    }

    fn give_up(&mut self, taken: Taken, fate: Fate, failure: Failure) -> Outcome {
        let letter = DeadLetter::new(taken.object.clone(), &taken.entry, failure);
        match fate {
            Fate::DeadLetter => {
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
        let Some(slot) = self.slots.get_mut(id) else {
            // Not reached: a slot stays while it is in hand.
            return Outcome { settled: Settled::Discarded, wake: false, released: entry.tokens };
        };
        let effect = slot.pending.put_back(entry);
        self.count(&effect);
        let superseded = matches!(effect, Effect::Merged { newer: true, .. });
        let delay = if superseded { floor } else { delay };
        self.wait(id, delay, floor, now);
        let released = if let Effect::Cancelled(released) = effect { released } else { Tokens::default() };
        Outcome { settled: Settled::Retrying { delay, superseded }, wake: true, released }
    }

    fn wait(&mut self, id: SlotId, delay: Duration, floor: Duration, now: Instant) {
        let (due, floor) = (now + delay.min(MAX_DELAY), now + floor.min(MAX_DELAY));
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
        Outcome { settled, wake: more, released: entry.tokens }
    }
}
