//! The informers of a factory, and who wants them to run.

use std::collections::BTreeMap;

use crate::{InformerKey, SharedInformer};

/// An informer, and who wants it to run.
pub(super) struct Held {
    pub(super) informer: SharedInformer,
    /// It was asked for by [`InformerFactory::informer`](super::InformerFactory::informer).
    pub(super) owned: bool,
    pub(super) subscriptions: usize,
}

/// All that were handed out and not stopped, under one lock: an informer is never between the two, where the end of its
/// last subscription would not find it.
#[derive(Default)]
pub(super) struct Informers {
    /// What is handed out.
    pub(super) current: BTreeMap<InformerKey, Held>,
    /// Those that have a successor and are still held by somebody, the oldest first.
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
    /// The one of this key is not handed out any more, nor are these.
    pub(super) fn supersede(&mut self, key: &InformerKey, replaced: &[SharedInformer]) {
        let gives_way = |own: &InformerKey, held: &mut Held| {
            own == key || replaced.iter().any(|replaced| replaced.is(&held.informer))
        };
        self.superseded.extend(self.current.extract_if(.., gives_way).map(|(_, held)| held));
    }

    /// This very informer.
    pub(super) fn find(&mut self, informer: &SharedInformer) -> Option<&mut Held> {
        let current = self.current.get_mut(informer.key());
        current.into_iter().chain(&mut self.superseded).find(|held| held.informer.is(informer))
    }

    /// Forgets this very informer.
    pub(super) fn remove(&mut self, informer: &SharedInformer) {
        self.superseded.retain(|held| !held.informer.is(informer));
        if self.current.get(informer.key()).is_some_and(|held| held.informer.is(informer)) {
            self.current.remove(informer.key());
        }
    }
}
