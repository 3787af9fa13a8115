//! The counter of resourceVersions.

use std::{
    sync::atomic::{AtomicU64, Ordering},
    time::Duration,
};

use tokio::sync::watch;

/// A counter of writes. It starts at 1, because "0" is never the version of an object.
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
    /// Takes the next version. Call this while you hold the lock of the collection, so that its history is in version
    /// order.
    pub(super) fn next(&self) -> u64 {
        self.last.fetch_add(1, Ordering::SeqCst) + 1
    }

    /// Wakes tasks that wait for `rv`, after the write is in its collection.
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

    /// Waits until the server reaches `rv`. Returns false if that takes longer than `patience`.
    ///
    /// # Cancel safety
    /// Dropping the future has no effect.
    pub(crate) async fn wait_for(&self, rv: u64, patience: Duration) -> bool {
        if self.current() >= rv {
            return true;
        }
        let mut reached = self.reached.subscribe();
        let wait = reached.wait_for(|last| *last >= rv);
        matches!(tokio::time::timeout(patience, wait).await, Ok(Ok(_)))
    }
}
