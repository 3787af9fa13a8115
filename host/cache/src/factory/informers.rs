//! The informers of a factory and their claims.

use std::collections::BTreeMap;

use crate::{InformerKey, SharedInformer};

/// An informer and the claims on it.
pub(super) struct Held {
    pub(super) informer: SharedInformer,
    /// True if it was requested by [`InformerFactory::informer`](super::InformerFactory::informer).
    pub(super) owned: bool,
    pub(super) subscriptions: usize,
}

/// All informers that are not stopped. One lock covers both groups, so the end of an informer's last subscription
/// always finds the informer in one of them.
#[derive(Default)]
pub(super) struct Informers {
    /// The informers that the factory returns.
    pub(super) current: BTreeMap<InformerKey, Held>,
    /// The informers that were replaced and still have subscribers, the oldest first.
    pub(super) superseded: Vec<Held>,
}

// === impl Held ===

impl Held {
    pub(super) fn new(informer: SharedInformer) -> Self {
        Self { informer, owned: false, subscriptions: 0 }
    }
}

// === impl Informers ===

impl Informers {
    /// Moves the informer of this key and those in `replaced` to the superseded ones.
    pub(super) fn supersede(&mut self, key: &InformerKey, replaced: &[SharedInformer]) {
        let is_superseded = |own: &InformerKey, held: &mut Held| {
            own == key || replaced.iter().any(|replaced| replaced.is(&held.informer))
        };
        self.superseded.extend(self.current.extract_if(.., is_superseded).map(|(_, held)| held));
    }

    /// Finds this very informer, not another one of the same key.
    pub(super) fn find(&mut self, informer: &SharedInformer) -> Option<&mut Held> {
        let current = self.current.get_mut(informer.key());
        current.into_iter().chain(&mut self.superseded).find(|held| held.informer.is(informer))
    }

    /// Removes this very informer, not another one of the same key.
    pub(super) fn remove(&mut self, informer: &SharedInformer) {
        self.superseded.retain(|held| !held.informer.is(informer));
        if self.current.get(informer.key()).is_some_and(|held| held.informer.is(informer)) {
            self.current.remove(informer.key());
        }
    }
}
