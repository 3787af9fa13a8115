//! What a subscription hears: everything its watch tells, less what it did not ask for.
//!
//! A [`Filter`] stands between a listener and the plugin's queue and judges each notification in this order:
//!
//! 1. **Which objects.** `namespaces`, `labels`, `fields` and a `when` about the object alone say of a *state* whether it belongs
//!    to the subscription. The filter remembers which objects are in, and an update maps as P-21 says: in before and
//!    after is an update; only after, an addition (which is never initial, C-11); only before, a deletion of the old
//!    state, which is its final one; neither, nothing.
//! 2. `initial`: the additions of the first list.
//! 3. `events`: which calls are made at all, after that mapping.
//! 4. `changed`: an update counts only if the value at one of the pointers differs. It is not asked of an update that
//!    brings no new state, because that was asked for (a resync, a relist with `relist = "all"`).
//! 5. **Which changes.** A `when` that looks at the change itself (`old`, `event` or `cause`) judges what the handler
//!    would be told. See [`When`] for what it may say of deletions.
//!
//! # Promises
//! Whoever was let in is told when it leaves: a deletion passes steps 1, 4 and 5 whatever the last state looks like, if
//! the object was in; one that is told again, because it was a dead letter, was let in once and is not asked anything but
//! `events`. client-go's filter (P-21) judges the last state alone and loses the deletion of an object whose
//! last state, never seen before, does not match any more. The only ways not to hear of a leaving are `events` without
//! `delete` and a `when` that names `event`.
//!
//! A condition that cannot be decided withholds nothing (D-9): an object whose `when` or fields fail counts as
//! selected, a change as told, and the failure is counted and shown. It is decided of one state, so that the mapping
//! above stays whole: an error on the new state lets it in, a later good verdict takes it out.
//!
//! # Cost
//! Without a condition nothing is looked at. `labels`, and `fields` of name and namespace, read the object's header;
//! other fields and `changed` scan its text; only `when` builds values of it, one state once. What is remembered is one
//! key for each object that is in, and only where there is a condition on objects.

mod config;
mod explain;
mod stats;
mod when;

use std::{
    collections::{HashSet, VecDeque},
    sync::{
        Arc,
        atomic::{AtomicU64, Ordering},
    },
};

use informer_types::{Cause, Change, Notification, NotificationSink, Object, ObjectKey, Tracer, differs};
use parking_lot::Mutex;

pub use config::{Events, FilterConfig};
pub use stats::{FilterStats, Suppressed, WhenStats};
pub use when::{InvalidWhen, MAX_ENTRIES, MAX_WHEN_BYTES, When, WhenError};

use explain::Before;
use stats::Condition;
use when::{Occasion, Subject};

/// The filter of one subscription, around the sink that takes what passes.
///
/// # Bound
/// It remembers at most one key for each object of the informer. It never waits.
#[derive(Debug)]
pub struct Filter<S> {
    config: FilterConfig,
    /// There is a condition on objects.
    selects: bool,
    /// Everything passes.
    open: bool,
    /// Apart from the rest, so that an open filter takes no lock.
    passed: AtomicU64,
    state: Mutex<State>,
    tracer: Tracer,
    sink: S,
}

#[derive(Debug, Default)]
struct State {
    /// The objects that belong to the subscription by their last state.
    inside: HashSet<ObjectKey>,
    stats: FilterStats,
}

// === impl Filter ===

impl<S: NotificationSink> Filter<S> {
    /// What passes goes to `sink`. It serves one listener: what another told it would be taken for the same story.
    pub fn new(config: FilterConfig, sink: S) -> Self {
        Self::traced(config, sink, Tracer::default())
    }

    /// As [`Filter::new`]; what it decides is written to `tracer`, unless it has no condition.
    pub fn traced(config: FilterConfig, sink: S, tracer: Tracer) -> Self {
        Self {
            selects: config.selects_objects(),
            open: config.is_open(),
            config,
            passed: AtomicU64::new(0),
            state: Mutex::default(),
            tracer,
            sink,
        }
    }

    /// What it did so far. It waits while a notification is judged.
    pub fn stats(&self) -> FilterStats {
        let stats = self.state.lock().stats.clone();
        FilterStats { passed: self.passed.load(Ordering::Relaxed), ..stats }
    }

    /// Takes over from the filter that a listener had before, one cached object after the other, before anything else
    /// is offered. What both select the handler knows. What is returned is to be offered: it tells of an object that
    /// only this one selects, or that only the one before did.
    pub fn succeed<T: NotificationSink>(&self, before: &Filter<T>, object: &Arc<Object>) -> Option<Change> {
        let was_in = !before.selects || before.state.lock().inside.contains(&object.key());
        if !self.selects {
            return (!was_in).then(|| Change::Added { object: Arc::clone(object) });
        }
        let mut state = self.state.lock();
        if was_in {
            state.inside.insert(object.key());
        }
        let is_in = self.selects(object, &mut state.stats).is_ok();
        // One that leaves is told as an addition which is not selected: the filter makes a deletion of it.
        (was_in != is_in).then(|| Change::Added { object: Arc::clone(object) })
    }

    /// Judges a notification, and turns it into what the handler is to be told.
    fn passes(&self, state: &mut State, notification: &mut Notification) -> bool {
        let before = Before::of(notification, &state.stats);
        let judged = self.judge(state, notification);
        self.note(&before, notification, &state.stats, judged);
        match judged {
            Ok(()) => {
                self.passed.fetch_add(1, Ordering::Relaxed);
                true
            }
            Err(condition) => {
                state.stats.suppressed.count(condition);
                false
            }
        }
    }

    fn judge(&self, state: &mut State, notification: &mut Notification) -> Result<(), Condition> {
        if self.selects {
            self.map(state, notification)?;
        }
        let initial = notification.cause == Cause::Initial;
        if !self.config.initial && initial && matches!(notification.change, Change::Added { .. }) {
            return Err(Condition::Initial);
        }
        if !self.config.events.include(&notification.change) {
            return Err(Condition::Events);
        }
        if !self.has_changed(&notification.change, &mut state.stats) {
            return Err(Condition::Changed);
        }
        match &self.config.when {
            Some(when) if !wants(when, notification, &mut state.stats) => Err(Condition::When),
            _ => Ok(()),
        }
    }

    /// P-21, by what is remembered of the object.
    fn map(&self, state: &mut State, notification: &mut Notification) -> Result<(), Condition> {
        let State { inside, stats } = state;
        let key = notification.key();
        let was_in = inside.contains(&key);
        match &notification.change {
            Change::Deleted { object, .. } => {
                // D-11: one that was never seen is told, if it would have been let in.
                if inside.remove(&key) || again(notification) { Ok(()) } else { self.selects(object, stats) }
            }
            // A resync looks at the same state again.
            Change::Updated { old, new } if Arc::ptr_eq(old, new) && was_in => Ok(()),
            Change::Added { object: new } | Change::Updated { new, .. } => match self.selects(new, stats) {
                Ok(()) if was_in => Ok(()),
                Ok(()) => {
                    inside.insert(key);
                    enter(notification, stats);
                    Ok(())
                }
                Err(_) if inside.remove(&key) => {
                    leave(notification);
                    stats.left += 1;
                    Ok(())
                }
                Err(condition) => Err(condition),
            },
        }
    }

    /// Whether a state belongs to the subscription; the error is the first condition that it does not satisfy.
    fn selects(&self, object: &Object, stats: &mut FilterStats) -> Result<(), Condition> {
        if !self.config.selects_namespace(object.namespace()) {
            return Err(Condition::Namespaces);
        }
        if !self.config.labels.selects(object) {
            return Err(Condition::Labels);
        }
        match self.config.fields.selects(object) {
            Ok(true) => {}
            Ok(false) => return Err(Condition::Fields),
            Err(_) => stats.unreadable += 1,
        }
        match self.config.when_of(Subject::Object) {
            Some(when) if !stats.when.decide(when, &Occasion::state(object)) => Err(Condition::When),
            _ => Ok(()),
        }
    }

    fn has_changed(&self, change: &Change, stats: &mut FilterStats) -> bool {
        let (false, Change::Updated { old, new }) = (self.config.changed.is_empty(), change) else {
            return true;
        };
        let same = old.resource_version() == new.resource_version() && old.uid() == new.uid();
        if Arc::ptr_eq(old, new) || same {
            return true;
        }
        let (Ok(before), Ok(after)) = (old.json(), new.json()) else {
            stats.unreadable += 1;
            return true;
        };
        differs(&before, &after, &self.config.changed).unwrap_or_else(|_| {
            stats.unreadable += 1;
            true
        })
    }
}

impl<S: NotificationSink> NotificationSink for Filter<S> {
    fn offer(&self, mut notification: Notification) {
        let passes = if self.open {
            self.passed.fetch_add(1, Ordering::Relaxed);
            true
        } else {
            self.passes(&mut self.state.lock(), &mut notification)
        };
        if passes {
            self.sink.offer(notification);
        }
    }

    fn offer_all(&self, notifications: &mut VecDeque<Notification>) {
        if self.open {
            self.passed.fetch_add(notifications.len() as u64, Ordering::Relaxed);
        } else {
            let mut state = self.state.lock();
            notifications.retain_mut(|notification| self.passes(&mut state, notification));
        }
        self.sink.offer_all(notifications);
    }
}

// === impl Subject ===

/// What a `when` about changes says of this one.
fn wants(when: &When, notification: &Notification, stats: &mut FilterStats) -> bool {
    let asked = match when.subject() {
        Subject::Object => false,
        Subject::Change { .. } if again(notification) => false,
        Subject::Change { deletions } => deletions || !matches!(notification.change, Change::Deleted { .. }),
    };
    !asked || stats.when.decide(when, &Occasion::change(notification))
}

/// A deletion or an update that was let through before, refused by the handler, and is told again. All that is left of it
/// is the last metadata, or the present state, so nothing can be asked about the change. Whatever else is replayed is an
/// addition.
fn again(notification: &Notification) -> bool {
    notification.cause == Cause::Replay && !matches!(notification.change, Change::Added { .. })
}

/// An update that lets the object in is the handler's first news of it.
fn enter(notification: &mut Notification, stats: &mut FilterStats) {
    let Change::Updated { new, .. } = &notification.change else { return };
    notification.change = Change::Added { object: Arc::clone(new) };
    stats.entered += 1;
    if notification.cause == Cause::Initial {
        // C-11: a list brought it, but it is not part of the first state.
        notification.cause = Cause::Relist;
    }
}

/// The object goes on without the subscription.
fn leave(notification: &mut Notification) {
    notification.change = match &notification.change {
        Change::Updated { old, .. } => Change::Deleted { object: Arc::clone(old), final_state_known: true },
        // It was told as an addition again, and is not what it was: its last state as a member went unseen.
        Change::Added { object } => Change::Deleted { object: Arc::clone(object), final_state_known: false },
        deleted @ Change::Deleted { .. } => deleted.clone(),
    };
}

#[cfg(test)]
mod tests;
