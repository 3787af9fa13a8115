//! The steps of a filter, for `informer explain`.

use informer_types::{Cause, Notification, Step, Tracer};

use super::stats::{Condition, FilterStats};

/// A notification and the error counters before the filter judged it.
pub(super) struct Before {
    verb: &'static str,
    cause: Cause,
    errors: u64,
    unreadable: u64,
}

// === impl Before ===

impl Before {
    pub(super) fn of(notification: &Notification, stats: &FilterStats) -> Self {
        let (verb, cause) = (notification.change.verb(), notification.cause);
        Self { verb, cause, errors: stats.when.errors, unreadable: stats.unreadable }
    }

    /// Writes what the filter decided.
    pub(super) fn note(
        &self,
        tracer: &Tracer,
        notification: &Notification,
        stats: &FilterStats,
        judged: Result<(), Condition>,
    ) {
        if !tracer.is_on() {
            return;
        }
        if let Some(why) = self.unanswered(stats) {
            tracer.note(&notification.source, || (notification.key(), Step::Undecided { why }));
        }
        let step = match judged {
            Ok(()) => {
                let (verb, cause) = (notification.change.verb(), notification.cause);
                Step::Passed { offered: self.verb, verb, cause }
            }
            Err(condition) => Step::Suppressed { verb: self.verb, cause: self.cause, by: condition.as_str() },
        };
        tracer.note(&notification.source, || (notification.key(), step));
    }

    /// Why a condition had no answer. Returns `None` if each had one.
    fn unanswered(&self, stats: &FilterStats) -> Option<Box<str>> {
        if stats.when.errors > self.errors {
            return Some(format!("when: {}", stats.when.last_error.as_deref().unwrap_or_default()).into());
        }
        (stats.unreadable > self.unreadable)
            .then(|| "fields or changed: the object's JSON cannot be read".into())
    }
}
