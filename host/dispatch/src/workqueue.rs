//! client-go's rate-limited workqueue, and the workers that reconcile its keys.
//!
//! `Keys` is the queue itself, without a clock, threads or tasks of its own; [`RateLimitingQueue`] puts a lock around it
//! and lets workers wait; [`ReconcileLoop`] is the loop of W-1 around a [`Reconciler`](informer_types::Reconciler).
//!
//! Where it does something else than client-go's:
//!
//! - Delayed keys go straight into the heap, under the lock, and who waits is woken when the earliest is due. There is no
//!   intake buffer that could be full and no ticker (W-8).
//! - It is bounded by distinct keys: at the bound [`AddError::Full`](informer_types::AddError) is counted and returned.
//! - A key in hand is a value, [`Work`]: `Done` cannot be forgotten, and work that is dropped puts its key back.
//! - A reconciler that traps again and again is left alone ([`RateLimitingQueue::set_quarantine`]): keys wait, but for a probe
//!   now and then. A call that fails in a quarantine, or leads to it, is not held against its key.
//! - What W-14 measures is computed when it is asked for, so nothing has to be refreshed, or stopped.

mod counts;
mod dropped;
mod get;
mod keys;
mod rate_limiter;
mod reconcile_loop;
mod standing;
mod work;

use std::{
    num::NonZeroUsize,
    pin::pin,
    sync::Arc,
    time::{Duration, Instant},
};

use informer_types::{AddError, Tracer, Workqueue};
use parking_lot::Mutex;
use tokio::{sync::Notify, time};

pub use counts::WorkqueueStats;
pub use dropped::DroppedKey;
pub use rate_limiter::{
    BucketRateLimiter, ItemExponentialFailureRateLimiter, ItemFastSlowRateLimiter, MaxOfRateLimiter,
    MaxWaitRateLimiter, RateLimiter, default_controller_rate_limiter,
};
pub use reconcile_loop::{ReconcileConfig, ReconcileHandle, ReconcileLoop};
pub use standing::KeyStanding;
pub use work::{Failed, Work};

use crate::QuarantineConfig;
use keys::Keys;

/// A key is `namespace/name` as a rule, of 253 bytes each at most.
pub const MAX_KEY_BYTES: usize = 1024;

/// A queue of distinct keys with a rate limiter for those that come again.
///
/// # Promises
/// A key that waits is not added twice; one that is in hand and added again is handed out once more after it is done
/// (W-2), never to two at once (W-3). No key that was added is lost but at the shutdown, and then it is counted.
///
/// # Ordering
/// First in, first out by the first add. A key whose delay is over comes behind those that were added before that moment.
///
/// # Bound
/// So many distinct keys as it was made for: waiting, delayed and in hand together. The memory of a key goes back when it
/// is done, and its failures when it is forgotten (W-12, W-15).
///
/// Cheap to clone; all clones are the same queue.
#[derive(Clone, Debug)]
pub struct RateLimitingQueue(Arc<Shared>);

#[derive(Debug)]
struct Shared {
    keys: Mutex<Keys>,
    /// One permit for each key that became ready, and for each change of the earliest delay.
    ready: Notify,
    /// Something was done, or the queue was shut down or paused.
    changed: Notify,
    /// The list of dropped keys changed.
    letters: Notify,
}

// === impl RateLimitingQueue ===

impl RateLimitingQueue {
    /// An empty queue of at most so many distinct keys.
    pub fn new(capacity: NonZeroUsize, limiter: impl RateLimiter) -> Self {
        Self::traced(capacity, limiter, Tracer::default())
    }

    /// As [`RateLimitingQueue::new`]; what becomes of each key is written to `tracer`.
    pub fn traced(capacity: NonZeroUsize, limiter: impl RateLimiter, tracer: Tracer) -> Self {
        Self(Arc::new(Shared {
            keys: Mutex::new(Keys::new(capacity, Box::new(limiter), tracer)),
            ready: Notify::new(),
            changed: Notify::new(),
            letters: Notify::new(),
        }))
    }

    /// As [`Workqueue::add`], but waits for room instead of failing at the bound. False where the queue was shut down, so
    /// that the key was ignored.
    ///
    /// # Errors
    /// [`AddError::TooLong`].
    ///
    /// # Cancel safety
    /// A dropped future has added nothing.
    pub async fn add_when_room(&self, key: &str) -> Result<bool, AddError> {
        loop {
            let mut changed = pin!(self.0.changed.notified());
            changed.as_mut().enable();
            let mut open = true;
            let added = self.try_add(key, |keys, key, now| {
                open = keys.is_open();
                keys.add_if_room(key, now)
            });
            match added {
                Err(AddError::Full { .. }) => changed.await,
                added => return added.map(|()| open),
            }
        }
    }

    /// From now on nothing is handed out; keys are still taken in. What is in hand is not touched.
    pub fn pause(&self) {
        self.0.keys.lock().set_paused(true);
        self.0.changed.notify_waiters();
    }

    /// Ends a pause.
    pub fn resume(&self) {
        self.0.keys.lock().set_paused(false);
        self.0.ready.notify_waiters();
    }

    /// Ends the queue (W-4, W-5): what is added from now on is ignored, what is delayed is dropped (W-8), what waits is
    /// still handed out, then [`get`](Self::get) tells that it is over. Who waits for a drain is released.
    pub fn shut_down(&self) {
        self.0.keys.lock().shut_down(false, now());
        self.0.ready.notify_waiters();
        self.0.changed.notify_waiters();
    }

    /// As [`shut_down`](Self::shut_down), but what waits is discarded too: only what is in hand is still ended. Gives how
    /// many keys that were.
    pub fn close(&self) -> usize {
        let discarded = self.0.keys.lock().close(now());
        self.0.ready.notify_waiters();
        self.0.changed.notify_waiters();
        discarded
    }

    /// Holds so many keys from now on. What is in it beyond that stays; nothing is added until there is room.
    pub fn set_capacity(&self, capacity: NonZeroUsize) {
        self.0.keys.lock().set_capacity(capacity);
        self.0.changed.notify_waiters();
    }

    /// Waits as this limiter says from now on, which takes over the failures that are not forgotten. What is delayed stays
    /// so long as it was to.
    pub fn set_limiter(&self, limiter: impl RateLimiter) {
        self.0.keys.lock().set_limiter(Box::new(limiter));
    }

    /// When the reconciler is left alone, from the next failure on; at first: never. It is not W's but ours: see
    /// [`QuarantineConfig`].
    pub fn set_quarantine(&self, config: QuarantineConfig) {
        self.0.keys.lock().set_quarantine(config);
    }

    /// A new version is in service, from now on: it is judged by its own calls, and where the reconciler is in quarantine, the
    /// next probe is due now.
    pub fn new_version(&self) {
        let due = self.0.keys.lock().new_version(now());
        if due {
            self.0.ready.notify_waiters();
        }
    }

    /// As [`shut_down`](Self::shut_down), and waits until nothing is in hand; a key that was added again meanwhile is
    /// handed out too (W-5).
    ///
    /// # Cancel safety
    /// The queue is shut down as soon as the future was first polled, whatever becomes of it.
    pub async fn shut_down_with_drain(&self) {
        self.0.keys.lock().shut_down(true, now());
        self.0.ready.notify_waiters();
        loop {
            let mut changed = pin!(self.0.changed.notified());
            changed.as_mut().enable();
            if !self.0.keys.lock().is_draining() {
                return;
            }
            changed.await;
        }
    }

    /// Keys that are waiting, delayed or in hand.
    pub fn keys(&self) -> usize {
        self.0.keys.lock().distinct()
    }

    /// Counters and gauges, all of the same moment (W-14).
    pub fn stats(&self) -> WorkqueueStats {
        self.0.keys.lock().stats(now())
    }

    fn try_add(
        &self,
        key: &str,
        add: impl FnOnce(&mut Keys, &str, Instant) -> Result<bool, AddError>,
    ) -> Result<(), AddError> {
        if key.len() > MAX_KEY_BYTES {
            return Err(AddError::TooLong { bytes: key.len(), limit: MAX_KEY_BYTES });
        }
        let wake = add(&mut self.0.keys.lock(), key, now())?;
        if wake {
            self.0.ready.notify_one();
        }
        Ok(())
    }
}

impl Workqueue for RateLimitingQueue {
    fn add(&self, key: &str) -> Result<(), AddError> {
        self.try_add(key, Keys::add)
    }

    fn add_after(&self, key: &str, delay: Duration) -> Result<(), AddError> {
        self.try_add(key, |keys, key, now| keys.add_after(key, delay, now))
    }

    fn add_rate_limited(&self, key: &str) -> Result<(), AddError> {
        self.try_add(key, Keys::add_rate_limited)
    }

    fn forget(&self, key: &str) {
        self.0.keys.lock().forget(key);
    }

    fn num_requeues(&self, key: &str) -> u32 {
        self.0.keys.lock().num_requeues(key)
    }

    fn waiting(&self) -> usize {
        self.0.keys.lock().waiting(now())
    }
}

/// The runtime's clock, so that tests can pause it.
fn now() -> Instant {
    time::Instant::now().into_std()
}

#[cfg(test)]
mod tests;
