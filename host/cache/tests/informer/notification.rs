//! Notifications as text. The tests of `tests/faults` use this file too.

use informer_types::{Cause, Change, Notification};

/// A notification as text: `add shop/web@5 live`, `update shop/web@5->6 live` or `delete shop/web@7 live`. A deletion with an
/// unknown final state ends in `?`.
pub(crate) fn describe(notification: &Notification) -> String {
    let key = notification.key();
    let verb = notification.change.verb();
    let cause = notification.cause;
    // A replay may wait for its notifications too.
    if cause != Cause::Replay {
        assert_eq!(notification.initial.is_some(), cause == Cause::Initial, "{key} {cause}");
    }
    match &notification.change {
        Change::Added { object } => format!("{verb} {key}@{} {cause}", object.resource_version()),
        Change::Updated { old, new } => {
            format!("{verb} {key}@{}->{} {cause}", old.resource_version(), new.resource_version())
        }
        Change::Deleted { object, final_state_known } => {
            let known = if *final_state_known { "" } else { "?" };
            format!("{verb} {key}@{} {cause}{known}", object.resource_version())
        }
    }
}
