//! What one reflector was told on the wire, and so what it has to ask for next.

use std::collections::{BTreeMap, BTreeSet};

use crate::{
    collection::{self, Change, Collection, Kind},
    script::Key,
};

/// The namespace of the requests; none: all.
pub(crate) type Scope = Option<String>;

/// What a client has taken from an answer.
#[derive(Clone, Copy, Debug)]
pub(crate) enum Mark {
    /// `gap`: the watch kept something back that is older.
    Event {
        version: u64,
        gap: bool,
    },
    Bookmark {
        version: u64,
        gap: bool,
    },
    /// `from`: the version with which a streaming list began.
    Listed {
        from: u64,
        version: u64,
    },
    /// What no watch goes on after. `unavailable`: a streaming list ended because of its version.
    Error {
        unavailable: bool,
    },
}

/// The account of one scope.
#[derive(Debug, Default)]
pub(crate) struct Ledger {
    /// Where the next watch has to start.
    pub(crate) seen: Option<u64>,
    /// Versions of the complete lists.
    pub(crate) lists: Vec<u64>,
    /// Versions that watches told, whether or not anybody has listened yet.
    pub(crate) watched: BTreeSet<u64>,
    /// Lists that were answered in full, whether or not anybody has read them yet.
    pub(crate) answered: usize,
    /// The last state that decodes of each object that is known to be there (D-2).
    pub(crate) believed: BTreeMap<Key, u64>,
    /// No watch can be resumed: one of them kept something back.
    pub(crate) gap: bool,
    /// the version asked for was not to be had.
    unavailable: bool,
    /// Discovery has said that the resource is gone: a list may start anew (D-12).
    denied: bool,
    /// Discovery has ever said so.
    pub(crate) vanished: bool,
    /// Something happened that leads to a list.
    excused: bool,
}

// === impl Ledger ===

impl Ledger {
    /// Sent, and so about to be known.
    pub(crate) fn sent(&mut self, mark: Mark) {
        match mark {
            Mark::Event { version, .. } => drop(self.watched.insert(version)),
            Mark::Listed { .. } => self.answered += 1,
            Mark::Bookmark { .. } | Mark::Error { .. } => {}
        }
    }

    pub(crate) fn took(&mut self, scope: &Scope, mark: Mark, collection: &Collection) {
        match mark {
            Mark::Event { version, gap } => {
                self.believe(collection.change(version).unwrap());
                self.seen = Some(version);
                self.gap |= gap;
            }
            Mark::Bookmark { version, gap } => {
                self.seen = Some(version);
                self.gap |= gap;
            }
            Mark::Listed { from, version } => {
                self.believe_list(scope, collection, from, version);
                self.lists.push(version);
                self.seen = Some(version);
                (self.gap, self.unavailable, self.excused) = (false, false, false);
                self.denied = false;
            }
            Mark::Error { unavailable } => {
                self.unavailable |= unavailable;
                self.excused = true;
            }
        }
    }

    /// D-2: of what is listed and does not decode the state of before stays.
    fn believe_list(&mut self, scope: &Scope, collection: &Collection, from: u64, version: u64) {
        let before = std::mem::take(&mut self.believed);
        collection.at(from).into_values().for_each(|change| self.believe(change));
        collection.between(from, version).iter().for_each(|change| self.believe(change));
        self.believed.retain(|key, _| is_in(scope, *key));
        for key in collection.at(version).into_keys() {
            if let Some(known) = before.get(&key) {
                self.believed.entry(key).or_insert(*known);
            }
        }
    }

    fn believe(&mut self, change: &Change) {
        if change.kind == Kind::Deleted {
            self.believed.remove(&change.key);
        } else if !change.broken {
            self.believed.insert(change.key, change.version);
        }
    }

    /// A list is now in order.
    pub(crate) fn excuse(&mut self) {
        self.excused = true;
    }

    pub(crate) fn version_unavailable(&mut self) {
        self.unavailable = true;
    }

    pub(crate) fn deny(&mut self) {
        (self.denied, self.vanished) = (true, true);
    }

    /// A reflector that starts anew knows nothing but whether there was a list before it: then it must not go back
    /// behind that, and asks for the most recent state (R-6, D-12).
    fn forget_if(&mut self, starts_anew: bool) {
        if self.denied && starts_anew {
            (self.seen, self.unavailable, self.denied) = (None, !self.lists.is_empty(), false);
            self.believed.clear();
            self.excused = true;
        }
    }

    /// What is wrong with a list at this version.
    pub(crate) fn check_list(&mut self, version: &str) -> Option<String> {
        self.forget_if(version == if self.lists.is_empty() { "0" } else { "" });
        let expected = match self.seen {
            _ if self.unavailable => String::new(),
            None => "0".to_owned(),
            Some(seen) => seen.to_string(),
        };
        if version != expected {
            return Some(format!("a list at `{version}`, not at `{expected}`"));
        }
        self.check_reason()
    }

    /// What is wrong with a streaming list at this version.
    pub(crate) fn check_stream(&mut self, version: &str) -> Option<String> {
        self.forget_if(version.is_empty() && !self.unavailable);
        let seen = self.seen.filter(|_| !self.unavailable);
        let expected = seen.map(|seen| seen.to_string()).unwrap_or_default();
        if version != expected {
            return Some(format!("a streaming list at `{version}`, not at `{expected}`"));
        }
        self.check_reason()
    }

    fn check_reason(&self) -> Option<String> {
        (!self.excused && !self.lists.is_empty()).then(|| "a list without a reason".to_owned())
    }

    /// What is wrong with a watch from this version.
    pub(crate) fn check_watch(&self, version: &str) -> Option<String> {
        let expected = self.seen.map(|seen| seen.to_string()).unwrap_or_default();
        (version != expected).then(|| format!("a watch from `{version}`, not from `{expected}`"))
    }
}

pub(crate) fn is_in(scope: &Scope, key: Key) -> bool {
    scope.as_ref().is_none_or(|scope| *scope == collection::namespace(key.namespace))
}
