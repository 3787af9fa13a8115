//! A bucket that an instance has open, and the positions of its key lists.

use std::{collections::VecDeque, sync::Arc};

/// Key lists that one bucket can continue. If there are more, the oldest is forgotten.
const CURSORS: usize = 16;

/// An open bucket. A guest holds it by a handle until it drops the handle or its instance ends.
#[expect(unreachable_pub, reason = "the generated bindings re-export it")]
pub struct Bucket {
    name: Arc<str>,
    next_cursor: u64,
    /// The last key of a page, by the cursor of the next page: keys that are added or deleted meanwhile move no other key.
    cursors: VecDeque<(u64, String)>,
}

// === impl Bucket ===

impl Bucket {
    pub(super) fn new(name: String) -> Self {
        Self { name: name.into(), next_cursor: 0, cursors: VecDeque::new() }
    }

    pub(super) fn name(&self) -> Arc<str> {
        Arc::clone(&self.name)
    }

    /// The key after which the page of this cursor begins; `None` for the first page.
    ///
    /// # Errors
    /// A message for the guest if the bucket has no such cursor.
    pub(super) fn after(&self, cursor: Option<u64>) -> Result<Option<String>, String> {
        let Some(cursor) = cursor else { return Ok(None) };
        let found = self.cursors.iter().find(|(own, _)| *own == cursor);
        found.map(|(_, last)| Some(last.clone())).ok_or_else(|| {
            format!(
                "{cursor} is not a cursor of this bucket, or {CURSORS} newer ones replaced it: list again"
            )
        })
    }

    /// The cursor of the page after this key.
    pub(super) fn cursor(&mut self, last: String) -> u64 {
        if self.cursors.len() >= CURSORS {
            self.cursors.pop_front();
        }
        let cursor = self.next_cursor;
        self.next_cursor += 1;
        self.cursors.push_back((cursor, last));
        cursor
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_cursor_names_the_page_after_its_key_until_too_many_newer_cursors_exist() {
        let mut bucket = Bucket::new("b".to_owned());
        assert_eq!(bucket.after(None).unwrap(), None);

        let first = bucket.cursor("k".to_owned());
        assert_eq!(bucket.after(Some(first)).unwrap().as_deref(), Some("k"));
        for _ in 0..CURSORS {
            bucket.cursor("l".to_owned());
        }

        for unknown in [first, 1 << 40] {
            assert!(bucket.after(Some(unknown)).is_err(), "{unknown}");
        }
    }
}
