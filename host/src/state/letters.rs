//! Dead letters on disk.
//!
//! Each letter is a row of JSON with its subject and its failure. Labels are the only part of an object that is written, so that no
//! value of a Secret is on disk.

use std::{
    marker::PhantomData,
    sync::Arc,
    time::{Duration, SystemTime},
};

use informer_dispatch::{DeadLetter, DeadLetterStore, Letter, ObjectRef, workqueue::DroppedKey};
use informer_types::{Cause, Failure, FailureKind, Source};
use redb::{Key, ReadTransaction, TableDefinition, TableError, Value, WriteTransaction};
use serde::{Deserialize, Serialize, de::DeserializeOwned};

use super::{State, StateError};

/// The size of a row, about.
const ROW_BYTES: usize = 1 << 10;

const VERBS: [&str; 3] = ["add", "update", "delete"];
const CAUSES: [Cause; 5] = [Cause::Live, Cause::Initial, Cause::Relist, Cause::Resync, Cause::Replay];

/// The dead letters of the notifications of one plugin.
pub type DeadLetters = Letters<DeadLetter>;

/// The dead letters of the keys of one plugin.
pub type DroppedKeys = Letters<DroppedKey>;

/// A kind of letter, as it is written.
pub trait Written: Letter {
    /// The key of a row, which begins with the plugin.
    type Place: Key + 'static;
    /// The value of a row.
    type Row: Serialize + DeserializeOwned;
    /// The table with the rows of this kind.
    const TABLE: TableDefinition<'static, Self::Place, &'static [u8]>;

    /// Returns the key of the row about this subject.
    fn place(of: Of<'_>) -> <Self::Place as Value>::SelfType<'_>;

    /// Returns the subject of the row with this key.
    fn of(place: <Self::Place as Value>::SelfType<'_>) -> Of<'_>;

    /// Returns the resource, or an empty text, and the key.
    fn words(id: &Self::Id) -> (String, String);

    /// Returns the value of the row.
    fn row(&self) -> Self::Row;

    /// Returns `None` if a newer version has written something that this version cannot read.
    fn read(row: Self::Row, of: Of<'_>) -> Option<Self>;
}

/// The subject of a letter.
#[derive(Clone, Copy, Debug, Default)]
pub struct Of<'a> {
    plugin: &'a str,
    resource: &'a str,
    key: &'a str,
}

/// The letters of one kind and one plugin.
#[derive(Clone, Debug)]
pub struct Letters<L> {
    state: State,
    plugin: Arc<str>,
    kind: PhantomData<fn() -> L>,
}

/// The part of a row that both kinds have.
#[derive(Serialize, Deserialize)]
#[serde(rename_all = "kebab-case")]
pub struct GivenUp {
    attempts: u32,
    kind: String,
    message: String,
    /// Time in milliseconds since 1970.
    at: u64,
}

/// The row of a notification.
#[derive(Serialize, Deserialize)]
#[serde(rename_all = "kebab-case")]
pub struct NotificationRow {
    verb: String,
    cause: String,
    uid: Box<str>,
    resource_version: Box<str>,
    labels: Vec<(Box<str>, Box<str>)>,
    #[serde(flatten)]
    given_up: GivenUp,
}

// === impl Letters ===

impl<L> Letters<L> {
    /// The letters of the plugin with this name.
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
        let bytes = (keep.len() + forget.len()) * ROW_BYTES;
        let written = self
            .state
            .write(&self.plugin, bytes, move |transaction| write(transaction, &plugin, &keep, &forget))
            .await?;
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

// === impl DeadLetter, DroppedKey ===

impl Written for DeadLetter {
    /// Plugin, resource and object.
    type Place = (&'static str, &'static str, &'static str);
    type Row = NotificationRow;
    const TABLE: TableDefinition<'static, Self::Place, &'static [u8]> = TableDefinition::new("dead-letters");

    fn place(of: Of<'_>) -> <Self::Place as Value>::SelfType<'_> {
        (of.plugin, of.resource, of.key)
    }

    fn of((plugin, resource, key): <Self::Place as Value>::SelfType<'_>) -> Of<'_> {
        Of { plugin, resource, key }
    }

    fn words(ObjectRef { source, key }: &ObjectRef) -> (String, String) {
        (source.to_string(), key.to_string())
    }

    fn row(&self) -> NotificationRow {
        NotificationRow {
            verb: self.verb.to_owned(),
            cause: self.cause.to_string(),
            uid: self.uid.clone(),
            resource_version: self.resource_version.clone(),
            labels: self.labels.clone(),
            given_up: GivenUp::new(self.attempts, &self.failure, self.at),
        }
    }

    fn read(row: NotificationRow, of: Of<'_>) -> Option<Self> {
        let source = Source::new(of.resource.parse().ok()?);
        Some(Self {
            object: ObjectRef { source, key: of.key.parse().ok()? },
            verb: VERBS.into_iter().find(|verb| *verb == row.verb)?,
            cause: CAUSES.into_iter().find(|cause| cause.as_str() == row.cause)?,
            uid: row.uid,
            resource_version: row.resource_version,
            labels: row.labels,
            attempts: row.given_up.attempts,
            failure: row.given_up.failure()?,
            at: row.given_up.at()?,
        })
    }
}

impl Written for DroppedKey {
    /// Plugin and key.
    type Place = (&'static str, &'static str);
    type Row = GivenUp;
    const TABLE: TableDefinition<'static, Self::Place, &'static [u8]> = TableDefinition::new("dropped-keys");

    fn place(of: Of<'_>) -> <Self::Place as Value>::SelfType<'_> {
        (of.plugin, of.key)
    }

    fn of((plugin, key): <Self::Place as Value>::SelfType<'_>) -> Of<'_> {
        Of { plugin, resource: "", key }
    }

    fn words(key: &Arc<str>) -> (String, String) {
        (String::new(), key.to_string())
    }

    fn row(&self) -> GivenUp {
        GivenUp::new(self.attempts, &self.failure, self.at)
    }

    fn read(row: GivenUp, of: Of<'_>) -> Option<Self> {
        Some(Self { key: of.key.into(), attempts: row.attempts, failure: row.failure()?, at: row.at()? })
    }
}

fn read<L: Written>(transaction: &ReadTransaction, plugin: &str) -> Result<Vec<L>, redb::Error> {
    let table = match transaction.open_table(L::TABLE) {
        Ok(table) => table,
        // No letter was ever written.
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
            // The row stays.
            None => {
                let Of { resource, key, .. } = of;
                tracing::warn!(plugin, resource, key, "a dead letter on disk cannot be read");
            }
        }
    }
    Ok(letters)
}

/// Deletes the letters of one kind of a plugin.
pub(super) fn forget<L: Written>(transaction: &WriteTransaction, plugin: &str) -> Result<(), redb::Error> {
    let after = format!("{plugin}\0");
    let places = L::place(Of { plugin, ..Of::default() })..L::place(Of { plugin: &after, ..Of::default() });
    Ok(transaction.open_table(L::TABLE)?.retain_in(places, |_, _| false)?)
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
        // A row of texts and numbers can always be serialized.
        let row = serde_json::to_vec(&letter.row()).unwrap_or_default();
        table.insert(L::place(Of { plugin, resource: &resource, key: &key }), row.as_slice())?;
    }
    Ok(Ok(()))
}

#[cfg(test)]
mod tests;
