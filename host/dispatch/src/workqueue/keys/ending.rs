//! A key in flight, and the possible ends of its call.

use std::{
    sync::Arc,
    time::{Duration, Instant},
};

use informer_types::{EventTrace, Failure, KeyThen, KeyedVersion, Step};

use super::{Keys, Phase, Taken};
use crate::{
    dead_letter::DroppedKey,
    keyed::{Held, Lane, Spared},
};

/// The consequence of a failed call for its key.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Failed {
    /// The key is handed out again.
    Retrying {
        /// The time until then, unless the key is added meanwhile. `None` if the queue is shut down.
        delay: Option<Duration>,
    },
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

/// A key in flight: no other worker gets it (W-3). Ending the work is client-go's `Done`.
///
/// Dropping the work puts the key back, ready at once, because its call did not end.
#[derive(Debug)]
pub struct Work {
    held: Held<Keys>,
    key: Arc<str>,
    failed: u32,
    waited: Duration,
    trace: EventTrace,
    version: Option<Arc<KeyedVersion>>,
}

// === impl Work ===

impl Work {
    pub(in crate::workqueue) fn new(held: Held<Keys>) -> Option<Self> {
        let Taken { key, failed, waited, trace, version, .. } = held.get()?;
        let (key, failed, waited) = (Arc::clone(key), *failed, *waited);
        let (trace, version) = (trace.clone(), version.clone());
        Some(Self { held, key, failed, waited, trace, version })
    }

    /// The key.
    pub fn key(&self) -> &Arc<str> {
        &self.key
    }

    /// The number of the call: 1, and one more for each failed call in a row.
    pub fn attempt(&self) -> u32 {
        self.failed.saturating_add(1)
    }

    /// Time from the first add of the key until it was handed out.
    pub fn waited(&self) -> Duration {
        self.waited
    }

    /// The trace of the event that the call is for.
    pub(in crate::workqueue) fn trace(&self) -> &EventTrace {
        &self.trace
    }

    /// The newest version of the key's object that added the key.
    pub(crate) fn version(&self) -> Option<&Arc<KeyedVersion>> {
        self.version.as_ref()
    }

    /// `Done`, and nothing else: the backoff of the key does not start over (W-12).
    pub fn done(self) {
        self.end(|keys, taken, now| keys.end(taken, None, KeyThen::Done, now));
    }

    /// `Forget` and `Done`: the call succeeded. A dropped key that was added again and succeeded is no longer listed. Returns
    /// true if that ended a quarantine, as do the next two functions.
    pub fn succeed(self) -> bool {
        self.succeeded(|keys, taken, _| {
            keys.counts.succeeded += 1;
            keys.limiter.forget(&taken.key);
            KeyThen::Done
        })
    }

    /// `Forget`, `AddAfter` and `Done`.
    pub fn requeue_after(self, delay: Duration) -> bool {
        self.succeeded(|keys, taken, now| {
            keys.counts.requeued += 1;
            keys.limiter.forget(&taken.key);
            keys.again(taken, now, |_| delay)
        })
    }

    /// `AddRateLimited` and `Done`: the key is to be reconciled again although its call did not fail.
    pub fn requeue(self) -> bool {
        self.succeeded(|keys, taken, now| {
            keys.counts.requeued += 1;
            keys.again(taken, now, |keys| keys.limit(taken.id, now))
        })
    }

    /// `AddRateLimited` and `Done`: the call failed.
    pub fn retry(self, failure: &Failure) {
        self.end(|keys, taken, now| keys.retry(taken, failure, None, now));
    }

    /// Ends a failed call. The key is retried, or given up if its attempts are `spent`. If the plugin is in quarantine, or the
    /// quarantine begins with this call, the key stays in the queue as if the call had not been made.
    pub fn fail(self, failure: &Failure, spent: bool) -> Failed {
        self.fail_after(failure, None, spent)
    }

    /// Like [`fail`](Self::fail); if the key is retried and a delay is given, it is due after that delay.
    pub fn fail_after(self, failure: &Failure, after: Option<Duration>, spent: bool) -> Failed {
        let failed = self.end(|keys, taken, now| keys.fail(taken, failure, after, spent, now));
        failed.unwrap_or(Failed::Retrying { delay: None })
    }

    /// `Forget` and `Done`: the key is given up, counted and listed (W-12, W-13) until a later call for it succeeds. No call is
    /// made unless the key is added again.
    pub fn give_up(self, failure: Failure) {
        self.end(|keys, taken, now| {
            keys.keyed.circuit.undecided(taken.id, true);
            keys.drop_key(taken, failure, now);
        });
    }

    /// Ends a call that succeeded. `then` counts it and returns what follows.
    fn succeeded(self, then: impl FnOnce(&mut Keys, &Taken, Instant) -> KeyThen) -> bool {
        let recovered = self.end(|keys, taken, now| {
            keys.dropped.withdraw(&taken.key);
            keys.set_failed(taken, |_| 0);
            let recovered = keys.keyed.circuit.succeeded();
            let then = then(keys, taken, now);
            keys.end(taken, None, then, now);
            recovered
        });
        recovered.unwrap_or_default()
    }

    fn end<T>(self, end: impl FnOnce(&mut Keys, &Taken, Instant) -> T) -> Option<T> {
        self.held.end(|keys, taken, now| end(keys, &taken, now))
    }
}

// === impl Keys ===

impl Keys {
    /// The call failed, and the key is retried after this delay or after its backoff. Returns the time until then, or `None` if the
    /// queue is shut down.
    fn retry(
        &mut self,
        taken: &Taken,
        failure: &Failure,
        after: Option<Duration>,
        now: Instant,
    ) -> Option<Duration> {
        self.counts.failed += 1;
        self.set_failed(taken, |failed| failed.saturating_add(1));
        let then = self.again(taken, now, |keys| {
            let backoff = keys.limit(taken.id, now);
            after.unwrap_or(backoff)
        });
        self.end(taken, Some(failure), then, now);
        match then {
            KeyThen::Again { after } => Some(after),
            _ => None,
        }
    }

    /// In a quarantine, or if the quarantine begins with this call, the key goes to the end of its lane as if the call had not
    /// been made. Otherwise it is given up if its attempts are `spent`, and retried if not.
    fn fail(
        &mut self,
        taken: &Taken,
        failure: &Failure,
        after: Option<Duration>,
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
        let delay = self.retry(taken, failure, after, now);
        Failed::Retrying { delay }
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

    /// The host cut the call short. The key becomes ready again even after the shutdown, so that it is counted as left. A key that was
    /// skipped does not become ready.
    pub(super) fn put_back(&mut self, taken: &Taken, now: Instant) {
        if self.keyed.get(taken.id).is_some_and(|slot| slot.payload.skipped) {
            return self.end(taken, None, KeyThen::Done, now);
        }
        self.counts.given_back += 1;
        self.mark(taken.id, self.lane(taken), now);
        self.end(taken, None, KeyThen::GivenBack, now);
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
        if goes_on(failure, then)
            && let Some(slot) = self.keyed.get_mut(taken.id)
        {
            let later = std::mem::take(&mut slot.payload.trace);
            slot.payload.trace = taken.trace.clone().merge(later);
        }
        self.release(taken.id);
        let then = if discarded && then == KeyThen::Done { KeyThen::Discarded } else { then };
        let attempt = taken.failed.saturating_add(1);
        let failure = || failure.map(|failure| Box::new(failure.brief()));
        let step = || Step::KeyDone { attempt, took, failure: failure(), then };
        self.tracer.note_key_of(&taken.key, &taken.trace, step);
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

/// Returns true if the next call is for the same event: this one failed or did not end. A call that succeeded and requests
/// another one is the end of the event.
fn goes_on(failure: Option<&Failure>, then: KeyThen) -> bool {
    match then {
        KeyThen::Again { .. } => failure.is_some(),
        KeyThen::GivenBack | KeyThen::Spared => true,
        KeyThen::Done | KeyThen::GivenUp | KeyThen::Discarded => false,
    }
}
