//! Applies deltas to the store and tells the listeners what each one meant.
//!
//! The store decides (C-3): whatever a watch called a change, an object that was not in the cache is added and
//! one that was is updated. The store is written first, then the listeners are told (C-5), all under the
//! informer's lock (C-10).

use std::{sync::Arc, time::Instant};

use informer_types::{Cause, Change, Object, ObjectKey, Step};
use tokio::sync::watch;

use crate::{
    delta::{Delta, DeltaKind, Replacement, Scope},
    delta_queue::DeltaReceiver,
    indexer::{Indexer, Present},
    processor::{Listeners, Processor},
    status::ReflectorCell,
};

/// Deltas applied under one hold of the lock: long enough to be cheap, short enough for who wants to join.
const MAX_BATCH: usize = 256;

/// More objects than this take more than a millisecond, which an executor's thread does not have.
const HEAVY: usize = 1_000;

/// The one writer of an informer's store.
pub(crate) struct Controller {
    deltas: DeltaReceiver,
    indexer: Arc<Indexer>,
    processor: Arc<Processor>,
    scopes: Vec<ScopeState>,
    synced: watch::Sender<bool>,
}

/// One namespace watched, or all.
struct ScopeState {
    cell: Arc<ReflectorCell>,
    /// Its first list, or an event before any, was applied.
    populated: bool,
}

// === impl Controller ===

impl Controller {
    pub(crate) fn new(
        deltas: DeltaReceiver,
        indexer: Arc<Indexer>,
        processor: Arc<Processor>,
        cells: &[Arc<ReflectorCell>],
        synced: watch::Sender<bool>,
    ) -> Self {
        // The lists of a resource that came back are nobody's first (C-11).
        let populated = *synced.borrow();
        let scopes = cells.iter().map(|cell| ScopeState { cell: Arc::clone(cell), populated }).collect();
        Self { deltas, indexer, processor, scopes, synced }
    }

    /// Applies deltas until the queue is closed and empty (C-1, C-2).
    pub(crate) async fn run(mut self) {
        let mut batch = Vec::new();
        while self.deltas.pop(&mut batch, MAX_BATCH).await > 0 {
            let deltas = std::mem::take(&mut batch);
            if deltas.iter().any(|delta| self.is_heavy(delta)) {
                self = match tokio::task::spawn_blocking(move || self.apply_all(deltas)).await {
                    Ok(controller) => controller,
                    // A bug of ours, for the informer to report; or the runtime is going down.
                    Err(error) if error.is_panic() => std::panic::resume_unwind(error.into_panic()),
                    Err(_) => return,
                };
            } else {
                self = self.apply_all(deltas);
            }
        }
    }

    fn is_heavy(&self, delta: &Delta) -> bool {
        match &delta.kind {
            DeltaKind::ReplacedAll(_, list) => list.objects.len() > HEAVY || self.indexer.len() > HEAVY,
            DeltaKind::SyncAll => self.indexer.len() > HEAVY,
            _ => false,
        }
    }

    fn apply_all(mut self, deltas: Vec<Delta>) -> Self {
        let processor = Arc::clone(&self.processor);
        let mut listeners = processor.lock();
        for delta in deltas {
            self.apply(delta, &mut listeners);
        }
        drop(listeners);
        self
    }

    fn apply(&mut self, delta: Delta, listeners: &mut Listeners) {
        let at = delta.observed;
        match delta.kind {
            DeltaKind::Added(scope, object) | DeltaKind::Updated(scope, object) => {
                let present = self.indexer.put(object);
                self.applied(scope, present.object().resource_version(), at);
                tell(present, Cause::Live, at, listeners);
                self.populated(scope, listeners);
            }
            DeltaKind::Deleted(scope, object) => {
                let stored = self.remove(&object.key(), Cause::Live, listeners);
                self.applied(scope, object.resource_version(), at);
                if let Some(stored) = stored
                    && stored.uid() != object.uid()
                {
                    // D-6: it went unseen, and another object took its name.
                    let change = Change::Deleted { object: stored, final_state_known: false };
                    listeners.distribute(&change, Cause::Live, at);
                }
                // D-11: told even of an object that was never seen.
                listeners.distribute(&Change::Deleted { object, final_state_known: true }, Cause::Live, at);
                self.populated(scope, listeners);
            }
            DeltaKind::DeletedKey(scope, key) => {
                if let Some(object) = self.remove(&key, Cause::Live, listeners) {
                    let change = Change::Deleted { object, final_state_known: false };
                    listeners.distribute(&change, Cause::Live, at);
                }
                self.populated(scope, listeners);
            }
            DeltaKind::ReplacedAll(scope, list) => {
                self.replace(scope, list, at, listeners);
                self.populated(scope, listeners);
            }
            DeltaKind::SyncAll => {
                listeners.resync(|| self.indexer.list(None), at);
                self.processor.resync_done();
            }
            DeltaKind::Bookmark(scope, version) => self.applied(scope, &version, at),
        }
    }

    /// C-6: deletions first, then what is listed, in its order.
    fn replace(&self, scope: Scope, list: Replacement, at: Instant, listeners: &mut Listeners) {
        let state = self.scopes.get(scope);
        let first = state.is_some_and(|state| !state.populated);
        // C-11: only what comes before the first list was applied is initial.
        let cause = if first { Cause::Initial } else { Cause::Relist };
        let namespace = state.and_then(|state| state.cell.namespace());
        let replaced = self.indexer.replace(namespace, list.objects, &list.quarantined);
        self.applied(scope, &list.resource_version, at);
        for object in replaced.deleted {
            note_removal(listeners, || object.key(), cause, Some(&object));
            listeners.distribute(&Change::Deleted { object, final_state_known: false }, cause, at);
        }
        for present in replaced.present {
            tell(present, cause, at, listeners);
        }
    }

    fn remove(&self, key: &ObjectKey, cause: Cause, listeners: &Listeners) -> Option<Arc<Object>> {
        let stored = self.indexer.remove(key);
        note_removal(listeners, || key.clone(), cause, stored.as_deref());
        stored
    }

    /// Synced once every scope is populated: its deltas so far were applied and told.
    fn populated(&mut self, scope: Scope, listeners: &mut Listeners) {
        let Some(state) = self.scopes.get_mut(scope).filter(|state| !state.populated) else {
            return;
        };
        state.populated = true;
        if self.scopes.iter().all(|scope| scope.populated) {
            // Whoever hears that the informer has synced finds everything offered.
            listeners.flush();
            // The informer first, then its listeners (C-12).
            self.synced.send_replace(true);
            listeners.informer_synced();
        }
    }

    /// I-11: what was written last is in the store by now.
    fn applied(&self, scope: Scope, version: &str, observed: Instant) {
        if let Some(state) = self.scopes.get(scope) {
            state.cell.applied(version, observed);
        }
    }
}

/// What storing an object means for the listeners (C-3, D-5). Under another UID it is another object (D-6).
fn tell(present: Present, cause: Cause, at: Instant, listeners: &mut Listeners) {
    note_present(listeners, &present, cause);
    match present {
        Present::New(object) => listeners.distribute(&Change::Added { object }, cause, at),
        Present::Unchanged(object) => listeners.distribute_unchanged(&object, cause, at),
        Present::Changed { old, new } if old.uid() == new.uid() => {
            listeners.distribute(&Change::Updated { old, new }, cause, at);
        }
        Present::Changed { old, new } => {
            listeners.distribute(&Change::Deleted { object: old, final_state_known: false }, cause, at);
            listeners.distribute(&Change::Added { object: new }, cause, at);
        }
    }
}

fn note_present(listeners: &Listeners, present: &Present, cause: Cause) {
    let (old, new) = match present {
        Present::New(new) => (None, new),
        Present::Changed { old, new } => (Some(old), new),
        Present::Unchanged(object) => {
            if cause == Cause::Live {
                let version = || object.resource_version().into();
                listeners.note(|| (object.key(), Step::Unchanged { version: version() }));
            }
            return;
        }
    };
    listeners.note(|| {
        let old = old.map(|old| old.resource_version().into());
        (new.key(), Step::Stored { cause, old, new: new.resource_version().into() })
    });
}

fn note_removal(
    listeners: &Listeners,
    key: impl FnOnce() -> ObjectKey,
    cause: Cause,
    stored: Option<&Object>,
) {
    let last = || stored.map(|object| object.resource_version().into());
    listeners.note(|| (key(), Step::Removed { cause, last: last() }));
}

#[cfg(test)]
mod tests;
