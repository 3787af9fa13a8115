//! What a filter decided, for whoever asks why.

use informer_types::{Cause, Notification, NotificationSink, Object, ObjectKey, Step};

use super::{Filter, FilterStats, WhenStats, stats::Condition};

/// What is needed of a notification, and of the counters, before it is judged.
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

    /// Why a condition had no answer since, if one had none.
    fn unanswered(&self, stats: &FilterStats) -> Option<Box<str>> {
        if stats.when.errors > self.errors {
            return Some(format!("when: {}", stats.when.last_error.as_deref().unwrap_or_default()).into());
        }
        (stats.unreadable > self.unreadable)
            .then(|| "fields or changed: the object's JSON cannot be read".into())
    }
}

// === impl Filter ===

impl<S: NotificationSink> Filter<S> {
    /// The first condition on objects that this one does not satisfy, by its key in `[[plugin.on]]`; none: it belongs to
    /// the subscription. Nothing is counted or remembered.
    pub fn excludes(&self, object: &Object) -> Option<&'static str> {
        // With an error counted already, another one is not logged.
        let when = WhenStats { errors: 1, ..WhenStats::default() };
        let mut stats = FilterStats { when, ..FilterStats::default() };
        self.selects(object, &mut stats).err().map(Condition::as_str)
    }

    /// The condition that excludes every object of this name, whatever its state, by its key in `[[plugin.on]]`. Returns
    /// `None` if there is none.
    pub fn excludes_key(&self, key: &ObjectKey) -> Option<&'static str> {
        (!self.config.selects_namespace(&key.namespace)).then(|| Condition::Namespaces.as_str())
    }

    pub(super) fn note(
        &self,
        before: &Before,
        notification: &Notification,
        stats: &FilterStats,
        judged: Result<(), Condition>,
    ) {
        if !self.tracer.is_on() {
            return;
        }
        if let Some(why) = before.unanswered(stats) {
            self.tracer.note(&notification.source, || (notification.key(), Step::Undecided { why }));
        }
        let Before { verb, cause, .. } = *before;
        let step = match judged {
            Ok(()) => {
                let (verb, cause) = (notification.change.verb(), notification.cause);
                Step::Passed { offered: before.verb, verb, cause }
            }
            Err(condition) => Step::Suppressed { verb, cause, by: condition.as_str() },
        };
        self.tracer.note(&notification.source, || (notification.key(), step));
    }
}
