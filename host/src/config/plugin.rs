//! `[[plugin]]`: one component, its subscriptions, and what it may use.

mod limits;
mod queue;
mod retry;
mod subscription;
mod workqueue;

use std::{path::PathBuf, time::Duration};

use informer_dispatch::QuarantineConfig;
use informer_runtime::{Grants, InstancePolicy, LogLevel, TrialConfig};

pub use limits::Limits;
pub use queue::Queue;
pub(super) use queue::{CAPACITY, WORKERS};
pub use retry::Retry;
pub use subscription::{Enqueue, Events, Initial, Relist, Subscription};
pub use workqueue::Workqueue;

/// The configuration of a plugin without `[plugin.config]`.
pub(super) const CONFIG_JSON: &str = "{}";

/// One component. No two have the same name.
#[derive(Clone, Debug, PartialEq)]
pub struct Plugin {
    /// A DNS label.
    pub name: String,
    /// The file of the component, absolute. It exists if [`Components::Present`](super::Components::Present) was
    /// requested.
    pub source: PathBuf,
    /// How long an instance lives.
    pub instance: InstancePolicy,
    /// Never empty; no two have the same resource.
    pub subscriptions: Vec<Subscription>,
    /// The queue of notifications.
    pub queue: Queue,
    /// The queue of keys.
    pub workqueue: Workqueue,
    /// What follows a failed notification.
    pub retry: Retry,
    /// When the host stops calling a plugin that does not work.
    pub quarantine: QuarantineConfig,
    /// How a new version is judged.
    pub reload: TrialConfig,
    /// What a new version receives about existing objects.
    pub on_reload: OnReload,
    /// What the plugin may use.
    pub limits: Limits,
    /// What the plugin may reach.
    pub grants: Grants,
    /// `[plugin.config]` as a JSON object with sorted keys; dates are texts.
    pub config_json: String,
    /// The least severe log lines of the plugin to keep; `None` leaves it to the filter of the host.
    pub log_level: Option<LogLevel>,
    /// Files that extend the configuration by name, and directories of them, absolute. They need not exist.
    pub config_files: Vec<PathBuf>,
}

/// What a new version of a component receives about existing objects.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub enum OnReload {
    /// Nothing: the new version continues where the previous one stopped.
    #[default]
    Keep,
    /// Every object that the subscriptions select, once more, as an addition with cause `replay`.
    Replay,
}

/// The time without a call after which a warm instance ends.
pub(super) fn default_idle_timeout() -> Duration {
    match InstancePolicy::default() {
        InstancePolicy::Warm { idle_timeout, .. } => idle_timeout,
        InstancePolicy::Fresh => Duration::ZERO,
    }
}
