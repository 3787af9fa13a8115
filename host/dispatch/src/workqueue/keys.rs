//! The queue as a data structure: the caller says what time it is.

mod ending;
mod explain;

use std::{
    collections::{BTreeMap, HashMap, VecDeque},
    num::NonZeroUsize,
    sync::Arc,
    time::{Duration, Instant},
};

use informer_types::{AddError, Enqueued, Histogram, KeyThen, Step, Tracer};

use super::{
    DroppedKey,
    counts::{Counts, WorkqueueStats},
    rate_limiter::RateLimiter,
    work::Taken,
};
use crate::{QuarantineConfig, dead_letter::Letters, queue::quarantine::Circuit};

/// Longer delays are cut, so that a sum of times cannot overflow; a guest cannot ask for more than seven weeks.
const MAX_ADD_DELAY: Duration = Duration::from_secs(365 * 24 * 60 * 60);

/// Memory for so many keys is kept; what a burst took beyond that goes back once it is over.
const KEPT: usize = 1024;

/// Keys that were given up and are kept: as many as a queue has dead letters.
const DROPPED: NonZeroUsize = NonZeroUsize::new(1000).unwrap();

/// The bounds of client-go's workqueue histograms in seconds: ten times the one before, from 10 ns to 1000 s (W-14).
const DURATION_BOUNDS: &[f64] = &[1e-8, 1e-7, 1e-6, 1e-5, 1e-4, 1e-3, 1e-2, 1e-1, 1.0, 10.0, 100.0, 1000.0];

/// When a delayed key is due; the number keeps two of the same moment apart, and in order.
type Due = (Instant, u64);

/// The keys and where each of them is.
#[derive(Debug)]
pub(super) struct Keys {
    capacity: NonZeroUsize,
    limiter: Box<dyn RateLimiter>,
    slots: HashMap<Arc<str>, Slot>,
    /// Those with `added` that are not in hand.
    waiting: VecDeque<Arc<str>>,
    /// Those with `due`.
    delayed: BTreeMap<Due, Arc<str>>,
    in_hand: usize,
    next: u64,
    paused: bool,
    phase: Phase,
    counts: Counts,
    latency: Histogram,
    work_duration: Histogram,
    dropped: Letters<DroppedKey>,
    circuit: Circuit<Arc<str>>,
    tracer: Tracer,
}

/// Where a key is; a key that is nowhere has no slot.
#[derive(Debug, Default)]
struct Slot {
    /// client-go's `dirty`: it waits, or is in hand and waits again afterwards; since its first add (W-14).
    added: Option<Instant>,
    /// client-go's `processing`, and since when.
    taken: Option<Instant>,
    due: Option<Due>,
    /// Failed calls in a row.
    failed: u32,
    /// It was to come again, and the queue is shut down.
    too_late: bool,
}

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Phase {
    Open,
    ShutDown,
    /// Shut down, and somebody waits until nothing is in hand.
    Draining,
}

// === impl Keys ===

impl Keys {
    pub(super) fn new(capacity: NonZeroUsize, limiter: Box<dyn RateLimiter>, tracer: Tracer) -> Self {
        Self {
            capacity,
            limiter,
            slots: HashMap::new(),
            waiting: VecDeque::new(),
            delayed: BTreeMap::new(),
            in_hand: 0,
            next: 0,
            paused: false,
            phase: Phase::Open,
            counts: Counts::default(),
            latency: durations(),
            work_duration: durations(),
            dropped: Letters::new(DROPPED),
            circuit: Circuit::new(QuarantineConfig { after: None, ..QuarantineConfig::default() }),
            tracer,
        }
    }

    /// True where somebody who waits should look; the same for the other ways to add.
    pub(super) fn add(&mut self, key: &str, now: Instant) -> Result<bool, AddError> {
        if self.phase != Phase::Open {
            return Ok(self.ignored(key));
        }
        self.add_if_room(key, now).inspect_err(|_| self.refused(key))
    }

    /// As [`Keys::add`]; at the bound nothing is counted, for the caller will come again, nor after the shutdown, for the
    /// caller knows of that.
    pub(super) fn add_if_room(&mut self, key: &str, now: Instant) -> Result<bool, AddError> {
        self.promote(now);
        if self.phase != Phase::Open {
            return Ok(false);
        }
        let key = self.admit(key)?;
        let led_to = self.mark(&key, now);
        self.tracer.note_key(&key, || Step::KeyAdded { led_to });
        Ok(self.wakes())
    }

    pub(super) fn add_after(&mut self, key: &str, delay: Duration, now: Instant) -> Result<bool, AddError> {
        self.promote(now);
        if self.phase != Phase::Open {
            return Ok(self.ignored(key));
        }
        let key = self.admit(key).inspect_err(|_| self.refused(key))?;
        let led_to = self.delay(&key, delay, now);
        self.tracer.note_key(&key, || Step::KeyAdded { led_to });
        Ok(self.wakes())
    }

    pub(super) fn add_rate_limited(&mut self, key: &str, now: Instant) -> Result<bool, AddError> {
        self.promote(now);
        if self.phase != Phase::Open {
            return Ok(self.ignored(key));
        }
        let key = self.admit(key).inspect_err(|_| self.refused(key))?;
        let delay = self.limiter.when(&key, now);
        let led_to = self.delay(&key, delay, now);
        self.tracer.note_key(&key, || Step::KeyAdded { led_to });
        Ok(self.wakes())
    }

    pub(super) fn forget(&mut self, key: &str) {
        self.limiter.forget(key);
    }

    pub(super) fn num_requeues(&self, key: &str) -> u32 {
        self.limiter.num_requeues(key)
    }

    /// The next key, if one waits; whoever takes it ends it.
    pub(super) fn take(&mut self, now: Instant) -> Option<Taken> {
        self.promote(now);
        if self.paused || !self.circuit.admits(now) {
            return None;
        }
        let key = self.waiting.pop_front()?;
        let slot = self.slots.get_mut(&key)?;
        let waited = slot.added.take().map_or(Duration::ZERO, |added| now.saturating_duration_since(added));
        (slot.taken, slot.too_late) = (Some(now), false);
        self.in_hand += 1;
        self.counts.depth -= 1;
        self.latency.observe_duration(waited);
        self.circuit.begin(Arc::clone(&key));
        let failed = slot.failed;
        self.tracer.note_key(&key, || Step::KeyTaken { attempt: failed.saturating_add(1), waited });
        Some(Taken { failed, key, waited })
    }

    pub(super) fn waiting(&mut self, now: Instant) -> usize {
        self.promote(now);
        self.waiting.len()
    }

    pub(super) fn distinct(&self) -> usize {
        self.slots.len()
    }

    /// When something could be handed out, where there is nothing now; none: not before something is added or ended, or a
    /// pause ends.
    pub(super) fn next_due(&self, now: Instant) -> Option<Instant> {
        if self.paused {
            return None;
        }
        let delayed = self.delayed.first_key_value().map(|((due, _), _)| *due);
        if !self.circuit.is_open() {
            return delayed;
        }
        let ready = if self.waiting.is_empty() { delayed } else { Some(now) };
        Some(ready?.max(self.circuit.next(now)?))
    }

    /// From the next failure on.
    pub(super) fn set_quarantine(&mut self, config: QuarantineConfig) {
        self.circuit.set_config(config);
    }

    /// True where there is a quarantine, whose next probe is due now.
    pub(super) fn new_version(&mut self, now: Instant) -> bool {
        self.circuit.new_version(now)
    }

    pub(super) fn set_paused(&mut self, paused: bool) {
        self.paused = paused;
    }

    pub(super) fn shut_down(&mut self, drain: bool, now: Instant) {
        self.promote(now);
        self.phase = if drain { Phase::Draining } else { Phase::ShutDown };
        for (_, key) in std::mem::take(&mut self.delayed) {
            let Some(slot) = self.slots.get_mut(&key) else { continue };
            slot.due = None;
            // What waits is handed out all the same.
            slot.too_late = slot.added.is_none();
            if slot.too_late && slot.taken.is_none() {
                self.tracer.note_key(&key, || Step::KeyDiscarded);
            }
            self.release(&key);
        }
    }

    /// As [`Keys::shut_down`], and what waits is dropped too. Gives how many keys were neither in hand nor done.
    pub(super) fn close(&mut self, now: Instant) -> usize {
        let idle = self.slots.len() - self.in_hand;
        self.shut_down(false, now);
        self.counts.depth = 0;
        for key in std::mem::take(&mut self.waiting) {
            self.tracer.note_key(&key, || Step::KeyDiscarded);
        }
        self.slots.retain(|_, slot| {
            slot.too_late |= slot.added.take().is_some();
            self.counts.discarded += u64::from(slot.taken.is_none());
            slot.taken.is_some()
        });
        idle
    }

    pub(super) fn set_capacity(&mut self, capacity: NonZeroUsize) {
        self.capacity = capacity;
    }

    pub(super) fn set_limiter(&mut self, mut limiter: Box<dyn RateLimiter>) {
        for (key, failures) in self.limiter.failures() {
            limiter.restore(&key, failures);
        }
        self.limiter = limiter;
    }

    /// False once it was shut down: what is added is ignored.
    pub(super) fn is_open(&self) -> bool {
        self.phase == Phase::Open
    }

    /// True while somebody who drains has to wait.
    pub(super) fn is_draining(&self) -> bool {
        self.phase == Phase::Draining && self.in_hand > 0
    }

    /// True once nothing will be handed out any more, unless what is in hand comes back. Nobody waits for the probes of a
    /// quarantine then.
    pub(super) fn is_over(&self) -> bool {
        let stuck = self.paused || self.circuit.is_open();
        self.phase != Phase::Open && (stuck || self.waiting.is_empty())
    }

    /// True where somebody who waits could have reason to look.
    pub(super) fn wakes(&self) -> bool {
        !self.paused && (!self.waiting.is_empty() || !self.delayed.is_empty())
    }

    pub(super) fn dropped(&self) -> &Letters<DroppedKey> {
        &self.dropped
    }

    pub(super) fn dropped_mut(&mut self) -> &mut Letters<DroppedKey> {
        &mut self.dropped
    }

    pub(super) fn stats(&mut self, now: Instant) -> WorkqueueStats {
        self.promote(now);
        let running = self.slots.values().filter_map(|slot| slot.taken);
        let running = running.map(|taken| now.saturating_duration_since(taken));
        let (unfinished_work, longest_running) =
            running.fold((Duration::ZERO, Duration::ZERO), |(sum, most), age| (sum + age, most.max(age)));
        WorkqueueStats {
            waiting: self.waiting.len(),
            delayed: self.delayed.len(),
            in_hand: self.in_hand,
            keys: self.slots.len(),
            capacity: self.capacity.get(),
            paused: self.paused,
            unfinished_work,
            longest_running,
            quarantine: self.circuit.quarantine(now),
            quarantines: self.circuit.opened(),
            dropped_keys: self.dropped.len(),
            dropped_keys_evicted: self.dropped.evicted(),
            counts: self.counts.clone(),
            latency: self.latency.clone(),
            work_duration: self.work_duration.clone(),
        }
    }

    /// The key's own copy, with a slot; a new one if there is room.
    fn admit(&mut self, key: &str) -> Result<Arc<str>, AddError> {
        if let Some((known, _)) = self.slots.get_key_value(key) {
            return Ok(Arc::clone(known));
        }
        if self.slots.len() >= self.capacity.get() {
            return Err(AddError::Full { capacity: self.capacity.get() });
        }
        let key: Arc<str> = key.into();
        self.slots.insert(Arc::clone(&key), Slot::default());
        Ok(key)
    }

    /// The key waits, from `since` on unless it did before (W-2).
    fn mark(&mut self, key: &Arc<str>, since: Instant) -> Enqueued {
        let Some(slot) = self.slots.get_mut(key).filter(|slot| slot.added.is_none()) else {
            return Enqueued::WaitsAlready;
        };
        slot.added = Some(since);
        self.counts.adds += 1;
        self.counts.depth += 1;
        if slot.taken.is_some() {
            return Enqueued::WaitsAfterCall;
        }
        self.waiting.push_back(Arc::clone(key));
        Enqueued::Waits
    }

    fn delay(&mut self, key: &Arc<str>, delay: Duration, now: Instant) -> Enqueued {
        self.counts.retries += 1;
        self.wait(key, delay, now)
    }

    /// The earliest of several times for one key counts (W-7).
    fn wait(&mut self, key: &Arc<str>, delay: Duration, now: Instant) -> Enqueued {
        if delay.is_zero() {
            return self.mark(key, now);
        }
        let Some(slot) = self.slots.get_mut(key) else { return Enqueued::DueAlready };
        let by = delay.min(MAX_ADD_DELAY);
        let at = now + by;
        if let Some(due) = slot.due {
            if due.0 <= at {
                return Enqueued::DueAlready;
            }
            self.delayed.remove(&due);
        }
        let due = (at, self.next);
        self.next += 1;
        slot.due = Some(due);
        self.delayed.insert(due, Arc::clone(key));
        Enqueued::Delayed { by }
    }

    fn limited(&mut self, key: &Arc<str>, now: Instant) -> KeyThen {
        if self.phase != Phase::Open {
            return self.too_late(key);
        }
        let after = self.limiter.when(key, now);
        self.delay(key, after, now);
        KeyThen::Again { after }
    }

    /// A key in hand is to come again, and the queue is shut down.
    fn too_late(&mut self, key: &str) -> KeyThen {
        let Some(slot) = self.slots.get_mut(key) else { return KeyThen::Discarded };
        if slot.added.is_some() {
            // It was added before.
            return KeyThen::Again { after: Duration::ZERO };
        }
        slot.too_late = true;
        KeyThen::Discarded
    }

    /// What is due waits from the moment on at which it was due.
    fn promote(&mut self, now: Instant) {
        while let Some(entry) = self.delayed.first_entry() {
            let (due, _) = *entry.key();
            if due > now {
                return;
            }
            let key = entry.remove();
            if let Some(slot) = self.slots.get_mut(&key) {
                slot.due = None;
            }
            self.mark(&key, due);
        }
    }

    fn set_failed(&mut self, key: &str, change: impl FnOnce(u32) -> u32) {
        if let Some(slot) = self.slots.get_mut(key) {
            slot.failed = change(slot.failed);
        }
    }

    /// Forgets a key that is nowhere any more (W-15).
    fn release(&mut self, key: &str) {
        let idle = |slot: &Slot| slot.added.is_none() && slot.taken.is_none() && slot.due.is_none();
        if self.slots.get(key).is_some_and(idle)
            && let Some(slot) = self.slots.remove(key)
        {
            self.counts.discarded += u64::from(slot.too_late);
        }
        if self.slots.is_empty() && self.slots.capacity() > KEPT {
            self.slots.shrink_to_fit();
            self.waiting.shrink_to_fit();
        }
    }
}

fn durations() -> Histogram {
    Histogram::new(DURATION_BOUNDS)
}
