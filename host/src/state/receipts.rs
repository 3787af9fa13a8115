//! The receipts of plugins, on disk.
//!
//! Each subscription has a number, so that a row has the number, the key of its object, the UID and the version, and no name of a
//! plugin.

use std::{
    collections::{BTreeMap, BTreeSet, HashMap},
    convert::Infallible,
    sync::Arc,
};

use informer_dispatch::{Batch, First, Receipt, Rows, Skip, Write};
use informer_types::{ObjectKey, Source};
use parking_lot::Mutex;
use redb::{ReadTransaction, ReadableTable, Table, TableDefinition, TableError, WriteTransaction};

use super::{State, StateError};

/// The number of each subscription, by the owner and the resource.
const SUBSCRIPTIONS: TableDefinition<'_, (&str, &str), u32> = TableDefinition::new("receipt-subscriptions");

/// The receipts, by the number of the subscription and the key of the object.
const RECEIPTS: TableDefinition<'_, (u32, &str), &[u8]> = TableDefinition::new("receipts");

/// The digest of the component that gave the receipts, by owner.
const COMPONENTS: TableDefinition<'_, &str, &str> = TableDefinition::new("receipt-components");

/// Between the name of a plugin and the UID of its Plugin object.
const UID: char = '\u{1}';

/// The size of a row with its share of the page, about.
const ROW_BYTES: usize = 100;

/// The receipts of one plugin. A Plugin object that was deleted and created anew has other ones.
#[derive(Debug)]
pub struct KeptReceipts {
    state: State,
    /// The name of the plugin, and the UID of its object.
    owner: Arc<str>,
    /// The sizes on disk, by resource. A resource that was not read is absent.
    sizes: Mutex<BTreeMap<Source, Size>>,
}

/// The size of the receipts of some objects.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Size {
    /// The number of objects.
    pub objects: u64,
    /// The bytes of the keys and of the receipts, without the overhead of the database.
    pub bytes: u64,
}

/// Skips whose state before is not the one on disk, by resource.
pub(crate) type Waiting = Vec<(Source, Vec<(ObjectKey, Skip)>)>;

/// The changes of a batch.
#[derive(Debug, Default)]
struct Written {
    sizes: BTreeMap<Source, Size>,
    waiting: Waiting,
}

// === impl KeptReceipts ===

impl KeptReceipts {
    /// The receipts of this plugin; `uid` is that of its Plugin object, and empty for a plugin of a file.
    pub fn new(state: State, plugin: &str, uid: &str) -> Self {
        let owner = if uid.is_empty() { plugin.into() } else { format!("{plugin}{UID}{uid}") };
        Self { state, owner: owner.into(), sizes: Mutex::default() }
    }

    /// Reads the receipts of a resource. A row of a newer version of the host, which cannot be read, is left out.
    ///
    /// # Errors
    /// [`StateError`] if the database does not work.
    ///
    /// # Blocking
    /// It reads from disk.
    pub fn load(&self, source: &Source) -> Result<HashMap<ObjectKey, Receipt>, StateError> {
        let (receipts, size) =
            self.state.read_blocking(|transaction| read(transaction, &self.owner, source))?;
        self.sizes.lock().insert(source.clone(), size);
        Ok(receipts)
    }

    /// The digest of the component that gave the receipts. Returns `None` if none did.
    ///
    /// # Errors
    /// [`StateError`] if the database does not work.
    ///
    /// # Blocking
    /// It reads from disk.
    pub fn component(&self) -> Result<Option<String>, StateError> {
        self.state.read_blocking(|transaction| {
            let table = match transaction.open_table(COMPONENTS) {
                Ok(table) => table,
                Err(TableError::TableDoesNotExist(_)) => return Ok(None),
                Err(error) => return Err(error.into()),
            };
            Ok(table.get(&*self.owner)?.map(|digest| digest.value().to_owned()))
        })
    }

    /// Writes a batch, all of it or nothing. Returns the skips that were not written, because another state is on disk.
    ///
    /// # Errors
    /// [`StateError`] if the database does not work.
    ///
    /// # Cancel safety
    /// As [`State::write`].
    pub(crate) async fn write(&self, batch: &Arc<Batch>) -> Result<Waiting, StateError> {
        if batch.rows.is_empty() && batch.component.is_none() && !self.has_others(&batch.only).await? {
            return Ok(Vec::new());
        }
        let rows: usize = batch.rows.iter().map(|rows| rows.writes.len()).sum();
        let (owner, sizes, only) = (Arc::clone(&self.owner), self.sizes.lock().clone(), batch.only.clone());
        let batch = Arc::clone(batch);
        let written = self.state.write(&self.owner, rows * ROW_BYTES, move |transaction| {
            Ok(Ok::<_, Infallible>(write(transaction, &owner, &batch, sizes)?))
        });
        let Ok(Written { sizes, waiting }) = written.await?;
        let mut own = self.sizes.lock();
        if let Some(only) = &only {
            own.retain(|source, _| only.contains(source));
        }
        own.extend(sizes);
        Ok(waiting)
    }

    /// Returns true if rows of other subscriptions than these are on disk.
    async fn has_others(&self, only: &Option<BTreeSet<Source>>) -> Result<bool, StateError> {
        let (owner, only) = (Arc::clone(&self.owner), only.clone().unwrap_or_default());
        self.state.read(move |transaction| has_others(transaction, &owner, &only)).await
    }

    /// The size on disk, all resources together.
    pub fn size(&self) -> Size {
        let sizes = self.sizes.lock();
        let sum = |of: fn(&Size) -> u64| sizes.values().map(of).sum();
        Size { objects: sum(|size| size.objects), bytes: sum(|size| size.bytes) }
    }
}

// === impl Size ===

impl Size {
    fn of(key: &str, row: &[u8]) -> u64 {
        (size_of::<u32>() + key.len() + row.len()) as u64
    }

    fn add(&mut self, key: &str, row: &[u8]) {
        self.objects += 1;
        self.bytes += Self::of(key, row);
    }

    fn subtract(&mut self, key: &str, row: &[u8]) {
        self.objects = self.objects.saturating_sub(1);
        self.bytes = self.bytes.saturating_sub(Self::of(key, row));
    }
}

fn read(
    transaction: &ReadTransaction,
    owner: &str,
    source: &Source,
) -> Result<(HashMap<ObjectKey, Receipt>, Size), redb::Error> {
    let (mut receipts, mut size) = (HashMap::new(), Size::default());
    let tables = (transaction.open_table(SUBSCRIPTIONS), transaction.open_table(RECEIPTS));
    let (subscriptions, rows) = match tables {
        (Ok(subscriptions), Ok(rows)) => (subscriptions, rows),
        // Nothing was ever written.
        (Err(TableError::TableDoesNotExist(_)), _) | (_, Err(TableError::TableDoesNotExist(_))) => {
            return Ok((receipts, size));
        }
        (Err(error), _) | (_, Err(error)) => return Err(error.into()),
    };
    let Some(number) = subscriptions.get((owner, source.to_string().as_str()))?.map(|number| number.value())
    else {
        return Ok((receipts, size));
    };
    for row in rows.range((number, "")..)? {
        let (place, row) = row?;
        let (of, key) = place.value();
        if of != number {
            break;
        }
        size.add(key, row.value());
        match key.parse().ok().zip(Receipt::read(row.value())) {
            Some((key, receipt)) => {
                receipts.insert(key, receipt);
            }
            None => tracing::warn!(resource = %source, key, "a receipt on disk cannot be read"),
        }
    }
    Ok((receipts, size))
}

fn has_others(
    transaction: &ReadTransaction,
    owner: &str,
    only: &BTreeSet<Source>,
) -> Result<bool, redb::Error> {
    let name = owner.split(UID).next().unwrap_or_default();
    let subscriptions = match transaction.open_table(SUBSCRIPTIONS) {
        Ok(table) => subscriptions_of(&table, name)?,
        Err(TableError::TableDoesNotExist(_)) => Vec::new(),
        Err(error) => return Err(error.into()),
    };
    let versions = match transaction.open_table(COMPONENTS) {
        Ok(table) => versions_of(&table, name)?,
        Err(TableError::TableDoesNotExist(_)) => Vec::new(),
        Err(error) => return Err(error.into()),
    };
    let is_kept = |resource: &str| only.iter().any(|source| source.to_string() == resource);
    let has_subscription = subscriptions.iter().any(|(other, resource)| other != owner || !is_kept(resource));
    Ok(has_subscription || versions.iter().any(|other| other != owner || only.is_empty()))
}

/// The owner and the resource of each subscription of a plugin, whatever the UID of its object.
fn subscriptions_of(
    table: &impl ReadableTable<(&'static str, &'static str), u32>,
    plugin: &str,
) -> Result<Vec<(String, String)>, redb::Error> {
    let mut subscriptions = Vec::new();
    for row in table.range((plugin, "")..)? {
        let (place, _) = row?;
        let (owner, resource) = place.value();
        if !owner.starts_with(plugin) {
            break;
        }
        if is_of(owner, plugin) {
            subscriptions.push((owner.to_owned(), resource.to_owned()));
        }
    }
    Ok(subscriptions)
}

/// The owner of each recorded version of a plugin, whatever the UID of its object.
fn versions_of(
    table: &impl ReadableTable<&'static str, &'static str>,
    plugin: &str,
) -> Result<Vec<String>, redb::Error> {
    let mut owners = Vec::new();
    for row in table.range(plugin..)? {
        let (owner, _) = row?;
        let owner = owner.value();
        if !owner.starts_with(plugin) {
            break;
        }
        if is_of(owner, plugin) {
            owners.push(owner.to_owned());
        }
    }
    Ok(owners)
}

/// Returns true if the owner is the plugin of this name, whatever the UID of its object.
fn is_of(owner: &str, plugin: &str) -> bool {
    owner.strip_prefix(plugin).is_some_and(|rest| rest.is_empty() || rest.starts_with(UID))
}

/// Deletes the receipts of a plugin, whatever the UID of its object.
pub(super) fn forget(transaction: &WriteTransaction, plugin: &str) -> Result<(), redb::Error> {
    forget_owners(transaction, plugin, |_| true)
}

fn write(
    transaction: &WriteTransaction,
    owner: &str,
    batch: &Batch,
    mut sizes: BTreeMap<Source, Size>,
) -> Result<Written, redb::Error> {
    if let Some(only) = &batch.only {
        // Removes the receipts of earlier Plugin objects of the same name, whose deletion the host did not see.
        let name = owner.split(UID).next().unwrap_or_default();
        forget_owners(transaction, name, |other| other != owner)?;
        let stays = |resource: &str| only.iter().any(|source| source.to_string() == resource);
        forget_resources(transaction, owner, |resource| !stays(resource))?;
    }
    if batch.only.as_ref().is_some_and(BTreeSet::is_empty) {
        // No subscription has receipts any more.
        transaction.open_table(COMPONENTS)?.remove(owner)?;
    } else if let Some(component) = &batch.component {
        transaction.open_table(COMPONENTS)?.insert(owner, &**component)?;
    }
    let mut waiting = Vec::new();
    for Rows { source, first, writes } in &batch.rows {
        let number = number(transaction, owner, source)?;
        let mut table = transaction.open_table(RECEIPTS)?;
        let mut size = match sizes.get(source) {
            Some(size) => *size,
            None => measure(&table, number)?,
        };
        begin(&mut table, number, *first, &mut size)?;
        let skips = write_rows(&mut table, number, writes, &mut size)?;
        if !skips.is_empty() {
            waiting.push((source.clone(), skips));
        }
        sizes.insert(source.clone(), size);
    }
    Ok(Written { sizes, waiting })
}

type Receipts<'t> = Table<'t, (u32, &'static str), &'static [u8]>;

fn write_rows(
    table: &mut Receipts<'_>,
    number: u32,
    writes: &[(ObjectKey, Write)],
    size: &mut Size,
) -> Result<Vec<(ObjectKey, Skip)>, redb::Error> {
    let mut waiting = Vec::new();
    for (key, write) in writes {
        let text = key.to_string();
        let place = (number, text.as_str());
        let before = table.get(place)?.map(|row| row.value().to_vec());
        let receipt = match write {
            Write::Gone => None,
            Write::State(receipt) => Some(receipt),
            Write::Begun(receipt) if before.is_none() => Some(receipt),
            Write::Begun(_) => continue,
            Write::Skip(skip) if before.as_deref() == Some(skip.from.bytes()) => Some(&skip.to),
            Write::Skip(skip) => {
                waiting.push((key.clone(), skip.clone()));
                continue;
            }
        };
        if before.as_deref() == receipt.map(Receipt::bytes) {
            continue;
        }
        before.iter().for_each(|before| size.subtract(&text, before));
        match receipt {
            Some(receipt) => {
                size.add(&text, receipt.bytes());
                table.insert(place, receipt.bytes())?;
            }
            None => {
                table.remove(place)?;
            }
        }
    }
    Ok(waiting)
}

/// Prepares the table for the rows of a batch.
fn begin(table: &mut Receipts<'_>, number: u32, first: First, size: &mut Size) -> Result<(), redb::Error> {
    match first {
        First::Keep => {}
        First::Remove => {
            *size = Size::default();
            table.retain_in(of(number), |_, _| false)?;
        }
        First::Stale => {
            *size = Size::default();
            let mut stale = Vec::new();
            for row in table.range(of(number))? {
                let (place, row) = row?;
                let receipt = Receipt::read(row.value()).map(|receipt| receipt.stale());
                stale.extend(receipt.map(|receipt| (place.value().1.to_owned(), receipt)));
            }
            for (key, receipt) in stale {
                size.add(&key, receipt.bytes());
                table.insert((number, key.as_str()), receipt.bytes())?;
            }
        }
    }
    Ok(())
}

fn measure(table: &Receipts<'_>, number: u32) -> Result<Size, redb::Error> {
    let mut size = Size::default();
    for row in table.range(of(number))? {
        let (place, row) = row?;
        size.add(place.value().1, row.value());
    }
    Ok(size)
}

/// The places of the rows with this number.
fn of(number: u32) -> std::ops::RangeInclusive<(u32, &'static str)> {
    // A key has no character above this one.
    (number, "")..=(number, "\u{10ffff}")
}

/// The number of a subscription, a new one if it has none.
fn number(transaction: &WriteTransaction, owner: &str, source: &Source) -> Result<u32, redb::Error> {
    let mut table = transaction.open_table(SUBSCRIPTIONS)?;
    let resource = source.to_string();
    if let Some(number) = table.get((owner, resource.as_str()))? {
        return Ok(number.value());
    }
    let mut used = BTreeSet::new();
    for row in table.iter()? {
        used.insert(row?.1.value());
    }
    let number = (0..).find(|number| !used.contains(number)).unwrap_or_default();
    table.insert((owner, resource.as_str()), number)?;
    Ok(number)
}

/// Removes the receipts of the owners with this plugin that `goes` selects, and the recorded versions of these owners.
fn forget_owners(
    transaction: &WriteTransaction,
    plugin: &str,
    goes: impl Fn(&str) -> bool,
) -> Result<(), redb::Error> {
    let subscriptions = subscriptions_of(&transaction.open_table(SUBSCRIPTIONS)?, plugin)?;
    // A version is written before its first receipt, so an owner may have a version and no subscription.
    let versions = versions_of(&transaction.open_table(COMPONENTS)?, plugin)?;
    let owners = subscriptions.into_iter().map(|(owner, _)| owner).chain(versions);
    let owners: BTreeSet<String> = owners.filter(|owner| goes(owner)).collect();
    for owner in &owners {
        forget_resources(transaction, owner, |_| true)?;
        transaction.open_table(COMPONENTS)?.remove(owner.as_str())?;
    }
    Ok(())
}

/// Removes the receipts of the resources of an owner that `goes` selects.
fn forget_resources(
    transaction: &WriteTransaction,
    owner: &str,
    goes: impl Fn(&str) -> bool,
) -> Result<(), redb::Error> {
    let mut table = transaction.open_table(SUBSCRIPTIONS)?;
    let mut gone = Vec::new();
    for row in table.range((owner, "")..)? {
        let (place, number) = row?;
        let (of, resource) = place.value();
        if of != owner {
            break;
        }
        if goes(resource) {
            gone.push((resource.to_owned(), number.value()));
        }
    }
    for (resource, number) in gone {
        transaction.open_table(RECEIPTS)?.retain_in(of(number), |_, _| false)?;
        table.remove((owner, resource.as_str()))?;
    }
    Ok(())
}

#[cfg(test)]
mod tests;
