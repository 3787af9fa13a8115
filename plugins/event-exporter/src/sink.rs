//! The kinds of receivers: how each makes requests of Events, and judges the answers.

mod api;
mod common;
mod elastic;
mod loki;
mod messages;
mod stdout;
mod webhook;

use serde_json::{Map, Value};

use crate::table::read;

pub(crate) use api::Sink;
pub(crate) use stdout::Stdout;

/// The place that the Events of a receiver go to.
pub(crate) enum Destination {
    Stdout(Stdout),
    Http(Box<dyn Sink>),
}

/// The receivers of the original that a plugin cannot serve.
const UNREACHABLE: [&str; 14] = [
    "file",
    "syslog",
    "pipe",
    "kinesis",
    "firehose",
    "sqs",
    "sns",
    "opscenter",
    "eventbridge",
    "kafka",
    "pubsub",
    "bigquery",
    "inMemory",
    "prometheus",
];

// === impl Destination ===

impl Destination {
    /// Reads the table of a receiver: `kind` is its key.
    pub(crate) fn new(kind: &str, table: Value) -> Result<Self, String> {
        let table = if table.is_null() { Value::Object(Map::new()) } else { table };
        Ok(match kind {
            "stdout" => Self::Stdout(read(table)?),
            "webhook" => Self::Http(Box::new(read::<webhook::Webhook>(table)?)),
            "loki" => Self::Http(Box::new(read::<loki::Loki>(table)?)),
            "elasticsearch" | "opensearch" => {
                Self::Http(Box::new(read::<elastic::Elastic>(table)?.checked()?))
            }
            "slack" => Self::Http(Box::new(read::<messages::Slack>(table)?)),
            "teams" => Self::Http(Box::new(read::<messages::Teams>(table)?)),
            "opsgenie" => Self::Http(Box::new(read::<messages::Opsgenie>(table)?)),
            kind if UNREACHABLE.contains(&kind) => {
                return Err("a plugin sends HTTP requests only; use stdout, webhook, loki, elasticsearch, \
                            opensearch, slack, teams or opsgenie"
                    .to_owned());
            }
            _ => return Err("there is no such kind of receiver".to_owned()),
        })
    }

    /// Returns false if the receiver does not get an Event again whose count rises.
    pub(crate) fn takes_updates(&self) -> bool {
        match self {
            Self::Stdout(stdout) => stdout.takes_updates(),
            Self::Http(sink) => sink.takes_updates(),
        }
    }

    pub(crate) fn batch(&self) -> usize {
        match self {
            Self::Stdout(_) => 1,
            Self::Http(sink) => sink.batch(),
        }
    }
}

#[cfg(test)]
mod tests;
