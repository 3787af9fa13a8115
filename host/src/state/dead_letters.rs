//! The dead letters of the plugins, on disk.
//!
//! One row for each: what identifies the object and what went wrong, as JSON. Of the object itself nothing but its labels
//! is written, so no value of a Secret ever is.

use std::{
    sync::Arc,
    time::{Duration, SystemTime},
};

use informer_dispatch::{DeadLetter, DeadLetterStore, ObjectRef};
use informer_types::{Cause, Failure, FailureKind, Gvr, ObjectKey, Source};
use redb::{ReadTransaction, TableDefinition, TableError, WriteTransaction};
use serde::{Deserialize, Serialize};

use super::{State, StateError};

/// By plugin, resource and object.
const TABLE: TableDefinition<'_, (&str, &str, &str), &[u8]> = TableDefinition::new("dead-letters");

const VERBS: [&str; 3] = ["add", "update", "delete"];
const CAUSES: [Cause; 5] = [Cause::Live, Cause::Initial, Cause::Relist, Cause::Resync, Cause::Replay];

/// Those of one plugin.
#[derive(Clone, Debug)]
pub struct DeadLetters {
    state: State,
    plugin: Arc<str>,
}

/// A row.
#[derive(Serialize, Deserialize)]
#[serde(rename_all = "kebab-case")]
struct Row {
    verb: String,
    cause: String,
    uid: Box<str>,
    resource_version: Box<str>,
    labels: Vec<(Box<str>, Box<str>)>,
    attempts: u32,
    kind: String,
    message: String,
    /// Milliseconds since 1970.
    at: u64,
}

// === impl DeadLetters ===

impl DeadLetters {
    /// Those of this plugin, by its name in the configuration.
    pub fn new(state: State, plugin: &str) -> Self {
        Self { state, plugin: plugin.into() }
    }
}

impl DeadLetterStore for DeadLetters {
    type Error = StateError;

    async fn load(&self) -> Result<Vec<DeadLetter>, StateError> {
        let plugin = Arc::clone(&self.plugin);
        let mut letters = self.state.read(move |transaction| read(transaction, &plugin)).await?;
        letters.sort_by_key(|letter| letter.at);
        Ok(letters)
    }

    async fn apply(&self, keep: Vec<DeadLetter>, forget: Vec<ObjectRef>) -> Result<(), StateError> {
        let plugin = Arc::clone(&self.plugin);
        let written =
            self.state.write(move |transaction| write(transaction, &plugin, &keep, &forget)).await?;
        written.map_err(|never: std::convert::Infallible| match never {})
    }
}

// === impl Row ===

impl Row {
    fn new(letter: &DeadLetter) -> Self {
        let at = letter.at.duration_since(SystemTime::UNIX_EPOCH).unwrap_or_default().as_millis();
        Self {
            verb: letter.verb.to_owned(),
            cause: letter.cause.to_string(),
            uid: letter.uid.clone(),
            resource_version: letter.resource_version.clone(),
            labels: letter.labels.clone(),
            attempts: letter.attempts,
            kind: letter.failure.kind.to_string(),
            message: letter.failure.message.clone(),
            at: u64::try_from(at).unwrap_or(u64::MAX),
        }
    }

    /// None where it was written by a version that knows more.
    fn letter(self, gvr: &str, key: &str) -> Option<DeadLetter> {
        let (gvr, key): (Gvr, ObjectKey) = (gvr.parse().ok()?, key.parse().ok()?);
        let kind = FailureKind::from_word(&self.kind)?;
        Some(DeadLetter {
            object: ObjectRef { source: Source::new(gvr), key },
            verb: VERBS.into_iter().find(|verb| *verb == self.verb)?,
            cause: CAUSES.into_iter().find(|cause| cause.as_str() == self.cause)?,
            uid: self.uid,
            resource_version: self.resource_version,
            labels: self.labels,
            attempts: self.attempts,
            failure: Failure::new(kind, self.message),
            at: SystemTime::UNIX_EPOCH.checked_add(Duration::from_millis(self.at))?,
        })
    }
}

fn read(transaction: &ReadTransaction, plugin: &str) -> Result<Vec<DeadLetter>, redb::Error> {
    let table = match transaction.open_table(TABLE) {
        Ok(table) => table,
        // Nothing was ever written.
        Err(TableError::TableDoesNotExist(_)) => return Ok(Vec::new()),
        Err(error) => return Err(error.into()),
    };
    let mut letters = Vec::new();
    for row in table.range((plugin, "", "")..)? {
        let (place, row) = row?;
        let (of, gvr, key) = place.value();
        if of != plugin {
            break;
        }
        let row: Option<Row> = serde_json::from_slice(row.value()).ok();
        match row.and_then(|row| row.letter(gvr, key)) {
            Some(letter) => letters.push(letter),
            // It stays where it is.
            None => tracing::warn!(plugin, resource = gvr, key, "a dead letter on disk cannot be read"),
        }
    }
    Ok(letters)
}

fn write<E>(
    transaction: &WriteTransaction,
    plugin: &str,
    keep: &[DeadLetter],
    forget: &[ObjectRef],
) -> Result<Result<(), E>, redb::Error> {
    let mut table = transaction.open_table(TABLE)?;
    for ObjectRef { source, key } in forget {
        table.remove((plugin, source.to_string().as_str(), key.to_string().as_str()))?;
    }
    for letter in keep {
        let ObjectRef { source, key } = &letter.object;
        // Texts and numbers: it cannot fail.
        let row = serde_json::to_vec(&Row::new(letter)).unwrap_or_default();
        let place = (source.to_string(), key.to_string());
        table.insert((plugin, place.0.as_str(), place.1.as_str()), row.as_slice())?;
    }
    Ok(Ok(()))
}

#[cfg(test)]
mod tests {
    use tempfile::TempDir;

    use super::*;

    fn letter(gvr: &str, key: &str, kind: FailureKind, at: u64) -> DeadLetter {
        DeadLetter {
            object: ObjectRef { source: Source::new(gvr.parse().unwrap()), key: key.parse().unwrap() },
            verb: "delete",
            cause: Cause::Relist,
            uid: "u-1".into(),
            resource_version: "17".into(),
            labels: vec![("app".into(), "web".into())],
            attempts: 3,
            failure: Failure::new(kind, "no\nway"),
            at: SystemTime::UNIX_EPOCH + Duration::from_millis(at),
        }
    }

    #[tokio::test]
    async fn what_is_kept_is_there_after_a_restart_the_oldest_first_and_each_plugin_has_its_own() {
        let directory = TempDir::new().unwrap();
        let letters: Vec<DeadLetter> = FailureKind::ALL
            .into_iter()
            .zip(0..)
            .map(|(kind, n)| letter("apps/v1/deployments", &format!("shop/{}", 9 - n), kind, n))
            .chain([letter("v1/nodes", "node-1", FailureKind::Trap, 99)])
            .collect();
        {
            let state = State::open(Some(directory.path()));
            DeadLetters::new(state.clone(), "b").apply(letters.clone(), Vec::new()).await.unwrap();
            DeadLetters::new(state, "a").apply(letters[..1].to_vec(), Vec::new()).await.unwrap();
        }

        let state = State::open(Some(directory.path()));

        let b = DeadLetters::new(state.clone(), "b");
        assert_eq!(b.load().await.unwrap(), letters);
        assert_eq!(DeadLetters::new(state.clone(), "a").load().await.unwrap(), letters[..1]);
        assert_eq!(DeadLetters::new(state, "c").load().await.unwrap(), []);
        b.apply(Vec::new(), letters[1..].iter().map(|letter| letter.object.clone()).collect()).await.unwrap();
        assert_eq!(b.load().await.unwrap(), letters[..1]);
    }

    #[tokio::test]
    async fn a_row_that_cannot_be_read_is_passed_over_and_stays() {
        let state = State::open(None);
        let letters = DeadLetters::new(state.clone(), "a");
        letters.apply(vec![letter("v1/pods", "shop/web", FailureKind::Trap, 1)], Vec::new()).await.unwrap();
        let odd = |transaction: &WriteTransaction| {
            transaction.open_table(TABLE)?.insert(("a", "v1/pods", "shop/odd"), b"{}".as_slice())?;
            Ok(Ok::<(), ()>(()))
        };
        state.write_blocking(odd).unwrap().unwrap();

        assert_eq!(letters.load().await.unwrap().len(), 1);
        assert_eq!(letters.load().await.unwrap().len(), 1);
    }

    #[tokio::test]
    async fn a_database_that_is_locked_says_so() {
        let directory = TempDir::new().unwrap();
        let _other = State::open(Some(directory.path()));

        let letters = DeadLetters::new(State::open(Some(directory.path())), "a");

        assert!(matches!(letters.load().await, Err(StateError::Locked { .. })));
    }
}
