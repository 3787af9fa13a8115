//! The objects of one resource and their history.

use std::{
    collections::{BTreeMap, HashMap},
    ops::Bound,
    sync::Arc,
};

use parking_lot::RwLock;
use tokio::sync::watch;
use tokio_util::sync::CancellationToken;

use super::{Draft, Event, ObjectKey, Owners, Revision, Stored, history::History};
use crate::registry::CollectionId;

/// The objects of one resource. Each read sees a consistent state. A list at a version and a watch from that version
/// together miss no change and repeat none.
#[derive(Debug)]
pub(crate) struct Collection {
    id: CollectionId,
    revision: Arc<Revision>,
    owners: Arc<Owners>,
    state: RwLock<State>,
    changed: watch::Sender<u64>,
    /// Cancelled when the resource is no longer served.
    pub(crate) closed: CancellationToken,
}

#[derive(Debug)]
struct State {
    objects: BTreeMap<ObjectKey, Arc<Stored>>,
    history: History,
}

/// A consistent state of all objects, or of those in a namespace.
#[derive(Debug)]
pub(crate) struct Snapshot {
    pub(crate) rv: u64,
    pub(crate) objects: Vec<Arc<Stored>>,
}

/// The history does not reach back to the requested version.
#[derive(Debug, PartialEq, Eq)]
pub(crate) struct Forgotten {
    /// The oldest version that can be requested.
    pub(crate) oldest: u64,
}

// === impl Collection ===

impl Collection {
    pub(super) fn new(
        id: CollectionId,
        revision: Arc<Revision>,
        owners: Arc<Owners>,
        history_limit: usize,
    ) -> Self {
        let state = State { objects: BTreeMap::new(), history: History::new(history_limit) };
        Self {
            id,
            revision,
            owners,
            state: RwLock::new(state),
            changed: watch::Sender::new(0),
            closed: CancellationToken::new(),
        }
    }

    pub(crate) fn get(&self, key: &ObjectKey) -> Option<Arc<Stored>> {
        self.state.read().objects.get(key).cloned()
    }

    pub(crate) fn is_empty(&self) -> bool {
        self.state.read().objects.is_empty()
    }

    pub(crate) fn has_any_in(&self, namespace: &str) -> bool {
        self.state.read().in_namespace(Some(namespace)).next().is_some()
    }

    /// The current objects in key order. `None` means all namespaces.
    pub(crate) fn snapshot(&self, namespace: Option<&str>) -> Snapshot {
        let state = self.state.read();
        let objects = state.in_namespace(namespace).map(|(_, object)| object.clone()).collect();
        Snapshot { rv: self.revision.current(), objects }
    }

    /// The objects as they were at `rv`.
    pub(crate) fn snapshot_at(&self, rv: u64, namespace: Option<&str>) -> Result<Snapshot, Forgotten> {
        let state = self.state.read();
        state.check_reach(rv)?;
        let mut was: HashMap<ObjectKey, Option<Arc<Stored>>> = state.history.undo_to(rv);
        let mut objects: Vec<Arc<Stored>> = state
            .in_namespace(namespace)
            .filter_map(|(key, now)| was.remove(key).unwrap_or_else(|| Some(now.clone())))
            .collect();
        // The remaining objects existed at `rv` and are deleted now.
        let gone = was.into_values().flatten();
        objects.extend(gone.filter(|object| namespace.is_none_or(|ns| object.key.namespace == ns)));
        objects.sort_by(|a, b| a.key.cmp(&b.key));
        Ok(Snapshot { rv, objects })
    }

    /// Checks that a watch may start from `rv`.
    pub(crate) fn check_reach(&self, rv: u64) -> Result<(), Forgotten> {
        self.state.read().check_reach(rv)
    }

    /// At most `max` changes after `rv`, and the version up to which they are complete. Returns `None` if the next change
    /// is already forgotten. If `rv` is in the future, the returned version is lower than `rv`.
    pub(crate) fn changes_after(&self, rv: u64, max: usize) -> Option<(Vec<Arc<Event>>, u64)> {
        let state = self.state.read();
        let events = state.history.after(rv, max)?;
        let complete_to = match events.last() {
            Some(last) if events.len() == max => last.rv,
            _ => self.revision.current(),
        };
        Some((events, complete_to))
    }

    /// A receiver that wakes on every change of this collection.
    pub(crate) fn subscribe(&self) -> watch::Receiver<u64> {
        self.changed.subscribe()
    }

    pub(super) fn compact(&self, rv: u64) {
        self.state.write().history.compact(rv.min(self.revision.current()));
    }

    /// Adds an object. Returns `None` if its key is taken.
    pub(crate) fn insert(&self, draft: Draft) -> Option<Arc<Stored>> {
        let mut state = self.state.write();
        if state.objects.contains_key(&draft.key) {
            return None;
        }
        let stored = Arc::new(draft.store(self.revision.next()));
        self.commit(&mut state, Event::written(None, stored.clone()));
        Some(stored)
    }

    /// Replaces `expected` by `draft`. A draft that equals `expected` changes nothing, not even the version. Returns
    /// `None` if the object is not in the state `expected` any more.
    pub(crate) fn replace(&self, expected: &Arc<Stored>, draft: Draft) -> Option<Arc<Stored>> {
        if draft.is_same(expected) {
            return self.state.read().has(expected).then(|| expected.clone());
        }
        let mut state = self.state.write();
        let stored = state.has(expected).then(|| Arc::new(draft.store(self.revision.next())))?;
        self.commit(&mut state, Event::written(Some(expected.clone()), stored.clone()));
        Some(stored)
    }

    /// Removes `expected`, which watches send as the last state. Returns `last`, the answer to the client, with the version of the
    /// deletion. Returns `None` if the object is not in the state `expected` any more.
    pub(crate) fn remove(&self, expected: &Arc<Stored>, last: Draft) -> Option<Arc<Stored>> {
        let mut state = self.state.write();
        let last = state.has(expected).then(|| Arc::new(last.store(self.revision.next())))?;
        self.commit(&mut state, Event::deleted(expected.clone(), last.rv));
        Some(last)
    }

    fn commit(&self, state: &mut State, event: Event) {
        let rv = event.rv;
        if let Some(after) = &event.after {
            state.objects.insert(after.key.clone(), after.clone());
        } else if let Some(before) = &event.before {
            state.objects.remove(&before.key);
        }
        self.owners.change(&self.id, event.before.as_deref(), event.after.as_deref());
        state.history.push(Arc::new(event));
        self.changed.send_replace(rv);
        self.revision.announce(rv);
    }
}

// === impl State ===

impl State {
    fn in_namespace(&self, namespace: Option<&str>) -> impl Iterator<Item = (&ObjectKey, &Arc<Stored>)> {
        let start = match namespace {
            Some(namespace) => Bound::Included(ObjectKey::new(namespace, "")),
            None => Bound::Unbounded,
        };
        self.objects
            .range((start, Bound::Unbounded))
            .take_while(move |(key, _)| namespace.is_none_or(|ns| key.namespace == ns))
    }

    fn check_reach(&self, rv: u64) -> Result<(), Forgotten> {
        let oldest = self.history.floor();
        if rv < oldest { Err(Forgotten { oldest }) } else { Ok(()) }
    }

    fn has(&self, expected: &Arc<Stored>) -> bool {
        self.objects.get(&expected.key).is_some_and(|now| Arc::ptr_eq(now, expected))
    }
}
