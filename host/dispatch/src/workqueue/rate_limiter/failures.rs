//! The failures of each key.

use std::{collections::HashMap, sync::Arc};

/// Failures of each key since it was forgotten. It holds only keys with failures.
#[derive(Debug, Default)]
pub(super) struct Failures(HashMap<Arc<str>, u32>);

// === impl Failures ===

impl Failures {
    /// Counts a failure and returns the number of earlier ones.
    pub(super) fn count(&mut self, key: &Arc<str>) -> u32 {
        let failures = self.0.entry(Arc::clone(key)).or_default();
        let before = *failures;
        *failures = before.saturating_add(1);
        before
    }

    pub(super) fn forget(&mut self, key: &str) {
        self.0.remove(key);
        if self.0.is_empty() {
            self.0.shrink_to_fit();
        }
    }

    pub(super) fn of(&self, key: &str) -> u32 {
        self.0.get(key).copied().unwrap_or_default()
    }

    pub(super) fn all(&self) -> Vec<(Arc<str>, u32)> {
        self.0.iter().map(|(key, failures)| (Arc::clone(key), *failures)).collect()
    }

    /// Sets the failures of a key, unless it has more.
    pub(super) fn restore(&mut self, key: &Arc<str>, failures: u32) {
        let known = self.0.entry(Arc::clone(key)).or_default();
        *known = failures.max(*known);
    }
}
