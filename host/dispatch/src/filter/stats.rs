//! The counters of a filter. Every offered notification ends in exactly one of them.

use std::time::Duration;

use informer_types::micros;
use serde::{Deserialize, Serialize};

use super::{answers::SharedWhen, when::Occasion};

/// The counters of a filter since it was created. The number of offered notifications plus `gone` equals `passed` plus the total
/// of `suppressed`.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "kebab-case", default)]
pub struct FilterStats {
    /// Notifications that passed.
    pub passed: u64,
    /// Updates that became additions because the object came to match (P-21). A later condition may have suppressed them.
    pub entered: u64,
    /// Updates that became deletions because the object no longer matches (P-21). A later condition may have suppressed them.
    pub left: u64,
    /// Deletions of objects that the plugin had acknowledged in an earlier process, and that were gone or replaced when this one
    /// started. They are not part of the offered notifications.
    pub gone: u64,
    /// Notifications that did not pass, by the first condition that excluded them.
    pub suppressed: Suppressed,
    /// Objects whose JSON could not be read for `annotations`, `fields` or `changed`, which is a bug of the host. The condition counted as
    /// satisfied.
    pub unreadable: u64,
    /// Counters of the expression.
    pub when: WhenStats,
}

/// Notifications that did not pass, by condition.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "kebab-case", default)]
pub struct Suppressed {
    /// `initial = "skip"`, or `initial = "changed"` and the object is as the plugin acknowledged it
    pub initial: u64,
    /// `events`
    pub events: u64,
    /// `namespaces`
    pub namespaces: u64,
    /// `namespaces-labels`
    pub namespaces_labels: u64,
    /// `labels`
    pub labels: u64,
    /// `annotations`
    pub annotations: u64,
    /// `fields`
    pub fields: u64,
    /// `changed`
    pub changed: u64,
    /// `when`
    pub when: u64,
}

/// The cost and the errors of an expression.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "kebab-case", default)]
pub struct WhenStats {
    /// Number of evaluations. An answer that this filter shares with another subscription's filter counts, too.
    pub evaluations: u64,
    /// Number of evaluations without an answer. The object or change passed.
    pub errors: u64,
    /// The last error. It names types and keys of the expression, never values of an object.
    pub last_error: Option<String>,
    /// Total time of the evaluations that this filter made. They run on the informer's thread.
    #[serde(rename = "time-us", with = "micros")]
    pub time: Duration,
    /// Time of the longest evaluation.
    #[serde(rename = "longest-us", with = "micros")]
    pub longest: Duration,
}

/// The condition that excluded a notification.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Condition {
    Initial,
    Events,
    Namespaces,
    NamespacesLabels,
    Labels,
    Annotations,
    Fields,
    Changed,
    When,
}

// === impl Condition ===

impl Condition {
    /// The key of the condition in `[[plugin.on]]`.
    pub(super) fn as_str(self) -> &'static str {
        match self {
            Self::Initial => "initial",
            Self::Events => "events",
            Self::Namespaces => "namespaces",
            Self::NamespacesLabels => "namespaces-labels",
            Self::Labels => "labels",
            Self::Annotations => "annotations",
            Self::Fields => "fields",
            Self::Changed => "changed",
            Self::When => "when",
        }
    }
}

// === impl Suppressed ===

impl Suppressed {
    /// Each condition, by its key in `[[plugin.on]]`, with its number of notifications.
    pub fn by_condition(&self) -> [(&'static str, u64); 9] {
        let Self {
            initial,
            events,
            namespaces,
            namespaces_labels,
            labels,
            annotations,
            fields,
            changed,
            when,
        } = *self;
        [
            ("initial", initial),
            ("events", events),
            ("namespaces", namespaces),
            ("namespaces-labels", namespaces_labels),
            ("labels", labels),
            ("annotations", annotations),
            ("fields", fields),
            ("changed", changed),
            ("when", when),
        ]
    }

    /// The sum.
    pub fn total(&self) -> u64 {
        self.by_condition().into_iter().map(|(_, count)| count).sum()
    }

    pub(super) fn count(&mut self, condition: Condition) {
        *match condition {
            Condition::Initial => &mut self.initial,
            Condition::Events => &mut self.events,
            Condition::Namespaces => &mut self.namespaces,
            Condition::NamespacesLabels => &mut self.namespaces_labels,
            Condition::Labels => &mut self.labels,
            Condition::Annotations => &mut self.annotations,
            Condition::Fields => &mut self.fields,
            Condition::Changed => &mut self.changed,
            Condition::When => &mut self.when,
        } += 1;
    }
}

// === impl WhenStats ===

impl WhenStats {
    /// Evaluates the expression. Returns true if it has no answer (D-9).
    pub(super) fn decide(&mut self, when: &SharedWhen, occasion: &Occasion<'_>) -> bool {
        let (answer, took) = when.answer(occasion);
        self.evaluations += 1;
        self.time += took;
        self.longest = self.longest.max(took);
        answer.unwrap_or_else(|error| {
            let error = error.to_string();
            if self.errors == 0 {
                tracing::warn!(when = when.text(), %error, "an expression has no answer, so the object or change passes");
            }
            self.errors += 1;
            self.last_error = Some(error);
            true
        })
    }
}
