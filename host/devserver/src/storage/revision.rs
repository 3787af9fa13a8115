//! The server's clock: the last resourceVersion given out.

use std::{
    sync::atomic::{AtomicU64, Ordering},
    time::Duration,
};

use tokio::sync::watch;

/// A counter of writes. 1 is the empty server: "0" is never a live version.
#[derive(Debug)]
pub(crate) struct Revision {
    last: AtomicU64,
    reached: watch::Sender<u64>,
}

// === impl Revision ===

impl Default for Revision {
    fn default() -> Self {
        Self { last: AtomicU64::new(1), reached: watch::Sender::new(1) }
    }
}

impl Revision {
    /// Takes the next version. Call it under the collection's lock, so that versions and history
    /// have one order.
    pub(super) fn next(&self) -> u64 {
        self.last.fetch_add(1, Ordering::SeqCst) + 1
    }

    /// Tells the waiting that the write of `rv` is in its collection.
    pub(super) fn announce(&self, rv: u64) {
        self.reached.send_if_modified(|last| {
            let newer = rv > *last;
            *last = rv.max(*last);
            newer
        });
    }

    pub(crate) fn current(&self) -> u64 {
        self.last.load(Ordering::SeqCst)
    }

    /// Waits until `rv` was given out; `false` when it was not within `patience`.
    ///
    /// # Cancel safety
    /// Dropping it loses nothing.
    pub(crate) async fn wait_for(&self, rv: u64, patience: Duration) -> bool {
        if self.current() >= rv {
            return true;
        }
        let mut reached = self.reached.subscribe();
        let wait = reached.wait_for(|last| *last >= rv);
        matches!(tokio::time::timeout(patience, wait).await, Ok(Ok(_)))
    }
}
