//! The counters and gauges of a notification queue, and where one object stands.

use std::time::Duration;

use informer_types::millis;
use serde::{Deserialize, Serialize};

use crate::{
    Merge, ObjectRef,
    keyed::{NextRetry, Quarantine, Stands},
};

/// The number of objects that a backlog names. Its count is always exact.
const NAMED: usize = 100;

/// The state of a queue at one moment. Counters count notifications since the queue was made. Each offered notification is in
/// exactly one place:
///
/// `offered = acknowledged + merged.total() + cancelled + dead + dropped + discarded + pending + in_flight`
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "kebab-case", default)]
pub struct QueueStats {
    /// Notifications offered by listeners.
    pub offered: u64,
    /// Notifications that the handler acknowledged, or that became keys.
    pub acknowledged: u64,
    /// Notifications that merged with another pending one of their object.
    pub merged: MergeCounts,
    /// Additions and deletions that cancelled each other, two for each pair.
    pub cancelled: u64,
    /// Notifications given up and kept as dead letters.
    pub dead: u64,
    /// Notifications given up and not kept.
    pub dropped: u64,
    /// Notifications that were pending when the queue was closed, or were offered or failed afterwards.
    pub discarded: u64,

    /// Attempts: how often notifications were handed to workers.
    pub delivered: u64,
    /// Attempts that failed and are retried.
    pub retried: u64,
    /// Attempts that the host cut short or made no call for, and those of a batch whose call failed as a whole.
    pub given_back: u64,
    /// Deliveries that waited for the rate.
    pub rate_limited: u64,
    /// Retries that were due and waited for the budget.
    pub over_budget: u64,
    /// How often the queue fell behind, because there were too many changes to keep each.
    pub overflows: u64,
    /// Number of quarantines of the plugin.
    pub quarantines: u64,

    /// Notifications that are not in flight, those that wait for a retry included.
    pub pending: usize,
    /// Objects that wait for a retry, or until they are quiet.
    pub delayed: usize,
    /// The delayed objects that wait only until they are quiet.
    pub settling: usize,
    /// The first of the objects that wait for a retry. `None` if no call is to be repeated.
    pub next_retry: Option<NextRetry>,
    /// Notifications in flight.
    pub in_flight: usize,
    /// Distinct objects with a notification pending or in flight.
    pub objects: usize,
    /// Age of the oldest notification that is not settled.
    #[serde(rename = "oldest-ms", with = "millis")]
    pub oldest: Option<Duration>,
    /// The queue is paused: nothing is handed out.
    pub paused: bool,
    /// The queue is behind: changes merge although each was to be kept.
    pub behind: bool,
    /// The quarantine of the plugin. `None` if there is none.
    pub quarantine: Option<Quarantine>,
    /// Number of dead letters.
    pub dead_letters: usize,
    /// Number of dead letters that were evicted by newer ones.
    pub dead_letters_evicted: u64,
}

/// Merged notifications, by what they merged into.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "kebab-case", default)]
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

/// The place of an object that has a notification pending or in flight.
#[derive(Clone, Debug, PartialEq, Eq, Serialize)]
pub struct Standing {
    /// The place of the object.
    #[serde(flatten)]
    pub stands: Stands,
    /// The verbs of its pending notifications in their order, `add`, `update` or `delete`. The one in flight is not included.
    pub pending: Vec<&'static str>,
    /// Calls made for the first pending notification.
    pub attempts: u32,
    /// Age of the oldest notification, pending or in flight.
    #[serde(rename = "since-ms", with = "millis")]
    pub since: Duration,
    /// Time until the object is quiet if it does not change any more. `None` if it does not wait for that.
    #[serde(rename = "quiet-in-ms", with = "millis")]
    pub quiet_in: Option<Duration>,
}

/// The notifications that were pending in a queue when it was closed.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Backlog {
    /// Number of discarded notifications.
    pub notifications: u64,
    /// At most a hundred of their objects.
    pub objects: Vec<ObjectRef>,
}

// === impl MergeCounts ===

impl MergeCounts {
    /// The counts by the verb of the result, or `resync` if the notification that arrived was a resync.
    pub fn by_kind(&self) -> [(&'static str, u64); 4] {
        [("add", self.add), ("update", self.update), ("delete", self.delete), ("resync", self.resync)]
    }

    /// The sum.
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
