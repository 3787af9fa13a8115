//! The notifications that a listener received, compared with the history of the collection.

use std::collections::BTreeMap;

use informer_faults::{ChangeKind, Collection};
use informer_types::{Change, Notification, NotificationSink};
use parking_lot::Mutex;

use crate::notification::describe;

/// A listener that records its notifications.
#[derive(Default)]
pub(crate) struct History(Mutex<Vec<Notification>>);

impl NotificationSink for History {
    fn offer(&self, notification: Notification) {
        self.0.lock().push(notification);
    }
}

impl History {
    /// All notifications as text: `add shop/a@11 initial`, `update shop/a@11->12 live`, `delete shop/a@13 live`. A
    /// deletion with an unknown final state ends in `?`.
    pub(crate) fn received(&self) -> Vec<String> {
        self.0.lock().iter().map(describe).collect()
    }

    /// The notifications with this cause.
    pub(crate) fn received_by_cause(&self, cause: &str) -> Vec<String> {
        let mut received = self.received();
        received.retain(|received| received.trim_end_matches('?').ends_with(cause));
        received
    }

    /// Checks three promises (C-14, C-17). The notifications of each object are a subsequence of its states, in order.
    /// Each addition, update or deletion fits the state before it, by UID. All of them together lead to the current
    /// state.
    pub(crate) fn check(&self, collection: &Collection) {
        let mut known: BTreeMap<String, (String, u64)> = BTreeMap::new();
        let mut seen: BTreeMap<String, u64> = BTreeMap::new();
        let received = self.received();
        for (notification, text) in self.0.lock().iter().zip(&received) {
            let key = notification.key().to_string();
            let object = notification.change.object();
            let (uid, version) = (object.uid().to_string(), object.resource_version().parse().unwrap());
            let before = known.remove(&key);
            match &notification.change {
                Change::Added { .. } => assert_eq!(before, None, "{text} is already known: {received:?}"),
                Change::Updated { old, .. } => {
                    let old = (old.uid().to_string(), old.resource_version().parse().unwrap());
                    assert_eq!(before, Some(old.clone()), "{text} of another state: {received:?}");
                    assert_eq!(uid, old.0, "{text} is another object: {received:?}");
                }
                // The deletion of an object that was never seen is delivered too (D-11).
                Change::Deleted { .. } => {
                    let before = before.map_or_else(|| uid.clone(), |(uid, _)| uid);
                    assert_eq!(before, uid, "{text} is another object: {received:?}");
                }
            }
            let deleted = matches!(notification.change, Change::Deleted { .. });
            let missed = matches!(notification.change, Change::Deleted { final_state_known: false, .. });
            let last = seen.insert(key.clone(), version);
            assert!(
                last < Some(version) || missed && last == Some(version),
                "{text} goes back: {received:?}"
            );
            assert!(happened(collection, &key, version, deleted && !missed), "{text} never happened");
            if !deleted {
                known.insert(key, (uid, version));
            }
        }
        let known: Vec<String> = known.iter().map(|(key, (_, version))| format!("{key}@{version}")).collect();
        assert_eq!(known, collection.state(), "{received:?}");
    }
}

fn happened(collection: &Collection, key: &str, version: u64, deleted: bool) -> bool {
    collection.history().iter().any(|change| {
        change.key == key && change.version == version && (change.kind == ChangeKind::Deleted) == deleted
    })
}
