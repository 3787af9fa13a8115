//! What happened to connections.

use std::sync::atomic::{AtomicUsize, Ordering};

/// Connections of a proxy, counted since it started.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Counts {
    /// Accepted in all. A refused one never gets this far.
    pub accepted: usize,
    /// Open now: accepted and not yet ended by anyone.
    pub open: usize,
    /// Reset by the proxy: by a cut, after its bytes, or for want of a server.
    pub reset: usize,
}

#[derive(Debug, Default)]
pub(super) struct Counters {
    accepted: AtomicUsize,
    ended: AtomicUsize,
    reset: AtomicUsize,
}

// === impl Counters ===

impl Counters {
    pub(super) fn accepted(&self) {
        self.accepted.fetch_add(1, Ordering::SeqCst);
    }

    pub(super) fn reset(&self) {
        self.reset.fetch_add(1, Ordering::SeqCst);
    }

    pub(super) fn ended(&self) {
        self.ended.fetch_add(1, Ordering::SeqCst);
    }

    pub(super) fn read(&self) -> Counts {
        // The ended are read first, so that they are never more than the accepted.
        let ended = self.ended.load(Ordering::SeqCst);
        let reset = self.reset.load(Ordering::SeqCst);
        let accepted = self.accepted.load(Ordering::SeqCst);
        Counts { accepted, open: accepted - ended, reset }
    }
}
