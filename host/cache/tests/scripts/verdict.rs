//! Compares what a listener received with what really happened.

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
    recorder::Received,
};

/// The true history.
pub(crate) struct Truth<'a> {
    pub(crate) collection: &'a Collection,
    pub(crate) ledgers: &'a BTreeMap<Scope, Ledger>,
    /// Versions that a watch sent twice.
    pub(crate) duplicated: &'a BTreeSet<u64>,
}

/// What a listener has received about one object.
#[derive(Default)]
struct Knowledge {
    object: Option<Arc<Object>>,
    /// The newest version that was received or is implied.
    version: u64,
    resynced: Option<Instant>,
}

/// Replays the notifications of one listener.
struct Judging<'a> {
    truth: &'a Truth<'a>,
    listener: &'a Joined,
    known: BTreeMap<ObjectKey, Knowledge>,
}

pub(crate) fn version(object: &Object) -> u64 {
    object.resource_version().parse().unwrap()
}

// === impl Truth ===

impl Truth<'_> {
    /// Checks every notification of a listener in order. Returns the final state that it received.
    pub(crate) fn judge(&self, listener: &Joined) -> BTreeMap<ObjectKey, Arc<Object>> {
        let mut judging = Judging { truth: self, listener, known: BTreeMap::new() };
        for received in &listener.recorder.received() {
            judging.receive(received);
        }
        let known = judging.known.into_iter();
        known.filter_map(|(key, knowledge)| Some((key, knowledge.object?))).collect()
    }

    fn ledger(&self, object: &Object) -> &Ledger {
        let scoped = self.ledgers.get(&Some(object.namespace().to_owned()));
        scoped.or_else(|| self.ledgers.get(&None)).unwrap()
    }

    /// Checks that the state existed, byte for byte.
    fn check_state(&self, object: &Object, deleted: bool) {
        let change = self.collection.change(version(object)).expect("a version that was never given");
        assert_eq!(change.kind == Kind::Deleted, deleted, "{object:?}");
        assert!(!change.broken, "{object:?}");
        assert_eq!(*object.json().unwrap(), *change.text);
    }

    /// The version of the deletion of this UID.
    fn deletion(&self, object: &Object) -> u64 {
        let uid: u64 = object.uid().to_string().parse().unwrap();
        let mut history = self.collection.history().iter();
        let deletion = history.find(|change| change.uid == uid && change.kind == Kind::Deleted);
        deletion.unwrap_or_else(|| panic!("{object:?} was never deleted")).version
    }

    /// Checks that a listener from before the start received all objects of the first lists as initial (C-11).
    pub(crate) fn check_first_lists(&self, listener: &Joined) {
        let received = listener.recorder.received();
        let initial: BTreeSet<u64> = received
            .iter()
            .filter(|received| received.cause == Cause::Initial)
            .map(|received| version(received.change.object()))
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

impl Judging<'_> {
    fn receive(&mut self, received: &Received) {
        self.check_cause(received);
        let key = received.change.object().key();
        let knowledge = self.known.entry(key).or_default();
        match &received.change {
            Change::Added { object } => {
                assert!(knowledge.object.is_none(), "{object:?} added twice");
                self.truth.check_state(object, false);
                assert!(version(object) > knowledge.version, "{object:?} back in time");
                *knowledge =
                    Knowledge { object: Some(Arc::clone(object)), version: version(object), resynced: None };
            }
            Change::Updated { old, new } => {
                let before = knowledge.object.as_ref().expect("updated before it was added");
                assert!(Arc::ptr_eq(before, old), "{old:?} is not the state delivered before");
                if Arc::ptr_eq(old, new) {
                    Self::check_unchanged(self.listener, knowledge, received);
                } else {
                    self.truth.check_state(new, false);
                    assert_eq!(old.uid(), new.uid(), "another object (D-6)");
                    assert!(version(new) > version(old), "{old:?} to {new:?} is back in time");
                    assert_ne!(received.cause, Cause::Resync);
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
                let before =
                    knowledge.object.take().expect("a tombstone of an object that was never delivered");
                assert!(Arc::ptr_eq(&before, object), "the tombstone does not have the last known state");
                let deletion = self.truth.deletion(object);
                assert!(deletion > knowledge.version);
                knowledge.version = deletion;
            }
        }
    }

    /// Checks that only listeners that asked for them receive unchanged objects (D-5), and that resyncs keep their
    /// period (P-8, P-10).
    fn check_unchanged(listener: &Joined, knowledge: &mut Knowledge, received: &Received) {
        if received.cause != Cause::Resync {
            assert!(
                listener.config.relist_all,
                "unchanged, but delivered: {:?} {}",
                received.change, received.cause
            );
            return;
        }
        let period = Duration::from_secs(listener.config.resync.into());
        assert!(!period.is_zero(), "a resync without a period");
        if let Some(last) = knowledge.resynced.replace(received.at) {
            assert!(received.at - last >= period, "a resync after {:?}", received.at - last);
        }
    }

    /// Checks that the cause matches the source of the change.
    fn check_cause(&self, received: &Received) {
        let object = received.change.object();
        let ledger = self.truth.ledger(object);
        let real = !matches!(received.change, Change::Deleted { final_state_known: false, .. });
        match received.cause {
            Cause::Initial => {
                assert!(
                    !self.listener.early || !received.synced,
                    "{object:?} is initial after the sync (C-12)"
                );
            }
            Cause::Live => {
                assert!(!real || ledger.watched.contains(&version(object)), "{object:?} was on no watch");
            }
            Cause::Relist => {
                assert!(ledger.answered >= 2 || ledger.vanished, "{object:?} relisted by no list");
            }
            Cause::Resync => assert!(received.synced, "a resync before the sync"),
            Cause::Replay => panic!("no replay of {object:?} was requested"),
        }
    }
}
