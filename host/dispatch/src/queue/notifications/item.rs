//! The pending notifications of one object, and the one in flight.

use std::time::{Duration, Instant};

use crate::{coalesce::Pending, entry::Entry, queue::settling::Settling};

/// The pending notifications of an object, and the one in flight.
#[derive(Debug)]
pub(in crate::queue) struct Item {
    pub(super) pending: Pending,
    /// The earliest time at which newer state is delivered while the object waits for a retry.
    pub(super) floor: Instant,
    /// The changes that are delivered once the object is quiet. `None` if the pending notifications do not wait until then.
    pub(super) settling: Option<Box<Settling>>,
    /// The entry in flight, while there is one.
    pub(super) in_flight: Option<InFlight>,
    /// The object is delivered alone, because a call for a batch with it failed, until one of its notifications is delivered or given
    /// up.
    pub(super) alone: bool,
}

#[derive(Clone, Copy, Debug)]
pub(super) struct InFlight {
    /// The entry is a deletion, so the handler does not know the object afterwards.
    pub(super) deletion: bool,
    /// When the entry was queued.
    pub(super) queued: Instant,
    /// The [`expiries`](crate::receipts::Receipts::expiries) of the receipts when the worker took the entry.
    pub(super) expiries: u64,
}

// === impl InFlight ===

impl InFlight {
    pub(super) fn of(entry: &Entry, expiries: u64) -> Self {
        Self { deletion: entry.is_deletion(), queued: entry.queued, expiries }
    }
}

// === impl Item ===

impl Item {
    /// An object of which nothing is pending.
    pub(super) fn new(now: Instant) -> Self {
        Self { pending: Pending::default(), floor: now, settling: None, in_flight: None, alone: false }
    }

    /// Begins or prolongs the wait until the object is quiet, if the entry has to wait for `quiet`. Call it before the entry becomes
    /// pending. A deletion ends the wait. A change that finds a pending addition or update goes with it and begins no wait, unless
    /// `is_retried`: then the pending notification waits for a retry.
    pub(super) fn note_change(
        &mut self,
        entry: &Entry,
        quiet: Option<Duration>,
        is_retried: bool,
        now: Instant,
    ) {
        let goes_along = !is_retried && self.pending.last().is_some_and(|last| !last.is_deletion());
        match (&mut self.settling, quiet) {
            (settling, _) if entry.is_deletion() => *settling = None,
            (Some(settling), Some(quiet)) => settling.again(quiet, now),
            (settling @ None, Some(_)) if !goes_along => *settling = Some(Box::new(Settling::new(now))),
            _ => {}
        }
    }

    /// When the object is quiet, if the next entry waits for that and the time has not come. A deletion does not wait.
    pub(super) fn quiet_at(&self, quiet: Duration, now: Instant) -> Option<Instant> {
        let due = self.settling.as_ref()?.due(quiet);
        (due > now && !self.begins_with_deletion()).then_some(due)
    }

    /// A retry is due, and what is pending with it does not wait any more. Behind a deletion everything still waits.
    pub(super) fn end_settling(&mut self) {
        if !self.begins_with_deletion() {
            self.settling = None;
        }
    }

    fn begins_with_deletion(&self) -> bool {
        self.pending.first().is_some_and(Entry::is_deletion)
    }

    /// When each entry was queued, pending or in flight.
    pub(super) fn queued(&self) -> impl Iterator<Item = Instant> {
        let in_flight = self.in_flight.map(|in_flight| in_flight.queued);
        self.pending.iter().map(|entry| entry.queued).chain(in_flight)
    }

    /// Failed calls of the oldest pending entry. No other entry was called yet.
    pub(super) fn attempts(&self) -> u32 {
        self.pending.first().map_or(0, |entry| entry.attempts)
    }
}
