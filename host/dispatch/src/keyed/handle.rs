//! A queue behind a lock, with workers that wait for it.

use std::{fmt, sync::Arc, time::Instant};

use parking_lot::Mutex;
use tokio::{
    sync::{Notify, futures::Notified},
    time,
};

use super::idle::{self, Idle};

/// A queue as its handle uses it: a structure that reads no clock and never waits.
pub(crate) trait Face: fmt::Debug + Send + 'static {
    /// What a worker has while a key is in flight.
    type Held: fmt::Debug + Send;

    /// Hands out the next ready key.
    fn take(&mut self, now: Instant) -> Option<Self::Held>;

    /// Why [`take`](Self::take) returned `None`.
    fn idle(&self, now: Instant) -> Idle;

    /// Returns true if another worker has to look after this one has taken a key.
    fn wakes_another(&mut self, now: Instant) -> bool;

    /// Takes a key back whose call did not end. What it returns is dropped outside the lock.
    fn give_back(&mut self, held: Self::Held, now: Instant) -> (Box<dyn Send>, Wake);
}

/// Which workers have to look again after a change.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Wake {
    /// No worker.
    None,
    /// One worker.
    One,
    /// All workers: a quarantine ended, or the time of its next probe changed.
    All,
}

/// The handle of a queue. Clones are handles of the same queue.
#[derive(Debug)]
pub(crate) struct Handle<F>(Arc<Shared<F>>);

#[derive(Debug)]
struct Shared<F> {
    face: Mutex<F>,
    /// One permit for each key that became ready, and for each change of the earliest wait.
    ready: Notify,
    /// A key was settled, or the queue was paused or ended.
    settled: Notify,
}

/// A key in flight. Dropping it before it is ended gives the key back.
#[derive(Debug)]
pub(crate) struct Held<F: Face> {
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

impl<F: Face> Handle<F> {
    pub(crate) fn new(face: F) -> Self {
        Self(Arc::new(Shared { face: Mutex::new(face), ready: Notify::new(), settled: Notify::new() }))
    }

    /// Runs `change` under the lock. The time is read with the lock held, so that it is not before the changes of others.
    pub(crate) fn with<T>(&self, change: impl FnOnce(&mut F, Instant) -> T) -> T {
        let mut face = self.0.face.lock();
        let now = now();
        change(&mut face, now)
    }

    /// Runs `change` under the lock, then wakes workers. What `change` returns is returned after the lock was released.
    pub(crate) fn change<T>(&self, change: impl FnOnce(&mut F, Instant) -> (T, Wake)) -> T {
        let (done, wake) = self.with(change);
        self.wake(wake);
        done
    }

    /// The next ready key.
    pub(crate) fn take(&self) -> Result<Held<F>, Idle> {
        let (held, wakes_another) = self.with(|face, now| {
            let held = face.take(now).ok_or_else(|| face.idle(now))?;
            Ok((held, face.wakes_another(now)))
        })?;
        if wakes_another {
            // This worker is busy from now on.
            self.0.ready.notify_one();
        }
        Ok(Held { handle: self.clone(), held: Some(held) })
    }

    /// Waits for the next ready key. Returns `None` once the queue has ended.
    ///
    /// # Cancel safety
    /// A dropped future has taken nothing.
    pub(crate) async fn next(&self) -> Option<Held<F>> {
        idle::wait(&self.0.ready, || self.take()).await
    }

    pub(crate) fn wake(&self, wake: Wake) {
        match wake {
            Wake::None => {}
            Wake::One => self.0.ready.notify_one(),
            Wake::All => {
                self.0.ready.notify_waiters();
                // For a worker that is about to wait.
                self.0.ready.notify_one();
            }
        }
    }

    /// Wakes all workers that wait for a key.
    pub(crate) fn wake_workers(&self) {
        self.0.ready.notify_waiters();
    }

    /// Wakes everything that waits for the queue to become quiet.
    pub(crate) fn notify_settled(&self) {
        self.0.settled.notify_waiters();
    }

    pub(crate) fn settled(&self) -> Notified<'_> {
        self.0.settled.notified()
    }
}

// === impl Held ===

impl<F: Face> Held<F> {
    /// What the worker has. It is always there: ending the key consumes `self`.
    pub(crate) fn get(&self) -> Option<&F::Held> {
        self.held.as_ref()
    }

    /// Ends the key. Returns `None` if the key was ended before, which cannot happen.
    pub(crate) fn end<T>(mut self, end: impl FnOnce(&mut F, F::Held, Instant) -> (T, Wake)) -> Option<T> {
        let held = self.held.take()?;
        let ended = self.handle.change(|face, now| end(face, held, now));
        self.handle.notify_settled();
        Some(ended)
    }
}

impl<F: Face> Drop for Held<F> {
    fn drop(&mut self) {
        if let Some(held) = self.held.take() {
            let released = self.handle.change(|face, now| face.give_back(held, now));
            self.handle.notify_settled();
            drop(released);
        }
    }
}

/// The time of the runtime's clock, which tests can pause.
fn now() -> Instant {
    time::Instant::now().into_std()
}
