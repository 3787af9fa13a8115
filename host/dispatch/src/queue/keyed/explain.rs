//! What the queue decided about an object, and where it stands now, for whoever asks why.

use std::time::{Duration, Instant};

use informer_types::{Cause, Failure, ObjectKey, Source, Step, Then, Tracer};

use super::{Keyed, Taken};
use crate::{
    Fate, Merge, ObjectRef, Settled,
    entry::Entry,
    pending::Effect,
    queue::{
        slot::Place,
        standing::{Standing, Stands},
    },
};

/// What came.
#[derive(Clone, Copy)]
pub(super) struct Told {
    verb: &'static str,
    cause: Cause,
}

/// A call that ended, before it is decided what it leads to; none where nobody reads it.
pub(super) struct Ended(Option<Call>);

struct Call {
    source: Source,
    key: ObjectKey,
    told: Told,
    attempt: u32,
    queued: Duration,
    took: Duration,
    failure: Option<Box<Failure>>,
}

// === impl Told ===

impl Told {
    pub(super) fn of(entry: &Entry) -> Self {
        Self { verb: entry.change.verb(), cause: entry.cause }
    }

    /// Writes down what became of it.
    pub(super) fn note(self, tracer: &Tracer, object: &ObjectRef, effect: &Effect) {
        let Self { verb, cause } = self;
        let step = || match effect {
            Effect::Grew => Step::Queued { verb, cause },
            Effect::Merged { merge, .. } => Step::Merged { verb, cause, into: word(*merge) },
            Effect::Cancelled(_) => Step::Cancelled { verb },
        };
        tracer.note(&object.source, || (object.key.clone(), step()));
    }
}

fn word(merge: Merge) -> &'static str {
    match merge {
        Merge::Add => "add",
        Merge::Update => "update",
        Merge::Delete => "delete",
        // A resync changes nothing about it.
        Merge::Resync => "what it is",
    }
}

// === impl Ended ===

impl Ended {
    pub(super) fn then(settled: &Settled) -> Then {
        match settled {
            // The other is not reached: it is no call.
            Settled::Acknowledged | Settled::Untold => Then::Acknowledged,
            Settled::Recovered => Then::Recovered,
            Settled::Retrying { delay, superseded } => Then::Retry { after: *delay, superseded: *superseded },
            Settled::Quarantined { probe_in, .. } => Then::Quarantined { probe_in: *probe_in },
            Settled::GaveUp { fate: Fate::Drop, .. } => Then::Dropped,
            Settled::GaveUp { .. } => Then::DeadLetter,
            Settled::Discarded => Then::Discarded,
        }
    }
}

// === impl Keyed ===

impl Keyed {
    pub(super) fn ended(&self, taken: &Taken, failure: Option<&Failure>, now: Instant) -> Ended {
        if !self.tracer.is_on() {
            return Ended(None);
        }
        let since = self.began(taken, now);
        Ended(Some(Call {
            source: taken.object.source.clone(),
            key: taken.object.key.clone(),
            told: Told::of(&taken.entry),
            attempt: taken.entry.attempts,
            queued: since.saturating_duration_since(taken.entry.queued),
            took: now.saturating_duration_since(since),
            failure: failure.map(|failure| Box::new(failure.brief())),
        }))
    }

    pub(super) fn note_ended(&self, ended: Ended, then: Then) {
        let Some(call) = ended.0 else { return };
        let Call { source, key, told: Told { verb, cause }, attempt, queued, took, failure } = call;
        let step = Step::Called { verb, cause, attempt, queued, took, failure, then };
        self.tracer.note(&source, || (key, step));
    }

    /// See [`Queue::standing`](crate::Queue::standing).
    pub(in crate::queue) fn standing(&self, object: &ObjectRef, now: Instant) -> Option<Standing> {
        let slot = self.slots.get(*self.by_object.get(object)?)?;
        let stands = match slot.place {
            Place::Ready { .. } => Stands::Ready,
            Place::Waiting { due, .. } => Stands::Waiting { retry_in: due.saturating_duration_since(now) },
            Place::InHand { since, .. } => Stands::InHand { lasting: now.saturating_duration_since(since) },
        };
        let queued = match slot.place {
            Place::InHand { queued, .. } => Some(queued),
            Place::Ready { .. } | Place::Waiting { .. } => None,
        };
        let oldest = slot.pending.iter().map(|entry| entry.queued).chain(queued).min().unwrap_or(now);
        Some(Standing {
            stands,
            pending: slot.pending.iter().map(|entry| entry.change.verb()).collect(),
            // Of the oldest: the one that may have failed.
            attempts: slot.pending.iter().next().map_or(0, |entry| entry.attempts),
            since: now.saturating_duration_since(oldest),
        })
    }
}
