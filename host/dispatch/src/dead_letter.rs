//! Notifications that were given up.

mod store;

use std::{
    collections::{BTreeMap, HashMap, HashSet},
    num::NonZeroUsize,
    sync::Arc,
    time::SystemTime,
};

use informer_types::{Body, Cause, Failure, Header, Object};

pub use store::{DeadLetterKeeper, DeadLetterStore};

use crate::{ObjectRef, entry::Entry};

/// Dead letters are bounded in number, so what each may hold is bounded too. A stack trace fits.
const MAX_MESSAGE_BYTES: usize = 4096;

/// Failures are kept in a few words in a trace.
const MAX_BRIEF_BYTES: usize = 256;

/// Labels of a letter, keys and values; more are left out, all of them.
const MAX_LABEL_BYTES: usize = 16 << 10;

/// Objects remembered as delivered while the letters of an earlier process cannot be read. Of what is delivered beyond
/// it, an old letter comes back, which is shown and does nothing else.
const MAX_DELIVERED: usize = 1 << 16;

/// What is known of a notification that was given up. The object itself is not kept: it may be large, it may be
/// a Secret, and the cache has a newer one. Nor are its annotations: `kubectl apply` writes whole objects there.
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
    /// Of the object.
    pub labels: Vec<(Box<str>, Box<str>)>,
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
    /// Those whose letters an earlier process may have left, and nobody wants any more; none where nothing will be
    /// restored.
    settled: Option<HashSet<ObjectRef>>,
    /// Counts the changes of the list.
    version: u64,
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
            labels: labels(state),
            attempts: entry.attempts,
            failure: cut(failure),
            at: SystemTime::now(),
        }
    }

    /// What is left of the object, for telling its deletion again: what identifies it, and its labels. The JSON has no
    /// `kind`, which nobody kept.
    pub fn last_known(&self) -> Option<Arc<Object>> {
        let key = &self.object.key;
        let labels = || self.labels.iter().map(|(key, value)| (&**key, &**value));
        let header = Header {
            namespace: Arc::clone(&key.namespace),
            name: (&*key.name).into(),
            uid: (&*self.uid).into(),
            resource_version: (&*self.resource_version).into(),
            labels: labels().map(|(key, value)| (key.into(), value.into())).collect(),
            ..Header::default()
        };
        let gvr = self.object.source.gvr();
        let api_version =
            [gvr.group.as_str(), gvr.version.as_str()].into_iter().filter(|part| !part.is_empty());
        let json = serde_json::json!({
            "apiVersion": api_version.collect::<Vec<_>>().join("/"),
            "metadata": {
                "namespace": &*key.namespace, "name": &*key.name, "uid": &*self.uid,
                "resourceVersion": &*self.resource_version,
                "labels": labels().collect::<BTreeMap<_, _>>(),
            },
        });
        // It fits: it was the header of an object before.
        Object::new(&header, Body::Raw(json.to_string().into())).ok().map(Arc::new)
    }
}

// === impl DeadLetters ===

impl DeadLetters {
    pub(crate) fn new(capacity: NonZeroUsize) -> Self {
        Self {
            capacity,
            by_age: BTreeMap::new(),
            by_object: HashMap::new(),
            next: 0,
            evicted: 0,
            settled: None,
            version: 0,
        }
    }

    /// Those of an earlier process will come: until then, remembers what is delivered or dropped.
    pub(crate) fn expect(&mut self) {
        self.settled.get_or_insert_default();
    }

    /// Of those that are too many now the oldest go, and are counted.
    pub(crate) fn set_capacity(&mut self, capacity: NonZeroUsize) {
        self.capacity = capacity;
        self.evict(capacity.get());
    }

    /// Keeps a letter in place of an older one of the same object.
    pub(crate) fn keep(&mut self, letter: DeadLetter) {
        self.remove(&letter.object);
        self.evict(self.capacity.get() - 1);
        self.by_object.insert(letter.object.clone(), self.next);
        self.by_age.insert(self.next, letter);
        self.next += 1;
        self.version += 1;
    }

    /// Puts those of an earlier process before all others, as long as there is room; not those of objects that have one,
    /// or that were delivered or dropped meanwhile.
    pub(crate) fn restore(&mut self, letters: Vec<DeadLetter>) {
        let newer = std::mem::take(&mut self.by_age);
        let settled = self.settled.take().unwrap_or_default();
        let is_old = |object: &ObjectRef| !self.by_object.contains_key(object) && !settled.contains(object);
        let old = letters.into_iter().filter(|letter| is_old(&letter.object));
        let all: Vec<DeadLetter> = old.collect::<Vec<_>>().into_iter().chain(newer.into_values()).collect();
        self.by_object.clear();
        for letter in all {
            self.keep(letter);
        }
    }

    /// Forgets those of these objects; gives the objects.
    pub(crate) fn drop_if(&mut self, chosen: impl Fn(&ObjectRef) -> bool) -> Vec<ObjectRef> {
        let chosen: Vec<ObjectRef> = self
            .by_age
            .values()
            .map(|letter| &letter.object)
            .filter(|object| chosen(object))
            .cloned()
            .collect();
        chosen.iter().for_each(|object| self.withdraw(object));
        chosen
    }

    /// Different after each change of the list.
    pub(crate) fn version(&self) -> u64 {
        self.version
    }

    /// Forgets the letter of an object that was delivered after all, in this or a newer state.
    pub(crate) fn withdraw(&mut self, object: &ObjectRef) {
        if let Some(settled) = self.settled.as_mut().filter(|settled| settled.len() < MAX_DELIVERED)
            && !settled.contains(object)
        {
            settled.insert(object.clone());
        }
        self.remove(object);
    }

    fn remove(&mut self, object: &ObjectRef) {
        // Nearly always empty, and asked after each delivery: no need to hash the object then.
        if !self.by_object.is_empty()
            && let Some(age) = self.by_object.remove(object)
        {
            self.by_age.remove(&age);
            self.version += 1;
        }
    }

    fn evict(&mut self, most: usize) {
        while self.by_age.len() > most
            && let Some((_, oldest)) = self.by_age.pop_first()
        {
            self.by_object.remove(&oldest.object);
            self.evicted += 1;
            self.version += 1;
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

/// None of them where they are too many.
fn labels(object: &Object) -> Vec<(Box<str>, Box<str>)> {
    let bytes: usize = object.labels().map(|(key, value)| key.len() + value.len()).sum();
    let labels = object.labels().filter(|_| bytes <= MAX_LABEL_BYTES);
    labels.map(|(key, value)| (key.into(), value.into())).collect()
}

/// Cuts the message of a failure that is kept.
pub(crate) fn cut(mut failure: Failure) -> Failure {
    let end = failure.message.floor_char_boundary(MAX_MESSAGE_BYTES);
    failure.message.truncate(end);
    failure
}

/// The first line of what a failure says, cut.
pub(crate) fn brief(failure: &Failure) -> Failure {
    let line = failure.message.lines().next().unwrap_or_default();
    let line = line.get(..line.floor_char_boundary(MAX_BRIEF_BYTES)).unwrap_or_default();
    Failure::new(failure.kind, line)
}

#[cfg(test)]
mod tests;
