//! The ceiling over the memory of all cached objects (D-16): stored objects must not exhaust the memory of the process.
//!
//! Near the ceiling, every informer compresses its objects. From then on, it also compresses each object that arrives. At the
//! ceiling, the first list of an informer fails. An eighth above it, a new or changed object ends its watch, and the informer follows
//! the cluster by lists, which need memory only for what has changed. A quarter above it, these lists fail, too. A list that fails
//! leaves the cache as it was. Deletions always pass.

use informer_types::Object;

use crate::status::CacheMemory;

/// Watches may exceed the ceiling by the ceiling divided by this number: their objects arrive one by one, and most replace another one.
const FOR_WATCHES: usize = 8;

/// Lists of an informer that has objects may exceed the ceiling by the ceiling divided by this number: without such lists, the cache of
/// the informer could neither shrink nor follow the cluster.
const FOR_RELISTS: usize = 4;

/// The maximum memory of all objects of the process. It counts caches, lists that are arriving, and the states that the queues of
/// plugins hold.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Ceiling {
    bytes: usize,
}

// === impl Ceiling ===

impl Ceiling {
    /// `None` means that there is no ceiling.
    pub(crate) fn new(bytes: Option<usize>) -> Self {
        Self { bytes: bytes.unwrap_or(usize::MAX) }
    }

    pub(crate) fn bytes(self) -> usize {
        self.bytes
    }

    pub(crate) fn snapshot(self) -> CacheMemory {
        let ceiling_bytes = Some(self.bytes).filter(|bytes| *bytes < usize::MAX);
        CacheMemory { used_bytes: Object::all_bytes(), ceiling_bytes }
    }

    /// The ceiling for watches.
    pub(crate) fn for_watches(self) -> Self {
        Self { bytes: self.bytes.saturating_add(self.bytes / FOR_WATCHES) }
    }

    /// The ceiling for lists of an informer that has objects.
    pub(crate) fn for_relists(self) -> Self {
        Self { bytes: self.bytes.saturating_add(self.bytes / FOR_RELISTS) }
    }

    /// Returns true above three quarters of the ceiling: objects should be compressed even if their watch is not configured for
    /// it.
    pub(crate) fn is_near(self) -> bool {
        Object::all_bytes() > self.bytes / 4 * 3
    }

    /// Returns true if there is no room for more.
    pub(crate) fn is_reached(self) -> bool {
        Object::all_bytes() > self.bytes
    }
}
