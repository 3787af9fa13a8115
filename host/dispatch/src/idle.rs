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

/// Looks until there is something, whenever `ready` says so or the time has come; none once it is over.
///
/// # Cancel safety
/// A dropped future has taken nothing.
pub(crate) async fn wait<T>(ready: &Notify, look: impl Fn() -> Result<T, Idle>) -> Option<T> {
    loop {
        // The short way: no waiter is registered where there is work.
        if let Ok(found) = look() {
            return Some(found);
        }
        let mut ready = pin!(ready.notified());
        // From here on no permit is missed, so the second look is the one that counts.
        ready.as_mut().enable();
        match look() {
            Ok(found) => return Some(found),
            Err(Idle::Over) => return None,
            Err(Idle::Until(None)) => ready.await,
            Err(Idle::Until(Some(due))) => select! {
                biased;
                () = ready => {}
                () = sleep_until(due.into()) => {}
            },
        }
    }
}
