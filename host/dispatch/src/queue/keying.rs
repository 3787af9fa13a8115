//! Notifications of a plugin that takes keys.

use std::{collections::HashMap, fmt, sync::Arc};

use informer_types::{AddError, Change, EventTrace, KeyedVersion, Source, WorkKey};

use crate::{
    ObjectRef,
    entry::Entry,
    keyed::Lane,
    workqueue::{RateLimitingQueue, check_length},
};

/// The most keys that are kept while the mode is undecided. Objects may come and go for as long as no version is in service.
pub(super) const UNDECIDED_KEYS: usize = 1 << 16;

/// Returns the keys that a change of an object concerns: its own, or those of its controllers.
pub(super) type KeysOf = dyn Fn(&Source, &Change) -> Vec<WorkKey> + Send + Sync;

/// The way of a plugin's notifications: they are delivered, or become keys. It is decided when a version is put into service, not at
/// each call.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Mode {
    /// No version was in service yet. Notifications are pending and merge, and their keys are kept beside them.
    Undecided,
    /// The version has a handler: notifications are pending until they are delivered.
    Handlers,
    /// The version has a reconciler only: the keys of notifications go straight into the workqueue.
    Keys,
}

/// The workqueue beside a notification queue.
pub(super) struct Keying {
    queue: RateLimitingQueue,
    keys_of: Arc<KeysOf>,
    mode: Mode,
    undecided: Undecided,
}

/// The keys of the notifications offered while the mode is undecided, at most [`UNDECIDED_KEYS`]. They are computed before
/// notifications merge, so that the former controllers of an object are included.
#[derive(Debug, Default)]
struct Undecided {
    /// There were more keys than are kept.
    is_full: bool,
    /// In the order of the notifications. A key is listed again if it moves to the live lane.
    order: Vec<(WorkKey, Lane)>,
    noted: HashMap<WorkKey, Noted>,
}

#[derive(Debug)]
struct Noted {
    lane: Lane,
    version: Option<Arc<KeyedVersion>>,
}

// === impl Keying ===

impl Keying {
    pub(super) fn new(queue: RateLimitingQueue, keys_of: Arc<KeysOf>) -> Self {
        Self { queue, keys_of, mode: Mode::Undecided, undecided: Undecided::default() }
    }

    pub(super) fn mode(&self) -> Mode {
        self.mode
    }

    /// Keeps the keys of a notification until the mode is decided.
    pub(super) fn note(&mut self, object: &ObjectRef, entry: &Entry) {
        for key in self.keys(object, entry) {
            let version = version_of(&key, object, entry);
            self.undecided.add(key, Lane::of(entry.live), version);
        }
    }

    /// The keys that a notification concerns.
    pub(super) fn keys(&self, object: &ObjectRef, entry: &Entry) -> Vec<WorkKey> {
        (self.keys_of)(&object.source, &entry.change)
    }

    /// Adds the keys of a notification to the workqueue. If [`decide`](Self::decide) added them already, only checks them.
    ///
    /// # Errors
    /// [`AddError::TooLong`]: one of the keys was not added. All others were.
    pub(super) fn enqueue(
        &self,
        keys: &[WorkKey],
        object: &ObjectRef,
        entry: &Entry,
        added: bool,
    ) -> Result<(), AddError> {
        let mut all = Ok(());
        for key in keys {
            let text = key.to_string();
            let one = if added {
                check_length(&text)
            } else {
                let version = version_of(key, object, entry);
                self.queue.enqueue(&text, Lane::of(entry.live), &entry.observed.trace, version)
            };
            all = all.and(one);
        }
        all
    }

    /// A version is in service. If it has no reconciler, the keys of the workqueue are held. If it has only a reconciler, the
    /// keys of undecided notifications are added. If it has a handler, these keys are dropped.
    ///
    /// Returns false if there were more keys than are kept: those of the pending notifications have to be added then.
    pub(super) fn decide(&mut self, handles: bool, reconciles: bool) -> bool {
        let undecided = std::mem::take(&mut self.undecided);
        let is_complete = !undecided.is_full;
        self.mode = if handles { Mode::Handlers } else { Mode::Keys };
        if self.mode == Mode::Keys {
            for (key, lane) in undecided.order {
                let version = undecided.noted.get(&key).and_then(|noted| noted.version.clone());
                // Keys that are too long become dead letters with their notifications.
                self.queue.enqueue(&key.to_string(), lane, &EventTrace::default(), version).ok();
            }
        }
        self.hold(!reconciles);
        is_complete
    }

    /// Sets whether the keys of the workqueue are held. Keys may be left when the plugin ends. They must not go to a version without a
    /// reconciler, because this version would return each key at once, without end.
    pub(super) fn hold(&self, held: bool) {
        self.queue.set_held(held);
    }
}

impl fmt::Debug for Keying {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("Keying").field("mode", &self.mode).field("queue", &self.queue).finish_non_exhaustive()
    }
}

// === impl Undecided ===

impl Undecided {
    fn add(&mut self, key: WorkKey, lane: Lane, version: Option<Arc<KeyedVersion>>) {
        let Some(known) = self.noted.get_mut(&key) else {
            if self.noted.len() >= UNDECIDED_KEYS {
                self.is_full = true;
                return;
            }
            self.noted.insert(key.clone(), Noted { lane, version });
            return self.order.push((key, lane));
        };
        known.version = version.or(known.version.take());
        if known.lane == Lane::Backlog && lane == Lane::Live {
            known.lane = lane;
            self.order.push((key, lane));
        }
    }
}

/// The version of the object, if the key is that of the object itself. If the controller has the same name, the key may be that of the
/// controller, and the result is `None`.
fn version_of(key: &WorkKey, object: &ObjectRef, entry: &Entry) -> Option<Arc<KeyedVersion>> {
    let newest = entry.change.object();
    let same_name = newest.controller().is_some_and(|owner| *owner.name == *newest.name());
    (key.key == object.key && !same_name).then(|| {
        let resource_version = newest.resource_version().into();
        Arc::new(KeyedVersion { source: object.source.clone(), resource_version })
    })
}
