//! The requests and answers of the admin endpoint: the types that the server, the client and the commands share.
//!
//! The fields have the names of the JSON, in kebab-case. Fields that an answer lacks, because the host has another
//! version, have their defaults; fields that are not listed here are ignored.

mod dead_letters;
mod explain;
mod informer;
mod log_level;
mod plugin;
mod queue;
mod reload;
mod status;
mod workqueue;

use std::time::Duration;

use serde::{Deserialize, Serialize};

pub use dead_letters::{
    Chosen, DeadLetter, DeadLetters, Dropped, DroppedLetter, LostNotification, Refused, Replayed, Replays,
};
pub use explain::{ExplainRequest, Explanation, OwnKey, Place, Standing, Step, StepFields};
pub use informer::{Informer, InformerCounters, LastError, Listener, Reflector, Selector, Trouble};
pub use log_level::LogLevelRequest;
pub use plugin::{Calls, Client, Http, Instances, KeyValue, Plugin, Subscription, Suppressed, Version, When};
pub use queue::{Merged, PluginQueue, Quarantine, Queue, Queues, Reconciler};
pub use reload::{Change, ReloadRequest, Report, Verdict};
pub use status::{Configuration, Status};
pub use workqueue::{DroppedKey, Durations, Workqueue};

/// The answer to a request that is refused or fails.
#[derive(Clone, Debug, Default, Serialize, Deserialize)]
pub struct Failed {
    /// What is wrong, and what would be right.
    pub error: String,
}

/// Whole milliseconds.
pub(crate) fn millis(duration: Duration) -> u64 {
    u64::try_from(duration.as_millis()).unwrap_or(u64::MAX)
}

/// Whole microseconds.
pub(crate) fn micros(duration: Duration) -> u64 {
    u64::try_from(duration.as_micros()).unwrap_or(u64::MAX)
}
