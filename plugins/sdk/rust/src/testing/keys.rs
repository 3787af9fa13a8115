//! The keys of a test's workqueue.

use std::collections::{BTreeMap, VecDeque};

/// The keys that were added and not taken yet. The queue has no capacity and no clock.
#[derive(Debug, Default)]
pub(super) struct Keys {
    ready: VecDeque<String>,
    /// The delay of each delayed key in milliseconds.
    delayed: BTreeMap<String, u32>,
    requeues: BTreeMap<String, u32>,
}

// === impl Keys ===

impl Keys {
    pub(super) fn add(&mut self, key: &str) {
        if self.ready.iter().all(|known| known != key) {
            self.ready.push_back(key.to_owned());
        }
    }

    /// If a key is added several times, the shortest delay wins.
    pub(super) fn add_after(&mut self, key: &str, millis: u32) {
        if millis == 0 {
            return self.add(key);
        }
        let delay = self.delayed.entry(key.to_owned()).or_insert(millis);
        *delay = millis.min(*delay);
    }

    /// Counts the requeue and adds the key without a backoff.
    pub(super) fn add_rate_limited(&mut self, key: &str) {
        *self.requeues.entry(key.to_owned()).or_default() += 1;
        self.add(key);
    }

    pub(super) fn forget(&mut self, key: &str) {
        self.requeues.remove(key);
    }

    pub(super) fn requeues(&self, key: &str) -> u32 {
        self.requeues.get(key).copied().unwrap_or_default()
    }

    /// The number of ready keys.
    pub(super) fn ready(&self) -> usize {
        self.ready.len()
    }

    /// Takes the next ready key, or else the delayed key with the shortest delay. A key that is both ready and delayed stays
    /// delayed when it is taken as a ready key (W-7).
    pub(super) fn take(&mut self) -> Option<String> {
        self.ready.pop_front().or_else(|| {
            let (earliest, _) = self.delayed.iter().min_by_key(|(_, millis)| **millis)?;
            let earliest = earliest.clone();
            self.delayed.remove(&earliest);
            Some(earliest)
        })
    }
}
