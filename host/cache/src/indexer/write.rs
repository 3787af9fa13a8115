//! One change of the store and its effect on the indexes.

use std::sync::Arc;

use informer_types::{Object, Pointer};

use super::index::{self, IndexValues};

/// The result of storing an object. The store decides which it is (C-3).
#[derive(Debug)]
pub(crate) enum Present {
    /// Not stored before.
    New(Arc<Object>),
    /// Stored before, in another state.
    Changed { old: Arc<Object>, new: Arc<Object> },
    /// Stored before with the same UID and resource version: the stored copy stays.
    Unchanged(Arc<Object>),
}

/// One object put or removed.
#[derive(Clone, Copy)]
pub(super) enum Write<'a> {
    Put { old: Option<&'a Arc<Object>>, new: &'a Arc<Object> },
    Remove(&'a Arc<Object>),
}

/// The index values of an object before and after a write. They are read outside the lock, because that takes a pass
/// over the JSON.
#[derive(Default)]
pub(super) struct Values {
    pub(super) old: IndexValues,
    pub(super) new: IndexValues,
    pub(super) failures: u64,
}

// === impl Present ===

impl Present {
    pub(super) fn of(old: Option<Arc<Object>>, new: Arc<Object>) -> Self {
        match old {
            None => Self::New(new),
            Some(old) if is_unchanged(&old, &new) => Self::Unchanged(old),
            Some(old) => Self::Changed { old, new },
        }
    }

    /// The object that is stored now.
    pub(crate) fn object(&self) -> &Object {
        match self {
            Self::New(object) | Self::Changed { new: object, .. } | Self::Unchanged(object) => object,
        }
    }

    /// The write to apply. Returns `None` if nothing changed.
    pub(super) fn write(&self) -> Option<Write<'_>> {
        match self {
            Self::New(new) => Some(Write::Put { old: None, new }),
            Self::Changed { old, new } => Some(Write::Put { old: Some(old), new }),
            Self::Unchanged(_) => None,
        }
    }
}

/// Returns true for the same state of the same object (D-5). Without resource versions, two states cannot be identified
/// as the same.
fn is_unchanged(old: &Object, new: &Object) -> bool {
    !new.resource_version().is_empty()
        && old.resource_version() == new.resource_version()
        && old.uid() == new.uid()
}

// === impl Values ===

impl Values {
    pub(super) fn of(pointers: &[Pointer], write: Write<'_>) -> Self {
        if pointers.is_empty() {
            return Self::default();
        }
        let (old, new) = match write {
            Write::Put { old, new } => (old, Some(new)),
            Write::Remove(old) => (Some(old), None),
        };
        // An unreadable object has no values. It was counted when it was stored (I-9, D-9).
        let old = old.and_then(|old| index::values(old, pointers).ok()).unwrap_or_default();
        match new.map(|new| index::values(new, pointers)) {
            Some(Ok(new)) => Self { old, new, failures: 0 },
            Some(Err(_)) => Self { old, new: IndexValues::default(), failures: 1 },
            None => Self { old, new: IndexValues::default(), failures: 0 },
        }
    }
}
