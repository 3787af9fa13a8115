//! The keys that plugins gave up, on disk: one row for each, the key and what went wrong.

use std::{
    sync::Arc,
    time::{Duration, SystemTime},
};

use informer_dispatch::{DeadLetterStore, workqueue::DroppedKey};
use informer_types::{Failure, FailureKind};
use redb::{ReadTransaction, TableDefinition, TableError, WriteTransaction};
use serde::{Deserialize, Serialize};

use super::{State, StateError};

/// By plugin and key.
const TABLE: TableDefinition<'_, (&str, &str), &[u8]> = TableDefinition::new("dropped-keys");

/// Those of one plugin.
#[derive(Clone, Debug)]
pub struct DroppedKeys {
    state: State,
    plugin: Arc<str>,
}

/// A row.
#[derive(Serialize, Deserialize)]
#[serde(rename_all = "kebab-case")]
struct Row {
    attempts: u32,
    kind: String,
    message: String,
    /// Milliseconds since 1970.
    at: u64,
}

// === impl DroppedKeys ===

impl DroppedKeys {
    /// Those of this plugin, by its name in the configuration.
    pub fn new(state: State, plugin: &str) -> Self {
        Self { state, plugin: plugin.into() }
    }
}

impl DeadLetterStore<DroppedKey> for DroppedKeys {
    type Error = StateError;

    async fn load(&self) -> Result<Vec<DroppedKey>, StateError> {
        let plugin = Arc::clone(&self.plugin);
        let mut keys = self.state.read(move |transaction| read(transaction, &plugin)).await?;
        keys.sort_by_key(|key| key.at);
        Ok(keys)
    }

    async fn apply(&self, keep: Vec<DroppedKey>, forget: Vec<Arc<str>>) -> Result<(), StateError> {
        let plugin = Arc::clone(&self.plugin);
        let written =
            self.state.write(move |transaction| write(transaction, &plugin, &keep, &forget)).await?;
        written.map_err(|never: std::convert::Infallible| match never {})
    }
}

// === impl Row ===

impl Row {
    fn new(dropped: &DroppedKey) -> Self {
        let at = dropped.at.duration_since(SystemTime::UNIX_EPOCH).unwrap_or_default().as_millis();
        Self {
            attempts: dropped.attempts,
            kind: dropped.failure.kind.to_string(),
            message: dropped.failure.message.clone(),
            at: u64::try_from(at).unwrap_or(u64::MAX),
        }
    }

    /// None where it was written by a version that knows more.
    fn dropped(self, key: &str) -> Option<DroppedKey> {
        Some(DroppedKey {
            key: key.into(),
            attempts: self.attempts,
            failure: Failure::new(FailureKind::from_word(&self.kind)?, self.message),
            at: SystemTime::UNIX_EPOCH.checked_add(Duration::from_millis(self.at))?,
        })
    }
}

fn read(transaction: &ReadTransaction, plugin: &str) -> Result<Vec<DroppedKey>, redb::Error> {
    let table = match transaction.open_table(TABLE) {
        Ok(table) => table,
        // Nothing was ever written.
        Err(TableError::TableDoesNotExist(_)) => return Ok(Vec::new()),
        Err(error) => return Err(error.into()),
    };
    let mut keys = Vec::new();
    for row in table.range((plugin, "")..)? {
        let (place, row) = row?;
        let (of, key) = place.value();
        if of != plugin {
            break;
        }
        let row: Option<Row> = serde_json::from_slice(row.value()).ok();
        match row.and_then(|row| row.dropped(key)) {
            Some(dropped) => keys.push(dropped),
            // It stays where it is.
            None => tracing::warn!(plugin, key, "a given-up key on disk cannot be read"),
        }
    }
    Ok(keys)
}

fn write<E>(
    transaction: &WriteTransaction,
    plugin: &str,
    keep: &[DroppedKey],
    forget: &[Arc<str>],
) -> Result<Result<(), E>, redb::Error> {
    let mut table = transaction.open_table(TABLE)?;
    for key in forget {
        table.remove((plugin, &**key))?;
    }
    for dropped in keep {
        // Texts and numbers: it cannot fail.
        let row = serde_json::to_vec(&Row::new(dropped)).unwrap_or_default();
        table.insert((plugin, &*dropped.key), row.as_slice())?;
    }
    Ok(Ok(()))
}

#[cfg(test)]
mod tests {
    use tempfile::TempDir;

    use super::*;

    #[tokio::test]
    async fn what_is_kept_is_there_after_a_restart_the_oldest_first_and_each_plugin_has_its_own() {
        let directory = TempDir::new().unwrap();
        let dropped: Vec<DroppedKey> = FailureKind::ALL
            .into_iter()
            .zip(0..)
            .map(|(kind, number)| DroppedKey {
                key: format!("shop/{}", 9 - number).into(),
                attempts: 6,
                failure: Failure::new(kind, "no\nroute"),
                at: SystemTime::UNIX_EPOCH + Duration::from_millis(number),
            })
            .collect();
        {
            let state = State::open(Some(directory.path()));
            DroppedKeys::new(state.clone(), "b").apply(dropped.clone(), Vec::new()).await.unwrap();
            DroppedKeys::new(state, "a").apply(dropped[..1].to_vec(), Vec::new()).await.unwrap();
        }

        let state = State::open(Some(directory.path()));

        let b = DroppedKeys::new(state.clone(), "b");
        assert_eq!(b.load().await.unwrap(), dropped);
        assert_eq!(DroppedKeys::new(state.clone(), "a").load().await.unwrap(), dropped[..1]);
        assert_eq!(DroppedKeys::new(state, "c").load().await.unwrap(), []);
        b.apply(Vec::new(), dropped[1..].iter().map(|dropped| Arc::clone(&dropped.key)).collect())
            .await
            .unwrap();
        assert_eq!(b.load().await.unwrap(), dropped[..1]);
    }
}
