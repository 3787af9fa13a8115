//! The key-values of plugins.

use std::{
    collections::{BTreeMap, HashMap},
    sync::Arc,
};

use informer_runtime::capabilities::{
    Kept, KeyValueError, KeyValueSource, Place, Quota, entry_cost, write_cost,
};
use parking_lot::Mutex;
use redb::{
    ReadOnlyTable, ReadTransaction, ReadableTable, Table, TableDefinition, TableError, WriteTransaction,
};
use tokio::sync::{OwnedSemaphorePermit, Semaphore};

use super::{State, StateError};
use crate::election::{Leadership, NOT_LEADING};

/// Plugin, bucket and key.
type Key = (&'static str, &'static str, &'static str);

const VALUES: TableDefinition<'_, Key, &[u8]> = TableDefinition::new("keyvalue");

/// The bytes of the keys, values and bucket names of each plugin, so that no write has to count them.
const BYTES: TableDefinition<'_, &str, u64> = TableDefinition::new("keyvalue-bytes");

/// Most reads of all plugins that are in the state at a time: they run, or wait for one of its turns.
const READS: usize = 16;

/// Most reads of one plugin that run or wait for the disk. The reads of all plugins are served first come, first served, so a read waits
/// for at most this number of reads of each other plugin. It is half of the reads that the state runs at a time.
const READS_EACH: usize = 2;

/// Most writes of one plugin that wait for a commit: a disk that hangs keeps no more of them in memory.
const WRITES: usize = 16;

/// The key-values of all plugins of a host, in its [`State`]. Cheap to clone.
#[derive(Clone, Debug)]
pub struct KeyValues {
    state: State,
    reading: Arc<Semaphore>,
    reads: Arc<Places>,
    writes: Arc<Places>,
    leadership: Leadership,
}

/// The same number of places for each plugin.
#[derive(Debug)]
struct Places {
    each: usize,
    by_plugin: Mutex<HashMap<Arc<str>, Arc<Semaphore>>>,
}

/// A transaction that changes one bucket.
struct Change<'t> {
    place: &'t Place,
    values: Table<'t, Key, &'static [u8]>,
    /// Bytes of the plugin before the transaction.
    before: u64,
    /// Bytes of the plugin now.
    bytes: u64,
    /// Most bytes of the plugin.
    quota: u64,
}

// === impl KeyValues ===

impl KeyValues {
    /// The key-values in this state, which has tables for them.
    pub fn new(state: State) -> Self {
        let [reads, writes] = [READS_EACH, WRITES].map(|each| Arc::new(Places::new(each)));
        let (reading, leadership) = (Arc::new(Semaphore::new(READS)), Leadership::unconditional());
        Self { state, reading, reads, writes, leadership }
    }

    /// Nothing is changed while the host does not lead (E-9).
    pub(crate) fn fenced(self, leadership: Leadership) -> Self {
        Self { leadership, ..self }
    }

    async fn read<T: Default + Send + 'static>(
        &self,
        plugin: Arc<str>,
        work: impl FnOnce(&ReadOnlyTable<Key, &'static [u8]>) -> Result<Result<T, KeyValueError>, redb::Error>
        + Send
        + 'static,
    ) -> Result<T, KeyValueError> {
        let place = self.reads.take(&plugin).await;
        // The semaphore is never closed.
        let permit = Arc::clone(&self.reading).acquire_owned().await.ok();
        let read = self.state.read(move |transaction| {
            let _held = (place, permit);
            values(transaction)?.map_or_else(|| Ok(Ok(T::default())), |values| work(&values))
        });
        read.await.map_err(unavailable)?
    }

    /// Changes a bucket. Work that returns an inner error has changed nothing. `cost` is the size of the write, by [`write_cost`].
    async fn write<T: Send + 'static>(
        &self,
        place: Place,
        cost: usize,
        quota: Quota,
        work: impl FnOnce(&mut Change<'_>) -> Result<Result<T, KeyValueError>, redb::Error> + Send + 'static,
    ) -> Result<T, KeyValueError> {
        let plugin = Arc::clone(&place.plugin);
        let own = self.writes.take(&plugin).await;
        let leadership = self.leadership.clone();
        let written = self.state.write(&plugin, cost, move |transaction| {
            let _own = own;
            // This is checked here, because the host may have lost its lease while the write waited for its turn.
            if !leadership.holds() {
                return Ok(Err(KeyValueError::Unavailable(NOT_LEADING)));
            }
            within(transaction, &place, quota, work)
        });
        written.await.map_err(unavailable)?
    }
}

// === impl Places ===

impl Places {
    fn new(each: usize) -> Self {
        Self { each, by_plugin: Mutex::default() }
    }

    /// Waits for a place of the plugin. It is free again when the permit is dropped.
    async fn take(&self, plugin: &Arc<str>) -> Option<OwnedSemaphorePermit> {
        let own = self.of(plugin);
        // The semaphore is never closed.
        own.acquire_owned().await.ok()
    }

    fn of(&self, plugin: &Arc<str>) -> Arc<Semaphore> {
        let mut by_plugin = self.by_plugin.lock();
        if let Some(own) = by_plugin.get(plugin) {
            return Arc::clone(own);
        }
        // Plugins that use no place are forgotten: Plugin objects may have ever new names.
        by_plugin.retain(|_, other| Arc::strong_count(other) > 1);
        let own = Arc::new(Semaphore::new(self.each));
        by_plugin.insert(Arc::clone(plugin), Arc::clone(&own));
        own
    }
}

/// Deletes the key-values of a plugin.
pub(super) fn forget(transaction: &WriteTransaction, plugin: &str) -> Result<(), redb::Error> {
    let after = format!("{plugin}\0");
    transaction.open_table(VALUES)?.retain_in((plugin, "", "")..(after.as_str(), "", ""), |_, _| false)?;
    transaction.open_table(BYTES)?.remove(plugin)?;
    Ok(())
}

impl KeyValueSource for KeyValues {
    fn get(&self, place: Place, keys: Vec<String>, most_bytes: usize) -> Kept<'_, Vec<Option<Vec<u8>>>> {
        let absent = vec![None; keys.len()];
        let read = self.read(Arc::clone(&place.plugin), move |values| {
            let mut left = most_bytes;
            let mut found = Vec::with_capacity(keys.len());
            for key in &keys {
                let value = values.get((&*place.plugin, &*place.bucket, key.as_str()))?;
                let bytes = value.as_ref().map_or(0, |value| value.value().len());
                let Some(still) = left.checked_sub(bytes) else {
                    return Ok(Err(KeyValueError::TooLarge { limit: most_bytes }));
                };
                left = still;
                found.push(value.map(|value| value.value().to_vec()));
            }
            Ok(Ok(found))
        });
        // Without a table, no value was ever written.
        Box::pin(async move { read.await.map(|found| if found.is_empty() { absent } else { found }) })
    }

    fn exists(&self, place: Place, key: String) -> Kept<'_, bool> {
        Box::pin(self.read(Arc::clone(&place.plugin), move |values| {
            Ok(Ok(values.get((&*place.plugin, &*place.bucket, key.as_str()))?.is_some()))
        }))
    }

    fn keys(&self, place: Place, after: Option<String>, most: usize) -> Kept<'_, Vec<String>> {
        Box::pin(self.read(Arc::clone(&place.plugin), move |values| {
            let first = after.as_deref().unwrap_or_default();
            let mut keys = Vec::new();
            for entry in values.range((&*place.plugin, &*place.bucket, first)..)? {
                let (found, _) = entry?;
                let (owner, own, key) = found.value();
                if (owner, own) != (&*place.plugin, &*place.bucket) || keys.len() >= most {
                    break;
                }
                if after.as_deref() != Some(key) {
                    keys.push(key.to_owned());
                }
            }
            Ok(Ok(keys))
        }))
    }

    fn change(&self, place: Place, changes: Vec<(String, Option<Vec<u8>>)>, quota: Quota) -> Kept<'_, ()> {
        let cost = write_cost(&changes);
        Box::pin(self.write(place, cost, quota, move |change| {
            if let Err(exceeded) = change.fits(&changes)? {
                return Ok(Err(exceeded));
            }
            for (key, value) in &changes {
                change.set(key, value.as_deref())?;
            }
            Ok(Ok(()))
        }))
    }

    fn increment(&self, place: Place, key: String, delta: u64, quota: Quota) -> Kept<'_, u64> {
        Box::pin(self.write(place, entry_cost(&key, None), quota, move |change| {
            let Some(sum) = change.number(&key)?.and_then(|number| number.checked_add(delta)) else {
                return Ok(Err(KeyValueError::NotANumber { key }));
            };
            let changed = [(key, Some(sum.to_string().into_bytes()))];
            if let Err(exceeded) = change.fits(&changed)? {
                return Ok(Err(exceeded));
            }
            for (key, value) in &changed {
                change.set(key, value.as_deref())?;
            }
            Ok(Ok(sum))
        }))
    }
}

// === impl Change ===

impl Change<'_> {
    /// Returns an error if these changes would exceed the quota, before the first of them is written.
    fn fits(&self, changes: &[(String, Option<Vec<u8>>)]) -> Result<Result<(), KeyValueError>, redb::Error> {
        let Place { plugin, bucket } = self.place;
        // If a key is there twice, the last change wins.
        let last: BTreeMap<&str, Option<usize>> =
            changes.iter().map(|(key, value)| (key.as_str(), value.as_ref().map(Vec::len))).collect();
        let mut after = self.bytes;
        for (key, new) in last {
            let old = self.values.get((&**plugin, &**bucket, key))?.map(|value| value.value().len());
            let bytes =
                |value: Option<usize>| value.map_or(0, |value| (bucket.len() + key.len() + value) as u64);
            after = after.saturating_sub(bytes(old)).saturating_add(bytes(new));
        }
        Ok(self.within(after))
    }

    /// Returns an error if the plugin would have more bytes than before and more than its quota.
    fn within(&self, after: u64) -> Result<(), KeyValueError> {
        if after > self.quota && after > self.before {
            return Err(KeyValueError::Quota { wanted: after, quota: self.quota });
        }
        Ok(())
    }

    fn set(&mut self, key: &str, value: Option<&[u8]>) -> Result<(), redb::Error> {
        let Place { plugin, bucket } = self.place;
        let named_key = (&**plugin, &**bucket, key);
        let old = match value {
            Some(value) => self.values.insert(named_key, value)?,
            None => self.values.remove(named_key)?,
        };
        let named = bucket.len() + key.len();
        let old = old.map_or(0, |old| named + old.value().len());
        let new = value.map_or(0, |value| named + value.len());
        self.bytes = self.bytes.saturating_sub(old as u64).saturating_add(new as u64);
        Ok(())
    }

    /// Returns the value as a number, 0 if there is no value, and `None` if the value is not a number.
    fn number(&self, key: &str) -> Result<Option<u64>, redb::Error> {
        let Place { plugin, bucket } = self.place;
        let Some(value) = self.values.get((&**plugin, &**bucket, key))? else { return Ok(Some(0)) };
        Ok(std::str::from_utf8(value.value()).ok().and_then(|text| text.parse().ok()))
    }
}

/// Returns the table, or `None` if no value was ever written.
fn values(transaction: &ReadTransaction) -> Result<Option<ReadOnlyTable<Key, &'static [u8]>>, redb::Error> {
    match transaction.open_table(VALUES) {
        Ok(values) => Ok(Some(values)),
        Err(TableError::TableDoesNotExist(_)) => Ok(None),
        Err(error) => Err(error.into()),
    }
}

/// Changes a bucket, and counts the bytes of the plugin. Writes of others may be in the same transaction.
fn within<T>(
    transaction: &WriteTransaction,
    place: &Place,
    Quota(quota): Quota,
    work: impl FnOnce(&mut Change<'_>) -> Result<Result<T, KeyValueError>, redb::Error>,
) -> Result<Result<T, KeyValueError>, redb::Error> {
    let mut bytes = transaction.open_table(BYTES)?;
    let before = bytes.get(&*place.plugin)?.map_or(0, |bytes| bytes.value());
    let mut change = Change { place, values: transaction.open_table(VALUES)?, before, bytes: before, quota };
    let done = work(&mut change)?;
    if done.is_ok() {
        bytes.insert(&*place.plugin, change.bytes)?;
    }
    Ok(done)
}

#[expect(clippy::needless_pass_by_value, reason = "for `map_err`")]
fn unavailable(error: StateError) -> KeyValueError {
    KeyValueError::Unavailable(error.in_short())
}

#[cfg(test)]
mod tests;
