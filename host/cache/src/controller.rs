//! Applies deltas to the store and notifies the listeners of the resulting changes.
//!
//! The store decides (C-3): whatever the watch event said, an object that was not in the cache is added, and one that
//! was in the cache is updated. The store is written first, then the listeners are notified (C-5), all under the
//! informer's lock (C-10).

use std::sync::Arc;

use informer_types::{Cause, Change, Object, ObjectKey, Observed, Step};
use tokio::sync::{mpsc, watch};

use crate::{
    delta_queue::{Delta, DeltaKind, Replacement, Scope},
    in_doubt::InDoubt,
    indexer::{Indexer, Present},
    processor::{Listeners, Processor},
    status::ReflectorCell,
};

/// The number of deltas applied under one hold of the lock: enough to be cheap, and few enough that a joining listener
/// does not wait long.
const MAX_BATCH: usize = 256;

/// Applying more objects than this takes more than a millisecond, which is too long for a thread of the executor.
const HEAVY: usize = 1_000;

/// The only writer of an informer's store.
pub(crate) struct Controller {
    deltas: mpsc::Receiver<Delta>,
    indexer: Arc<Indexer>,
    processor: Arc<Processor>,
    scopes: Vec<ScopeState>,
    synced: watch::Sender<bool>,
}

/// One watched namespace, or all namespaces.
struct ScopeState {
    cell: Arc<ReflectorCell>,
    /// True once the first list, or an event before any list, was applied.
    populated: bool,
}

// === impl Controller ===

impl Controller {
    pub(crate) fn new(
        deltas: mpsc::Receiver<Delta>,
        indexer: Arc<Indexer>,
        processor: Arc<Processor>,
        cells: &[Arc<ReflectorCell>],
        synced: watch::Sender<bool>,
    ) -> Self {
        // A list after the resource came back is not an initial list (C-11).
        let populated = *synced.borrow();
        let scopes = cells.iter().map(|cell| ScopeState { cell: Arc::clone(cell), populated }).collect();
        Self { deltas, indexer, processor, scopes, synced }
    }

    /// Applies deltas until the queue is closed and empty (C-1, C-2).
    pub(crate) async fn run(mut self) {
        let mut batch = Vec::new();
        while self.deltas.recv_many(&mut batch, MAX_BATCH).await > 0 {
            let deltas = std::mem::take(&mut batch);
            if deltas.iter().any(|delta| self.is_heavy(delta)) {
                self = match tokio::task::spawn_blocking(move || self.apply_all(deltas)).await {
                    Ok(controller) => controller,
                    // A panic is a bug of this crate, which the informer reports. Without a panic, the runtime is shutting down.
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
            listeners.in_doubt = self.in_doubt(&delta);
            self.apply(delta, &mut listeners);
            listeners.in_doubt = None;
        }
        drop(listeners);
        self
    }

    /// The change that may be in the store but not distributed if a bug ends [`apply`](Self::apply).
    fn in_doubt(&self, delta: &Delta) -> Option<InDoubt> {
        match &delta.kind {
            DeltaKind::Added(_, object) | DeltaKind::Updated(_, object) => {
                Some(InDoubt::of(Arc::clone(object)))
            }
            DeltaKind::Deleted(_, object) => {
                let mut in_doubt = InDoubt::of(Arc::clone(object));
                let stored = self.indexer.get(object.namespace(), object.name());
                stored.iter().for_each(|stored| in_doubt.replaces(stored));
                Some(in_doubt)
            }
            DeltaKind::DeletedKey(_, key) => self.indexer.get(&key.namespace, &key.name).map(InDoubt::of),
            DeltaKind::ReplacedAll(scope, _) => {
                let namespace = self.scopes.get(*scope).and_then(|state| state.cell.namespace());
                let before = self.indexer.list(namespace);
                Some(InDoubt::List { namespace: namespace.map(str::to_owned), before })
            }
            DeltaKind::Undecoded(..) | DeltaKind::SyncAll | DeltaKind::Bookmark(..) => None,
        }
    }

    fn apply(&mut self, delta: Delta, listeners: &mut Listeners) {
        let at = &delta.observed;
        match delta.kind {
            DeltaKind::Added(scope, object) | DeltaKind::Updated(scope, object) => {
                let present = self.indexer.put_over(object, |stored| {
                    // This comes before the store is written, so that a bug in between loses nothing.
                    listeners.in_doubt.iter_mut().for_each(|in_doubt| in_doubt.replaces(stored));
                });
                self.release(scope, || present.object().key());
                self.applied(scope, present.object().resource_version(), at);
                notify(present, Cause::Live, at, listeners);
                self.populated(scope, listeners);
            }
            DeltaKind::Deleted(scope, object) => {
                let stored = self.remove(&object.key(), Cause::Live, at, listeners);
                self.release(scope, || object.key());
                self.applied(scope, object.resource_version(), at);
                if let Some(stored) = stored
                    && stored.uid() != object.uid()
                {
                    // The watch missed that deletion: another object took the name since (D-6).
                    let change = Change::Deleted { object: stored, final_state_known: false };
                    listeners.distribute(&change, Cause::Live, at);
                }
                // Deletions of objects that were never in the cache are distributed too (D-11, Q-21).
                listeners.distribute(&Change::Deleted { object, final_state_known: true }, Cause::Live, at);
                self.populated(scope, listeners);
            }
            DeltaKind::DeletedKey(scope, key) => {
                let stored = self.remove(&key, Cause::Live, at, listeners);
                self.release(scope, || key);
                if let Some(object) = stored {
                    let change = Change::Deleted { object, final_state_known: false };
                    listeners.distribute(&change, Cause::Live, at);
                }
                self.populated(scope, listeners);
            }
            DeltaKind::Undecoded(scope, object) => {
                if let Some(state) = self.scopes.get(scope) {
                    state.cell.quarantine(object);
                }
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

    /// Applies a list: first the deletions, then the listed objects in their order (C-6).
    fn replace(&self, scope: Scope, list: Replacement, at: &Observed, listeners: &mut Listeners) {
        let state = self.scopes.get(scope);
        let first = state.is_some_and(|state| !state.populated);
        // The list is initial if neither a list nor an event was applied to this scope before (C-11, Q-27).
        let cause = if first { Cause::Initial } else { Cause::Relist };
        let namespace = state.and_then(|state| state.cell.namespace());
        let kept: Vec<ObjectKey> = list.quarantined.iter().filter_map(|one| one.key.clone()).collect();
        let replaced = self.indexer.replace(namespace, list.objects, &kept);
        if let Some(state) = state {
            state.cell.replace_quarantine(list.quarantined);
        }
        self.applied(scope, &list.resource_version, at);
        distribute_removed(replaced.deleted, cause, at, listeners);
        for present in replaced.present {
            notify(present, cause, at, listeners);
        }
    }

    fn remove(
        &self,
        key: &ObjectKey,
        cause: Cause,
        at: &Observed,
        listeners: &Listeners,
    ) -> Option<Arc<Object>> {
        let stored = self.indexer.remove(key);
        note_removal(listeners, || key.clone(), cause, at, stored.as_deref());
        stored
    }

    /// Marks a scope as populated. The informer has synced once all scopes are populated, that is once their deltas up
    /// to here were applied and distributed.
    fn populated(&mut self, scope: Scope, listeners: &mut Listeners) {
        let Some(state) = self.scopes.get_mut(scope).filter(|state| !state.populated) else {
            return;
        };
        state.populated = true;
        if self.scopes.iter().all(|scope| scope.populated) {
            // When a reader finds the informer synced, all initial notifications have been offered, and `listed` of every sink
            // was called.
            listeners.flush();
            let initial = listeners.informer_synced();
            // First the informer has synced, then its listeners (C-12).
            self.synced.send_replace(true);
            drop(initial);
        }
    }

    /// Ends the quarantine of an object (D-2). The caller has written the store before. A reader that reads first the quarantine and
    /// then the store therefore finds an object that becomes decodable in at least one of the two.
    fn release(&self, scope: Scope, key: impl FnOnce() -> ObjectKey) {
        if let Some(state) = self.scopes.get(scope) {
            state.cell.release(key);
        }
    }

    /// Records that the store holds the state of this resource version (I-11).
    fn applied(&self, scope: Scope, version: &str, observed: &Observed) {
        if let Some(state) = self.scopes.get(scope) {
            state.cell.applied(version, observed.at);
        }
    }
}

/// Notifies the listeners of objects that a list does not have any more.
pub(crate) fn distribute_removed(
    objects: Vec<Arc<Object>>,
    cause: Cause,
    at: &Observed,
    listeners: &mut Listeners,
) {
    for object in objects {
        note_removal(listeners, || object.key(), cause, at, Some(&object));
        listeners.distribute(&Change::Deleted { object, final_state_known: false }, cause, at);
    }
}

/// Notifies the listeners of a stored object (C-3). An unchanged object goes only to listeners that requested unchanged objects
/// (D-5). An object with another UID is another object: a deletion and an addition (D-6).
fn notify(present: Present, cause: Cause, at: &Observed, listeners: &mut Listeners) {
    note_present(listeners, &present, cause, at);
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

fn note_present(listeners: &Listeners, present: &Present, cause: Cause, at: &Observed) {
    let (old, new) = match present {
        Present::New(new) => (None, new),
        Present::Changed { old, new } => (Some(old), new),
        Present::Unchanged(object) => {
            if cause == Cause::Live {
                let version = || object.resource_version().into();
                listeners.note(at, || (object.key(), Step::Unchanged { version: version() }));
            }
            return;
        }
    };
    listeners.note(at, || {
        let old = old.map(|old| old.resource_version().into());
        (new.key(), Step::Stored { cause, old, new: new.resource_version().into() })
    });
}

fn note_removal(
    listeners: &Listeners,
    key: impl FnOnce() -> ObjectKey,
    cause: Cause,
    at: &Observed,
    stored: Option<&Object>,
) {
    let last = || stored.map(|object| object.resource_version().into());
    listeners.note(at, || (key(), Step::Removed { cause, last: last() }));
}

#[cfg(test)]
mod tests;
