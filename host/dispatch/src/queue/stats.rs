//! What a queue counts.

use std::time::Duration;

use super::Quarantine;
use crate::{Merge, ObjectRef};

/// Names of a backlog that are worth showing; the count is always exact.
pub(super) const NAMED: usize = 100;

/// The state of a queue at one moment. Counters count notifications since the queue was made; each one offered
/// is in exactly one place:
///
/// `offered = acknowledged + merged.total() + cancelled + dead + dropped + discarded + pending + in_flight`
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct QueueStats {
    /// Offered by listeners.
    pub offered: u64,
    /// The handler returned ok.
    pub acknowledged: u64,
    /// Disappeared in another pending notification of the object.
    pub merged: MergeCounts,
    /// Additions and deletions that took each other away, two for each pair; and deletions that only controllers were to hear
    /// of, where nobody reconciles those.
    pub cancelled: u64,
    /// Given up and kept as dead letters.
    pub dead: u64,
    /// Given up and not kept.
    pub dropped: u64,
    /// Pending, offered or failing when the queue was closed.
    pub discarded: u64,

    /// Attempts: notifications handed to workers, each time they were.
    pub delivered: u64,
    /// Attempts that failed and will be made again.
    pub retried: u64,
    /// Attempts cut short by the host.
    pub given_back: u64,
    /// Deliveries that had to wait for the rate.
    pub rate_limited: u64,
    /// Retries that were due and had to wait for the budget.
    pub over_budget: u64,
    /// Controllers of objects that changed hands too often while they waited: those do not hear of it.
    pub controllers_given_up: u64,
    /// How often each change was to be kept and there were too many.
    pub overflows: u64,
    /// How often the plugin was put in quarantine.
    pub quarantines: u64,

    /// Notifications that no worker has in hand, those that wait for their retry included.
    pub pending: usize,
    /// Objects that wait for their retry.
    pub waiting: usize,
    /// Notifications that workers have in hand.
    pub in_flight: usize,
    /// Distinct objects with anything pending or in hand.
    pub objects: usize,
    /// Since the oldest notification that is not settled was offered.
    pub oldest: Option<Duration>,
    /// Nothing is handed out until the pause ends.
    pub paused: bool,
    /// Each change was to be kept, but there are too many: they merge.
    pub behind: bool,
    /// The plugin is in quarantine.
    pub quarantine: Option<Quarantine>,
    /// Dead letters in the list.
    pub dead_letters: usize,
    /// Dead letters that had to leave the list to make room.
    pub dead_letters_evicted: u64,
}

/// Merged notifications, by what they became part of.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct MergeCounts {
    /// See [`Merge::Add`].
    pub add: u64,
    /// See [`Merge::Update`].
    pub update: u64,
    /// See [`Merge::Delete`].
    pub delete: u64,
    /// See [`Merge::Resync`].
    pub resync: u64,
}

/// What was left in a queue when it was closed.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Backlog {
    /// Notifications discarded.
    pub notifications: u64,
    /// Up to a hundred of the objects they were about.
    pub objects: Vec<ObjectRef>,
}

// === impl MergeCounts ===

impl MergeCounts {
    /// All of them.
    pub fn total(&self) -> u64 {
        self.add + self.update + self.delete + self.resync
    }

    pub(super) fn count(&mut self, merge: Merge) {
        match merge {
            Merge::Add => self.add += 1,
            Merge::Update => self.update += 1,
            Merge::Delete => self.delete += 1,
            Merge::Resync => self.resync += 1,
        }
    }
}

// === impl Backlog ===

impl Backlog {
    pub(super) fn note(&mut self, object: &ObjectRef, notifications: usize) {
        self.notifications += notifications as u64;
        if notifications > 0 && self.objects.len() < NAMED {
            self.objects.push(object.clone());
        }
    }
}
