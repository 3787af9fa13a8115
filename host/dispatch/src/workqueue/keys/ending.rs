//! What becomes of a key after a call.

use std::{
    sync::Arc,
    time::{Duration, Instant},
};

use informer_types::{Failure, KeyThen, Step};

use super::{Keys, Phase, explain::Call};
use crate::{
    queue::quarantine::Verdict,
    workqueue::{DroppedKey, work::Failed},
};

// === impl Keys ===

impl Keys {
    pub(in crate::workqueue) fn done(&mut self, key: &Arc<str>, now: Instant) {
        let call = self.call(key, now);
        self.end(key, call, None, KeyThen::Done, now);
    }

    fn end(&mut self, key: &Arc<str>, call: Call, failure: Option<&Failure>, then: KeyThen, now: Instant) {
        let discarded = self.let_go(key, now);
        let then = if discarded && then == KeyThen::Done { KeyThen::Discarded } else { then };
        call.note(&self.tracer, key, failure, then);
    }

    /// True where the key was to come again, and the queue is shut down.
    fn let_go(&mut self, key: &Arc<str>, now: Instant) -> bool {
        self.promote(now);
        // A probe that ends without having said whether the reconciler works is followed by another.
        self.circuit.undecided(key, false);
        let Some(slot) = self.slots.get_mut(key) else { return false };
        let discarded = slot.too_late && slot.added.is_none();
        if let Some(taken) = slot.taken.take() {
            self.in_hand -= 1;
            self.work_duration.observe_duration(now.saturating_duration_since(taken));
            if slot.added.is_some() {
                self.waiting.push_back(Arc::clone(key));
            }
        }
        self.release(key);
        discarded
    }

    /// True where that ended a quarantine; the same for the other two that went well.
    pub(in crate::workqueue) fn succeed(&mut self, key: &Arc<str>, now: Instant) -> bool {
        self.counts.succeeded += 1;
        self.limiter.forget(key);
        self.went_well(key, now, |_| KeyThen::Done)
    }

    pub(in crate::workqueue) fn requeue_after(
        &mut self,
        key: &Arc<str>,
        delay: Duration,
        now: Instant,
    ) -> bool {
        self.counts.requeued += 1;
        self.limiter.forget(key);
        self.went_well(key, now, |keys| {
            if keys.phase != Phase::Open {
                return keys.too_late(key);
            }
            keys.delay(key, delay, now);
            KeyThen::Again { after: delay }
        })
    }

    pub(in crate::workqueue) fn requeue(&mut self, key: &Arc<str>, now: Instant) -> bool {
        self.counts.requeued += 1;
        self.went_well(key, now, |keys| keys.limited(key, now))
    }

    fn went_well(&mut self, key: &Arc<str>, now: Instant, then: impl FnOnce(&mut Self) -> KeyThen) -> bool {
        let call = self.call(key, now);
        self.dropped.withdraw(key);
        self.set_failed(key, |_| 0);
        let recovered = self.circuit.succeeded() == Verdict::Closed;
        let then = then(self);
        self.end(key, call, None, then, now);
        recovered
    }

    pub(in crate::workqueue) fn retry(&mut self, key: &Arc<str>, failure: &Failure, now: Instant) {
        let call = self.call(key, now);
        self.counts.failed += 1;
        self.set_failed(key, |failed| failed.saturating_add(1));
        let then = self.limited(key, now);
        self.end(key, call, Some(failure), then, now);
    }

    /// As a failed call ends, by the circuit first: one that leads to a quarantine or is made in one is as if it had not
    /// been made, and the key goes to the end of those that wait.
    pub(in crate::workqueue) fn fail(
        &mut self,
        key: &Arc<str>,
        (attempts, spent): (u32, bool),
        failure: &Failure,
        now: Instant,
    ) -> Failed {
        let was_open = self.circuit.is_open();
        let began = self.slots.get(key).and_then(|slot| slot.taken).unwrap_or(now);
        if self.circuit.failed(key, began, failure, now) == Verdict::Spared {
            let call = self.call(key, now);
            self.counts.failed += 1;
            self.mark(key, now);
            self.end(key, call, Some(failure), KeyThen::Spared, now);
            let next = self.circuit.next(now).unwrap_or(now);
            return Failed::Quarantined { begins: !was_open, probe_in: next.saturating_duration_since(now) };
        }
        if spent {
            self.drop_key(key, attempts, failure.clone(), now);
            return Failed::GivenUp;
        }
        self.retry(key, failure, now);
        Failed::Retrying
    }

    /// The reconciler does not want it, now or ever.
    pub(in crate::workqueue) fn give_up(
        &mut self,
        key: &Arc<str>,
        attempts: u32,
        failure: Failure,
        now: Instant,
    ) {
        self.circuit.undecided(key, true);
        self.drop_key(key, attempts, failure, now);
    }

    fn drop_key(&mut self, key: &Arc<str>, attempts: u32, failure: Failure, now: Instant) {
        let call = self.call(key, now);
        self.counts.failed += 1;
        self.counts.dropped += 1;
        self.limiter.forget(key);
        self.set_failed(key, |_| 0);
        self.end(key, call, Some(&failure), KeyThen::GivenUp, now);
        self.dropped.keep(DroppedKey::new(Arc::clone(key), attempts, failure));
    }

    /// No call was made.
    pub(in crate::workqueue) fn put_back_after(&mut self, key: &Arc<str>, delay: Duration, now: Instant) {
        self.counts.put_back += 1;
        let then = if self.phase == Phase::Open {
            self.wait(key, delay, now);
            KeyThen::Again { after: delay }
        } else {
            self.too_late(key)
        };
        self.let_go(key, now);
        self.tracer.note_key(key, || match then {
            KeyThen::Again { after } => Step::KeyNotCalled { again_in: after },
            _ => Step::KeyDiscarded,
        });
    }

    /// The call was cut short: the key waits again, also where the queue was shut down, so that it is counted as left.
    pub(in crate::workqueue) fn put_back(&mut self, key: &Arc<str>, now: Instant) {
        let call = self.call(key, now);
        self.counts.put_back += 1;
        self.mark(key, now);
        self.end(key, call, None, KeyThen::PutBack, now);
    }
}
