//! What becomes of a key after its call.

use std::{
    sync::Arc,
    time::{Duration, Instant},
};

use informer_types::{Failure, KeyThen, Step};

use super::{Keys, Phase, Taken};
use crate::{
    keyed::{Lane, Spared, Verdict},
    workqueue::dropped::DroppedKey,
};

/// What becomes of a key whose call failed.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Failed {
    /// The key is handed out again after its backoff.
    Retrying,
    /// The key is kept as a [`DroppedKey`] until a later call for it succeeds, an operator drops
    /// it, or newer ones evict it.
    GivenUp,
    /// The plugin is in quarantine. The key stays in the queue as if the call had not been made.
    Quarantined {
        /// The quarantine begins with this call.
        begins: bool,
        /// Time until the next probe.
        probe_in: Duration,
    },
}

// === impl Keys ===

impl Keys {
    /// client-go's `Done`, and nothing else.
    pub(in crate::workqueue) fn done(&mut self, taken: &Taken, now: Instant) {
        self.end(taken, None, KeyThen::Done, now);
    }

    /// The call succeeded. Returns true if that ended a quarantine, as do the next two functions.
    pub(in crate::workqueue) fn succeed(&mut self, taken: &Taken, now: Instant) -> bool {
        self.counts.succeeded += 1;
        self.limiter.forget(&taken.key);
        self.succeeded(taken, now, |_| KeyThen::Done)
    }

    pub(in crate::workqueue) fn requeue_after(
        &mut self,
        taken: &Taken,
        delay: Duration,
        now: Instant,
    ) -> bool {
        self.counts.requeued += 1;
        self.limiter.forget(&taken.key);
        self.succeeded(taken, now, |keys| keys.again(taken, now, |_| delay))
    }

    pub(in crate::workqueue) fn requeue(&mut self, taken: &Taken, now: Instant) -> bool {
        self.counts.requeued += 1;
        self.succeeded(taken, now, |keys| keys.again(taken, now, |keys| keys.limit(taken.id, now)))
    }

    fn succeeded(&mut self, taken: &Taken, now: Instant, then: impl FnOnce(&mut Self) -> KeyThen) -> bool {
        self.dropped.withdraw(&taken.key);
        self.set_failed(taken, |_| 0);
        let recovered = self.keyed.circuit.succeeded() == Verdict::Closed;
        let then = then(self);
        self.end(taken, None, then, now);
        recovered
    }

    /// The call failed, and the key is retried after its backoff.
    pub(in crate::workqueue) fn retry(&mut self, taken: &Taken, failure: &Failure, now: Instant) {
        self.counts.failed += 1;
        self.set_failed(taken, |failed| failed.saturating_add(1));
        let then = self.again(taken, now, |keys| keys.limit(taken.id, now));
        self.end(taken, Some(failure), then, now);
    }

    /// The call failed. In a quarantine, or if the quarantine begins with this call, the key goes to the end of its lane as if
    /// the call had not been made. Otherwise it is given up if its attempts are `spent`, and retried if not.
    pub(in crate::workqueue) fn fail(
        &mut self,
        taken: &Taken,
        failure: &Failure,
        spent: bool,
        now: Instant,
    ) -> Failed {
        if let Some(Spared { begins, probe_in }) = self.keyed.failed(taken.id, failure, now) {
            self.counts.failed += 1;
            self.mark(taken.id, self.lane(taken), now);
            self.end(taken, Some(failure), KeyThen::Spared, now);
            return Failed::Quarantined { begins, probe_in };
        }
        if spent {
            self.drop_key(taken, failure.clone(), now);
            return Failed::GivenUp;
        }
        self.retry(taken, failure, now);
        Failed::Retrying
    }

    /// The reconciler refused the key for good.
    pub(in crate::workqueue) fn give_up(&mut self, taken: &Taken, failure: Failure, now: Instant) {
        self.keyed.circuit.undecided(taken.id, true);
        self.drop_key(taken, failure, now);
    }

    fn drop_key(&mut self, taken: &Taken, failure: Failure, now: Instant) {
        self.counts.failed += 1;
        self.counts.dropped += 1;
        self.limiter.forget(&taken.key);
        self.set_failed(taken, |_| 0);
        self.end(taken, Some(&failure), KeyThen::GivenUp, now);
        let attempts = taken.failed.saturating_add(1);
        self.dropped.keep(DroppedKey::new(Arc::clone(&taken.key), attempts, failure));
    }

    /// The host cut the call short. The key becomes ready again even after the shutdown, so that it is counted as left.
    pub(super) fn put_back(&mut self, taken: &Taken, now: Instant) {
        self.counts.put_back += 1;
        self.mark(taken.id, self.lane(taken), now);
        self.end(taken, None, KeyThen::PutBack, now);
    }

    /// The key has to be reconciled again after a delay, unless the queue is shut down.
    fn again(&mut self, taken: &Taken, now: Instant, delay: impl FnOnce(&mut Self) -> Duration) -> KeyThen {
        if self.phase == Phase::Open {
            let after = delay(self);
            self.delay(taken.id, after, self.lane(taken), now);
            return KeyThen::Again { after };
        }
        let Some(slot) = self.keyed.get_mut(taken.id) else { return KeyThen::Discarded };
        if slot.payload.dirty.is_some() {
            // The key was added before the shutdown.
            return KeyThen::Again { after: Duration::ZERO };
        }
        slot.payload.too_late = true;
        KeyThen::Discarded
    }

    /// client-go's `Done`: the key is no longer in flight, and becomes ready if it is dirty.
    fn end(&mut self, taken: &Taken, failure: Option<&Failure>, then: KeyThen, now: Instant) {
        self.promote(now);
        // A probe without a verdict is followed by another one.
        self.keyed.circuit.undecided(taken.id, false);
        let Some(slot) = self.keyed.get(taken.id) else { return };
        let (dirty, lane) = (slot.payload.dirty.is_some(), slot.payload.lane);
        let discarded = slot.payload.too_late && !dirty;
        let took = now.saturating_duration_since(slot.in_flight_since().unwrap_or(now));
        if self.keyed.end(taken.id).is_some() {
            self.work_duration.observe_duration(took);
        }
        if dirty {
            self.keyed.make_ready(taken.id, lane);
        }
        self.release(taken.id);
        let then = if discarded && then == KeyThen::Done { KeyThen::Discarded } else { then };
        let attempt = taken.failed.saturating_add(1);
        let failure = || failure.map(|failure| Box::new(failure.brief()));
        self.tracer.note_key(&taken.key, || Step::KeyDone { attempt, took, failure: failure(), then });
    }

    /// The lane of a key that is retried: that of its last add.
    fn lane(&self, taken: &Taken) -> Lane {
        self.keyed.get(taken.id).map_or(Lane::Live, |slot| slot.payload.lane)
    }

    fn set_failed(&mut self, taken: &Taken, change: impl FnOnce(u32) -> u32) {
        if let Some(slot) = self.keyed.get_mut(taken.id) {
            slot.payload.failed = change(slot.payload.failed);
        }
    }
}
