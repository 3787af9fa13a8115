//! When an object that changes is quiet (D-19).

use std::time::{Duration, Instant};

use informer_types::WorkKey;

/// An object that keeps changing is delivered when this multiple of its quiet time has passed since its first change.
pub const SETTLES_WITHIN: u32 = 10;

/// The longest quiet time. With this time, an object that is never quiet is delivered after ten minutes. The alert
/// `InformerPluginBehind` of host/deploy/monitoring is about notifications that are older.
pub const MAX_SETTLE: Duration = Duration::from_secs(60);

/// The changes of an object that are not delivered yet.
#[derive(Debug)]
pub(super) struct Settling {
    /// When the first of them came.
    first: Instant,
    /// When the last of them came before the object was quiet.
    last: Instant,
    /// If the plugin takes keys: the keys that each of them concerns, computed before they merge.
    keys: Vec<WorkKey>,
}

// === impl Settling ===

impl Settling {
    /// The first change, at `now`.
    pub(super) fn new(now: Instant) -> Self {
        Self { first: now, last: now, keys: Vec::new() }
    }

    /// Another change: the quiet time begins anew. If the object was quiet before the change, the change does not wait.
    pub(super) fn again(&mut self, quiet: Duration, now: Instant) {
        if self.due(quiet) > now {
            self.last = now;
        }
    }

    /// Adds keys that are not there yet.
    pub(super) fn note(&mut self, keys: Vec<WorkKey>) {
        for key in keys {
            if !self.keys.contains(&key) {
                self.keys.push(key);
            }
        }
    }

    pub(super) fn into_keys(self) -> Vec<WorkKey> {
        self.keys
    }

    /// When the object is delivered if it does not change any more.
    pub(super) fn due(&self, quiet: Duration) -> Instant {
        let quiet = quiet.min(MAX_SETTLE);
        (self.last + quiet).min(self.first + quiet * SETTLES_WITHIN)
    }
}
