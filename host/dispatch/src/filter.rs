//! What a subscription receives: every notification of its listener, minus what its conditions exclude.
//!
//! A [`Filter`] stands between a listener and the plugin's queue and judges each notification in this order:
//!
//! 1. **Which objects.** `namespaces`, `namespaces-labels`, `labels`, `annotations`, `fields`, and a `when` that names only the object
//!    decide whether a *state* belongs to the subscription. The filter remembers which objects are inside. It maps an update by the old
//!    and the new state (P-21). If both are inside, the update stays an update. If only the new state is inside, the update becomes an
//!    addition, which is never initial (C-11). If only the old state is inside, the update becomes a deletion of the old state, whose
//!    final state is known. If neither is inside, the update does not pass.
//! 2. `initial`: "skip" excludes the additions of the first list, "changed" the objects that are as the plugin acknowledged them.
//! 3. `events`: which calls are made, after that mapping.
//! 4. `changed`: an update passes only if it is a change by [`Changed`]. An update without a newer state always
//!    passes, because it was requested (a resync, or a relist with `relist = "all"`).
//! 5. **Which changes.** A `when` that names the change itself (`old`, `event` or `cause`) judges the notification as the handler
//!    would receive it. See [`When`] for deletions.
//!
//! # Promises
//! A subscriber that saw an object enter its filter always receives the deletion when the object leaves it: if the object was
//! inside, its deletion passes step 1 whatever its last state is, and steps 2 and 4 never exclude a deletion. Only two conditions
//! can suppress the deletion of such an object: `events` without `delete`, and a `when` that names `event`. The object of a
//! deletion that is replayed from a dead letter was inside before, and only `events` applies to the deletion. client-go's filter
//! (P-21) judges only the last state, and loses a deletion if the last state was never seen and no longer matches.
//!
//! A condition that has no answer excludes nothing (D-9): if `when` fails or a field cannot be read, the object counts as selected and
//! the change as wanted. The failure is counted and shown. It concerns one state only, so the mapping above stays consistent: after an
//! error on the new state the object is inside, and a later answer can take it out.
//!
//! The labels of a namespace are not part of the state of an object. [`Filter::set_namespace`] changes the namespaces that
//! `namespaces-labels` selects. Then [`Filter::revisit`] returns the change to offer for each cached object of the namespace
//! (D-20).
//!
//! # Cost
//! A filter without conditions reads nothing. `labels`, and `fields` of name and namespace, read the object's header. `annotations`,
//! other fields and `changed` scan its text. A `when` that only compares fields with texts scans the text, too. Any other `when`
//! builds values from the parts of the text that it reads. Filters with the same `when` share the answer of one evaluation.
//! The filter remembers one key for each object inside, and only if it has a condition on objects.

mod answers;
mod config;
mod recalled;
mod stats;
mod when;

use std::{
    collections::{BTreeSet, HashMap, VecDeque},
    sync::{
        Arc,
        atomic::{AtomicU64, Ordering},
    },
};

use hashbrown::HashSet;
use informer_types::{
    Cause, Change, Notification, NotificationSink, Object, ObjectKey, Source, Step, SyncToken, Tracer,
};
use parking_lot::{Mutex, RwLock};

pub use config::{Changed, Events, FilterConfig, Initial};
pub use stats::{FilterStats, Suppressed, WhenStats};
pub use when::{InvalidWhen, MAX_ENTRIES, MAX_WHEN_BYTES, When, WhenError};

use answers::SharedWhen;
use recalled::{Known, Recalled};
use stats::Condition;
use when::{Occasion, Subject};

use crate::{
    entry::{ObjectRef, is_same_version},
    receipts::{Receipt, Receipts},
};

/// The filter of one subscription, around the sink that receives what passes.
///
/// # Bound
/// A filter remembers at most one key for each object of the informer, and never waits.
#[derive(Debug)]
pub struct Filter<S> {
    config: FilterConfig,
    /// The `when` of `config`.
    when: Option<SharedWhen>,
    /// The filter has a condition on objects.
    selects: bool,
    /// The filter has no condition: everything passes.
    open: bool,
    /// Number of notifications that passed. It is outside the lock, so that a filter without conditions takes no lock.
    passed: AtomicU64,
    state: Mutex<State>,
    /// The namespaces whose labels match `namespaces-labels`. It changes only under the lock of the informer.
    chosen: RwLock<HashSet<Arc<str>>>,
    /// The receipts of the subscription and its resource, if they are kept.
    receipts: Option<(Source, Receipts)>,
    tracer: Tracer,
    sink: S,
}

#[derive(Debug, Default)]
struct State {
    /// The objects that belong to the subscription by their last state.
    inside: HashSet<ObjectKey>,
    recalled: Recalled,
    stats: FilterStats,
}

// === impl Filter ===

impl<S: NotificationSink> Filter<S> {
    /// A filter that passes notifications on to `sink`. It serves exactly one listener, because it tracks the history of each
    /// object.
    pub fn new(config: FilterConfig, sink: S) -> Self {
        Self::traced(config, sink, Tracer::default())
    }

    /// Like [`Filter::new`]; the filter writes its decisions to `tracer`, unless it has no condition.
    pub fn traced(config: FilterConfig, sink: S, tracer: Tracer) -> Self {
        Self {
            selects: config.selects_objects(),
            open: config.is_open(),
            when: config.when.as_ref().map(SharedWhen::new),
            config,
            passed: AtomicU64::new(0),
            state: Mutex::default(),
            chosen: RwLock::default(),
            receipts: None,
            tracer,
            sink,
        }
    }

    /// Begins with these namespaces as those whose labels match `namespaces-labels`.
    #[must_use]
    pub fn choosing(mut self, namespaces: impl IntoIterator<Item = Arc<str>>) -> Self {
        self.chosen.get_mut().extend(namespaces);
        self
    }

    /// The namespaces that [`choosing`](Self::choosing) and [`set_namespace`](Self::set_namespace) have reported as matching
    /// `namespaces-labels`.
    pub fn chosen(&self) -> Vec<Arc<str>> {
        self.chosen.read().iter().cloned().collect()
    }

    /// The namespaces whose labels matched last, and those of all objects that the plugin may know, also from an earlier process.
    /// `objects` returns every object that this filter has been offered and that is not deleted: a filter without a condition on objects
    /// passes all of them and remembers none.
    pub fn known_namespaces(&self, objects: impl FnOnce() -> Vec<Arc<Object>>) -> BTreeSet<Arc<str>> {
        let mut known: BTreeSet<Arc<str>> = self.chosen().into_iter().collect();
        let state = self.state.lock();
        let keys = state.inside.iter().chain(state.recalled.keys());
        known.extend(keys.map(|key| Arc::clone(&key.namespace)));
        drop(state);
        if !self.selects {
            known.extend(objects().iter().map(|object| object.key().namespace));
        }
        known
    }

    /// The first condition on objects that this object does not satisfy, by its key in `[[plugin.on]]`. Returns `None` if the
    /// object matches the subscription. Nothing is counted or remembered.
    pub fn excludes(&self, object: &Arc<Object>) -> Option<&'static str> {
        // With an error counted already, another one is not logged.
        let when = WhenStats { errors: 1, ..WhenStats::default() };
        let mut stats = FilterStats { when, ..FilterStats::default() };
        self.selects(object, &mut stats).err().map(Condition::as_str)
    }

    /// The condition that excludes every object of this name now, whatever its state, by its key in `[[plugin.on]]`. Returns
    /// `None` if nothing excludes it.
    pub fn excludes_key(&self, key: &ObjectKey) -> Option<&'static str> {
        self.excludes_namespace(&key.namespace).map(Condition::as_str)
    }

    /// Sets whether the labels of a namespace match `namespaces-labels`. Call it in order with the notifications of the listener,
    /// and then offer the change that [`revisit`](Self::revisit) returns for each cached object of the namespace, before anything
    /// else is offered.
    pub fn set_namespace(&self, name: &Arc<str>, matches: bool) {
        let mut chosen = self.chosen.write();
        if matches {
            chosen.insert(Arc::clone(name));
        } else {
            chosen.remove(name);
        }
    }

    /// Returns the change to offer for a cached object whose namespace began to match or no longer matches. The filter maps it to
    /// an addition or to a deletion. Returns `None` if the handler is up to date.
    pub fn revisit(&self, object: &Arc<Object>) -> Option<Change> {
        let was_in = self.state.lock().inside.contains(&object.key());
        let is_in = self.excludes(object).is_none();
        (was_in != is_in).then(|| Change::Updated { old: Arc::clone(object), new: Arc::clone(object) })
    }

    /// Keeps a receipt for each object of `source` that the plugin receives, and begins with the receipts of an earlier process
    /// ([`Initial::Changed`]):
    ///
    /// - an object in the state of its receipt is not delivered;
    /// - an object whose state differs is an addition with the cause `initial`;
    /// - an object that no longer matches is a deletion in its present state, whose final state is unknown;
    /// - an object with another UID is a deletion of the earlier object, and an addition;
    /// - an object that does not exist is a deletion, once [`end_recall`](Self::end_recall) is called.
    ///
    /// Only the key, the UID and the version of a deleted object are known.
    #[must_use]
    pub fn recalling(
        mut self,
        source: Source,
        receipts: Receipts,
        recalled: HashMap<ObjectKey, Receipt>,
    ) -> Self {
        self.state.get_mut().recalled = Recalled::new(recalled);
        self.receipts = Some((source, receipts));
        self
    }

    /// Returns true until every receipt of an earlier process is compared.
    pub fn recalls(&self) -> bool {
        !self.state.lock().recalled.is_empty()
    }

    /// Makes the receipts of an earlier process outdated, so that every object is delivered.
    pub fn expire_recalled(&self) {
        self.state.lock().recalled.expire();
    }

    /// The newest version of the objects that were not offered yet. An informer that has not reached it may not have these
    /// objects although they exist. Returns `None` if there are none, or if no version has an order.
    pub fn newest_recalled<V: std::str::FromStr + Ord>(&self) -> Option<V> {
        self.state.lock().recalled.newest()
    }

    /// Ends the comparison with the receipts of an earlier process. Every existing object has been offered, except those for
    /// which `exists` returns true: all others with a receipt are gone, and their deletions are delivered. Call it after
    /// [`NotificationSink::listed`].
    pub fn end_recall(&self, exists: impl Fn(&ObjectKey) -> bool) {
        let Some((source, _)) = &self.receipts else { return };
        // The lock is held during the offers: an object that is created meanwhile is delivered afterwards.
        let mut state = self.state.lock();
        let (gone, token) = state.recalled.end(exists);
        let observed = tokio::time::Instant::now().into_std();
        let mut deletions = VecDeque::with_capacity(gone.len());
        for (key, receipt) in gone {
            let Some(object) = receipt.last_known(&ObjectRef { source: source.clone(), key }) else {
                continue;
            };
            let deletion = Notification {
                source: source.clone(),
                change: Change::Deleted { object, final_state_known: false },
                cause: Cause::Relist,
                initial: token.clone(),
                observed: observed.into(),
            };
            deletions.extend(self.delete(&mut state, deletion));
        }
        self.sink.offer_all(&mut deletions);
    }

    /// The counters so far. Waits while a notification is filtered.
    pub fn stats(&self) -> FilterStats {
        let stats = self.state.lock().stats.clone();
        FilterStats { passed: self.passed.load(Ordering::Relaxed), ..stats }
    }

    /// Replaces the earlier filter of a listener. It has to be called once for each cached object before anything else is offered, and
    /// the change that it returns has to be offered. Returns `None` if both filters select the object or neither does, because
    /// the handler is up to date then. If receipts are kept only from now on, an object that the plugin may know gets a receipt that
    /// [is not acknowledged](Receipt::begun).
    ///
    /// [`continues`](Self::continues) has to be called before.
    pub fn succeed<T: NotificationSink>(&self, before: &Filter<T>, object: &Arc<Object>) -> Option<Change> {
        let was_in = !before.selects || before.state.lock().inside.contains(&object.key());
        if let (Some((source, receipts)), None) = (&self.receipts, &before.receipts)
            && was_in
        {
            // The plugin may know the object, and the filter before has kept no receipt of it.
            let known = ObjectRef { source: source.clone(), key: object.key() };
            receipts.begun(&known, &Change::Added { object: Arc::clone(object) });
        }
        if !self.selects {
            return (!was_in).then(|| Change::Added { object: Arc::clone(object) });
        }
        let mut state = self.state.lock();
        if was_in {
            state.inside.insert(object.key());
        }
        let is_in = self.selects(object, &mut state.stats).is_ok();
        // An object that leaves is offered as an addition that is not selected: the filter maps it to a deletion.
        (was_in != is_in).then(|| Change::Added { object: Arc::clone(object) })
    }

    /// Continues with the receipts that the earlier filter of a listener has not compared yet.
    pub fn continues<T: NotificationSink>(&self, before: &Filter<T>) {
        let recalled = std::mem::take(&mut before.state.lock().recalled);
        if self.receipts.is_some() {
            self.state.lock().recalled = recalled;
        }
    }

    /// Passes at most two notifications on: the deletion of an earlier object of the same name that the plugin knows, and the
    /// notification itself.
    fn admit(&self, state: &mut State, mut notification: Notification, mut pass: impl FnMut(Notification)) {
        let known = match state.recalled.is_empty() {
            true => Known::Nothing,
            false => state.recalled.compare(&notification.key(), notification.change.object()),
        };
        if let Some(token) = state.recalled.complete() {
            // This object was the last one to compare with a receipt. The first list is over once the object is delivered or
            // withheld. Callers do not call `end_recall` if no object is left to compare.
            notification.initial = Some(match notification.initial.take() {
                // The notification belongs to a first list or to a replay, and has a token already.
                Some(own) => SyncToken::new(move || drop((own, token))),
                None => token,
            });
        }
        if let (Known::Another(receipt), Some((source, _))) = (&known, &self.receipts) {
            let object = ObjectRef { source: source.clone(), key: notification.key() };
            if let Some(object) = receipt.last_known(&object) {
                let change = Change::Deleted { object, final_state_known: false };
                let deletion = Notification { change, cause: Cause::Relist, ..notification.clone() };
                self.delete(state, deletion).into_iter().for_each(&mut pass);
            }
        }
        if matches!(known, Known::Same | Known::Other) {
            if self.selects {
                state.inside.insert(notification.key());
            }
            if matches!(notification.change, Change::Added { .. }) {
                // The object existed before this process.
                notification.cause = Cause::Initial;
            }
        }
        if self.passes(state, &mut notification, known == Known::Same) {
            pass(notification);
        }
    }

    /// Judges the deletion of an object that the plugin knows from an earlier process.
    fn delete(&self, state: &mut State, mut deletion: Notification) -> Option<Notification> {
        state.stats.gone += 1;
        if self.selects {
            state.inside.insert(deletion.key());
        }
        self.passes(state, &mut deletion, false).then_some(deletion)
    }

    /// Judges a notification and maps it to the notification that the handler receives. Returns true if it passes. `is_known` is
    /// true if the plugin acknowledged this state of the object in an earlier process.
    fn passes(&self, state: &mut State, notification: &mut Notification, is_known: bool) -> bool {
        let (verb, cause) = (notification.change.verb(), notification.cause);
        let failures = (state.stats.when.errors, state.stats.unreadable);
        let begun = notification.observed.trace.now();
        let judged = self.judge(state, notification, is_known);
        if self.tracer.is_on() {
            let Notification { source, observed, .. } = &*notification;
            let note = |step| {
                self.tracer.note_of(source, &observed.trace, begun, || (notification.key(), step));
            };
            if let Some(why) = unanswered(failures, &state.stats) {
                note(Step::Undecided { why });
            }
            let (verb_now, cause_now) = (notification.change.verb(), notification.cause);
            note(match judged {
                Ok(()) => Step::Passed { offered: verb, verb: verb_now, cause: cause_now },
                Err(condition) => Step::Suppressed { verb, cause, by: condition.as_str() },
            });
        }
        match judged {
            Ok(()) => {
                self.passed.fetch_add(1, Ordering::Relaxed);
                if let (Some((source, receipts)), Change::Deleted { object, .. }) =
                    (&self.receipts, &notification.change)
                    && self.config.withholds_additions()
                {
                    receipts.leaves(source, object);
                }
                true
            }
            Err(condition) => {
                state.stats.suppressed.count(condition);
                self.withhold(notification, condition);
                false
            }
        }
    }

    /// Moves the receipt of an object whose change does not pass.
    fn withhold(&self, notification: &Notification, condition: Condition) {
        let Some((source, receipts)) = &self.receipts else { return };
        let is_about_changes = match condition {
            Condition::Events | Condition::Changed => true,
            Condition::When => self.config.when_of(Subject::Object).is_none(),
            // The plugin does not know the object, or the object is in the state of the receipt.
            _ => false,
        };
        match &notification.change {
            Change::Updated { old, new } if is_about_changes && old.uid() == new.uid() => {
                receipts.skipped(source, old, new);
            }
            Change::Deleted { object, .. } if is_about_changes => receipts.forgotten(source, object),
            // The deletion of the object may pass. With the receipt, the deletion passes after a restart, too.
            Change::Added { object } if is_about_changes && self.config.events.delete => {
                receipts.withheld(source, object);
            }
            _ => {}
        }
    }

    fn judge(
        &self,
        state: &mut State,
        notification: &mut Notification,
        is_known: bool,
    ) -> Result<(), Condition> {
        if self.selects {
            self.map(state, notification)?;
        }
        let is_deletion = matches!(notification.change, Change::Deleted { .. });
        let is_first = notification.cause == Cause::Initial;
        let skips = self.config.initial == Initial::Skip && is_first;
        if matches!(notification.change, Change::Added { .. }) && skips || is_known && !is_deletion {
            return Err(Condition::Initial);
        }
        if !self.config.events.include(&notification.change) {
            return Err(Condition::Events);
        }
        if !self.has_changed(&notification.change, &mut state.stats) {
            return Err(Condition::Changed);
        }
        match &self.when {
            Some(when) if !wants(when, notification, &mut state.stats) => Err(Condition::When),
            _ => Ok(()),
        }
    }

    /// Maps a notification by whether the object was inside and is inside (P-21).
    fn map(&self, state: &mut State, notification: &mut Notification) -> Result<(), Condition> {
        let State { inside, stats, .. } = state;
        let key = notification.key();
        let was_in = inside.contains(&key);
        match &notification.change {
            Change::Deleted { object, .. } => {
                // The deletion of an object that was never seen passes if its last state matches (D-11).
                if inside.remove(&key) || again(notification) { Ok(()) } else { self.selects(object, stats) }
            }
            // A resync repeats the same state.
            Change::Updated { old, new }
                if Arc::ptr_eq(old, new) && was_in && self.excludes_namespace(&key.namespace).is_none() =>
            {
                Ok(())
            }
            Change::Added { object: new } | Change::Updated { new, .. } => match self.selects(new, stats) {
                Ok(()) => {
                    // The key of the newest state: its header is in memory anyway.
                    if inside.replace(key).is_none() {
                        enter(notification, stats);
                    }
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

    /// The condition that excludes every object of a namespace now.
    fn excludes_namespace(&self, namespace: &str) -> Option<Condition> {
        if !self.config.selects_namespace(namespace) {
            return Some(Condition::Namespaces);
        }
        let is_chosen = self.config.namespaces_labels.is_empty() || self.chosen.read().contains(namespace);
        (!is_chosen).then_some(Condition::NamespacesLabels)
    }

    /// Checks that a state belongs to the subscription. The error is the first condition that the state does not satisfy.
    fn selects(&self, object: &Arc<Object>, stats: &mut FilterStats) -> Result<(), Condition> {
        if let Some(condition) = self.excludes_namespace(object.namespace()) {
            return Err(condition);
        }
        if !self.config.labels.selects(object) {
            return Err(Condition::Labels);
        }
        match self.config.annotations.selects(object) {
            Ok(true) => {}
            Ok(false) => return Err(Condition::Annotations),
            Err(_) => stats.unreadable += 1,
        }
        match self.config.fields.selects(object) {
            Ok(true) => {}
            Ok(false) => return Err(Condition::Fields),
            Err(_) => stats.unreadable += 1,
        }
        match self.when.as_ref().filter(|when| when.subject() == Subject::Object) {
            Some(when) if !stats.when.decide(when, &Occasion::state(object)) => Err(Condition::When),
            _ => Ok(()),
        }
    }

    /// Returns false for an update to another state that is no change by [`Changed`].
    fn has_changed(&self, change: &Change, stats: &mut FilterStats) -> bool {
        let (false, Change::Updated { old, new }) = (self.config.changed.is_empty(), change) else {
            return true;
        };
        if is_same_version(old, new) {
            return true;
        }
        let (Ok(before), Ok(after)) = (old.json(), new.json()) else {
            stats.unreadable += 1;
            return true;
        };
        // Some servers send no versions. Two states without a version are the same state if their content is the same.
        let is_same_object = old.uid() == new.uid();
        if is_same_object && old.resource_version() == new.resource_version() && *before == *after {
            return true;
        }
        let one_is_partial = old.is_partial() != new.is_partial();
        self.config.changed.differ(&before, &after, one_is_partial).unwrap_or_else(|_| {
            stats.unreadable += 1;
            true
        })
    }
}

impl<S: NotificationSink> NotificationSink for Filter<S> {
    fn offer(&self, notification: Notification) {
        self.offer_all(&mut VecDeque::from([notification]));
    }

    fn offer_all(&self, notifications: &mut VecDeque<Notification>) {
        if self.open {
            self.passed.fetch_add(notifications.len() as u64, Ordering::Relaxed);
        } else {
            let mut state = self.state.lock();
            if state.recalled.is_empty() {
                notifications.retain_mut(|notification| self.passes(&mut state, notification, false));
            } else {
                let mut passing = VecDeque::with_capacity(notifications.len());
                while let Some(notification) = notifications.pop_front() {
                    self.admit(&mut state, notification, |passes| passing.push_back(passes));
                }
                *notifications = passing;
            }
        }
        self.sink.offer_all(notifications);
    }

    fn listed(&self, initial: SyncToken) {
        self.state.lock().recalled.listed(initial);
    }
}

/// Why a condition had no answer, by the counters of `when` and of unreadable objects before. Returns `None` if each had one.
fn unanswered((errors, unreadable): (u64, u64), stats: &FilterStats) -> Option<Box<str>> {
    if stats.when.errors > errors {
        return Some(format!("when: {}", stats.when.last_error.as_deref().unwrap_or_default()).into());
    }
    (stats.unreadable > unreadable)
        .then(|| "annotations, fields or changed: the object's JSON cannot be read".into())
}

/// Returns true if a `when` about changes accepts this one.
fn wants(when: &SharedWhen, notification: &Notification, stats: &mut FilterStats) -> bool {
    let applies = match when.subject() {
        Subject::Object => false,
        Subject::Change { .. } if again(notification) => false,
        Subject::Change { deletions } => deletions || !matches!(notification.change, Change::Deleted { .. }),
    };
    !applies || stats.when.decide(when, &Occasion::change(notification))
}

/// Returns true for a deletion or an update that is replayed from a dead letter: it passed before. Only its last metadata or the
/// present state is left, so no condition about the change can be decided. All other replays are additions.
fn again(notification: &Notification) -> bool {
    notification.cause == Cause::Replay && !matches!(notification.change, Change::Added { .. })
}

/// An update that brings the object inside becomes an addition, because the handler does not know the object.
fn enter(notification: &mut Notification, stats: &mut FilterStats) {
    let Change::Updated { new, .. } = &notification.change else { return };
    notification.change = Change::Added { object: Arc::clone(new) };
    stats.entered += 1;
    if notification.cause == Cause::Initial {
        // A list contained the object, but the object is not part of the first state (C-11).
        notification.cause = Cause::Relist;
    }
}

/// The object left the subscription: the notification becomes a deletion.
fn leave(notification: &mut Notification) {
    notification.change = match &notification.change {
        Change::Updated { old, .. } => Change::Deleted { object: Arc::clone(old), final_state_known: true },
        // A repeated addition whose state no longer matches: the last state that matched was not seen.
        Change::Added { object } => Change::Deleted { object: Arc::clone(object), final_state_known: false },
        deleted @ Change::Deleted { .. } => deleted.clone(),
    };
}

#[cfg(test)]
mod tests;
