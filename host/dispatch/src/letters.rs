//! Dead letters: the notifications or keys that a queue gave up. Each is kept until a later call for it succeeds or an operator
//! drops it.

mod keeper;

use std::{
    collections::{BTreeMap, HashMap, HashSet},
    fmt,
    hash::Hash,
    num::NonZeroUsize,
    pin::pin,
    sync::Arc,
    time::SystemTime,
};

use informer_types::Failure;
use parking_lot::Mutex;
use tokio::sync::Notify;

pub use keeper::{DeadLetterKeeper, DeadLetterStore};

/// The longest message of a failure that is kept, in bytes. A stack trace fits.
const MAX_MESSAGE_BYTES: usize = 4096;

/// At most this many settled ids are remembered while the letters of an earlier process cannot be read. If more ids are settled, their
/// old letters are restored: an operator sees letters that are obsolete, and nothing else follows.
const MAX_SETTLED: usize = 1 << 16;

/// A notification or a key that was given up.
pub trait Letter: Clone + PartialEq + fmt::Debug + Send + Sync + 'static {
    /// Identifies the object or the key. There is at most one letter for each id.
    type Id: Clone + Eq + Hash + fmt::Debug + Send + Sync + 'static;

    /// The object or the key that was given up.
    fn id(&self) -> &Self::Id;

    /// When it was given up.
    fn at(&self) -> SystemTime;
}

/// The dead letters of one queue: at most one for each id, the newest. If there are too many, the oldest is evicted and
/// counted. Clones are handles of the same list.
#[derive(Debug)]
pub struct LetterBox<L: Letter>(Arc<Shared<L>>);

#[derive(Debug)]
struct Shared<L: Letter> {
    letters: Mutex<Letters<L>>,
    changed: Notify,
}

#[derive(Debug)]
struct Letters<L: Letter> {
    capacity: NonZeroUsize,
    by_age: BTreeMap<u64, L>,
    by_id: HashMap<L::Id, u64>,
    next: u64,
    evicted: u64,
    /// Ids that succeeded or were dropped, for which an earlier process may have left a letter. `None` if no letters will be
    /// restored.
    settled: Option<HashSet<L::Id>>,
    /// Counts the changes of the list.
    version: u64,
}

// === impl LetterBox ===

impl<L: Letter> Clone for LetterBox<L> {
    fn clone(&self) -> Self {
        Self(Arc::clone(&self.0))
    }
}

impl<L: Letter> LetterBox<L> {
    /// An empty list of at most `capacity` letters.
    pub(crate) fn new(capacity: NonZeroUsize) -> Self {
        let letters = Mutex::new(Letters {
            capacity,
            by_age: BTreeMap::new(),
            by_id: HashMap::new(),
            next: 0,
            evicted: 0,
            settled: None,
            version: 0,
        });
        Self(Arc::new(Shared { letters, changed: Notify::new() }))
    }

    /// All letters, the oldest first.
    pub fn list(&self) -> Vec<L> {
        self.now().1
    }

    /// The letter of this object or key. Returns `None` if there is none.
    pub fn get(&self, id: &L::Id) -> Option<L> {
        let letters = self.0.letters.lock();
        letters.by_id.get(id).and_then(|age| letters.by_age.get(age)).cloned()
    }

    /// Drops the letters that `chosen` selects and returns their ids. The objects and keys themselves are not affected.
    pub fn drop_if(&self, chosen: impl Fn(&L::Id) -> bool) -> Vec<L::Id> {
        self.change(|letters| {
            let ids = letters.by_age.values().map(Letter::id);
            let chosen: Vec<L::Id> = ids.filter(|id| chosen(id)).cloned().collect();
            chosen.iter().for_each(|id| letters.withdraw(id));
            chosen
        })
    }

    /// Number of letters, and number of letters evicted so far.
    pub(crate) fn counts(&self) -> (usize, u64) {
        let letters = self.0.letters.lock();
        (letters.by_age.len(), letters.evicted)
    }

    /// Evicts the oldest letters if there are more than `capacity`.
    pub(crate) fn set_capacity(&self, capacity: NonZeroUsize) {
        self.change(|letters| {
            letters.capacity = capacity;
            letters.evict(capacity.get());
        });
    }

    /// Keeps a letter in place of an older one with the same id.
    pub(crate) fn keep(&self, letter: L) {
        self.change(|letters| letters.keep(letter));
    }

    /// Removes the letter of an id that succeeded after all.
    pub(crate) fn withdraw(&self, id: &L::Id) {
        self.change(|letters| letters.withdraw(id));
    }

    /// From now on the list remembers which ids succeed or are dropped, at most 65,536 of them, until
    /// [`restore`](Self::restore) brings the letters of an earlier process.
    pub(crate) fn expect(&self) {
        self.0.letters.lock().settled.get_or_insert_default();
    }

    /// Puts the letters of an earlier process before all others, the oldest first. Letters of ids that have a newer letter,
    /// or that succeeded or were dropped since [`expect`](Self::expect), are left out.
    pub(crate) fn restore(&self, letters: Vec<L>) {
        self.change(|list| {
            let newer = std::mem::take(&mut list.by_age);
            let settled = list.settled.take().unwrap_or_default();
            let is_old = |id: &L::Id| !list.by_id.contains_key(id) && !settled.contains(id);
            let mut all: Vec<L> = letters.into_iter().filter(|letter| is_old(letter.id())).collect();
            all.extend(newer.into_values());
            list.by_id.clear();
            all.into_iter().for_each(|letter| list.keep(letter));
        });
    }

    /// The version of the list, which every change increments, and all letters.
    pub(crate) fn now(&self) -> (u64, Vec<L>) {
        let letters = self.0.letters.lock();
        (letters.version, letters.by_age.values().cloned().collect())
    }

    /// Waits until the version is not `seen`, then returns what [`now`](Self::now) returns.
    ///
    /// # Cancel safety
    /// A dropped future changes nothing.
    pub(crate) async fn after(&self, seen: Option<u64>) -> (u64, Vec<L>) {
        loop {
            let mut changed = pin!(self.0.changed.notified());
            // From here on no change is missed.
            changed.as_mut().enable();
            let (version, letters) = self.now();
            if Some(version) != seen {
                return (version, letters);
            }
            changed.await;
        }
    }

    fn change<T>(&self, change: impl FnOnce(&mut Letters<L>) -> T) -> T {
        let (done, changed) = {
            let mut letters = self.0.letters.lock();
            let before = letters.version;
            let done = change(&mut letters);
            (done, letters.version != before)
        };
        if changed {
            self.0.changed.notify_waiters();
        }
        done
    }
}

// === impl Letters ===

impl<L: Letter> Letters<L> {
    fn keep(&mut self, letter: L) {
        self.remove(letter.id());
        self.evict(self.capacity.get() - 1);
        self.by_id.insert(letter.id().clone(), self.next);
        self.by_age.insert(self.next, letter);
        self.next += 1;
        self.version += 1;
    }

    fn withdraw(&mut self, id: &L::Id) {
        if let Some(settled) = self.settled.as_mut().filter(|settled| settled.len() < MAX_SETTLED)
            && !settled.contains(id)
        {
            settled.insert(id.clone());
        }
        self.remove(id);
    }

    fn remove(&mut self, id: &L::Id) {
        // The list is almost always empty, and this runs after each success: do not hash then.
        if !self.by_id.is_empty()
            && let Some(age) = self.by_id.remove(id)
        {
            self.by_age.remove(&age);
            self.version += 1;
        }
    }

    fn evict(&mut self, most: usize) {
        while self.by_age.len() > most
            && let Some((_, oldest)) = self.by_age.pop_first()
        {
            self.by_id.remove(oldest.id());
            self.evicted += 1;
            self.version += 1;
        }
    }
}

/// Cuts the message of a failure that is kept.
pub(crate) fn cut(mut failure: Failure) -> Failure {
    let end = failure.message.floor_char_boundary(MAX_MESSAGE_BYTES);
    failure.message.truncate(end);
    failure
}
