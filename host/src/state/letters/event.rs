//! The dead letter of a notification.

use informer_dispatch::{DeadLetter, ObjectRef};
use informer_types::{Cause, Source};
use redb::{TableDefinition, Value};
use serde::{Deserialize, Serialize};

use super::{GivenUp, Of, Written};

const VERBS: [&str; 3] = ["add", "update", "delete"];
const CAUSES: [Cause; 5] = [Cause::Live, Cause::Initial, Cause::Relist, Cause::Resync, Cause::Replay];

/// The value of a row.
#[derive(Serialize, Deserialize)]
#[serde(rename_all = "kebab-case")]
pub struct Row {
    verb: String,
    cause: String,
    uid: Box<str>,
    resource_version: Box<str>,
    labels: Vec<(Box<str>, Box<str>)>,
    #[serde(flatten)]
    given_up: GivenUp,
}

impl Written for DeadLetter {
    /// Plugin, resource and object.
    type Place = (&'static str, &'static str, &'static str);
    type Row = Row;
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

    fn row(&self) -> Row {
        Row {
            verb: self.verb.to_owned(),
            cause: self.cause.to_string(),
            uid: self.uid.clone(),
            resource_version: self.resource_version.clone(),
            labels: self.labels.clone(),
            given_up: GivenUp::new(self.attempts, &self.failure, self.at),
        }
    }

    fn read(row: Row, of: Of<'_>) -> Option<Self> {
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
