//! The versions that this instance has written.

use std::cell::RefCell;
use std::collections::{HashSet, VecDeque};

/// At most this number of versions is kept.
const KEPT: usize = 1000;

thread_local! {
    static WRITTEN: RefCell<Versions> = RefCell::default();
}

/// The newest versions, in the order of the writes. A version alone is unique within an API server.
#[derive(Default)]
struct Versions {
    order: VecDeque<String>,
    known: HashSet<String>,
}

/// Returns true if this instance of the plugin has written exactly this version of an object: the notification shows its own
/// change.
///
/// An instance remembers its last 1,000 writes. Another instance, and a plugin that was started again, does not remember them, so
/// a handler must still compare before it writes.
///
/// ```
/// use informer_sdk::{Result, Update, client};
///
/// fn on_update(update: &Update) -> Result {
///     if client::is_own_write(&update.new.meta().resource_version) {
///         return Ok(());
///     }
///     // Another client changed the object.
///     Ok(())
/// }
/// ```
#[must_use]
pub fn is_own_write(resource_version: &str) -> bool {
    WRITTEN.with_borrow(|versions| versions.known.contains(resource_version))
}

/// Remembers the version of a write. The functions of [`client`](super) do it.
pub(super) fn wrote(resource_version: &str) {
    if !resource_version.is_empty() {
        WRITTEN.with_borrow_mut(|versions| versions.add(resource_version));
    }
}

// === impl Versions ===

impl Versions {
    fn add(&mut self, version: &str) {
        if !self.known.insert(version.to_owned()) {
            return;
        }
        self.order.push_back(version.to_owned());
        if self.order.len() > KEPT
            && let Some(oldest) = self.order.pop_front()
        {
            self.known.remove(&oldest);
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_newest_writes_are_known_and_older_ones_are_forgotten() {
        wrote("");
        assert!(!is_own_write(""), "an answer without a version");
        for version in 0..KEPT {
            wrote(&version.to_string());
        }
        wrote("0");
        assert!(is_own_write("0") && is_own_write("999"));

        wrote("1000");
        assert!(!is_own_write("0") && is_own_write("1") && is_own_write("1000"));
    }
}
