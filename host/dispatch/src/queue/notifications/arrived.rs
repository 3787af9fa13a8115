//! The steps of notifications that arrive.

use informer_types::{Cause, EventTrace, Step, Tracer};

use crate::{
    coalesce::{Effect, Merge},
    entry::{Entry, ObjectRef},
};

/// The values in the step of a notification that arrives.
pub(super) struct Arrived {
    verb: &'static str,
    cause: Cause,
    trace: EventTrace,
}

// === impl Arrived ===

impl Arrived {
    pub(super) fn of(entry: &Entry) -> Self {
        let trace = entry.observed.trace.clone();
        Self { verb: entry.change.verb(), cause: entry.cause, trace }
    }

    /// Writes the step that the notification took.
    pub(super) fn note(&self, tracer: &Tracer, object: &ObjectRef, effect: &Effect) {
        let Self { verb, cause, .. } = *self;
        let step = || match effect {
            Effect::Grew => Step::Queued { verb, cause },
            Effect::Merged { merge, .. } => Step::Merged { verb, cause, into: word(*merge) },
            Effect::Cancelled { .. } => Step::Cancelled { verb },
        };
        tracer.note_of(&object.source, &self.trace, None, || (object.key.clone(), step()));
    }
}

fn word(merge: Merge) -> &'static str {
    match merge {
        Merge::Add => "add",
        Merge::Update => "update",
        Merge::Delete => "delete",
        // A resync changes nothing of the pending notification.
        Merge::Resync => "what it is",
    }
}
