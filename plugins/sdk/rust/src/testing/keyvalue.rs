//! The buckets of the plugin. They have no quota.

use std::ops::Bound;

use super::state::with_state;
use crate::wasi::keyvalue::store::{Error, KeyResponse};

/// The longest key, and the longest name of a bucket.
const NAME_BYTES: usize = 1 << 10;

/// The most keys on one page.
const PAGE: usize = 500;

/// A bucket by its name. The state of the thread has the values.
#[derive(Debug)]
pub(crate) struct Bucket {
    name: String,
    /// The last key of each page that another page follows. A cursor is a position here.
    pages: std::cell::RefCell<Vec<String>>,
}

pub(crate) fn open(name: &str) -> Result<Bucket, Error> {
    fits(name)?;
    Ok(Bucket { name: name.to_owned(), pages: std::cell::RefCell::default() })
}

pub(crate) fn increment(bucket: &Bucket, key: &str, delta: u64) -> Result<u64, Error> {
    let number = match bucket.get(key)? {
        Some(kept) => String::from_utf8(kept).ok().and_then(|text| text.parse::<u64>().ok()),
        None => Some(0),
    };
    let sum = number.and_then(|number| number.checked_add(delta));
    let sum = sum.ok_or_else(|| other("the value is not a whole number, or the sum is too large"))?;
    bucket.set(key, sum.to_string().as_bytes())?;
    Ok(sum)
}

// === impl Bucket ===

impl Bucket {
    pub(crate) fn get(&self, key: &str) -> Result<Option<Vec<u8>>, Error> {
        fits(key)?;
        Ok(with_state(|state| state.values.get(&self.place(key)).cloned()))
    }

    pub(crate) fn set(&self, key: &str, value: &[u8]) -> Result<(), Error> {
        fits(key)?;
        with_state(|state| state.values.insert(self.place(key), value.to_vec()));
        Ok(())
    }

    pub(crate) fn delete(&self, key: &str) -> Result<(), Error> {
        fits(key)?;
        with_state(|state| state.values.remove(&self.place(key)));
        Ok(())
    }

    pub(crate) fn exists(&self, key: &str) -> Result<bool, Error> {
        Ok(self.get(key)?.is_some())
    }

    pub(crate) fn list_keys(&self, cursor: Option<u64>) -> Result<KeyResponse, Error> {
        let mut pages = self.pages.borrow_mut();
        let after = match cursor {
            None => Bound::Included(self.place("")),
            Some(cursor) => {
                let last = usize::try_from(cursor).ok().and_then(|cursor| pages.get(cursor));
                Bound::Excluded(self.place(last.ok_or_else(|| other("no page has this cursor"))?))
            }
        };
        let keys: Vec<String> = with_state(|state| {
            let values = state.values.range((after, Bound::Unbounded)).map(|(place, _)| place);
            let own = values.take_while(|(bucket, _)| *bucket == self.name);
            own.take(PAGE).map(|(_, key)| key.clone()).collect()
        });
        let last = keys.last().filter(|_| keys.len() == PAGE).cloned();
        let cursor = last.map(|last| {
            pages.push(last);
            pages.len() as u64 - 1
        });
        Ok(KeyResponse { keys, cursor })
    }

    fn place(&self, key: &str) -> (String, String) {
        (self.name.clone(), key.to_owned())
    }
}

fn fits(name: &str) -> Result<(), Error> {
    if name.len() > NAME_BYTES {
        return Err(other(&format!("a key or the name of a bucket has more than {NAME_BYTES} bytes")));
    }
    Ok(())
}

fn other(message: &str) -> Error {
    Error::Other(message.to_owned())
}
