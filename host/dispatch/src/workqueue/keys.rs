//! The workqueue as a data structure: the caller passes the time.

mod ending;

use std::{
    num::NonZeroUsize,
    sync::Arc,
    time::{Duration, Instant},
};

use informer_types::{AddError, Enqueued, EventTrace, Histogram, KeyedVersion, Step, Tracer};

pub use ending::{Failed, Work};

use super::{
    counts::{Counts, KeyStanding, WorkqueueStats},
    rate_limiter::RateLimiter,
};
use crate::{
    dead_letter::DroppedKey,
    keyed::{Circuit, Idle, Keyed, Lane, QuarantineConfig, QueueState, Slot, SlotId},
    letters::LetterBox,
};

/// The longest delay of a key. It keeps the sum of an instant and a delay far from overflow; a guest cannot request more than
/// seven weeks.
const MAX_ADD_DELAY: Duration = Duration::from_secs(365 * 24 * 60 * 60);

/// The bounds of client-go's workqueue histograms in seconds: each is ten times the previous one, from 10 ns to 1000 s (W-14).
const DURATION_BOUNDS: &[f64] = &[1e-8, 1e-7, 1e-6, 1e-5, 1e-4, 1e-3, 1e-2, 1e-1, 1.0, 10.0, 100.0, 1000.0];

/// At most this many given up keys are kept, as many as a notification queue keeps dead letters.
const DROPPED: NonZeroUsize = NonZeroUsize::new(1000).unwrap();

/// See [`RateLimitingQueue`](super::RateLimitingQueue).
#[derive(Debug)]
pub(super) struct Keys {
    /// At most this many keys may be in the queue because the guest added them.
    pub(super) capacity: NonZeroUsize,
    /// Keys that are in the queue because the guest added them.
    own: usize,
    pub(super) limiter: RateLimiter,
    pub(super) keyed: Keyed<Arc<str>, Key>,
    /// No reconciler is in service, so keys stay in the queue.
    pub(super) held: bool,
    phase: Phase,
    counts: Counts,
    latency: Histogram,
    work_duration: Histogram,
    pub(super) dropped: LetterBox<DroppedKey>,
    tracer: Tracer,
}

/// The state of a key in the queue. A key that is neither dirty, nor delayed, nor in flight has no slot.
///
/// client-go's `processing` set are the keys in flight.
#[derive(Debug, Default)]
pub(super) struct Key {
    /// client-go's `dirty` set: the key has to be reconciled. The time is that of its first add (W-14). A dirty key in flight
    /// becomes ready when its call ends.
    dirty: Option<Instant>,
    /// The lane of the key.
    lane: Lane,
    /// The lane that the key enters when its delay is over.
    due_lane: Lane,
    /// When a scheduled key is due. If the delay of a retry ends earlier, the key waits for this time again.
    scheduled: Option<Instant>,
    /// Failed calls in a row.
    failed: u32,
    /// The key was to be reconciled again, but the queue is shut down.
    too_late: bool,
    /// The key is in flight, and no call is made for it.
    skipped: bool,
    /// The guest added the key, so the key counts against the capacity.
    own: bool,
    /// The trace of the event that made the key dirty, or of the oldest of several.
    trace: EventTrace,
    /// The newest version of the key's object that made the key dirty.
    version: Option<Arc<KeyedVersion>>,
}

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Phase {
    Open,
    ShutDown,
    /// The queue is shut down, and a caller waits until no key is in flight.
    Draining,
}

/// The delay of a key that the guest adds.
#[derive(Clone, Copy, Debug)]
pub(super) enum Delay {
    None,
    After(Duration),
    /// The backoff of the key.
    RateLimited,
}

/// A key in flight.
#[derive(Debug)]
pub(super) struct Taken {
    id: SlotId,
    key: Arc<str>,
    /// Calls in a row that failed before this one.
    failed: u32,
    /// Time from the first add until the key was handed out.
    waited: Duration,
    /// The trace of the event that the call is for.
    trace: EventTrace,
    version: Option<Arc<KeyedVersion>>,
}

// === impl Keys ===

impl Keys {
    pub(super) fn new(capacity: NonZeroUsize, limiter: RateLimiter, tracer: Tracer) -> Self {
        Self {
            capacity,
            own: 0,
            limiter,
            keyed: Keyed::new(QuarantineConfig { after: None, ..QuarantineConfig::default() }),
            held: false,
            phase: Phase::Open,
            counts: Counts::default(),
            latency: Histogram::new(DURATION_BOUNDS),
            work_duration: Histogram::new(DURATION_BOUNDS),
            dropped: LetterBox::new(DROPPED),
            tracer,
        }
    }

    // --- adding

    /// Adds a key of the guest.
    pub(super) fn add(&mut self, key: &str, now: Instant, delay: Delay) -> Result<(), AddError> {
        self.promote(now);
        if self.phase != Phase::Open {
            self.ignored(key);
            return Ok(());
        }
        let id = self.admit(key)?;
        let led_to = match delay {
            Delay::None => self.mark(id, Lane::Live, now),
            Delay::After(delay) => self.delay(id, delay, Lane::Live, now),
            Delay::RateLimited => {
                let delay = self.limit(id, now);
                self.delay(id, delay, Lane::Live, now)
            }
        };
        self.tracer.note_key(key, || Step::KeyAdded { led_to });
        Ok(())
    }

    /// Adds the key of a notification. The capacity does not apply.
    pub(super) fn enqueue(
        &mut self,
        key: &str,
        lane: Lane,
        trace: &EventTrace,
        version: Option<Arc<KeyedVersion>>,
        now: Instant,
    ) {
        self.promote(now);
        if self.phase != Phase::Open {
            return self.ignored(key);
        }
        let id = self.keyed.find(key).unwrap_or_else(|| self.keyed.insert(key.into(), Key::default()));
        let led_to = self.mark(id, lane, now);
        self.tracer.note_key_of(key, trace, || Step::KeyAdded { led_to });
        if let Some(slot) = self.keyed.get_mut(id) {
            let before = std::mem::take(&mut slot.payload.trace);
            slot.payload.trace = before.merge(trace.clone());
            slot.payload.version = version.or(slot.payload.version.take());
        }
    }

    /// Makes a key due after a delay. The delay replaces an earlier delay, and a ready key waits again. A key in flight is handed out
    /// once more after the delay, but not before its call ends. If the call fails, a retry may come earlier, and the key is handed out
    /// again when the delay is over. The failures of a key that is not in flight are forgotten. If `own`, the guest chose the key, which
    /// counts against the capacity.
    pub(super) fn schedule(
        &mut self,
        key: &str,
        delay: Duration,
        own: bool,
        now: Instant,
    ) -> Result<(), AddError> {
        self.promote(now);
        if self.phase != Phase::Open {
            self.ignored(key);
            return Ok(());
        }
        let id = match own {
            true => self.admit(key)?,
            false => self.keyed.find(key).unwrap_or_else(|| self.keyed.insert(key.into(), Key::default())),
        };
        self.withdraw(id);
        self.wait(id, delay, Lane::Live, now);
        if let Some(slot) = self.keyed.get_mut(id) {
            slot.payload.scheduled = slot.due();
        }
        Ok(())
    }

    /// Takes a key out of the queue. A call in flight goes on, and is not repeated unless it fails or is cut short.
    pub(super) fn cancel(&mut self, key: &str, now: Instant) {
        self.promote(now);
        if let Some(id) = self.keyed.find(key) {
            self.withdraw(id);
            self.release(id);
        }
    }

    /// No call is made for a key in flight.
    pub(super) fn skip(&mut self, key: &str) {
        let slot = self.keyed.find(key).and_then(|id| self.keyed.get_mut(id));
        if let Some(slot) = slot.filter(|slot| slot.in_flight_since().is_some()) {
            slot.payload.skipped = true;
        }
    }

    // --- life cycle

    pub(super) fn shut_down(&mut self, drain: bool, now: Instant) {
        self.promote(now);
        self.phase = if drain { Phase::Draining } else { Phase::ShutDown };
        for id in self.keyed.ids(|slot| slot.due().is_some()) {
            self.keyed.stop_waiting(id);
            let Some(slot) = self.keyed.get_mut(id) else { continue };
            // A dirty key is still handed out.
            slot.payload.too_late = slot.payload.dirty.is_none();
            if slot.payload.too_late && slot.in_flight_since().is_none() {
                self.tracer.note_key(&slot.key, || Step::KeyDiscarded);
            }
            self.release(id);
        }
    }

    /// Shuts the queue down and discards ready keys too. Returns the number of keys that were ready or delayed.
    pub(super) fn close(&mut self, now: Instant) -> usize {
        let idle = self.keyed.len() - self.keyed.in_flight();
        self.shut_down(false, now);
        self.counts.depth = 0;
        for id in self.keyed.ids(|_| true) {
            let Some(slot) = self.keyed.get_mut(id) else { continue };
            slot.payload.too_late |= slot.payload.dirty.take().is_some();
            if slot.in_flight_since().is_none() {
                self.tracer.note_key(&slot.key, || Step::KeyDiscarded);
                self.release(id);
            }
        }
        idle
    }

    pub(super) fn is_draining(&self) -> bool {
        self.phase == Phase::Draining && self.keyed.in_flight() > 0
    }

    // --- gauges

    pub(super) fn ready(&mut self, now: Instant) -> usize {
        self.promote(now);
        self.keyed.ready()
    }

    pub(super) fn stats(&mut self, now: Instant) -> WorkqueueStats {
        self.promote(now);
        let running = self.keyed.slots().filter_map(Slot::in_flight_since);
        let running = running.map(|since| now.saturating_duration_since(since));
        let (unfinished_work, longest_running) =
            running.fold((Duration::ZERO, Duration::ZERO), |(sum, most), age| (sum + age, most.max(age)));
        let (dropped_keys, dropped_keys_evicted) = self.dropped.counts();
        WorkqueueStats {
            ready: self.keyed.ready(),
            delayed: self.keyed.delayed(),
            next_retry: self.keyed.next_retry(|payload| payload.failed, now),
            in_flight: self.keyed.in_flight(),
            keys: self.keyed.len(),
            capacity: self.capacity.get(),
            paused: self.keyed.circuit.paused,
            unfinished_work,
            longest_running,
            quarantine: self.keyed.circuit.quarantine(now),
            quarantines: self.keyed.circuit.opened(),
            dropped_keys,
            dropped_keys_evicted,
            counts: self.counts.clone(),
            latency: self.latency.clone(),
            work_duration: self.work_duration.clone(),
        }
    }

    pub(super) fn standing(&mut self, key: &str, now: Instant) -> Option<KeyStanding> {
        self.promote(now);
        let slot = self.keyed.get(self.keyed.find(key)?)?;
        let again = slot.payload.dirty.is_some() || slot.due().is_some();
        Some(KeyStanding {
            stands: slot.stands(now),
            again: slot.in_flight_since().is_some() && again,
            failed: slot.payload.failed,
        })
    }

    // --- private

    /// The slot of a key that the guest adds.
    ///
    /// # Errors
    /// [`AddError::Full`] if the guest has no room for another key.
    fn admit(&mut self, key: &str) -> Result<SlotId, AddError> {
        let known = self.keyed.find(key);
        let own = known.and_then(|id| self.keyed.get(id)).is_some_and(|slot| slot.payload.own);
        let capacity = self.capacity.get();
        if !own && self.own >= capacity {
            self.counts.refused += 1;
            self.tracer.note_key(key, || Step::KeyRefused { capacity });
            return Err(AddError::Full { capacity });
        }
        let id = known.unwrap_or_else(|| self.keyed.insert(key.into(), Key::default()));
        self.own += usize::from(!own);
        if let Some(slot) = self.keyed.get_mut(id) {
            slot.payload.own = true;
        }
        Ok(id)
    }

    /// Makes a key dirty, unless it is dirty already (W-2). A live add moves a key out of the backlog lane.
    fn mark(&mut self, id: SlotId, lane: Lane, since: Instant) -> Enqueued {
        let Some(slot) = self.keyed.get_mut(id) else { return Enqueued::WaitsAlready };
        let in_flight = slot.in_flight_since().is_some();
        let key = &mut slot.payload;
        if key.dirty.is_none() {
            (key.dirty, key.lane) = (Some(since), lane);
            self.counts.adds += 1;
            self.counts.depth += 1;
            if in_flight {
                return Enqueued::WaitsAfterCall;
            }
            self.keyed.make_ready(id, lane);
            return Enqueued::Waits;
        }
        if lane == Lane::Live {
            key.lane = lane;
            if !in_flight {
                self.keyed.make_ready(id, lane);
            }
        }
        Enqueued::WaitsAlready
    }

    /// The key is no longer ready or delayed.
    fn withdraw(&mut self, id: SlotId) {
        self.keyed.stop_waiting(id);
        self.keyed.leave_lane(id);
        let Some(slot) = self.keyed.get_mut(id) else { return };
        self.counts.depth -= usize::from(slot.payload.dirty.take().is_some());
        slot.payload.scheduled = None;
        if slot.in_flight_since().is_none() {
            slot.payload.failed = 0;
            self.limiter.forget(&slot.key);
        }
    }

    /// The next backoff of a key.
    fn limit(&mut self, id: SlotId, now: Instant) -> Duration {
        self.keyed.get(id).map_or(Duration::ZERO, |slot| self.limiter.when(&slot.key, now))
    }

    /// Makes a key dirty after a delay, and counts that.
    fn delay(&mut self, id: SlotId, delay: Duration, lane: Lane, now: Instant) -> Enqueued {
        self.counts.retries += 1;
        self.wait(id, delay, lane, now)
    }

    /// Makes a key dirty after a delay. If a key is delayed several times, the earliest deadline wins (W-7).
    fn wait(&mut self, id: SlotId, delay: Duration, lane: Lane, now: Instant) -> Enqueued {
        if delay.is_zero() {
            return self.mark(id, lane, now);
        }
        let Some(slot) = self.keyed.get_mut(id) else { return Enqueued::DueAlready };
        let by = delay.min(MAX_ADD_DELAY);
        if slot.due().is_none() || lane == Lane::Live {
            slot.payload.due_lane = lane;
        }
        if slot.due().is_some_and(|due| due <= now + by) {
            return Enqueued::DueAlready;
        }
        self.keyed.wait_until(id, now + by);
        Enqueued::Delayed { by }
    }

    /// Makes the keys dirty whose delay is over, as of the time at which it was over.
    fn promote(&mut self, now: Instant) {
        while let Some((id, due)) = self.keyed.pop_due(now) {
            let lane = self.keyed.get(id).map_or(Lane::Live, |slot| slot.payload.due_lane);
            self.mark(id, lane, due);
            self.keep_schedule(id, due);
        }
    }

    /// The wait of a key ended at `due`. If the key is scheduled for a later time, it waits for the scheduled time again: the wait that
    /// ended was the delay of a retry.
    fn keep_schedule(&mut self, id: SlotId, due: Instant) {
        let Some(slot) = self.keyed.get_mut(id) else { return };
        let scheduled = slot.payload.scheduled.filter(|at| *at > due);
        slot.payload.scheduled = scheduled;
        if let Some(at) = scheduled {
            self.keyed.wait_until(id, at);
        }
    }

    /// Counts a key that was added after the shutdown (W-5), unless the key is dirty.
    fn ignored(&mut self, key: &str) {
        match self.keyed.find(key).and_then(|id| self.keyed.get_mut(id)) {
            Some(slot) if slot.payload.dirty.is_some() => {
                self.tracer.note_key(key, || Step::KeyAdded { led_to: Enqueued::WaitsAlready });
            }
            // The key is in flight; the end of its call counts it.
            Some(slot) => slot.payload.too_late = true,
            None => {
                self.counts.discarded += 1;
                self.tracer.note_key(key, || Step::KeyDiscarded);
            }
        }
    }

    /// Forgets a key that is neither dirty, nor delayed, nor in flight (W-15).
    fn release(&mut self, id: SlotId) {
        let Some(slot) = self.keyed.get(id) else { return };
        if slot.payload.dirty.is_none() && slot.in_flight_since().is_none() && slot.due().is_none() {
            let Some(key) = self.keyed.forget(id) else { return };
            self.counts.discarded += u64::from(key.too_late);
            self.own -= usize::from(key.own);
        }
    }
}

impl QueueState for Keys {
    type Held = Taken;
    type Released = ();

    fn take(&mut self, now: Instant) -> Option<Taken> {
        self.promote(now);
        if self.held || !self.keyed.circuit.admits(now) {
            return None;
        }
        let id = self.keyed.begin(now)?;
        let slot = self.keyed.get_mut(id)?;
        let dirty = slot.payload.dirty.take();
        (slot.payload.too_late, slot.payload.skipped) = (false, false);
        let waited = dirty.map_or(Duration::ZERO, |since| now.saturating_duration_since(since));
        let (key, failed) = (Arc::clone(&slot.key), slot.payload.failed);
        let trace = std::mem::take(&mut slot.payload.trace);
        let version = slot.payload.version.clone();
        self.counts.depth -= 1;
        self.latency.observe_duration(waited);
        let step = || Step::KeyTaken { attempt: failed.saturating_add(1), waited };
        self.tracer.note_key_of(&key, &trace, step);
        Some(Taken { id, key, failed, waited, trace, version })
    }

    /// The queue has ended if it is shut down and will hand out nothing more, unless a key in flight comes back. It does not
    /// wait for the probes of a quarantine.
    fn idle(&self, now: Instant) -> Idle {
        let held = self.held || self.keyed.circuit.paused;
        let open = self.keyed.circuit.is_open();
        if self.phase != Phase::Open && (held || open || !self.keyed.has_ready()) {
            return Idle::Over;
        }
        let ready = self.keyed.has_ready().then_some(now);
        let due = match (open, ready) {
            _ if held => None,
            (true, Some(ready)) => Some(ready),
            _ => self.keyed.first_due(),
        };
        let probe = || if open { self.keyed.circuit.next(now) } else { Some(now) };
        Idle::Until(due.and_then(|due| Some(due.max(probe()?))))
    }

    /// Several delays may have ended at once, and another worker may sleep until a later one.
    fn wakes_another(&mut self, now: Instant) -> bool {
        self.keyed.has_ready() || matches!(self.idle(now), Idle::Until(Some(_)))
    }

    fn give_back(&mut self, taken: Taken, now: Instant) {
        self.put_back(&taken, now);
    }

    fn circuit(&mut self) -> &mut Circuit {
        &mut self.keyed.circuit
    }

    fn sort_backlog(&mut self) {
        self.keyed.sort_backlog();
    }

    fn wakes(&mut self) -> usize {
        let held = self.held || self.keyed.circuit.paused;
        usize::from(!held && (self.keyed.has_ready() || self.keyed.delayed() > 0))
    }

    fn released(&mut self) {}
}
