//! The requests and answers of the admin endpoint: the types that the server, the client and the commands share.
//!
//! The fields have the names of the JSON, in kebab-case. Fields that an answer lacks, because the host has another
//! version, have their defaults; fields that are not listed here are ignored.

mod dead_letters;
mod explain;
mod plugin;
mod record;
mod reload;
mod status;

use serde::{Deserialize, Serialize};

pub use dead_letters::{
    Chosen, DeadLetter, DeadLetters, Dropped, DroppedLetter, LostNotification, Refused, Replayed, Replays,
};
pub use explain::{ExplainRequest, Explanation, OwnKey, PluginExplanation, Step};
pub use plugin::{
    DroppedKey, FailingPull, Plugin, PluginQueue, Pull, Queue, Queues, Receipts, Subscription, Version,
    Workqueue, WorkqueueSummary,
};
pub use record::{RecordRequest, RecordedCall, RecordedObject, Recording};
pub(crate) use reload::Reported;
pub use reload::{Change, ReloadRequest, Report, Verdict};
pub use status::{
    Configuration, Election, Identity, Informer, PluginObjects, RefusedObject, Selector, Status, Trouble,
};

/// The answer to a request that is refused or fails.
#[derive(Clone, Debug, Default, Serialize, Deserialize)]
pub struct Failed {
    /// What is wrong, and what would be right.
    pub error: String,
}

/// The body of `POST /log-level`, and its answer.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "kebab-case", deny_unknown_fields)]
pub struct LogLevelRequest {
    /// Name of the plugin whose lines are filtered; `None` means the log of the host.
    #[serde(default)]
    pub plugin: Option<String>,
    /// A level or `default`. For the host also a whole filter, and `default` restores the configured filter; for a plugin,
    /// `default` lets the filter of the host decide.
    pub level: String,
}
