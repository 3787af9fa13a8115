//! The key-values of a host without state.

use std::sync::Arc;

use futures::future::BoxFuture;

use super::{KeyValueError, KeyValueSource, Quota};

/// Stores nothing: every call fails with [`KeyValueError::Unavailable`].
#[derive(Clone, Copy, Debug, Default)]
pub struct NoKeyValues;

/// The result of a function of the trait.
type Kept<'a, T> = BoxFuture<'a, Result<T, KeyValueError>>;

fn nothing<'a, T: Send + 'a>() -> Kept<'a, T> {
    Box::pin(async { Err(KeyValueError::Unavailable("this host stores nothing")) })
}

impl KeyValueSource for NoKeyValues {
    fn get(&self, _: Arc<str>, _: Arc<str>, _: Vec<String>, _: usize) -> Kept<'_, Vec<Option<Vec<u8>>>> {
        nothing()
    }

    fn exists(&self, _: Arc<str>, _: Arc<str>, _: String) -> Kept<'_, bool> {
        nothing()
    }

    fn keys(&self, _: Arc<str>, _: Arc<str>, _: Option<String>, _: usize) -> Kept<'_, Vec<String>> {
        nothing()
    }

    fn change(&self, _: Arc<str>, _: Arc<str>, _: Vec<(String, Option<Vec<u8>>)>, _: Quota) -> Kept<'_, ()> {
        nothing()
    }

    fn increment(&self, _: Arc<str>, _: Arc<str>, _: String, _: u64, _: Quota) -> Kept<'_, u64> {
        nothing()
    }
}
