//! What a filter counts: every notification that it is offered ends in one counter.

use std::time::{Duration, Instant};

use super::when::{Occasion, When};

/// What a filter did since it was made. Offered were `passed` and all of `suppressed` together.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct FilterStats {
    /// Went on to the queue.
    pub passed: u64,
    /// Updates that became additions, because the object came to match (P-21); `events`, `changed` and `when` may have
    /// suppressed them after that.
    pub entered: u64,
    /// Updates that became deletions, because the object matches no longer (P-21); as with `entered`, not all need have
    /// been told.
    pub left: u64,
    /// Did not go on, by the condition that was the first to say so.
    pub suppressed: Suppressed,
    /// Bodies that could not be read for `fields` or `changed`: a bug of the host. The condition counted as satisfied.
    pub unreadable: u64,
    /// Of the expression.
    pub when: WhenStats,
}

/// Notifications that did not go on, by condition.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Suppressed {
    /// `initial = "skip"`
    pub initial: u64,
    /// `events`
    pub events: u64,
    /// `namespaces`
    pub namespaces: u64,
    /// `labels`
    pub labels: u64,
    /// `fields`
    pub fields: u64,
    /// `changed`
    pub changed: u64,
    /// `when`
    pub when: u64,
}

/// What an expression cost, and how often it failed.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct WhenStats {
    /// How often it was asked.
    pub evaluations: u64,
    /// How often it had no answer; what it was asked about passed.
    pub errors: u64,
    /// Why, the last time. It names types and keys of the expression, never values of an object.
    pub last_error: Option<String>,
    /// All evaluations together, by the clock on the wall: they run on the informer's thread.
    pub time: Duration,
    /// The longest of them.
    pub longest: Duration,
}

/// Why a notification does not go on.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Condition {
    Initial,
    Events,
    Namespaces,
    Labels,
    Fields,
    Changed,
    When,
}

// === impl Condition ===

impl Condition {
    /// Its key in `[[plugin.on]]`.
    pub(super) fn as_str(self) -> &'static str {
        match self {
            Self::Initial => "initial",
            Self::Events => "events",
            Self::Namespaces => "namespaces",
            Self::Labels => "labels",
            Self::Fields => "fields",
            Self::Changed => "changed",
            Self::When => "when",
        }
    }
}

// === impl Suppressed ===

impl Suppressed {
    /// All of them.
    pub fn total(&self) -> u64 {
        let Self { initial, events, namespaces, labels, fields, changed, when } = self;
        initial + events + namespaces + labels + fields + changed + when
    }

    pub(super) fn count(&mut self, condition: Condition) {
        *match condition {
            Condition::Initial => &mut self.initial,
            Condition::Events => &mut self.events,
            Condition::Namespaces => &mut self.namespaces,
            Condition::Labels => &mut self.labels,
            Condition::Fields => &mut self.fields,
            Condition::Changed => &mut self.changed,
            Condition::When => &mut self.when,
        } += 1;
    }
}

// === impl WhenStats ===

impl WhenStats {
    /// Asks the expression; where it has no answer, it is yes (D-9).
    pub(super) fn decide(&mut self, when: &When, occasion: &Occasion<'_>) -> bool {
        let started = Instant::now();
        let answer = when.holds(occasion);
        let took = started.elapsed();
        self.evaluations += 1;
        self.time += took;
        self.longest = self.longest.max(took);
        answer.unwrap_or_else(|error| {
            let error = error.to_string();
            if self.errors == 0 {
                tracing::warn!(when = when.text(), %error, "an expression has no answer; what it was asked about passes");
            }
            self.errors += 1;
            self.last_error = Some(error);
            true
        })
    }
}
