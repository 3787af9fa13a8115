//! The progress of the writers and its limit.

use std::sync::atomic::{AtomicUsize, Ordering};

use tokio::sync::watch;

/// Shared by the writers of a run and the injector.
pub(super) struct Pace {
    next: AtomicUsize,
    allowed: watch::Sender<usize>,
    done: watch::Sender<usize>,
}

// === impl Pace ===

impl Pace {
    /// At first no change is allowed.
    pub(super) fn new() -> Self {
        Self { next: AtomicUsize::new(0), allowed: watch::Sender::new(0), done: watch::Sender::new(0) }
    }

    /// Waits until one more change is allowed.
    pub(super) async fn turn(&self) {
        let ticket = self.next.fetch_add(1, Ordering::Relaxed);
        let _ = self.allowed.subscribe().wait_for(|allowed| ticket < *allowed).await;
    }

    /// Reports a change as done.
    pub(super) fn done(&self) {
        self.done.send_modify(|done| *done += 1);
    }

    /// Raises the limit to `changes` in total. Never lowers it.
    pub(super) fn allow(&self, changes: usize) {
        self.allowed.send_if_modified(|allowed| {
            let more = changes > *allowed;
            *allowed = changes.max(*allowed);
            more
        });
    }

    /// Waits until `changes` in total are done.
    pub(super) async fn reached(&self, changes: usize) {
        let _ = self.done.subscribe().wait_for(|done| *done >= changes).await;
    }
}
