//! `wasi:keyvalue`: values that a plugin stores by bucket and key, within the quota of its grant.

mod absent;
pub(crate) mod bucket;
mod counters;
mod source;

use std::sync::Arc;

use wasmtime::component::{HasData, Linker, Resource};

pub use absent::NoKeyValues;
pub(crate) use bucket::OpenBuckets;
pub(crate) use counters::KeyValueCounters;
pub use counters::KeyValueStats;
pub use source::{KeyValueError, KeyValueSource, Quota};

use super::interface::{Grant, Interface, Version};
use crate::{
    Grants,
    bindings::wasi::keyvalue::{
        atomics, batch,
        store::{self, Error, KeyResponse},
    },
    guest::Guest,
};
use bucket::Bucket;

/// The longest key, and the longest name of a bucket.
const NAME_BYTES: usize = 1 << 10;

/// The most keys on one page of `list-keys`.
const PAGE: usize = 500;

pub(super) const INTERFACES: &[Interface] = &[
    draft("wasi:keyvalue/store", |linker| {
        store::add_to_linker::<_, Calls<'static>>(linker, |guest| Calls(guest.called()))
    }),
    draft("wasi:keyvalue/atomics", |linker| {
        atomics::add_to_linker::<_, Calls<'static>>(linker, |guest| Calls(guest.called()))
    }),
    draft("wasi:keyvalue/batch", |linker| {
        batch::add_to_linker::<_, Calls<'static>>(linker, |guest| Calls(guest.called()))
    }),
];

/// The outer error is a trap.
type Answer<T> = wasmtime::Result<Result<T, Error>>;

/// A call of the guest to this capability.
struct Calls<'a>(&'a mut Guest);

impl HasData for Calls<'static> {
    type Data<'a> = Calls<'a>;
}

const fn draft(name: &'static str, link: fn(&mut Linker<Guest>) -> wasmtime::Result<()>) -> Interface {
    let grant =
        Grant { example: "keyvalue = \"1MiB\"", is_given: |grants: &Grants| grants.keyvalue.is_some() };
    Interface { name, version: Version::Exactly("0.2.0-draft"), grant: Some(grant), link }
}

// === impl Calls ===

impl Calls<'_> {
    fn bucket(&mut self, handle: &Resource<Bucket>) -> wasmtime::Result<Arc<str>> {
        Ok(self.0.table().get(handle)?.name())
    }

    fn source(&self) -> (Arc<dyn KeyValueSource>, Arc<str>) {
        (Arc::clone(&self.0.sources.keyvalue), Arc::clone(&self.0.config.name))
    }

    fn quota(&self) -> Quota {
        // Without the grant the interfaces are not linked.
        Quota(self.0.config.grants.keyvalue.unwrap_or_default())
    }

    async fn read(&mut self, handle: &Resource<Bucket>, keys: Vec<String>) -> Answer<Vec<Option<Vec<u8>>>> {
        let bucket = self.bucket(handle)?;
        if let Err(refused) = keys.iter().try_for_each(|key| fits(key)) {
            return Ok(Err(refused));
        }
        let (source, plugin) = self.source();
        let read = source.get(plugin, bucket, keys, self.0.config.limits.response_bytes).await;
        Ok(self.counted(read, false))
    }

    /// Sets the keys that have a value, and deletes the others.
    async fn change(
        &mut self,
        handle: &Resource<Bucket>,
        changes: Vec<(String, Option<Vec<u8>>)>,
    ) -> Answer<()> {
        let bucket = self.bucket(handle)?;
        if let Err(refused) = changes.iter().try_for_each(|(key, _)| fits(key)) {
            return Ok(Err(refused));
        }
        let (source, plugin) = self.source();
        let changed = source.change(plugin, bucket, changes, self.quota()).await;
        Ok(self.counted(changed, true))
    }

    fn counted<T>(&self, done: Result<T, KeyValueError>, write: bool) -> Result<T, Error> {
        self.0.counters.keyvalue.ended(write, done.as_ref().err());
        done.map_err(Error::from)
    }
}

impl store::Host for Calls<'_> {
    async fn open(&mut self, identifier: String) -> Answer<Resource<Bucket>> {
        if let Err(refused) = fits(&identifier) {
            return Ok(Err(refused));
        }
        if let Err(refused) = self.0.buckets.check() {
            return Ok(Err(Error::Other(refused)));
        }
        let handle = self.0.table().push(Bucket::new(identifier))?;
        self.0.buckets.opened();
        Ok(Ok(handle))
    }
}

impl store::HostBucket for Calls<'_> {
    async fn get(&mut self, bucket: Resource<Bucket>, key: String) -> Answer<Option<Vec<u8>>> {
        let values = self.read(&bucket, vec![key]).await?;
        Ok(values.map(|values| values.into_iter().next().flatten()))
    }

    async fn set(&mut self, bucket: Resource<Bucket>, key: String, value: Vec<u8>) -> Answer<()> {
        self.change(&bucket, vec![(key, Some(value))]).await
    }

    async fn delete(&mut self, bucket: Resource<Bucket>, key: String) -> Answer<()> {
        self.change(&bucket, vec![(key, None)]).await
    }

    async fn exists(&mut self, bucket: Resource<Bucket>, key: String) -> Answer<bool> {
        let bucket = self.bucket(&bucket)?;
        let (source, plugin) = self.source();
        let exists = source.exists(plugin, bucket, key).await;
        Ok(self.counted(exists, false))
    }

    async fn list_keys(&mut self, handle: Resource<Bucket>, cursor: Option<u64>) -> Answer<KeyResponse> {
        let bucket = self.0.table().get(&handle)?;
        let name = bucket.name();
        let after = match bucket.after(cursor) {
            Ok(after) => after,
            Err(refused) => return Ok(Err(Error::Other(refused))),
        };
        let (source, plugin) = self.source();
        let keys = source.keys(plugin, name, after, PAGE).await;
        let keys = match self.counted(keys, false) {
            Ok(keys) => keys,
            Err(refused) => return Ok(Err(refused)),
        };
        // Only a full page may have another one after it.
        let last = keys.last().filter(|_| keys.len() >= PAGE).cloned();
        let cursor = last.map(|last| self.0.table().get_mut(&handle).map(|bucket| bucket.cursor(last)));
        Ok(Ok(KeyResponse { keys, cursor: cursor.transpose()? }))
    }

    async fn drop(&mut self, handle: Resource<Bucket>) -> wasmtime::Result<()> {
        self.0.table().delete(handle)?;
        self.0.buckets.closed();
        Ok(())
    }
}

impl atomics::Host for Calls<'_> {
    async fn increment(&mut self, bucket: Resource<Bucket>, key: String, delta: u64) -> Answer<u64> {
        let bucket = self.bucket(&bucket)?;
        if let Err(refused) = fits(&key) {
            return Ok(Err(refused));
        }
        let (source, plugin) = self.source();
        let sum = source.increment(plugin, bucket, key, delta, self.quota()).await;
        Ok(self.counted(sum, true))
    }
}

impl batch::Host for Calls<'_> {
    async fn get_many(
        &mut self,
        bucket: Resource<Bucket>,
        keys: Vec<String>,
    ) -> Answer<Vec<Option<(String, Vec<u8>)>>> {
        let values = self.read(&bucket, keys.clone()).await?;
        Ok(values.map(|values| {
            let pair = |(key, value): (String, Option<Vec<u8>>)| value.map(|value| (key, value));
            keys.into_iter().zip(values).map(pair).collect()
        }))
    }

    async fn set_many(&mut self, bucket: Resource<Bucket>, pairs: Vec<(String, Vec<u8>)>) -> Answer<()> {
        self.change(&bucket, pairs.into_iter().map(|(key, value)| (key, Some(value))).collect()).await
    }

    async fn delete_many(&mut self, bucket: Resource<Bucket>, keys: Vec<String>) -> Answer<()> {
        self.change(&bucket, keys.into_iter().map(|key| (key, None)).collect()).await
    }
}

fn fits(name: &str) -> Result<(), Error> {
    if name.len() <= NAME_BYTES {
        return Ok(());
    }
    Err(Error::Other(format!(
        "the name of a key or bucket has {} bytes; at most {NAME_BYTES} are allowed",
        name.len()
    )))
}

impl From<KeyValueError> for Error {
    fn from(error: KeyValueError) -> Self {
        Self::Other(error.to_string())
    }
}
