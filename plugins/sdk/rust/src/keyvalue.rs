//! Key-values that survive reloads and restarts of the host.
//!
//! They need a quota under `[plugin.grant]`: `keyvalue = "1MiB"`. Each plugin has its own buckets. When a write returns, the
//! value is on the host's disk. [`wasi::keyvalue`](crate::wasi::keyvalue) has several writes in one transaction.
//!
//! ```
//! use informer_sdk::{Event, Result, keyvalue};
//!
//! #[derive(Default, serde::Deserialize, serde::Serialize)]
//! struct Seen {
//!     versions: u64,
//!     last: String,
//! }
//!
//! # fn example(object: &Event) -> Result {
//! let (bucket, key) = (keyvalue::open("seen")?, object.key().to_string());
//! let mut seen: Seen = bucket.get(&key)?.unwrap_or_default();
//! seen.versions += 1;
//! object.resource_version().clone_into(&mut seen.last);
//! bucket.set(&key, &seen)?;
//! # Ok(())
//! # }
//! ```

use serde::{Serialize, de::DeserializeOwned};

use crate::wasi::keyvalue::store;
use crate::{Error, host::keyvalue as host, json};

/// A bucket of key-values. Keys have at most 1 KiB. Dropping the bucket closes it, and the values stay.
#[derive(Debug)]
pub struct Bucket {
    bucket: host::Bucket,
}

/// The keys of a bucket. The iterator fetches a page of keys when the previous page is used up. It ends after an error.
#[derive(Debug)]
pub struct Keys<'a> {
    bucket: &'a host::Bucket,
    fetched: std::vec::IntoIter<String>,
    rest: Rest,
}

/// The position of the next page.
#[derive(Debug)]
enum Rest {
    First,
    After(u64),
    None,
}

/// Opens a bucket, which is made if it is missing. It belongs to this plugin alone.
///
/// # Errors
/// Returns [`Error::KeyValue`] if the name has more than 1 KiB, or if the instance has 64 buckets open.
pub fn open(name: &str) -> Result<Bucket, Error> {
    Ok(Bucket { bucket: host::open(name)? })
}

// === impl Bucket ===

impl Bucket {
    /// The value of a key, parsed from JSON. Returns `None` if there is no value.
    ///
    /// # Errors
    /// Returns the same errors as [`get_bytes`](Self::get_bytes), and [`Error::Decode`] if the value does not fit the type.
    pub fn get<T: DeserializeOwned>(&self, key: &str) -> Result<Option<T>, Error> {
        self.get_bytes(key)?.map(|bytes| json::parse_bytes(key, &bytes)).transpose()
    }

    /// Sets the value of a key, as JSON.
    ///
    /// # Errors
    /// Returns the same errors as [`set_bytes`](Self::set_bytes), and [`Error::Decode`] if JSON cannot hold the value.
    pub fn set(&self, key: &str, value: &(impl Serialize + ?Sized)) -> Result<(), Error> {
        self.set_bytes(key, json::encode(key, value)?.as_bytes())
    }

    /// The bytes of a key. Returns `None` if there is no value.
    ///
    /// # Errors
    /// Returns [`Error::KeyValue`] if the host's state is not available.
    pub fn get_bytes(&self, key: &str) -> Result<Option<Vec<u8>>, Error> {
        Ok(self.bucket.get(key)?)
    }

    /// Sets the bytes of a key.
    ///
    /// # Errors
    /// Returns [`Error::KeyValue`] if the key is too long, if the quota is used up, or if the host's state is not available.
    pub fn set_bytes(&self, key: &str, value: &[u8]) -> Result<(), Error> {
        Ok(self.bucket.set(key, value)?)
    }

    /// Returns true if the key has a value.
    ///
    /// # Errors
    /// Returns [`Error::KeyValue`] if the host's state is not available.
    pub fn contains(&self, key: &str) -> Result<bool, Error> {
        Ok(self.bucket.exists(key)?)
    }

    /// Deletes a key. Does nothing if there is none.
    ///
    /// # Errors
    /// Returns [`Error::KeyValue`] if the host's state is not available.
    pub fn delete(&self, key: &str) -> Result<(), Error> {
        Ok(self.bucket.delete(key)?)
    }

    /// All keys, in the order of their bytes.
    #[must_use]
    pub fn keys(&self) -> Keys<'_> {
        Keys { bucket: &self.bucket, fetched: Vec::new().into_iter(), rest: Rest::First }
    }

    /// Adds to a number in one step, and returns the sum. A missing value counts as 0. [`get`](Self::get) reads the number.
    ///
    /// # Errors
    /// Returns the same errors as [`set_bytes`](Self::set_bytes), and [`Error::KeyValue`] if the value is not a number or the sum is
    /// too large.
    pub fn increment(&self, key: &str, delta: u64) -> Result<u64, Error> {
        Ok(host::increment(&self.bucket, key, delta)?)
    }
}

// === impl Keys ===

impl Iterator for Keys<'_> {
    type Item = Result<String, Error>;

    fn next(&mut self) -> Option<Self::Item> {
        loop {
            if let Some(key) = self.fetched.next() {
                return Some(Ok(key));
            }
            let cursor = match std::mem::replace(&mut self.rest, Rest::None) {
                Rest::First => None,
                Rest::After(cursor) => Some(cursor),
                Rest::None => return None,
            };
            match self.bucket.list_keys(cursor) {
                Ok(page) => {
                    self.fetched = page.keys.into_iter();
                    self.rest = page.cursor.map_or(Rest::None, Rest::After);
                }
                Err(error) => return Some(Err(error.into())),
            }
        }
    }
}

impl std::iter::FusedIterator for Keys<'_> {}

impl From<store::Error> for Error {
    fn from(error: store::Error) -> Self {
        let message = match error {
            store::Error::NoSuchStore => "the host does not have the bucket".to_owned(),
            store::Error::AccessDenied => "the host refuses the bucket".to_owned(),
            store::Error::Other(message) => message,
        };
        Self::KeyValue { message }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::testing::TestHost;

    #[test]
    fn values_are_kept_as_json_by_bucket_and_key() {
        let _host = TestHost::new();
        let bucket = open("seen").unwrap();
        bucket.set("ключ", &("späti 🦀", 2)).unwrap();
        open("other").unwrap().set_bytes("ключ", b"3").unwrap();

        assert_eq!(bucket.get("ключ").unwrap(), Some(("späti 🦀".to_owned(), 2)));
        assert_eq!(open("other").unwrap().get::<u8>("ключ").unwrap(), Some(3));
        assert_eq!(bucket.get::<u8>("none").unwrap(), None);
        let unfit = bucket.get::<u8>("ключ").unwrap_err();
        assert!(matches!(&unfit, Error::Decode { what, .. } if what == "ключ"), "{unfit}");

        bucket.delete("ключ").unwrap();
        bucket.delete("ключ").unwrap();
        assert!(!bucket.contains("ключ").unwrap() && open("other").unwrap().contains("ключ").unwrap());
    }

    #[test]
    fn numbers_are_added_to_and_read() {
        let _host = TestHost::new();
        let bucket = open("counts").unwrap();

        assert_eq!([bucket.increment("n", 2).unwrap(), bucket.increment("n", 3).unwrap()], [2, 5]);

        assert_eq!(bucket.get::<u64>("n").unwrap(), Some(5));
        bucket.set("n", "five").unwrap();
        assert!(matches!(bucket.increment("n", 1), Err(Error::KeyValue { .. })));
    }

    #[test]
    fn all_pages_of_keys_are_listed_in_order() {
        let _host = TestHost::new();
        let bucket = open("many").unwrap();
        let mut names: Vec<String> = (0..1201).map(|n| format!("key {n}")).collect();
        for name in &names {
            bucket.set(name, &0).unwrap();
        }

        let listed: Result<Vec<String>, Error> = bucket.keys().collect();

        names.sort();
        assert_eq!(listed.unwrap(), names);
        assert_eq!(open("empty").unwrap().keys().count(), 0);
    }

    #[test]
    fn a_name_that_the_host_refuses_is_an_error() {
        let _host = TestHost::new();
        let long = "k".repeat(1025);

        assert!(matches!(open(&long), Err(Error::KeyValue { .. })));
        let refused = open("a").unwrap().set(&long, &1).unwrap_err();
        assert_eq!(
            String::from(refused),
            "key-value: a key or the name of a bucket has more than 1024 bytes"
        );
    }
}
