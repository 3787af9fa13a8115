//! Counters of connections.

use std::sync::atomic::{AtomicUsize, Ordering};

/// The connections of a proxy since it started.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Counts {
    /// Accepted connections. Refused connections do not count.
    pub accepted: usize,
    /// Open connections: accepted and not ended yet.
    pub open: usize,
    /// Connections that the proxy reset: because of a cut, after their bytes, or without a server.
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
        // The ended connections are read first, so they never exceed the accepted connections.
        let ended = self.ended.load(Ordering::SeqCst);
        let reset = self.reset.load(Ordering::SeqCst);
        let accepted = self.accepted.load(Ordering::SeqCst);
        Counts { accepted, open: accepted - ended, reset }
    }
}
