//! How workers wait for a queue to have something for them.

use std::{pin::pin, time::Instant};

use tokio::{select, sync::Notify, time::sleep_until};

/// Why a worker finds nothing.
#[derive(Debug)]
pub(crate) enum Idle {
    /// Nothing is ready before this instant, if there is one.
    Until(Option<Instant>),
    /// There will be nothing any more.
    Over,
}

/// A worker that sleeps until something is due, the only one that needs to.
struct Alarm<'a> {
    ready: &'a Notify,
    set: bool,
}

// === impl Alarm ===

impl Drop for Alarm<'_> {
    /// Somebody else sleeps for the rest of the time.
    fn drop(&mut self) {
        if self.set {
            self.ready.notify_one();
        }
    }
}

/// Looks until there is something, whenever `ready` says so or the time has come; none once it is over.
///
/// # Cancel safety
/// A dropped future has taken nothing, and what it slept for another one sleeps for.
pub(crate) async fn wait<T>(ready: &Notify, look: impl Fn() -> Result<T, Idle>) -> Option<T> {
    loop {
        // The short way: no waiter is registered where there is work.
        if let Ok(found) = look() {
            return Some(found);
        }
        // Dropped after what waits for permits, or its own would come back to it.
        let mut alarm = Alarm { ready, set: false };
        let mut ready = pin!(ready.notified());
        // From here on no permit is missed, so the second look is the one that counts.
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
