//! How often each key failed.

use std::{collections::HashMap, sync::Arc};

/// Failures of each key since it was forgotten. Holds keys with failures only: as many as wait for another attempt.
#[derive(Debug, Default)]
pub(super) struct Failures(HashMap<Arc<str>, u32>);

// === impl Failures ===

impl Failures {
    /// One more; how many there were before it.
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

    /// At least so many.
    pub(super) fn restore(&mut self, key: &Arc<str>, failures: u32) {
        let known = self.0.entry(Arc::clone(key)).or_default();
        *known = failures.max(*known);
    }
}
