//! What became of a key, for whoever asks why.

use std::{
    sync::Arc,
    time::{Duration, Instant},
};

use informer_types::{Enqueued, Failure, KeyThen, Step, Tracer};

use super::Keys;
use crate::{Stands, workqueue::KeyStanding};

/// The call of a key that ends, as it was before it ended.
pub(super) struct Call {
    attempt: u32,
    took: Duration,
}

// === impl Call ===

impl Call {
    /// Writes down what it led to.
    pub(super) fn note(self, tracer: &Tracer, key: &str, failure: Option<&Failure>, then: KeyThen) {
        let Self { attempt, took } = self;
        let failure = || failure.map(|failure| Box::new(failure.brief()));
        tracer.note_key(key, || Step::KeyDone { attempt, took, failure: failure(), then });
    }
}

// === impl Keys ===

impl Keys {
    pub(super) fn call(&self, key: &Arc<str>, now: Instant) -> Call {
        // The default is not reached: a slot stays while its key is in hand.
        let slot = self.slots.get(key);
        let taken = slot.and_then(|slot| slot.taken).unwrap_or(now);
        let attempt = slot.map_or(0, |slot| slot.failed).saturating_add(1);
        Call { attempt, took: now.saturating_duration_since(taken) }
    }

    /// See [`RateLimitingQueue::standing`](crate::workqueue::RateLimitingQueue::standing).
    pub(in crate::workqueue) fn standing(&mut self, key: &str, now: Instant) -> Option<KeyStanding> {
        self.promote(now);
        let slot = self.slots.get(key)?;
        let stands = match (slot.taken, slot.added, slot.due) {
            (Some(taken), ..) => Stands::InHand { lasting: now.saturating_duration_since(taken) },
            (None, None, Some((due, _))) => Stands::Waiting { retry_in: due.saturating_duration_since(now) },
            (None, ..) => Stands::Ready,
        };
        let again = slot.taken.is_some() && (slot.added.is_some() || slot.due.is_some());
        Some(KeyStanding { stands, again, failed: slot.failed })
    }

    /// Counts a key for which there is no room.
    pub(super) fn refused(&mut self, key: &str) {
        self.counts.refused += 1;
        let capacity = self.capacity.get();
        self.tracer.note_key(key, || Step::KeyRefused { capacity });
    }

    /// The queue is shut down (W-5), and the key is counted, unless it waits already; nobody has to look.
    pub(super) fn ignored(&mut self, key: &str) -> bool {
        match self.slots.get_mut(key) {
            Some(slot) if slot.added.is_some() => {
                self.tracer.note_key(key, || Step::KeyAdded { led_to: Enqueued::WaitsAlready });
            }
            // It is in hand, and the end of that says so.
            Some(slot) => slot.too_late = true,
            None => {
                self.counts.discarded += 1;
                self.tracer.note_key(key, || Step::KeyDiscarded);
            }
        }
        false
    }
}
