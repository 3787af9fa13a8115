//! A bounded list of letters, ordered by age.

use std::{
    collections::{BTreeMap, HashMap, HashSet},
    fmt,
    hash::Hash,
    num::NonZeroUsize,
    time::SystemTime,
};

/// At most this many settled ids are remembered while the letters of an earlier process cannot be read. The old letter of
/// any further settled id comes back, which is shown and has no other effect.
const MAX_SETTLED: usize = 1 << 16;

/// Something that was given up.
pub trait Letter: Clone + PartialEq + fmt::Debug + Send + Sync + 'static {
    /// What the letter is about. There is at most one letter for each id.
    type Id: Clone + Eq + Hash + fmt::Debug + Send + Sync + 'static;

    /// What the letter is about.
    fn id(&self) -> &Self::Id;

    /// When it was given up.
    fn at(&self) -> SystemTime;
}

/// See [`LetterBox`](super::LetterBox).
#[derive(Debug)]
pub(crate) struct Letters<L: Letter> {
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

// === impl Letters ===

impl<L: Letter> Letters<L> {
    pub(crate) fn new(capacity: NonZeroUsize) -> Self {
        Self {
            capacity,
            by_age: BTreeMap::new(),
            by_id: HashMap::new(),
            next: 0,
            evicted: 0,
            settled: None,
            version: 0,
        }
    }

    pub(super) fn expect(&mut self) {
        self.settled.get_or_insert_default();
    }

    pub(crate) fn set_capacity(&mut self, capacity: NonZeroUsize) {
        self.capacity = capacity;
        self.evict(capacity.get());
    }

    pub(crate) fn keep(&mut self, letter: L) {
        self.remove(letter.id());
        self.evict(self.capacity.get() - 1);
        self.by_id.insert(letter.id().clone(), self.next);
        self.by_age.insert(self.next, letter);
        self.next += 1;
        self.version += 1;
    }

    pub(super) fn restore(&mut self, letters: Vec<L>) {
        let newer = std::mem::take(&mut self.by_age);
        let settled = self.settled.take().unwrap_or_default();
        let is_old = |id: &L::Id| !self.by_id.contains_key(id) && !settled.contains(id);
        let old = letters.into_iter().filter(|letter| is_old(letter.id()));
        let all: Vec<L> = old.collect::<Vec<_>>().into_iter().chain(newer.into_values()).collect();
        self.by_id.clear();
        for letter in all {
            self.keep(letter);
        }
    }

    pub(crate) fn drop_if(&mut self, chosen: impl Fn(&L::Id) -> bool) -> Vec<L::Id> {
        let chosen: Vec<L::Id> =
            self.by_age.values().map(Letter::id).filter(|id| chosen(id)).cloned().collect();
        chosen.iter().for_each(|id| self.withdraw(id));
        chosen
    }

    pub(crate) fn version(&self) -> u64 {
        self.version
    }

    pub(crate) fn withdraw(&mut self, id: &L::Id) {
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

    pub(crate) fn list(&self) -> Vec<L> {
        self.by_age.values().cloned().collect()
    }

    pub(crate) fn len(&self) -> usize {
        self.by_age.len()
    }

    pub(crate) fn evicted(&self) -> u64 {
        self.evicted
    }
}
