//! Pages of the lists of the test host.

use std::collections::BTreeMap;

use serde_json::Value;

/// The most objects on a page, and the default.
const PAGE: usize = 500;

/// The lists that have further pages. A page token names the objects that follow, so all pages of a list come from one snapshot.
#[derive(Debug, Default)]
pub(super) struct OpenLists {
    last: u64,
    open: BTreeMap<u64, Vec<Value>>,
}

// === impl OpenLists ===

impl OpenLists {
    /// The first objects, and the token of the page behind them.
    pub(super) fn page(&mut self, mut objects: Vec<Value>, limit: u32) -> (Vec<Value>, Option<String>) {
        let rest = objects.split_off(page_size(limit).min(objects.len()));
        if rest.is_empty() {
            return (objects, None);
        }
        self.last += 1;
        self.open.insert(self.last, rest);
        (objects, Some(self.last.to_string()))
    }

    /// The objects that follow. Returns `None` if no open list has this token.
    pub(super) fn rest(&self, token: &str) -> Option<Vec<Value>> {
        self.open.get(&token.parse().ok()?).cloned()
    }

    /// Closes all lists. Their tokens name no later list.
    pub(super) fn clear(&mut self) {
        self.open.clear();
    }
}

/// The most objects on a page of which the guest requested this number.
pub(super) fn page_size(requested: u32) -> usize {
    match usize::try_from(requested).unwrap_or(PAGE).min(PAGE) {
        0 => PAGE,
        size => size,
    }
}
