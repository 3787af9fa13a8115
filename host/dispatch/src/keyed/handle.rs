//! A queue behind a lock, with workers that wait for it.

use std::{
    fmt,
    pin::pin,
    sync::{Arc, OnceLock},
    time::{Duration, Instant},
};

use parking_lot::Mutex;
use tokio::{
    select,
    sync::Notify,
    time::{self, sleep_until},
};

use super::circuit::Circuit;

/// A change after which all workers have to look again: a quarantine ended, or the time of its next probe changed.
pub(crate) const ALL_WORKERS: usize = usize::MAX;

/// A queue without its lock, as the handle uses it. It reads no clock and never waits.
pub(crate) trait QueueState: fmt::Debug + Send + 'static {
    /// The data of a worker while a key is in flight.
    type Held: fmt::Debug + Send;
    /// The tokens that a change releases. They are dropped outside the lock, because the last holder of a sync token runs code of
    /// the cache.
    type Released;

    /// Hands out the next ready key.
    fn take(&mut self, now: Instant) -> Option<Self::Held>;

    /// Why [`take`](Self::take) returned `None`.
    fn idle(&self, now: Instant) -> Idle;

    /// Returns true if another worker has to look after this one has taken a key.
    fn wakes_another(&mut self, now: Instant) -> bool;

    /// Takes a key back whose call did not end.
    fn give_back(&mut self, held: Self::Held, now: Instant);

    /// The circuit breaker of the plugin.
    fn circuit(&mut self) -> &mut Circuit;

    /// Puts the ready keys of lists, resyncs and replays into the order of the keys.
    fn sort_backlog(&mut self);

    /// The number of workers that have to look again after the changes since the last call.
    fn wakes(&mut self) -> usize;

    /// The tokens that the changes since the last call released.
    fn released(&mut self) -> Self::Released;
}

/// Why a queue has nothing for a worker.
#[derive(Debug)]
pub(crate) enum Idle {
    /// Nothing is ready before this instant. `None` means that nothing is ready before the queue changes.
    Until(Option<Instant>),
    /// The queue has ended: it will never hand out anything again.
    Over,
}

/// The alarm of a worker that sleeps until something is due. If the future of this worker is dropped, another worker wakes.
struct Alarm<'a> {
    ready: &'a Notify,
    set: bool,
}

/// The handle of a queue. Clones are handles of the same queue.
#[derive(Debug)]
pub(crate) struct Handle<F>(Arc<Shared<F>>);

#[derive(Debug)]
struct Shared<F> {
    state: Mutex<F>,
    /// Notified for each key that becomes ready, and when a worker has to sleep until another time.
    ready: Notify,
    /// Notified when a key is settled, and when the queue is paused or ends.
    settled: Notify,
    /// The time of a queue whose clock is stopped.
    stopped: OnceLock<Mutex<Instant>>,
}

/// A key in flight. Dropping it before it is ended gives the key back.
#[derive(Debug)]
pub(crate) struct Held<F: QueueState> {
    handle: Handle<F>,
    /// `None` once the key is ended.
    held: Option<F::Held>,
}

// === impl Handle ===

impl<F> Clone for Handle<F> {
    fn clone(&self) -> Self {
        Self(Arc::clone(&self.0))
    }
}

impl<F: QueueState> Handle<F> {
    pub(crate) fn new(state: F) -> Self {
        let (ready, settled) = (Notify::new(), Notify::new());
        Self(Arc::new(Shared { state: Mutex::new(state), ready, settled, stopped: OnceLock::new() }))
    }

    /// Runs `change` under the lock. The time is read with the lock held, so that it is not before the changes of others.
    pub(crate) fn with<T>(&self, change: impl FnOnce(&mut F, Instant) -> T) -> T {
        let mut state = self.0.state.lock();
        let now = self.now();
        change(&mut state, now)
    }

    /// Stops the clock: from now on the time of this queue moves by [`advance`](Self::advance) only, and no worker sleeps.
    pub(crate) fn stop_clock(&self) {
        self.0.stopped.get_or_init(|| Mutex::new(now()));
        self.wake_workers();
    }

    /// Moves a stopped clock, and wakes the workers. It does nothing while the clock runs.
    pub(crate) fn advance(&self, by: Duration) {
        if let Some(stopped) = self.0.stopped.get() {
            let mut time = stopped.lock();
            *time = time.checked_add(by).unwrap_or(*time);
            drop(time);
            self.wake_workers();
            // This permit is for a worker that is about to wait.
            self.0.ready.notify_one();
        }
    }

    /// Time until something becomes ready by itself; zero if something is ready now. `None` means never.
    pub(crate) fn next_due(&self) -> Option<Duration> {
        self.with(|state, now| match state.idle(now) {
            Idle::Until(due) => due.map(|due| due.saturating_duration_since(now)),
            Idle::Over => None,
        })
    }

    /// Returns true if the clock is stopped.
    pub(crate) fn is_stopped(&self) -> bool {
        self.0.stopped.get().is_some()
    }

    fn now(&self) -> Instant {
        self.0.stopped.get().map_or_else(now, |stopped| *stopped.lock())
    }

    /// Runs `change` under the lock, then wakes workers.
    pub(crate) fn change<T>(&self, change: impl FnOnce(&mut F, Instant) -> T) -> T {
        let (done, workers, released) =
            self.with(|state, now| (change(state, now), state.wakes(), state.released()));
        if workers == ALL_WORKERS {
            self.0.ready.notify_waiters();
            // This permit is for a worker that is about to wait.
            self.0.ready.notify_one();
        } else {
            // A worker that is busy looks again by itself.
            (0..workers).for_each(|_| self.0.ready.notify_one());
        }
        drop(released);
        done
    }

    /// Runs `change` under the lock, then wakes all workers and everything that waits for the queue to become quiet.
    pub(crate) fn end<T>(&self, change: impl FnOnce(&mut F, Instant) -> T) -> T {
        let done = self.change(change);
        self.wake_workers();
        self.notify_settled();
        done
    }

    /// Begins or ends a pause, in which nothing is handed out. If the clock is stopped, the end of a pause sorts the keys of lists,
    /// resyncs and replays: a cache has no order, and the lists of several resources come in any order, but a test of a plugin
    /// expects the same calls in each run.
    pub(crate) fn set_paused(&self, paused: bool) {
        let sorts = !paused && self.is_stopped();
        self.with(|state, _| {
            if sorts {
                state.sort_backlog();
            }
            state.circuit().paused = paused;
        });
        if paused {
            self.notify_settled();
        } else {
            self.wake_workers();
        }
    }

    /// A new version is in service: it is judged by its own calls, and if there is a quarantine, the next probe is due now.
    pub(crate) fn new_version(&self) {
        if self.with(|state, now| state.circuit().new_version(now)) {
            self.wake_workers();
        }
    }

    /// Waits until `quiet` returns true. It is called at once, and after each key that is settled.
    ///
    /// # Cancel safety
    /// A dropped future changes nothing.
    pub(crate) async fn until(&self, quiet: impl Fn(&mut F, Instant) -> bool) {
        loop {
            let mut settled = pin!(self.0.settled.notified());
            settled.as_mut().enable();
            if self.with(&quiet) {
                return;
            }
            settled.await;
        }
    }

    /// The next ready key.
    pub(crate) fn take(&self) -> Result<Held<F>, Idle> {
        let (taken, released) = self.with(|state, now| {
            let taken = state.take(now).ok_or_else(|| state.idle(now));
            let taken = taken.map(|held| (held, state.wakes_another(now)));
            // Even a worker that finds nothing may have ended waits, and so released tokens.
            (taken, state.released())
        });
        let taken = taken.map(|(held, wakes_another)| {
            if wakes_another {
                // This worker is busy from now on.
                self.0.ready.notify_one();
            }
            Held { handle: self.clone(), held: Some(held) }
        });
        drop(released);
        taken
    }

    /// Takes further ready keys for a worker that has taken one already, at most this number. The first take has woken another
    /// worker if one is needed.
    pub(crate) fn take_along(
        &self,
        most: usize,
        take: impl Fn(&mut F, Instant) -> Option<F::Held>,
    ) -> Vec<Held<F>> {
        self.with(|state, now| {
            let taken = std::iter::from_fn(|| take(state, now)).take(most);
            taken.map(|held| Held { handle: self.clone(), held: Some(held) }).collect()
        })
    }

    /// Waits for the next ready key. Returns `None` once the queue has ended.
    ///
    /// # Cancel safety
    /// A dropped future has taken nothing.
    pub(crate) async fn next(&self) -> Option<Held<F>> {
        wait(&self.0.ready, || self.take(), || self.is_stopped()).await
    }

    /// Wakes all workers that wait for a key.
    pub(crate) fn wake_workers(&self) {
        self.0.ready.notify_waiters();
    }

    /// Wakes everything that waits for the queue to become quiet.
    pub(crate) fn notify_settled(&self) {
        self.0.settled.notify_waiters();
    }
}

// === impl Held ===

impl<F: QueueState> Held<F> {
    /// The data of the key in flight. It is always present, because ending the key consumes `self`.
    pub(crate) fn get(&self) -> Option<&F::Held> {
        self.held.as_ref()
    }

    /// Ends the key. Returns `None` if the key was ended before, which cannot happen.
    pub(crate) fn end<T>(mut self, end: impl FnOnce(&mut F, F::Held, Instant) -> T) -> Option<T> {
        let held = self.held.take()?;
        Some(self.settle(|state, now| end(state, held, now)))
    }

    fn settle<T>(&self, end: impl FnOnce(&mut F, Instant) -> T) -> T {
        let ended = self.handle.change(end);
        self.handle.notify_settled();
        ended
    }
}

impl<F: QueueState> Drop for Held<F> {
    fn drop(&mut self) {
        if let Some(held) = self.held.take() {
            self.settle(|state, now| state.give_back(held, now));
        }
    }
}

// === impl Alarm ===

impl Drop for Alarm<'_> {
    /// Wakes another worker, which sleeps for the rest of the time.
    fn drop(&mut self) {
        if self.set {
            self.ready.notify_one();
        }
    }
}

/// Calls `look` until it finds something: at once, after each notification of `ready`, and when the time that `look`
/// returned has come, unless `is_stopped` returns true. Returns `None` once the queue has ended.
///
/// # Cancel safety
/// A dropped future has taken nothing, and another worker sleeps in its place.
async fn wait<T>(
    ready: &Notify,
    look: impl Fn() -> Result<T, Idle>,
    is_stopped: impl Fn() -> bool,
) -> Option<T> {
    loop {
        // The fast path: no waiter is registered if there is work.
        if let Ok(found) = look() {
            return Some(found);
        }
        // `alarm` is declared before `ready`, so `ready` is dropped first. Otherwise this worker would receive the permit of its own
        // alarm.
        let mut alarm = Alarm { ready, set: false };
        let mut ready = pin!(ready.notified());
        // From here on no permit is missed, so the second look decides.
        ready.as_mut().enable();
        match look() {
            Ok(found) => return Some(found),
            Err(Idle::Over) => return None,
            Err(Idle::Until(None)) => ready.await,
            Err(Idle::Until(Some(_))) if is_stopped() => ready.await,
            Err(Idle::Until(Some(due))) => {
                alarm.set = true;
                select! {
                    biased;
                    () = ready => {}
                    () = sleep_until(due.into()) => {}
                }
                // This worker looks again.
                alarm.set = false;
            }
        }
    }
}

/// The time of the runtime's clock, which tests can pause.
fn now() -> Instant {
    time::Instant::now().into_std()
}
