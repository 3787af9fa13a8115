//! An open bucket: its name, and where its lists of keys go on.

use std::{collections::VecDeque, sync::Arc};

use crate::bindings::wasi::keyvalue::store::Error;

/// Lists of keys that go on in one bucket; beyond it the oldest is forgotten.
const CURSORS: usize = 16;

/// What a guest holds by a handle, for as long as its instance lives.
#[expect(unreachable_pub, reason = "the generated bindings re-export it")]
pub struct Bucket {
    name: Arc<str>,
    next_cursor: u64,
    /// The last key of a page, by the cursor of the next one: keys that come and go meanwhile move no other.
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

    /// The key after which a page begins; none: at the first.
    pub(super) fn after(&self, cursor: Option<u64>) -> Result<Option<String>, Error> {
        let Some(cursor) = cursor else { return Ok(None) };
        let found = self.cursors.iter().find(|(own, _)| *own == cursor);
        found.map(|(_, last)| Some(last.clone())).ok_or_else(|| {
            Error::Other(format!(
                "{cursor} is no cursor of this bucket, or {CURSORS} others were given since: list again"
            ))
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
    fn a_cursor_leads_behind_its_key_until_too_many_others_were_given() {
        let mut bucket = Bucket::new("b".to_owned());
        assert_eq!(bucket.after(None).unwrap(), None);

        let first = bucket.cursor("k".to_owned());
        assert_eq!(bucket.after(Some(first)).unwrap().as_deref(), Some("k"));
        for _ in 0..CURSORS {
            bucket.cursor("l".to_owned());
        }

        for unknown in [first, 1 << 40] {
            assert!(matches!(bucket.after(Some(unknown)), Err(Error::Other(_))), "{unknown}");
        }
    }
}
