//! How workers wait for a queue to have something for them.

use std::{pin::pin, time::Instant};

use tokio::{select, sync::Notify, time::sleep_until};

/// Why a queue has nothing for a worker.
#[derive(Debug)]
pub(crate) enum Idle {
    /// Nothing is ready before this instant. `None` means that nothing is ready before the queue changes.
    Until(Option<Instant>),
    /// The queue has ended: it will never hand out anything again.
    Over,
}

/// The alarm of the one worker that sleeps until something is due.
struct Alarm<'a> {
    ready: &'a Notify,
    set: bool,
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
/// returned has come. Returns `None` once the queue has ended.
///
/// # Cancel safety
/// A dropped future has taken nothing, and another worker sleeps in its place.
pub(crate) async fn wait<T>(ready: &Notify, look: impl Fn() -> Result<T, Idle>) -> Option<T> {
    loop {
        // The fast path: no waiter is registered if there is work.
        if let Ok(found) = look() {
            return Some(found);
        }
        // Dropped after `ready`, or the permit of the alarm would come back to this worker.
        let mut alarm = Alarm { ready, set: false };
        let mut ready = pin!(ready.notified());
        // From here on no permit is missed, so the second look decides.
        ready.as_mut().enable();
        match look() {
            Ok(found) => return Some(found),
            Err(Idle::Over) => return None,
            Err(Idle::Until(None)) => ready.await,
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
