//! What the API server made of the objects, by its own answers to the writers.

use std::{collections::BTreeMap, fmt};

use super::resource::Resource;

/// Namespace and name of an object, written `namespace/name`, within its resource.
pub(super) type Id = (Resource, String);

/// Every object there was, and each of its lives.
#[derive(Clone, Debug, Default)]
pub(super) struct Truth(BTreeMap<Id, Vec<Life>>);

/// One object from its creation to its end: what has one UID.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(super) struct Life {
    pub(super) uid: String,
    /// Its states, oldest first; the version of its deletion is nobody's answer and not among them.
    pub(super) versions: Vec<u64>,
    pub(super) ended: bool,
    /// Right before its end it had one state more, which no answer shows.
    pub(super) marked: bool,
}

// === impl Truth ===

impl Truth {
    pub(super) fn wrote(&mut self, id: &Id, uid: &str, version: u64) {
        let lives = self.0.entry(id.clone()).or_default();
        match lives.last_mut() {
            Some(life) if life.uid == uid => {
                // A change that changes nothing makes no state.
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

    /// Nobody else wrote about the same objects.
    pub(super) fn merge(&mut self, other: Self) {
        self.0.extend(other.0);
    }

    pub(super) fn lives(&self, id: &Id) -> &[Life] {
        self.0.get(id).map_or(&[], Vec::as_slice)
    }

    /// The last change of all objects of the resource that an answer shows.
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

    /// The last state, if that is where it ends.
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
