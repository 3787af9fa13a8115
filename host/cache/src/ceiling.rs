//! The ceiling over the memory of all cached objects (D-16): what is stored must not end the process.
//!
//! Near the ceiling, every informer compresses what arrives. At the ceiling, lists fail, so no informer can start.
//! Beyond a margin, a new or changed object ends its watch, and the cache stays as it was until there is room for a
//! list. Deletions always pass.

use informer_types::Object;

use crate::status::CacheMemory;

/// The part of the ceiling above which every informer compresses what arrives.
const TIGHT: (usize, usize) = (3, 4);

/// Watches may exceed the ceiling by this part of it: their objects arrive one by one, and most replace another one.
const MARGIN: usize = 8;

/// The most memory of all objects of the process. It counts caches, lists that are arriving, and the states that the
/// queues of plugins hold.
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

    /// Returns true if objects should be compressed even if their watch does not ask for it.
    pub(crate) fn is_tight(self) -> bool {
        Object::all_bytes() > self.bytes / TIGHT.1 * TIGHT.0
    }

    /// Returns true if no list may bring more.
    pub(crate) fn is_reached(self) -> bool {
        Object::all_bytes() > self.bytes
    }

    /// Returns true if no watch may bring more, either.
    pub(crate) fn is_exceeded(self) -> bool {
        Object::all_bytes() > self.bytes.saturating_add(self.bytes / MARGIN)
    }
}
