//! The true states of all objects, from the API server's answers to the writers.

use std::{collections::BTreeMap, fmt};

use super::resource::Resource;

/// The resource of an object and its `namespace/name`.
pub(super) type Id = (Resource, String);

/// All objects with all their lives.
#[derive(Clone, Debug, Default)]
pub(super) struct Truth(BTreeMap<Id, Vec<Life>>);

/// One object from its creation to its end. All states of a life have the same UID.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(super) struct Life {
    pub(super) uid: String,
    /// The versions of all states, oldest first, without the deletion, whose version no answer contains.
    pub(super) versions: Vec<u64>,
    pub(super) ended: bool,
    /// If true, the object had one more state right before its end, which no answer contains.
    pub(super) marked: bool,
}

// === impl Truth ===

impl Truth {
    pub(super) fn wrote(&mut self, id: &Id, uid: &str, version: u64) {
        let lives = self.0.entry(id.clone()).or_default();
        match lives.last_mut() {
            Some(life) if life.uid == uid => {
                // A write that changes nothing makes no new state.
                if life.versions.last() != Some(&version) {
                    life.versions.push(version);
                }
            }
            _ => {
                let (uid, versions) = (uid.to_owned(), vec![version]);
                lives.push(Life { uid, versions, ended: false, marked: false });
            }
        }
    }

    pub(super) fn ended(&mut self, id: &Id, marked: bool) {
        if let Some(life) = self.0.get_mut(id).and_then(|lives| lives.last_mut()) {
            life.ended = true;
            life.marked = marked;
        }
    }

    /// Adds the objects of another writer. No object has two writers.
    pub(super) fn merge(&mut self, other: Self) {
        self.0.extend(other.0);
    }

    pub(super) fn lives(&self, id: &Id) -> &[Life] {
        self.0.get(id).map_or(&[], Vec::as_slice)
    }

    /// The newest version in the answers for this resource.
    pub(super) fn newest(&self, resource: Resource) -> u64 {
        let lives = self.0.iter().filter(|((of, _), _)| *of == resource).flat_map(|(_, lives)| lives);
        lives.flat_map(|life| &life.versions).copied().max().unwrap_or_default()
    }

    pub(super) fn objects(&self) -> impl Iterator<Item = (&Id, &[Life])> {
        self.0.iter().map(|(id, lives)| (id, lives.as_slice()))
    }
}

// === impl Life ===

impl Life {
    pub(super) fn had(&self, version: u64) -> bool {
        let mark = self.marked && self.versions.last().is_some_and(|last| *last < version);
        mark || self.versions.contains(&version)
    }

    /// The version of the last state. Returns `None` if the object was deleted.
    pub(super) fn last_version(&self) -> Option<u64> {
        self.versions.last().copied().filter(|_| !self.ended)
    }
}

impl fmt::Display for Life {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let ended = if self.ended { ", deleted" } else { "" };
        write!(f, "{} at {:?}{ended}", self.uid, self.versions)
    }
}
