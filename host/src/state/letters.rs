//! What plugins gave up, on disk.
//!
//! One row for each: what it is about and what went wrong, as JSON. Of an object itself nothing but its labels is written,
//! so no value of a Secret ever is.

mod event;
mod key;

use std::{
    marker::PhantomData,
    sync::Arc,
    time::{Duration, SystemTime},
};

use informer_dispatch::{DeadLetter, DeadLetterStore, Letter, workqueue::DroppedKey};
use informer_types::{Failure, FailureKind};
use redb::{Key, ReadTransaction, TableDefinition, TableError, Value, WriteTransaction};
use serde::{Deserialize, Serialize, de::DeserializeOwned};

use super::{State, StateError};

/// The dead letters of one plugin.
pub type DeadLetters = Letters<DeadLetter>;

/// The keys that one plugin gave up.
pub type DroppedKeys = Letters<DroppedKey>;

/// A letter as it is written down.
pub trait Written: Letter {
    /// By what the rows are found, the plugin first.
    type Place: Key + 'static;
    /// The rest.
    type Row: Serialize + DeserializeOwned;
    /// All rows of this kind, in the shape that they have on disk.
    const TABLE: TableDefinition<'static, Self::Place, &'static [u8]>;

    /// Where the letter is.
    fn place(of: Of<'_>) -> <Self::Place as Value>::SelfType<'_>;

    /// What the letter is about that is there.
    fn of(place: <Self::Place as Value>::SelfType<'_>) -> Of<'_>;

    /// The resource, if it is about one, and the key, in words.
    fn words(id: &Self::Id) -> (String, String);

    /// What is written.
    fn row(&self) -> Self::Row;

    /// None where it was written by a version that knows more.
    fn read(row: Self::Row, of: Of<'_>) -> Option<Self>;
}

/// What a letter is about.
#[derive(Clone, Copy, Debug, Default)]
pub struct Of<'a> {
    plugin: &'a str,
    resource: &'a str,
    key: &'a str,
}

/// Those of one kind and one plugin.
#[derive(Clone, Debug)]
pub struct Letters<L> {
    state: State,
    plugin: Arc<str>,
    kind: PhantomData<fn() -> L>,
}

/// The part of a row that all kinds have.
#[derive(Serialize, Deserialize)]
#[serde(rename_all = "kebab-case")]
pub struct GivenUp {
    attempts: u32,
    kind: String,
    message: String,
    /// Milliseconds since 1970.
    at: u64,
}

// === impl Letters ===

impl<L> Letters<L> {
    /// Those of this plugin, by its name in the configuration.
    pub fn new(state: State, plugin: &str) -> Self {
        Self { state, plugin: plugin.into(), kind: PhantomData }
    }
}

impl<L: Written> DeadLetterStore<L> for Letters<L> {
    type Error = StateError;

    async fn load(&self) -> Result<Vec<L>, StateError> {
        let plugin = Arc::clone(&self.plugin);
        let mut letters = self.state.read(move |transaction| read(transaction, &plugin)).await?;
        letters.sort_by_key(L::at);
        Ok(letters)
    }

    async fn apply(&self, keep: Vec<L>, forget: Vec<L::Id>) -> Result<(), StateError> {
        let plugin = Arc::clone(&self.plugin);
        let written =
            self.state.write(move |transaction| write(transaction, &plugin, &keep, &forget)).await?;
        written.map_err(|never: std::convert::Infallible| match never {})
    }
}

// === impl GivenUp ===

impl GivenUp {
    fn new(attempts: u32, failure: &Failure, at: SystemTime) -> Self {
        let at = at.duration_since(SystemTime::UNIX_EPOCH).unwrap_or_default().as_millis();
        Self {
            attempts,
            kind: failure.kind.to_string(),
            message: failure.message.clone(),
            at: u64::try_from(at).unwrap_or(u64::MAX),
        }
    }

    fn failure(&self) -> Option<Failure> {
        Some(Failure::new(FailureKind::from_word(&self.kind)?, self.message.clone()))
    }

    fn at(&self) -> Option<SystemTime> {
        SystemTime::UNIX_EPOCH.checked_add(Duration::from_millis(self.at))
    }
}

fn read<L: Written>(transaction: &ReadTransaction, plugin: &str) -> Result<Vec<L>, redb::Error> {
    let table = match transaction.open_table(L::TABLE) {
        Ok(table) => table,
        // Nothing was ever written.
        Err(TableError::TableDoesNotExist(_)) => return Ok(Vec::new()),
        Err(error) => return Err(error.into()),
    };
    let mut letters = Vec::new();
    for row in table.range(L::place(Of { plugin, ..Of::default() })..)? {
        let (place, row) = row?;
        let of = L::of(place.value());
        if of.plugin != plugin {
            break;
        }
        let row: Option<L::Row> = serde_json::from_slice(row.value()).ok();
        match row.and_then(|row| L::read(row, of)) {
            Some(letter) => letters.push(letter),
            // It stays where it is.
            None => {
                let Of { resource, key, .. } = of;
                tracing::warn!(plugin, resource, key, "a dead letter on disk cannot be read");
            }
        }
    }
    Ok(letters)
}

fn write<L: Written, E>(
    transaction: &WriteTransaction,
    plugin: &str,
    keep: &[L],
    forget: &[L::Id],
) -> Result<Result<(), E>, redb::Error> {
    let mut table = transaction.open_table(L::TABLE)?;
    for id in forget {
        let (resource, key) = L::words(id);
        table.remove(L::place(Of { plugin, resource: &resource, key: &key }))?;
    }
    for letter in keep {
        let (resource, key) = L::words(letter.id());
        // Texts and numbers: it cannot fail.
        let row = serde_json::to_vec(&letter.row()).unwrap_or_default();
        table.insert(L::place(Of { plugin, resource: &resource, key: &key }), row.as_slice())?;
    }
    Ok(Ok(()))
}

#[cfg(test)]
mod tests;
