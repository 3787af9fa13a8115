//! The pending notifications of one object.

use std::collections::VecDeque;

use crate::{
    coalesce::{Coalesced, Merge, Rule},
    entry::{Entry, Tokens},
};

/// The pending entries of one object, in order and merged. If changes merge, there are at most two entries: a deletion and
/// what follows it.
#[derive(Debug, Default)]
pub(crate) struct Pending {
    first: Option<Entry>,
    /// Almost always empty, and then without an allocation.
    rest: VecDeque<Entry>,
}

/// The effect of a new entry.
#[derive(Debug)]
pub(crate) enum Effect {
    /// There is one more entry.
    Grew,
    /// The new entry merged with another.
    Merged {
        merge: Merge,
        /// The oldest entry, which may be waiting for its retry, now has newer state.
        newer: bool,
    },
    /// The new entry and the one before it cancelled each other. The sync tokens of both have to be released.
    Cancelled(Tokens),
}

// === impl Pending ===

impl Pending {
    /// Adds the newest entry.
    pub(crate) fn push(&mut self, rule: Rule, entry: Entry) -> Effect {
        let Some(last) = self.rest.pop_back().or_else(|| self.first.take()) else {
            self.first = Some(entry);
            return Effect::Grew;
        };
        match rule.apply(last, entry) {
            Coalesced::One { entry, merge, newer } => {
                self.append(entry);
                Effect::Merged { merge, newer: newer && self.rest.is_empty() }
            }
            Coalesced::Both(earlier, later) => {
                self.append(earlier);
                self.append(later);
                Effect::Grew
            }
            Coalesced::Neither(tokens) => Effect::Cancelled(tokens),
        }
    }

    /// Puts back an entry that was in flight. It is older than all others.
    pub(crate) fn put_back(&mut self, rule: Rule, entry: Entry) -> Effect {
        let Some(next) = self.first.take() else {
            self.first = Some(entry);
            return Effect::Grew;
        };
        match rule.apply(entry, next) {
            Coalesced::One { entry, merge, newer } => {
                self.first = Some(entry);
                Effect::Merged { merge, newer }
            }
            Coalesced::Both(earlier, later) => {
                self.first = Some(earlier);
                self.rest.push_front(later);
                Effect::Grew
            }
            Coalesced::Neither(tokens) => {
                self.first = self.rest.pop_front();
                Effect::Cancelled(tokens)
            }
        }
    }

    /// Takes the oldest entry.
    pub(crate) fn pop(&mut self) -> Option<Entry> {
        let entry = self.first.take()?;
        self.first = self.rest.pop_front();
        Some(entry)
    }

    /// Returns true if newer state is pending that would replace `entry`, which is in flight.
    pub(crate) fn supersedes(&self, rule: Rule, entry: &Entry) -> bool {
        self.first.as_ref().is_some_and(|next| rule.supersedes(entry, next))
    }

    /// Returns true if any entry belongs in the live lane.
    pub(crate) fn is_live(&self) -> bool {
        self.iter().any(|entry| entry.live)
    }

    pub(crate) fn is_empty(&self) -> bool {
        self.first.is_none()
    }

    pub(crate) fn len(&self) -> usize {
        usize::from(self.first.is_some()) + self.rest.len()
    }

    pub(crate) fn iter(&self) -> impl Iterator<Item = &Entry> {
        self.first.iter().chain(&self.rest)
    }

    fn append(&mut self, entry: Entry) {
        match &self.first {
            None => self.first = Some(entry),
            Some(_) => self.rest.push_back(entry),
        }
    }
}

impl IntoIterator for Pending {
    type Item = Entry;
    type IntoIter =
        std::iter::Chain<std::option::IntoIter<Entry>, std::collections::vec_deque::IntoIter<Entry>>;

    fn into_iter(self) -> Self::IntoIter {
        self.first.into_iter().chain(self.rest)
    }
}
