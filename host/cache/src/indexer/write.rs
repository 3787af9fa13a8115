//! One change of the store, and what the indexes have to know about it.

use std::sync::Arc;

use informer_types::{Object, Pointer};

use crate::index::{self, IndexValues};

/// What storing an object came to. The store decides (C-3).
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

/// What the indexes say of an object, before and after a write. Read outside the lock: it costs a pass over
/// the JSON.
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

    /// What is stored now.
    pub(crate) fn object(&self) -> &Object {
        match self {
            Self::New(object) | Self::Changed { new: object, .. } | Self::Unchanged(object) => object,
        }
    }

    /// What has to be written.
    pub(super) fn write(&self) -> Option<Write<'_>> {
        match self {
            Self::New(new) => Some(Write::Put { old: None, new }),
            Self::Changed { old, new } => Some(Write::Put { old: Some(old), new }),
            Self::Unchanged(_) => None,
        }
    }
}

/// D-5: the same state of the same object. A server that sends no resource versions cannot be taken at its
/// word.
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
        // An unreadable object has no values; it was counted when it came in (I-9, D-9).
        let old = old.and_then(|old| index::values(old, pointers).ok()).unwrap_or_default();
        match new.map(|new| index::values(new, pointers)) {
            Some(Ok(new)) => Self { old, new, failures: 0 },
            Some(Err(_)) => Self { old, new: IndexValues::default(), failures: 1 },
            None => Self { old, new: IndexValues::default(), failures: 0 },
        }
    }
}
