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
/// Pending notifications merge, so such a state may also contain a change that another client made before the write.
///
/// Never skip an own write in a retry (the attempt of [`delivery::current`](crate::delivery::current) is above 1), a resync or a replay. An
/// earlier attempt may have written this version and failed afterwards. If the handler skips the version then, the failed attempt becomes a
/// success, and the rest of its work is lost.
///
/// ```
/// use informer_sdk::{Cause, Result, Update, client, delivery};
///
/// fn on_update(update: &Update, cause: Cause) -> Result {
///     let first = matches!(cause, Cause::Live | Cause::Relist) && delivery::current().attempt == 1;
///     if first && client::is_own_write(update.new.resource_version()) {
///         return Ok(());
///     }
///     // Another client changed the object, or an earlier attempt has not done all of its work.
///     Ok(())
/// }
/// ```
#[must_use]
pub fn is_own_write(resource_version: &str) -> bool {
    WRITTEN.with_borrow(|versions| versions.known.contains(resource_version))
}

/// Remembers the version of a write. The functions of [`client`](super) do it.
///
/// The server answers a write that changes nothing with the version `before`, which another client may have written.
pub(super) fn wrote(resource_version: &str, before: &str) {
    if !resource_version.is_empty() && resource_version != before {
        WRITTEN.with_borrow_mut(|versions| versions.add(resource_version));
    }
}

/// Forgets all writes. A test host counts its versions from the start.
#[cfg(not(target_family = "wasm"))]
pub(crate) fn forget_writes() {
    WRITTEN.set(Versions::default());
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
    use serde_json::json;

    use super::super::{Patch, WriteOptions, Written, patch, version_of};
    use super::*;
    use crate::ObjectKey;
    use crate::testing::TestHost;

    #[test]
    fn the_newest_writes_are_known_and_older_ones_are_forgotten() {
        wrote("", "");
        assert!(!is_own_write(""), "an answer without a version");
        for version in 0..KEPT {
            wrote(&version.to_string(), "");
        }
        wrote("0", "");
        assert!(is_own_write("0") && is_own_write("999"));

        wrote("1000", "");
        assert!(!is_own_write("0") && is_own_write("1") && is_own_write("1000"));
    }

    #[test]
    fn a_write_that_changes_nothing_does_not_make_the_version_of_another_client_an_own_one() {
        let same = r#"{"metadata": {"resourceVersion": "foreign"}}"#;

        let written = Written::new(same.to_owned(), &WriteOptions::new(), &version_of(same));
        assert_eq!(written.resource_version(), "foreign");
        assert!(!is_own_write("foreign"), "the request had this version");

        let written = Written::new(same.to_owned(), &WriteOptions::new(), "");
        assert_eq!(written.resource_version(), "foreign");
        assert!(is_own_write("foreign"), "the version before the write is not known");
    }

    #[test]
    fn the_version_that_a_patch_names_is_the_version_before_the_write() {
        let test = |path: &str| json!({"op": "test", "path": path, "value": "7"});
        for (patch, expected) in [
            (Patch::merge(json!({"metadata": {"resourceVersion": "7"}})), "7"),
            (Patch::json(json!([test("/metadata/resourceVersion"), test("/kind")])), "7"),
            (Patch::json(json!([test("/kind")])), ""),
            (Patch::apply(json!({"metadata": {"name": "a"}})), ""),
        ] {
            assert_eq!(patch.version(), expected);
        }
    }

    #[test]
    fn a_write_that_names_the_version_before_it_is_an_own_one() {
        let host = TestHost::new();
        let key = ObjectKey::new("shop", "a");
        let before = json!({"metadata": {"namespace": "shop", "name": "a", "resourceVersion": "before"}});
        host.store("v1/configmaps", before.clone());

        let written = patch("v1/configmaps", &key, &Patch::merge(before), &WriteOptions::new()).unwrap();

        assert!(is_own_write(written.resource_version()) && !is_own_write("before"));
    }
}
