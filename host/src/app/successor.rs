//! What a plugin is told where another informer takes over a watch.

use std::{collections::HashMap, sync::Arc};

use informer_cache::ResourceVersion;
use informer_types::{
    Cause, Change, Notification, NotificationSink, Object, ObjectKey, Source, Step, Tracer,
};
use parking_lot::Mutex;

/// Stands between a new informer's listener and the plugin, for as long as the plugin knows states of the informer
/// before. It makes of the first list what a relist makes of it (C-14): what the plugin knows and what did not change
/// is not told again, what changed is an update, and what is not there any more, or not selected any more, is a deletion
/// whose final state is not known. What is newer than anything the informer before had is an addition like any other, and
/// no part of the first state (C-11): whoever skips that hears of it.
///
/// The new informer may be behind the one before. Then what it has is older than what the plugin knows, and is not told:
/// nothing goes back in time (point 2 of the contract).
pub(super) struct Successor {
    source: Source,
    /// What is kept of an object is kept by both.
    alike: bool,
    tracer: Tracer,
    /// What is newer was never told; none: nothing was told at all.
    until: Option<String>,
    state: Mutex<State>,
}

/// What the plugin was told by the informer before.
pub(super) struct Told {
    /// The cache of that informer, which has ended.
    pub(super) cached: Vec<Arc<Object>>,
    /// What that one did not get to say itself: newer than its cache.
    pub(super) untold: HashMap<ObjectKey, Arc<Object>>,
    /// That informer had told of everything up to this resource version; none: it had not synced.
    pub(super) until: Option<String>,
    /// What is kept of an object is kept by both.
    pub(super) alike: bool,
}

struct State {
    /// What the plugin knows and the new informer has not come to yet.
    known: HashMap<ObjectKey, Arc<Object>>,
    sink: Arc<dyn NotificationSink>,
}

// === impl Successor ===

impl Successor {
    /// `source` is the resource. What is older than what the plugin knows is written to `tracer`, which is about the plugin.
    pub(super) fn new(source: Source, told: Told, sink: Arc<dyn NotificationSink>, tracer: Tracer) -> Self {
        let Told { cached, untold, until, alike } = told;
        let mut known: HashMap<_, _> = cached.into_iter().map(|object| (object.key(), object)).collect();
        known.extend(untold);
        Self { source, alike, until, tracer, state: Mutex::new(State { known, sink }) }
    }

    /// The new informer had offered all that it had when it had come to this version: what the plugin knows from before
    /// that is gone. Where versions have no order, so is everything else.
    pub(super) fn reached(&self, version: Option<&str>) {
        let reached: Option<ResourceVersion> = version.and_then(|version| version.parse().ok());
        self.end(|object| {
            let known: Option<ResourceVersion> = object.resource_version().parse().ok();
            known.zip(reached.as_ref()).is_none_or(|(known, reached)| known <= *reached)
        });
    }

    /// The new informer has seen all that the plugin knows: the rest is gone.
    pub(super) fn finish(&self) {
        self.end(|_| true);
    }

    /// The newest version that the new informer has to come to before it can be asked what is gone; none: there is
    /// nothing to ask, or versions have no order.
    pub(super) fn awaits(&self) -> Option<ResourceVersion> {
        let state = self.state.lock();
        state.known.values().filter_map(|object| object.resource_version().parse().ok()).max()
    }

    /// Whether the plugin knows a state of this object that the new informer has not come to yet: it may be in no cache, and be
    /// there.
    pub(super) fn knows(&self, key: &ObjectKey) -> bool {
        self.state.lock().known.contains_key(key)
    }

    /// What the plugin knows and the new informer has not come to yet, which is forgotten here; and up to which version it
    /// was told of everything.
    pub(super) fn take(&self) -> (HashMap<ObjectKey, Arc<Object>>, Option<String>) {
        (std::mem::take(&mut self.state.lock().known), self.until.clone())
    }

    /// What is told from now on is told to this one; first, with the cause `replay`, what `difference` says of each object
    /// that the plugin knows and the new informer has not come to.
    pub(super) fn retarget(
        &self,
        sink: Arc<dyn NotificationSink>,
        difference: impl Fn(&Arc<Object>) -> Option<Change>,
    ) {
        let mut state = self.state.lock();
        let observed = tokio::time::Instant::now().into_std();
        for change in state.known.values().filter_map(difference) {
            let source = self.source.clone();
            sink.offer(Notification { source, change, cause: Cause::Replay, initial: None, observed });
        }
        state.sink = sink;
    }

    fn end(&self, gone: impl Fn(&Object) -> bool) {
        let mut state = self.state.lock();
        let State { known, sink } = &mut *state;
        let observed = tokio::time::Instant::now().into_std();
        for (_, object) in known.extract_if(|_, object| gone(object)) {
            let change = Change::Deleted { object, final_state_known: false };
            let source = self.source.clone();
            sink.offer(Notification { source, change, cause: Cause::Relist, initial: None, observed });
        }
    }

    /// What the plugin is told where it knows this, and the new informer says that.
    fn tell(&self, before: Arc<Object>, notification: Notification, sink: &dyn NotificationSink) {
        let Some(new) = state_of(&notification.change) else {
            let change = match &notification.change {
                // It came and went meanwhile.
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

    /// An object that the plugin does not know. It is not part of the first state where the one before cannot have seen it
    /// (C-11).
    fn tell_new(&self, notification: Notification, sink: &dyn NotificationSink) {
        let cause = match &self.until {
            Some(until) if is_newer(notification.change.object(), until) => relisted(notification.cause),
            _ => notification.cause,
        };
        sink.offer(Notification { cause, ..notification });
    }

    /// D-5; where something else is kept of an object, it is another state.
    fn same(&self, before: &Object, new: &Object) -> bool {
        before.resource_version() == new.resource_version()
            && (self.alike
                || before.json().ok().zip(new.json().ok()).is_some_and(|(before, new)| *before == *new))
    }
}

impl NotificationSink for Successor {
    fn offer(&self, notification: Notification) {
        // Held over the offer: the rest of what is known is told after it or not at all.
        let mut state = self.state.lock();
        let State { known, sink } = &mut *state;
        let key = notification.key();
        match known.get(&key) {
            Some(before) if is_older(&notification.change, before) => {
                self.withhold(key, &notification, before);
            }
            Some(_) => {
                if let Some(before) = known.remove(&key) {
                    self.tell(before, notification, &**sink);
                }
            }
            None => self.tell_new(notification, &**sink),
        }
    }
}

/// A list brought it, but it is not part of the first state.
fn relisted(cause: Cause) -> Cause {
    if cause == Cause::Initial { Cause::Relist } else { cause }
}

/// Where versions have no order it may be: better told than lost.
fn is_newer(object: &Object, than: &str) -> bool {
    let versions = [object.resource_version(), than].map(|version| version.parse::<ResourceVersion>().ok());
    !matches!(versions, [Some(version), Some(than)] if version <= than)
}

/// The object as it is after the change; none where it is gone.
fn state_of(change: &Change) -> Option<Arc<Object>> {
    match change {
        Change::Added { object } | Change::Updated { new: object, .. } => Some(Arc::clone(object)),
        Change::Deleted { .. } => None,
    }
}

/// True where the change happened before this state of the object. Of versions without an order it is never said.
fn is_older(change: &Change, known: &Object) -> bool {
    let object = change.object();
    // What was deleted does not come back under its UID, and the last state seen of it may be an old one.
    if matches!(change, Change::Deleted { .. }) && object.uid() == known.uid() {
        return false;
    }
    let versions = [object, known].map(|object| object.resource_version().parse::<ResourceVersion>().ok());
    matches!(versions, [Some(new), Some(known)] if new < known)
}

#[cfg(test)]
mod tests;
