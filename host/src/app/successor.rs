//! Delivers the difference to a plugin when another informer replaces the informer of a watch.

use std::{collections::HashMap, sync::Arc};

use informer_cache::ResourceVersion;
use informer_types::{
    Cause, Change, Notification, NotificationSink, Object, ObjectKey, Source, Step, SyncToken, Tracer,
};
use parking_lot::Mutex;

use super::keeping::View;

/// Stands between the listener of a new informer and the plugin until the new informer has reached every state that the plugin
/// has received from the previous informer. It turns the first list into what a relist delivers (C-14): an unchanged object is
/// not delivered again, a changed object is an update, and an object that is gone, or no longer selected, is a deletion with
/// unknown final state. An unchanged object is an update too if the new informer keeps other parts of it and the plugin reads one
/// of these parts (D-21). An object that is newer than everything the previous informer had is a normal addition and not an
/// initial one (C-11): a plugin with `initial = "skip"` receives it.
///
/// The new informer may be behind the previous one. States that are older than those the plugin has received are withheld: an
/// object never goes back in time (point 2 of the contract).
pub(super) struct Successor {
    source: Source,
    view: View,
    tracer: Tracer,
    /// The version up to which the previous informer delivered everything; `None` if it had not synced.
    until: Option<String>,
    state: Mutex<State>,
}

/// The states that the plugin has received from the previous informer.
pub(super) struct Received {
    /// The cache of the previous informer, which has ended.
    pub(super) cached: Vec<Arc<Object>>,
    /// Newer states that the plugin received from informers before the previous one.
    pub(super) newer: HashMap<ObjectKey, Arc<Object>>,
    /// The version up to which that informer delivered everything; `None` if it had not synced.
    pub(super) until: Option<String>,
    /// What the plugin sees of an object.
    pub(super) view: View,
}

struct State {
    /// The states that the plugin has received and the new informer has not reached.
    known: HashMap<ObjectKey, Arc<Object>>,
    sink: Arc<dyn NotificationSink>,
}

// === impl Successor ===

impl Successor {
    /// `source` is the resource. Withheld states are written to the `tracer` of the plugin.
    pub(super) fn new(
        source: Source,
        received: Received,
        sink: Arc<dyn NotificationSink>,
        tracer: Tracer,
    ) -> Self {
        let Received { cached, newer, until, view } = received;
        let mut known: HashMap<_, _> = cached.into_iter().map(|object| (object.key(), object)).collect();
        known.extend(newer);
        Self { source, view, until, tracer, state: Mutex::new(State { known, sink }) }
    }

    /// The new informer has offered every object that exists at this version, except those for which `exists` returns true: an
    /// object that the plugin has received in an earlier version, and that was not offered, is gone. If the versions have no
    /// order, every object that was not offered is gone.
    pub(super) fn reached(&self, version: Option<&str>, exists: impl Fn(&ObjectKey) -> bool) {
        let reached: Option<ResourceVersion> = version.and_then(|version| version.parse().ok());
        self.end(|key, object| {
            let known: Option<ResourceVersion> = object.resource_version().parse().ok();
            let is_reached = known.zip(reached.as_ref()).is_none_or(|(known, reached)| known <= *reached);
            is_reached && !exists(key)
        });
    }

    /// The new informer has reached every state that the plugin has received, so every object that it has not offered is gone,
    /// except those for which `exists` returns true.
    pub(super) fn finish(&self, exists: impl Fn(&ObjectKey) -> bool) {
        self.end(|key, _| !exists(key));
    }

    /// Returns true if the new informer has reached every state that the plugin has received.
    pub(super) fn is_finished(&self) -> bool {
        self.state.lock().known.is_empty()
    }

    /// Returns the version that the new informer must reach before [`finish`](Self::finish). Returns `None` if nothing is left, or
    /// if the versions have no order.
    pub(super) fn awaits(&self) -> Option<ResourceVersion> {
        let state = self.state.lock();
        state.known.values().filter_map(|object| object.resource_version().parse().ok()).max()
    }

    /// Returns true if the plugin has received a state of this object that the new informer has not reached. Such an object may
    /// exist without being in the cache.
    pub(super) fn knows(&self, key: &ObjectKey) -> bool {
        self.state.lock().known.contains_key(key)
    }

    /// The states that the plugin has received and the new informer has not reached.
    pub(super) fn known(&self) -> Vec<Arc<Object>> {
        self.state.lock().known.values().map(Arc::clone).collect()
    }

    /// Takes the states that the new informer has not reached, and the version up to which everything was delivered.
    pub(super) fn take(&self) -> (HashMap<ObjectKey, Arc<Object>>, Option<String>) {
        (std::mem::take(&mut self.state.lock().known), self.until.clone())
    }

    /// Delivers to another sink from now on. First, the sink receives the `difference` of each object that the new informer has
    /// not reached, with the cause `replay`. If these notifications belong to a replay, each carries a clone of its token `settled`.
    pub(super) fn retarget(
        &self,
        sink: Arc<dyn NotificationSink>,
        settled: Option<&SyncToken>,
        difference: impl Fn(&Arc<Object>) -> Option<Change>,
    ) {
        let mut state = self.state.lock();
        let observed = tokio::time::Instant::now().into_std();
        for change in state.known.values().filter_map(difference) {
            let source = self.source.clone();
            sink.offer(Notification {
                source,
                change,
                cause: Cause::Replay,
                initial: settled.cloned(),
                observed: observed.into(),
            });
        }
        state.sink = sink;
    }

    fn end(&self, gone: impl Fn(&ObjectKey, &Object) -> bool) {
        let mut state = self.state.lock();
        let State { known, sink } = &mut *state;
        let observed = tokio::time::Instant::now().into_std();
        for (_, object) in known.extract_if(|key, object| gone(key, object)) {
            let change = Change::Deleted { object, final_state_known: false };
            let source = self.source.clone();
            sink.offer(Notification {
                source,
                change,
                cause: Cause::Relist,
                initial: None,
                observed: observed.into(),
            });
        }
    }

    /// Delivers the notification about an object that the plugin has received in the state `before`.
    fn deliver(&self, before: Arc<Object>, notification: Notification, sink: &dyn NotificationSink) {
        let Some(new) = state_of(&notification.change) else {
            let change = match &notification.change {
                // Another object of this name came and went meanwhile.
                Change::Deleted { object, .. } if object.uid() != before.uid() => {
                    Change::Deleted { object: before, final_state_known: false }
                }
                change => change.clone(),
            };
            return sink.offer(Notification { change, ..notification });
        };
        if before.uid() != new.uid() {
            let change = Change::Deleted { object: before, final_state_known: false };
            sink.offer(Notification { change, cause: Cause::Relist, initial: None, ..notification.clone() });
            let change = Change::Added { object: new };
            let cause = relisted(notification.cause);
            sink.offer(Notification { change, cause, ..notification });
        } else if !self.same(&before, &new) {
            let change = Change::Updated { old: before, new };
            sink.offer(Notification { change, cause: Cause::Relist, ..notification });
        }
    }

    fn withhold(&self, key: ObjectKey, notification: &Notification, known: &Object) {
        let change = &notification.change;
        self.tracer.note(&notification.source, || {
            let version = change.object().resource_version().into();
            (key, Step::Withheld { verb: change.verb(), version, known: known.resource_version().into() })
        });
    }

    /// Delivers the notification about a new object. The notification is not initial if the previous informer cannot have had the
    /// object (C-11).
    fn deliver_new(&self, notification: Notification, sink: &dyn NotificationSink) {
        let cause = match &self.until {
            Some(until) if is_newer(notification.change.object(), until) => relisted(notification.cause),
            _ => notification.cause,
        };
        sink.offer(Notification { cause, ..notification });
    }

    /// Returns true if the object is unchanged (D-5). The informers may keep different parts of an object, and the API server may
    /// send other content for the same version: the plugin must see the same in both.
    fn same(&self, before: &Object, new: &Object) -> bool {
        let texts = || before.json().ok().zip(new.json().ok());
        before.resource_version() == new.resource_version()
            && texts().is_some_and(|(before, new)| self.view.is_same(&before, &new))
    }
}

impl NotificationSink for Successor {
    fn offer(&self, notification: Notification) {
        // The lock is held during the offer: the states that are left are delivered after it or not at all.
        let mut state = self.state.lock();
        let State { known, sink } = &mut *state;
        let key = notification.key();
        match known.get(&key) {
            Some(before) if is_older(&notification.change, before) => {
                self.withhold(key, &notification, before);
            }
            Some(_) => {
                if let Some(before) = known.remove(&key) {
                    self.deliver(before, notification, &**sink);
                }
            }
            None => self.deliver_new(notification, &**sink),
        }
    }

    fn listed(&self, initial: SyncToken) {
        self.state.lock().sink.listed(initial);
    }
}

/// The cause of an object from a list that is not initial.
fn relisted(cause: Cause) -> Cause {
    if cause == Cause::Initial { Cause::Relist } else { cause }
}

/// Returns true if the object may be newer. Versions without an order count as newer: the object must not be lost.
fn is_newer(object: &Object, than: &str) -> bool {
    let versions = [object.resource_version(), than].map(|version| version.parse::<ResourceVersion>().ok());
    !matches!(versions, [Some(version), Some(than)] if version <= than)
}

/// Returns the object after the change, or `None` if it is gone.
fn state_of(change: &Change) -> Option<Arc<Object>> {
    match change {
        Change::Added { object } | Change::Updated { new: object, .. } => Some(Arc::clone(object)),
        Change::Deleted { .. } => None,
    }
}

/// Returns true if the change is older than this state of the object. Versions without an order are never older.
fn is_older(change: &Change, known: &Object) -> bool {
    let object = change.object();
    // A deleted object does not come back under its UID, and its deletion may carry an old state.
    if matches!(change, Change::Deleted { .. }) && object.uid() == known.uid() {
        return false;
    }
    let versions = [object, known].map(|object| object.resource_version().parse::<ResourceVersion>().ok());
    matches!(versions, [Some(new), Some(known)] if new < known)
}

#[cfg(test)]
mod tests;
