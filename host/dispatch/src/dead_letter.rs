//! Notifications that were given up.

use std::{
    collections::{BTreeMap, HashMap},
    num::NonZeroUsize,
    time::SystemTime,
};

use informer_types::{Cause, Failure};

use crate::{ObjectRef, entry::Entry};

/// Dead letters are bounded in number, so what each may hold is bounded too. A stack trace fits.
const MAX_MESSAGE_BYTES: usize = 4096;

/// What is known of a notification that was given up. The object itself is not kept: it may be large, it may be
/// a Secret, and the cache has a newer one.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct DeadLetter {
    /// The object it was about.
    pub object: ObjectRef,
    /// `add`, `update` or `delete`.
    pub verb: &'static str,
    /// Why it was told.
    pub cause: Cause,
    /// Of the object.
    pub uid: Box<str>,
    /// Of the newest state in it, verbatim.
    pub resource_version: Box<str>,
    /// Calls made for it.
    pub attempts: u32,
    /// Why the last one failed; the message is cut at 4 KiB.
    pub failure: Failure,
    /// When it was given up.
    pub at: SystemTime,
}

/// The dead letters of one plugin: one per object, the newest. At the bound the oldest goes, and is counted.
#[derive(Debug)]
pub(crate) struct DeadLetters {
    capacity: NonZeroUsize,
    by_age: BTreeMap<u64, DeadLetter>,
    by_object: HashMap<ObjectRef, u64>,
    next: u64,
    evicted: u64,
}

// === impl DeadLetter ===

impl DeadLetter {
    pub(crate) fn new(object: ObjectRef, entry: &Entry, failure: Failure) -> Self {
        let state = entry.change.object();
        Self {
            object,
            verb: entry.change.verb(),
            cause: entry.cause,
            uid: state.uid().into(),
            resource_version: state.resource_version().into(),
            attempts: entry.attempts,
            failure: cut(failure),
            at: SystemTime::now(),
        }
    }
}

// === impl DeadLetters ===

impl DeadLetters {
    pub(crate) fn new(capacity: NonZeroUsize) -> Self {
        Self { capacity, by_age: BTreeMap::new(), by_object: HashMap::new(), next: 0, evicted: 0 }
    }

    /// Of those that are too many now the oldest go, and are counted.
    pub(crate) fn set_capacity(&mut self, capacity: NonZeroUsize) {
        self.capacity = capacity;
        self.evict(capacity.get());
    }

    /// Keeps a letter in place of an older one of the same object.
    pub(crate) fn keep(&mut self, letter: DeadLetter) {
        self.withdraw(&letter.object);
        self.evict(self.capacity.get() - 1);
        self.by_object.insert(letter.object.clone(), self.next);
        self.by_age.insert(self.next, letter);
        self.next += 1;
    }

    /// Forgets the letter of an object that was delivered after all, in this or a newer state.
    pub(crate) fn withdraw(&mut self, object: &ObjectRef) {
        // Nearly always empty, and asked after each delivery: no need to hash the object then.
        if !self.by_object.is_empty()
            && let Some(age) = self.by_object.remove(object)
        {
            self.by_age.remove(&age);
        }
    }

    fn evict(&mut self, most: usize) {
        while self.by_age.len() > most
            && let Some((_, oldest)) = self.by_age.pop_first()
        {
            self.by_object.remove(&oldest.object);
            self.evicted += 1;
        }
    }

    /// The oldest first.
    pub(crate) fn list(&self) -> Vec<DeadLetter> {
        self.by_age.values().cloned().collect()
    }

    pub(crate) fn len(&self) -> usize {
        self.by_age.len()
    }

    /// Letters that had to go to make room.
    pub(crate) fn evicted(&self) -> u64 {
        self.evicted
    }
}

/// Cuts the message of a failure that is kept.
pub(crate) fn cut(mut failure: Failure) -> Failure {
    let end = failure.message.floor_char_boundary(MAX_MESSAGE_BYTES);
    failure.message.truncate(end);
    failure
}

#[cfg(test)]
mod tests;
