//! The key-value state. A component keeps it in `wasi:keyvalue`; native tests keep it in a thread-local map.

#[cfg(target_family = "wasm")]
use component as own;
#[cfg(not(target_family = "wasm"))]
use native as own;

/// The state cannot be read or written now, or its quota is used up.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
#[error("the key-value state fails: {0}")]
pub(crate) struct Unavailable(pub(crate) String);

pub(crate) fn get(key: &str) -> Result<Option<Vec<u8>>, Unavailable> {
    own::get(key)
}

pub(crate) fn set(key: &str, value: &[u8]) -> Result<(), Unavailable> {
    own::set(key, value)
}

pub(crate) fn delete(key: &str) -> Result<(), Unavailable> {
    own::delete(key)
}

pub(crate) fn keys() -> Result<Vec<String>, Unavailable> {
    own::keys()
}

#[cfg(target_family = "wasm")]
mod component {
    use informer_sdk::wasi::keyvalue::store::{self, Bucket, Error};

    use super::Unavailable;

    const BUCKET: &str = "workloads";

    pub(super) fn get(key: &str) -> Result<Option<Vec<u8>>, Unavailable> {
        Ok(bucket()?.get(key)?)
    }

    pub(super) fn set(key: &str, value: &[u8]) -> Result<(), Unavailable> {
        Ok(bucket()?.set(key, value)?)
    }

    pub(super) fn delete(key: &str) -> Result<(), Unavailable> {
        Ok(bucket()?.delete(key)?)
    }

    pub(super) fn keys() -> Result<Vec<String>, Unavailable> {
        let (bucket, mut all, mut cursor) = (bucket()?, Vec::new(), None);
        loop {
            let page = bucket.list_keys(cursor)?;
            all.extend(page.keys);
            cursor = page.cursor;
            if cursor.is_none() {
                return Ok(all);
            }
        }
    }

    fn bucket() -> Result<Bucket, Unavailable> {
        Ok(store::open(BUCKET)?)
    }

    impl From<Error> for Unavailable {
        fn from(error: Error) -> Self {
            match error {
                Error::Other(why) => Self(why),
                other => Self(format!("{other:?}")),
            }
        }
    }
}

#[cfg(not(target_family = "wasm"))]
pub(crate) mod native {
    use std::{cell::RefCell, collections::BTreeMap};

    use super::Unavailable;

    thread_local! {
        static KEPT: RefCell<BTreeMap<String, Vec<u8>>> = const { RefCell::new(BTreeMap::new()) };
    }

    #[expect(clippy::unnecessary_wraps, reason = "the host's state may fail")]
    pub(super) fn get(key: &str) -> Result<Option<Vec<u8>>, Unavailable> {
        Ok(KEPT.with_borrow(|kept| kept.get(key).cloned()))
    }

    #[expect(clippy::unnecessary_wraps, reason = "the host's state may fail")]
    pub(super) fn set(key: &str, value: &[u8]) -> Result<(), Unavailable> {
        KEPT.with_borrow_mut(|kept| kept.insert(key.to_owned(), value.to_owned()));
        Ok(())
    }

    #[expect(clippy::unnecessary_wraps, reason = "the host's state may fail")]
    pub(super) fn delete(key: &str) -> Result<(), Unavailable> {
        KEPT.with_borrow_mut(|kept| kept.remove(key));
        Ok(())
    }

    #[expect(clippy::unnecessary_wraps, reason = "the host's state may fail")]
    pub(super) fn keys() -> Result<Vec<String>, Unavailable> {
        Ok(KEPT.with_borrow(|kept| kept.keys().cloned().collect()))
    }

    /// Forgets everything. Tests may share a thread.
    #[cfg(test)]
    pub(crate) fn reset() {
        KEPT.with_borrow_mut(BTreeMap::clear);
    }
}
