//! `[[plugin]]`: one component, what it hears, and what it may use.

mod instance;
mod limits;
mod quarantine;
mod queue;
mod reload;
mod retry;
mod subscription;
pub mod workqueue;

use std::path::PathBuf;

use informer_runtime::{LogLevel, capabilities::HttpGrant};
use informer_types::{ReadGrants, SecretGrants, WriteGrants};

pub use instance::{IDLE_TIMEOUT, Instance};
pub use limits::{
    DEADLINE, HOST_CALLS, HTTP_BODY_BYTES, HTTP_REQUESTS, LOG_BYTES, LOG_LINES, Limits, MEMORY_BYTES,
    METRIC_SERIES, REQUESTS, RESPONSE_BYTES,
};
pub use quarantine::{QUARANTINE_AFTER, QUARANTINE_MAX, QUARANTINE_MIN, Quarantine};
pub use queue::{CAPACITY, Delivery, Queue, Rate, WORKERS};
pub use reload::{OnReload, RETURN_AFTER, Reload, TRIAL};
pub use retry::{ATTEMPTS, BUDGET, FACTOR, JITTER, MAX, MIN, OnExhausted, Retry};
pub use subscription::{Events, Initial, Relist, Subscription};
pub use workqueue::{Enqueue, Workqueue};

/// A plugin without `[plugin.config]` is given an empty object.
pub const CONFIG_JSON: &str = "{}";

/// One component. No two have the same name.
#[derive(Clone, Debug, PartialEq)]
pub struct Plugin {
    /// A DNS label.
    pub name: String,
    /// The component's file, absolute. Not looked at, unless [`Components::Present`](super::Components) was
    /// asked for.
    pub source: PathBuf,
    /// How long an instance lives.
    pub instance: Instance,
    /// Never empty; no two of one resource.
    pub subscriptions: Vec<Subscription>,
    /// Its queue.
    pub queue: Queue,
    /// Its own queue of keys.
    pub workqueue: Workqueue,
    /// What follows a failed call.
    pub retry: Retry,
    /// When it is left alone.
    pub quarantine: Quarantine,
    /// What a new version has to show.
    pub reload: Reload,
    /// What a new version is told.
    pub on_reload: OnReload,
    /// What a call may use.
    pub limits: Limits,
    /// What it may reach. What is not granted is denied.
    pub grants: Grants,
    /// `[plugin.config]` as a JSON object, keys sorted; dates are texts.
    pub config_json: String,
    /// The least serious of its lines that is kept; none: the host's `log` decides.
    pub log_level: Option<LogLevel>,
    /// Files whose texts join the configuration by name, and directories of them; absolute. Not looked at here.
    pub config_files: Vec<PathBuf>,
}

/// What a plugin may reach.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Grants {
    /// The resources it may read; each is watched, but for subresources. None: it may not even import the lister;
    /// empty: it may, and sees nothing.
    pub read: Option<ReadGrants>,
    /// What it may write through the client. None: it may not even import the client; empty: it may, and read live.
    pub write: Option<WriteGrants>,
    /// The Secrets whose values it may see and write.
    pub secrets: SecretGrants,
    /// What it may keep, in bytes of keys, values and names of buckets together; none: it may not even import
    /// `wasi:keyvalue`.
    pub keyvalue: Option<u64>,
    /// Where its HTTP requests may go. None: it may not even import `wasi:http`; empty: it may, and reaches nothing.
    pub http: Option<Vec<HttpGrant>>,
}
