//! client-go's rate-limited workqueue, and the workers that reconcile its keys.
//!
//! `Keys` is the queue itself; it reads no clock and never waits. [`RateLimitingQueue`] puts a lock around it and lets workers
//! wait. [`ReconcileLoop`] calls a [`Reconciler`](informer_types::Reconciler) for each key (W-1).
//!
//! Differences from client-go:
//!
//! - Delayed keys go straight into the heap, under the lock, and a worker sleeps until the earliest one is due. There is no
//!   intake channel that could fill up, and no ticker (W-8).
//! - There are two lanes: keys of live changes, and keys that the guest adds, go before keys of the first list, of relists,
//!   resyncs and replays. The ratio is four to one, as for notifications.
//! - The number of distinct keys that the guest may add is bounded; beyond it [`AddError::Full`] is counted and returned.
//! - A key in flight is a value, [`Work`]: `Done` cannot be forgotten, and dropping the work puts the key back.
//! - A reconciler that keeps failing is quarantined ([`RateLimitingQueue::set_quarantine`]): it gets no calls except a probe
//!   from time to time. A call that fails in a quarantine, or triggers it, does not count against its key.
//! - The gauges of W-14 are computed when they are read.

mod counts;
mod keys;
mod rate_limiter;
mod reconcile_loop;

use std::{num::NonZeroUsize, sync::Arc, time::Duration};

use informer_types::{AddError, EventTrace, KeyedVersion, Tracer, Workqueue};

pub use crate::dead_letter::DroppedKey;
pub use counts::{KeyStanding, WorkqueueStats};
pub use keys::{Failed, Work};
pub use rate_limiter::RateLimiter;
pub use reconcile_loop::{ReconcileConfig, ReconcileLoop};

use crate::{
    keyed::{Handle, Lane, QuarantineConfig},
    letters::LetterBox,
};
use keys::{Delay, Keys};

/// The longest key in bytes. A key usually is `namespace/name`, of 253 bytes each at most.
pub const MAX_KEY_BYTES: usize = 1024;

/// A queue of distinct keys, with a rate limiter for keys that are retried.
///
/// # Promises
/// - A key is in the queue at most once: a key that is dirty is not added a second time. A key that is added while it is in flight is
///   handed out once more after its call (W-2), and never to two workers at once (W-3).
/// - No key is lost before the shutdown. Keys discarded by the shutdown are counted.
///
/// # Ordering
/// First in, first out by the first add, within each of the two lanes. A key whose delay is over comes after all keys added
/// before that moment.
///
/// # Bound
/// The guest may add at most `capacity` distinct keys, ready, delayed and in flight together. Keys of notifications are bounded
/// by the distinct objects or controllers that they name. The memory of a key is released when the key is done, and its
/// failures when it is forgotten (W-12, W-15).
///
/// Clones are handles of the same queue.
#[derive(Clone, Debug)]
pub struct RateLimitingQueue(Handle<Keys>);

// === impl RateLimitingQueue ===

impl RateLimitingQueue {
    /// An empty queue to which the guest may add at most `capacity` distinct keys.
    pub fn new(capacity: NonZeroUsize, limiter: RateLimiter) -> Self {
        Self::traced(capacity, limiter, Tracer::default())
    }

    /// Like [`RateLimitingQueue::new`]; the steps of each key are written to `tracer`.
    pub fn traced(capacity: NonZeroUsize, limiter: RateLimiter, tracer: Tracer) -> Self {
        Self(Handle::new(Keys::new(capacity, limiter, tracer)))
    }

    /// The next key, if one is ready now.
    pub fn take(&self) -> Option<Work> {
        Work::new(self.0.take().ok()?)
    }

    /// Waits for the next key. Returns `None` once the queue was shut down and its ready keys were handed out (W-4).
    ///
    /// # Cancel safety
    /// A dropped future has taken nothing.
    pub async fn get(&self) -> Option<Work> {
        Work::new(self.0.next().await?)
    }

    /// Adds the key of a notification, in the lane of the notification's cause. The call for the key continues the trace of the event.
    /// `version` is the version of the object; it is `None` if the key belongs to the owner of the object. The capacity limits the
    /// keys that a plugin adds itself, and not these keys.
    ///
    /// # Errors
    /// [`AddError::TooLong`]: nothing was added.
    pub(crate) fn enqueue(
        &self,
        key: &str,
        lane: Lane,
        trace: &EventTrace,
        version: Option<Arc<KeyedVersion>>,
    ) -> Result<(), AddError> {
        check_length(key)?;
        self.0.change(|keys, now| keys.enqueue(key, lane, trace, version, now));
        Ok(())
    }

    /// Adds a key of the host. The capacity does not apply.
    ///
    /// # Errors
    /// [`AddError::TooLong`]: nothing was added.
    pub fn raise(&self, key: &str) -> Result<(), AddError> {
        self.enqueue(key, Lane::Live, &EventTrace::default(), None)
    }

    /// Makes a key due after a delay, or at once if the delay is zero. The newest setting wins, over an earlier delay and over a
    /// retry: a key that is ready waits again. A key in flight is handed out once more after its call. If this call fails, a retry that
    /// is due earlier does not replace the delay. The capacity does not apply.
    ///
    /// # Errors
    /// [`AddError::TooLong`]: nothing was changed.
    pub fn schedule(&self, key: &str, delay: Duration) -> Result<(), AddError> {
        check_length(key)?;
        self.0.change(|keys, now| keys.schedule(key, delay, false, now))
    }

    /// Like [`schedule`](Self::schedule), for a key that the guest chose: it counts against the capacity.
    ///
    /// # Errors
    /// [`AddError`]: nothing was changed.
    pub fn schedule_own(&self, key: &str, delay: Duration) -> Result<(), AddError> {
        check_length(key)?;
        self.0.change(|keys, now| keys.schedule(key, delay, true, now))
    }

    /// Takes a key out of the queue. A call in flight goes on, and is not repeated unless it fails.
    pub fn cancel(&self, key: &str) {
        self.0.change(|keys, now| keys.cancel(key, now));
    }

    /// The key in flight is not due, so no call is made for it: when its work is dropped, the key is not put back. Whether it was
    /// added or delayed meanwhile decides what follows. Its failures, its dead letter and a quarantine stay as they are.
    pub fn skip(&self, key: &str) {
        self.0.with(|keys, _| keys.skip(key));
    }

    /// Hands out no key until [`resume`](Self::resume). Keys can still be added, and keys in flight are not affected.
    pub fn pause(&self) {
        self.0.set_paused(true);
    }

    /// Ends a pause. If the clock is stopped, the keys of the first list, of relists, resyncs and replays are sorted first.
    pub fn resume(&self) {
        self.0.set_paused(false);
    }

    /// Stops the clock of this queue, for tests of plugins: retries, delays, rates and the quarantine wait for
    /// [`advance`](Self::advance). Time limits of calls are not affected.
    pub fn stop_clock(&self) {
        self.0.stop_clock();
    }

    /// Moves a stopped clock. It does nothing while the clock runs.
    pub fn advance(&self, by: Duration) {
        self.0.advance(by);
    }

    /// Time until a worker gets a key without a further add; zero if a key is ready now. `None` means never.
    pub fn next_due(&self) -> Option<Duration> {
        self.0.next_due()
    }

    /// Sets whether keys are held. While they are held, no key is handed out, because no version with a reconciler is in service. If keys
    /// are held, a quarantine ends, because no probe could end it.
    pub fn set_held(&self, held: bool) {
        self.0.with(|keys, _| {
            keys.held = held;
            if held {
                keys.keyed.circuit.end();
            }
        });
        if held {
            self.0.notify_settled();
        }
        self.0.wake_workers();
    }

    /// Shuts the queue down (W-4, W-5): keys added from now on are ignored, delayed keys are dropped (W-8), and ready keys are
    /// still handed out. Then [`get`](Self::get) returns `None`. A caller that waits for a drain is released.
    pub fn shut_down(&self) {
        self.0.end(|keys, now| keys.shut_down(false, now));
    }

    /// Like [`shut_down`](Self::shut_down), but ready keys are discarded too. Returns the number of keys that were ready or
    /// delayed.
    pub fn close(&self) -> usize {
        self.0.end(Keys::close)
    }

    /// Changes how many keys the guest may add. Keys beyond the new capacity stay.
    pub fn set_capacity(&self, capacity: NonZeroUsize) {
        self.0.with(|keys, _| keys.capacity = capacity);
    }

    /// Replaces the limiter. The new one starts with the failures of all keys. Delays under way do not change.
    pub fn set_limiter(&self, limiter: RateLimiter) {
        self.0.with(|keys, _| keys.limiter.replace(limiter));
    }

    /// Sets when the reconciler is quarantined, from the next failure on. At first it never is. client-go has no quarantine.
    pub fn set_quarantine(&self, config: QuarantineConfig) {
        self.0.with(|keys, _| keys.keyed.circuit.set_config(config));
    }

    /// A new version is in service: it is judged by its own calls, and if there is a quarantine, the next probe is due now.
    pub fn new_version(&self) {
        self.0.new_version();
    }

    /// Like [`shut_down`](Self::shut_down), and waits until no key is in flight. A key that was added again while it was in flight
    /// is handed out too (W-5).
    ///
    /// # Cancel safety
    /// The queue is shut down once the future was polled, even if it is dropped.
    pub async fn shut_down_with_drain(&self) {
        self.0.end(|keys, now| keys.shut_down(true, now));
        self.0.until(|keys, _| !keys.is_draining()).await;
    }

    /// The number of distinct keys that are ready, delayed or in flight.
    pub fn keys(&self) -> usize {
        self.0.with(|keys, _| keys.keyed.len())
    }

    /// Counters and gauges of one moment (W-14).
    pub fn stats(&self) -> WorkqueueStats {
        self.0.with(Keys::stats)
    }

    /// The place of a key. Returns `None` if it is not in the queue.
    pub fn standing(&self, key: &str) -> Option<KeyStanding> {
        self.0.with(|keys, now| keys.standing(key, now))
    }

    /// Keys that were given up and have not succeeded since, at most a thousand.
    pub fn dropped(&self) -> LetterBox<DroppedKey> {
        self.0.with(|keys, _| keys.dropped.clone())
    }

    fn try_add(&self, key: &str, delay: Delay) -> Result<(), AddError> {
        check_length(key)?;
        self.0.change(|keys, now| keys.add(key, now, delay))
    }
}

impl Workqueue for RateLimitingQueue {
    fn add(&self, key: &str) -> Result<(), AddError> {
        self.try_add(key, Delay::None)
    }

    fn add_after(&self, key: &str, delay: Duration) -> Result<(), AddError> {
        self.try_add(key, Delay::After(delay))
    }

    fn add_rate_limited(&self, key: &str) -> Result<(), AddError> {
        self.try_add(key, Delay::RateLimited)
    }

    fn forget(&self, key: &str) {
        self.0.with(|keys, _| keys.limiter.forget(key));
    }

    fn num_requeues(&self, key: &str) -> u32 {
        self.0.with(|keys, _| keys.limiter.num_requeues(key))
    }

    fn waiting(&self) -> usize {
        self.0.with(Keys::ready)
    }
}

/// # Errors
/// [`AddError::TooLong`].
pub(crate) fn check_length(key: &str) -> Result<(), AddError> {
    match key.len() {
        bytes if bytes > MAX_KEY_BYTES => Err(AddError::TooLong { bytes, limit: MAX_KEY_BYTES }),
        _ => Ok(()),
    }
}

#[cfg(test)]
mod tests;
