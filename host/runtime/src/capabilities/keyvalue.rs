//! `wasi:keyvalue`: what a plugin keeps, by bucket, within the quota of its grant.

mod absent;
pub(crate) mod bucket;
mod source;

use std::sync::Arc;

use wasmtime::component::Resource;

pub use absent::NoKeyValues;
pub use source::{KeyValueError, KeyValueSource, Quota};

use crate::{
    bindings::wasi::keyvalue::{
        atomics, batch,
        store::{self, Error, KeyResponse},
    },
    guest::Guest,
};
use bucket::Bucket;

/// Longer keys and names of buckets are refused.
const NAME_BYTES: usize = 1 << 10;

/// Keys one page of `list-keys` has at most.
const PAGE: usize = 500;

/// Buckets an instance may have open at a time.
const BUCKETS: u32 = 64;

/// The outer error is a trap.
type Answer<T> = wasmtime::Result<Result<T, Error>>;

impl Guest {
    fn bucket(&mut self, handle: &Resource<Bucket>) -> wasmtime::Result<Arc<str>> {
        Ok(self.table().get(handle)?.name())
    }

    fn quota(&self) -> Quota {
        // Without the grant none of this is linked.
        Quota(self.config.grants.keyvalue.unwrap_or_default())
    }

    async fn read(&mut self, handle: &Resource<Bucket>, keys: Vec<String>) -> Answer<Vec<Option<Vec<u8>>>> {
        let bucket = self.bucket(handle)?;
        if let Err(refused) = keys.iter().try_for_each(|key| fits(key)) {
            return Ok(Err(refused));
        }
        let (source, plugin) = (Arc::clone(&self.sources.keyvalue), Arc::clone(&self.config.name));
        let read = source.get(plugin, bucket, keys, self.config.limits.response_bytes).await;
        Ok(self.counted(read, false))
    }

    /// Sets what has a value, and deletes the rest.
    async fn change(
        &mut self,
        handle: &Resource<Bucket>,
        changes: Vec<(String, Option<Vec<u8>>)>,
    ) -> Answer<()> {
        let bucket = self.bucket(handle)?;
        if let Err(refused) = changes.iter().try_for_each(|(key, _)| fits(key)) {
            return Ok(Err(refused));
        }
        let (source, plugin) = (Arc::clone(&self.sources.keyvalue), Arc::clone(&self.config.name));
        let changed = source.change(plugin, bucket, changes, self.quota()).await;
        Ok(self.counted(changed, true))
    }

    fn counted<T>(&self, done: Result<T, KeyValueError>, write: bool) -> Result<T, Error> {
        self.counters.keyvalue(write, done.as_ref().err());
        done.map_err(Error::from)
    }
}

// === impl Guest ===

impl store::Host for Guest {
    async fn open(&mut self, identifier: String) -> Answer<Resource<Bucket>> {
        if let Err(refused) = fits(&identifier) {
            return Ok(Err(refused));
        }
        if self.buckets >= BUCKETS {
            let message =
                format!("{BUCKETS} buckets are open in this instance: drop those that are done with");
            return Ok(Err(Error::Other(message)));
        }
        let handle = self.table().push(Bucket::new(identifier))?;
        self.buckets += 1;
        Ok(Ok(handle))
    }
}

impl store::HostBucket for Guest {
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
        let (source, plugin) = (Arc::clone(&self.sources.keyvalue), Arc::clone(&self.config.name));
        let exists = source.exists(plugin, bucket, key).await;
        Ok(self.counted(exists, false))
    }

    async fn list_keys(&mut self, handle: Resource<Bucket>, cursor: Option<u64>) -> Answer<KeyResponse> {
        let bucket = self.table().get(&handle)?;
        let name = bucket.name();
        let after = match bucket.after(cursor) {
            Ok(after) => after,
            Err(refused) => return Ok(Err(refused)),
        };
        let (source, plugin) = (Arc::clone(&self.sources.keyvalue), Arc::clone(&self.config.name));
        let keys = source.keys(plugin, name, after, PAGE).await;
        let keys = match self.counted(keys, false) {
            Ok(keys) => keys,
            Err(refused) => return Ok(Err(refused)),
        };
        // A page that is not full is the last one.
        let last = keys.last().filter(|_| keys.len() >= PAGE).cloned();
        let cursor = last.map(|last| self.table().get_mut(&handle).map(|bucket| bucket.cursor(last)));
        Ok(Ok(KeyResponse { keys, cursor: cursor.transpose()? }))
    }

    async fn drop(&mut self, handle: Resource<Bucket>) -> wasmtime::Result<()> {
        self.table().delete(handle)?;
        self.buckets = self.buckets.saturating_sub(1);
        Ok(())
    }
}

impl atomics::Host for Guest {
    async fn increment(&mut self, bucket: Resource<Bucket>, key: String, delta: u64) -> Answer<u64> {
        let bucket = self.bucket(&bucket)?;
        if let Err(refused) = fits(&key) {
            return Ok(Err(refused));
        }
        let (source, plugin) = (Arc::clone(&self.sources.keyvalue), Arc::clone(&self.config.name));
        let sum = source.increment(plugin, bucket, key, delta, self.quota()).await;
        Ok(self.counted(sum, true))
    }
}

impl batch::Host for Guest {
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
    Err(Error::Other(format!("a key or bucket name of {} bytes; at most {NAME_BYTES}", name.len())))
}

impl From<KeyValueError> for Error {
    fn from(error: KeyValueError) -> Self {
        Self::Other(error.to_string())
    }
}
