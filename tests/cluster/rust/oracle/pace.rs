//! How far the writers have come, and how far they may go.

use std::sync::atomic::{AtomicUsize, Ordering};

use tokio::sync::watch;

/// Shared by the writers of a run and by who strikes with faults.
pub(super) struct Pace {
    next: AtomicUsize,
    allowed: watch::Sender<usize>,
    done: watch::Sender<usize>,
}

// === impl Pace ===

impl Pace {
    /// At first nobody may do anything.
    pub(super) fn new() -> Self {
        Self { next: AtomicUsize::new(0), allowed: watch::Sender::new(0), done: watch::Sender::new(0) }
    }

    /// Waits for the turn to make one more change.
    pub(super) async fn turn(&self) {
        let ticket = self.next.fetch_add(1, Ordering::Relaxed);
        let _ = self.allowed.subscribe().wait_for(|allowed| ticket < *allowed).await;
    }

    /// A change is made.
    pub(super) fn done(&self) {
        self.done.send_modify(|done| *done += 1);
    }

    /// From now on so many changes in all may be made, if not more already.
    pub(super) fn allow(&self, changes: usize) {
        self.allowed.send_if_modified(|allowed| {
            let more = changes > *allowed;
            *allowed = changes.max(*allowed);
            more
        });
    }

    /// Waits until so many changes in all are made.
    pub(super) async fn reached(&self, changes: usize) {
        let _ = self.done.subscribe().wait_for(|done| *done >= changes).await;
    }
}
