//! Events about objects.

use super::wit;
use crate::ObjectKey;

/// An Event of `events.k8s.io` about one object.
///
/// ```
/// use informer_sdk::ObjectKey;
/// use informer_sdk::client::ObjectEvent;
///
/// let key = ObjectKey::new("shop", "web");
/// let event = ObjectEvent::new("apps/v1/deployments", &key, "ScaledUp", "Scaling").note("from 0 to 1");
/// # let _ = event;
/// ```
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct ObjectEvent {
    gvr: String,
    regarding: ObjectKey,
    warning: bool,
    reason: String,
    action: String,
    note: String,
}

// === impl ObjectEvent ===

impl ObjectEvent {
    /// A normal event about an object. `reason` says why (`ScaledUp`) and `action` what was done (`Scaling`), both as one word
    /// in CamelCase.
    #[must_use]
    pub fn new(
        gvr: impl Into<String>,
        regarding: &ObjectKey,
        reason: impl Into<String>,
        action: impl Into<String>,
    ) -> Self {
        Self {
            gvr: gvr.into(),
            regarding: regarding.clone(),
            warning: false,
            reason: reason.into(),
            action: action.into(),
            note: String::new(),
        }
    }

    /// Makes the event a warning.
    #[must_use]
    pub fn warning(self) -> Self {
        Self { warning: true, ..self }
    }

    /// Adds a sentence for people, at most 1 KiB.
    #[must_use]
    pub fn note(self, note: impl Into<String>) -> Self {
        Self { note: note.into(), ..self }
    }

    pub(super) fn wire(&self) -> wit::ObjectEvent<'_> {
        wit::ObjectEvent {
            gvr: &self.gvr,
            regarding: &self.regarding,
            warning: self.warning,
            reason: &self.reason,
            action: &self.action,
            note: &self.note,
        }
    }
}
