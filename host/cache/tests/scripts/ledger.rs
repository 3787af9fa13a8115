//! What the server has sent to one reflector, and so what the reflector must request next.

use std::collections::{BTreeMap, BTreeSet};

use crate::{
    collection::{self, Change, Collection, Kind},
    script::Key,
};

/// The namespace of the requests. `None` means all namespaces.
pub(crate) type Scope = Option<String>;

/// A part of an answer that the client has read.
#[derive(Clone, Copy, Debug)]
pub(crate) enum Mark {
    /// `gap` is true if the watch has omitted an older event.
    Event {
        version: u64,
        gap: bool,
    },
    Bookmark {
        version: u64,
        gap: bool,
    },
    /// `from` is the version at which a streaming list began.
    Listed {
        from: u64,
        version: u64,
    },
    /// An error that ends a watch. `unavailable` is true if it ended a streaming list because of its version.
    Error {
        unavailable: bool,
    },
}

/// The account of one scope.
#[derive(Debug, Default)]
pub(crate) struct Ledger {
    /// The version at which the next watch has to start.
    pub(crate) seen: Option<u64>,
    /// The versions of the complete lists.
    pub(crate) lists: Vec<u64>,
    /// The versions that watches have sent, read or not.
    pub(crate) watched: BTreeSet<u64>,
    /// The number of lists that were sent completely, read or not.
    pub(crate) answered: usize,
    /// The last decodable state of each existing object (D-2).
    pub(crate) believed: BTreeMap<Key, u64>,
    /// True if a watch has omitted an event, so that no watch can be resumed.
    pub(crate) gap: bool,
    /// True if the requested version was not available.
    unavailable: bool,
    /// True if discovery has denied the resource, so that a list may start over (D-12).
    denied: bool,
    /// True if discovery has ever denied the resource.
    pub(crate) vanished: bool,
    /// True after an event that leads to a list.
    excused: bool,
    /// How often the informer had found the resource missing at its last list.
    vanishings: u64,
}

// === impl Ledger ===

impl Ledger {
    /// Records a part that was sent and is about to be read.
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

    /// Records a list. A listed object that does not decode keeps its earlier state (D-2).
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

    /// Permits a list.
    pub(crate) fn excuse(&mut self) {
        self.excused = true;
    }

    pub(crate) fn version_unavailable(&mut self) {
        self.unavailable = true;
    }

    pub(crate) fn deny(&mut self) {
        (self.denied, self.vanished) = (true, true);
    }

    /// A new reflector only has the information whether there was a list before. If so, its first list requests the
    /// most recent state, so as not to go back in time (R-6, D-12).
    fn forget_if(&mut self, starts_anew: bool) {
        if self.denied && starts_anew {
            (self.seen, self.unavailable, self.denied) = (None, !self.lists.is_empty(), false);
            self.believed.clear();
            self.excused = true;
        }
    }

    /// Returns the defect of a list at this version, if any. A later list with pages requests the most recent
    /// state (D-15), as the first list of a new reflector does: only the informer's own count, `vanished`, tells which one it is.
    pub(crate) fn check_list(&mut self, version: &str, paged: bool, vanished: u64) -> Option<String> {
        let starts_anew = version == if self.lists.is_empty() { "0" } else { "" };
        let unclear = paged && self.seen.is_some() && version.is_empty();
        self.forget_if(starts_anew && (!unclear || vanished > self.vanishings));
        self.vanishings = vanished;
        let expected = match self.seen {
            _ if self.unavailable => String::new(),
            None => "0".to_owned(),
            Some(_) if paged => String::new(),
            Some(seen) => seen.to_string(),
        };
        if version != expected {
            return Some(format!("a list at `{version}`, not at `{expected}`"));
        }
        self.check_reason()
    }

    /// Returns the defect of a streaming list at this version, if any.
    pub(crate) fn check_stream(&mut self, version: &str, vanished: u64) -> Option<String> {
        self.forget_if(version.is_empty() && !self.unavailable);
        self.vanishings = vanished;
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

    /// Returns the defect of a watch from this version, if any.
    pub(crate) fn check_watch(&self, version: &str) -> Option<String> {
        let expected = self.seen.map(|seen| seen.to_string()).unwrap_or_default();
        (version != expected).then(|| format!("a watch from `{version}`, not from `{expected}`"))
    }
}

pub(crate) fn is_in(scope: &Scope, key: Key) -> bool {
    scope.as_ref().is_none_or(|scope| *scope == collection::namespace(key.namespace))
}
