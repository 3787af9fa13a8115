//! The limits of one list (D-14). A server that never ends a list must not use up the host's memory.

use std::collections::HashSet;

use informer_types::ObjectKey;

use crate::{
    ceiling::Ceiling,
    decode::{ListPage, Undecodable},
    error::Problem,
    indexer::ObjectSet,
};

/// The memory that an object takes besides its text, in bytes.
const OBJECT_BYTES: u64 = 512;

/// The maximum number of pages in one list that only repeat objects of earlier pages. A list shows one moment, so a correct
/// server sends no such page.
const REPEATED_PAGES: u32 = 100;

/// The maximum number of empty pages in one list. A server may apply a selector after it has read a page, so that nothing is
/// left of the page: with pages of 500, this number stands for five million objects that are not selected.
const EMPTY_PAGES: u32 = 10_000;

/// The size of one list so far.
pub(crate) struct ListExtent {
    limit: u64,
    ceiling: Ceiling,
    /// The size of the pages that are complete.
    used: u64,
    /// The objects of the pages that are complete.
    keys: ObjectSet,
    undecodable: HashSet<ObjectKey>,
    repeated: u32,
    empty: u32,
}

// === impl ListExtent ===

impl ListExtent {
    pub(crate) fn new(limit: u64, ceiling: Ceiling) -> Self {
        let (keys, undecodable) = (ObjectSet::default(), HashSet::new());
        Self { limit, ceiling, used: 0, keys, undecodable, repeated: 0, empty: 0 }
    }

    /// Checks the size of the list so far, and the ceiling. `bytes` and `objects` are those of the page that is still arriving.
    pub(crate) fn check(&self, bytes: u64, objects: usize) -> Result<(), Problem> {
        if self.used.saturating_add(size(bytes, objects)) > self.limit {
            return Err(Problem::ListTooLarge(self.limit));
        }
        if self.ceiling.is_reached() {
            return Err(Problem::CacheFull(self.ceiling.bytes()));
        }
        Ok(())
    }

    /// Adds a page or an event that has arrived as a whole, and checks the size of the list.
    pub(crate) fn add(&mut self, bytes: u64, objects: usize) -> Result<(), Problem> {
        self.used = self.used.saturating_add(size(bytes, objects));
        self.check(0, 0)
    }

    /// Checks that the list does not have too many pages without a new object.
    pub(crate) fn page(&mut self, page: &ListPage) -> Result<(), Problem> {
        let mut brings = false;
        for object in &page.objects {
            brings |= self.keys.insert(object.clone()).is_none();
        }
        for undecodable in &page.undecodable {
            brings |= match undecodable {
                Undecodable::Quarantined { key: Some(key), .. } => self.undecodable.insert(key.clone()),
                _ => true,
            };
        }
        if brings {
            return Ok(());
        }
        let (count, most, what) = if page.objects.is_empty() && page.undecodable.is_empty() {
            (&mut self.empty, EMPTY_PAGES, "are empty")
        } else {
            (&mut self.repeated, REPEATED_PAGES, "repeat earlier pages")
        };
        *count += 1;
        if *count > most { Err(Problem::EndlessPages { most, what }) } else { Ok(()) }
    }
}

fn size(bytes: u64, objects: usize) -> u64 {
    bytes.saturating_add(OBJECT_BYTES.saturating_mul(objects as u64))
}
