//! The objects that exist although they may be in no cache.

use std::collections::BTreeSet;

use informer_types::ObjectKey;

/// The objects of an informer that exist and cannot be decoded (D-2). `None` if not all of them are known: the server may have
/// sent too many, or one with an unreadable key.
#[derive(Clone, Debug)]
pub struct Undecoded(Option<BTreeSet<ObjectKey>>);

// === impl Undecoded ===

impl Undecoded {
    /// The objects of each reflector; `None` for a reflector that does not know all of them.
    pub(crate) fn of(reflectors: impl IntoIterator<Item = Option<Vec<ObjectKey>>>) -> Self {
        let known: Option<Vec<_>> = reflectors.into_iter().collect();
        Self(known.map(|keys| keys.into_iter().flatten().collect()))
    }

    /// Returns true if the object may exist without being in the cache. If not all objects are known, it returns true for every
    /// key.
    pub fn may_have(&self, key: &ObjectKey) -> bool {
        self.0.as_ref().is_none_or(|known| known.contains(key))
    }
}
