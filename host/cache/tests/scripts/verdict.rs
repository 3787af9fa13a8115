//! Holds what a listener was told against what really happened.

use std::{
    collections::{BTreeMap, BTreeSet},
    sync::Arc,
    time::Duration,
};

use informer_types::{Cause, Change, Object, ObjectKey};
use tokio::time::Instant;

use crate::{
    collection::{Collection, Kind},
    ledger::{Ledger, Scope, is_in},
    listeners::Joined,
    recorder::Told,
};

/// What is known to be true.
pub(crate) struct Truth<'a> {
    pub(crate) collection: &'a Collection,
    pub(crate) ledgers: &'a BTreeMap<Scope, Ledger>,
    /// Versions that a watch told twice.
    pub(crate) duplicated: &'a BTreeSet<u64>,
}

/// What a listener knows of one object.
#[derive(Default)]
struct Knowledge {
    object: Option<Arc<Object>>,
    /// The newest version told, or implied.
    version: u64,
    resynced: Option<Instant>,
}

/// Follows one listener.
struct Hearing<'a> {
    truth: &'a Truth<'a>,
    listener: &'a Joined,
    known: BTreeMap<ObjectKey, Knowledge>,
}

pub(crate) fn version(object: &Object) -> u64 {
    object.resource_version().parse().unwrap()
}

// === impl Truth ===

impl Truth<'_> {
    /// Follows everything a listener was told, step by step; returns what it knows in the end.
    pub(crate) fn judge(&self, listener: &Joined) -> BTreeMap<ObjectKey, Arc<Object>> {
        let mut hearing = Hearing { truth: self, listener, known: BTreeMap::new() };
        for told in &listener.recorder.told() {
            hearing.hear(told);
        }
        let known = hearing.known.into_iter();
        known.filter_map(|(key, knowledge)| Some((key, knowledge.object?))).collect()
    }

    fn ledger(&self, object: &Object) -> &Ledger {
        let scoped = self.ledgers.get(&Some(object.namespace().to_owned()));
        scoped.or_else(|| self.ledgers.get(&None)).unwrap()
    }

    /// The state is a real one, to the byte.
    fn check_state(&self, object: &Object, deleted: bool) {
        let change = self.collection.change(version(object)).expect("a version that was never given");
        assert_eq!(change.kind == Kind::Deleted, deleted, "{object:?}");
        assert!(!change.broken, "{object:?}");
        assert_eq!(*object.json().unwrap(), *change.text);
    }

    /// The version at which this UID was deleted.
    fn deletion(&self, object: &Object) -> u64 {
        let uid: u64 = object.uid().parse().unwrap();
        let mut history = self.collection.history().iter();
        let deletion = history.find(|change| change.uid == uid && change.kind == Kind::Deleted);
        deletion.unwrap_or_else(|| panic!("{object:?} was never deleted")).version
    }

    /// A listener that was there before the start was told of everything in the first lists, as initial (C-11).
    pub(crate) fn check_first_lists(&self, listener: &Joined) {
        let told = listener.recorder.told();
        let initial: BTreeSet<u64> = told
            .iter()
            .filter(|told| told.cause == Cause::Initial)
            .map(|told| version(told.change.object()))
            .collect();
        for (scope, ledger) in self.ledgers {
            let Some(first) = ledger.lists.first() else {
                continue;
            };
            for (key, change) in self.collection.at(*first) {
                let listed = is_in(scope, key) && !change.broken;
                assert!(!listed || initial.contains(&change.version), "{key:?} is not initial");
            }
        }
    }
}

// === impl Hearing ===

impl Hearing<'_> {
    fn hear(&mut self, told: &Told) {
        self.check_cause(told);
        let key = told.change.object().key();
        let knowledge = self.known.entry(key).or_default();
        match &told.change {
            Change::Added { object } => {
                assert!(knowledge.object.is_none(), "{object:?} added twice");
                self.truth.check_state(object, false);
                assert!(version(object) > knowledge.version, "{object:?} back in time");
                *knowledge =
                    Knowledge { object: Some(Arc::clone(object)), version: version(object), resynced: None };
            }
            Change::Updated { old, new } => {
                let before = knowledge.object.as_ref().expect("updated before it was added");
                assert!(Arc::ptr_eq(before, old), "{old:?} is not what was told before");
                if Arc::ptr_eq(old, new) {
                    Self::check_unchanged(self.listener, knowledge, told);
                } else {
                    self.truth.check_state(new, false);
                    assert_eq!(old.uid(), new.uid(), "another object (D-6)");
                    assert!(version(new) > version(old), "{old:?} to {new:?} is back in time");
                    assert_ne!(told.cause, Cause::Resync);
                    (knowledge.object, knowledge.version) = (Some(Arc::clone(new)), version(new));
                }
            }
            Change::Deleted { object, final_state_known: true } => {
                self.truth.check_state(object, true);
                if let Some(before) = knowledge.object.take() {
                    assert_eq!(before.uid(), object.uid(), "the deletion of another object (D-6)");
                }
                let again = self.truth.duplicated.contains(&version(object));
                assert!(version(object) > knowledge.version || again, "{object:?} deleted twice");
                knowledge.version = version(object);
            }
            Change::Deleted { object, final_state_known: false } => {
                let before = knowledge.object.take().expect("a tombstone of what was never told");
                assert!(Arc::ptr_eq(&before, object), "the tombstone has not the last known state");
                let deletion = self.truth.deletion(object);
                assert!(deletion > knowledge.version);
                knowledge.version = deletion;
            }
        }
    }

    /// D-5: only who asked for it hears of unchanged objects, and resyncs keep their period (P-8, P-10).
    fn check_unchanged(listener: &Joined, knowledge: &mut Knowledge, told: &Told) {
        if told.cause != Cause::Resync {
            assert!(
                listener.config.relist_all,
                "unchanged, and told nevertheless: {:?} {}",
                told.change, told.cause
            );
            return;
        }
        let period = Duration::from_secs(listener.config.resync.into());
        assert!(!period.is_zero(), "a resync that nobody asked for");
        if let Some(last) = knowledge.resynced.replace(told.at) {
            assert!(told.at - last >= period, "a resync after {:?}", told.at - last);
        }
    }

    /// The cause says how the change became known.
    fn check_cause(&self, told: &Told) {
        let object = told.change.object();
        let ledger = self.truth.ledger(object);
        let real = !matches!(told.change, Change::Deleted { final_state_known: false, .. });
        match told.cause {
            Cause::Initial => {
                assert!(!self.listener.early || !told.synced, "{object:?} is initial after the sync (C-12)");
            }
            Cause::Live => {
                assert!(!real || ledger.watched.contains(&version(object)), "{object:?} was on no watch");
            }
            Cause::Relist => {
                assert!(ledger.answered >= 2 || ledger.vanished, "{object:?} relisted by no list");
            }
            Cause::Resync => assert!(told.synced, "a resync before the sync"),
            Cause::Replay => panic!("nobody asked for {object:?} again"),
        }
    }
}
