//! The requests of the endpoints to the running host.

use futures::future::BoxFuture;

use super::{
    dashboard::Dashboard,
    types::{
        Chosen, DeadLetters, Dropped, ExplainRequest, Explanation, Identity, Queues, RecordRequest,
        Recording, Replays, Report, Status,
    },
};

/// One check of a probe, in words that any machine may read.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Check {
    /// The subject of the check: `watch v1/pods` or `plugin echo`.
    pub what: String,
    /// The result.
    pub outcome: Outcome,
}

/// The result of a check.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Outcome {
    /// All is well.
    Ok,
    /// Something is wrong although the host serves.
    Impaired(&'static str),
    /// The check fails, and the probe with it.
    Failed(&'static str),
}

// === impl Check ===

impl Check {
    /// Returns true unless the check fails.
    pub(crate) fn passes(&self) -> bool {
        !matches!(self.outcome, Outcome::Failed(_))
    }
}

/// The running host, as the endpoints use it.
pub trait Probe: Dashboard {
    /// Returns which host it is.
    fn identity(&self) -> Identity;

    /// Returns why the host is not ready, one sentence each. The list is empty if the host is ready.
    fn unready(&self) -> Vec<String>;

    /// Returns what is wrong although the host serves, one sentence each. The list is empty if all is well.
    fn degraded(&self) -> Vec<String>;

    /// Returns the checks of liveness. If one fails, only a restart of the process helps.
    fn liveness(&self) -> Vec<Check>;

    /// Returns the checks of readiness: each watch, each plugin, the state and the configuration file. One of them fails if and only
    /// if [`unready`](Self::unready) has a sentence.
    fn readiness(&self) -> Vec<Check>;

    /// Returns the state of every informer, plugin and queue.
    fn status(&self) -> Status;

    /// Reads the files again, or the component of one plugin, and applies what changed.
    ///
    /// # Errors
    /// The reason why the host takes no reload now.
    fn reload(&self, plugin: Option<String>) -> BoxFuture<'_, Result<Report, String>>;

    /// Changes the log level of a plugin, or the log filter of the host if `plugin` is `None`. `default` restores the
    /// configured filter of the host; for a plugin, it lets the filter of the host decide. The change lasts until the next start,
    /// or until the configuration changes the level.
    ///
    /// # Errors
    /// There is no such plugin or level.
    fn set_log_level(&self, plugin: Option<&str>, level: &str) -> Result<(), String>;

    /// Returns the queues of each plugin.
    fn queues(&self) -> Queues;

    /// Returns the full name of a resource that is watched or has dead letters. `name` is the full name, or another name that kubectl
    /// accepts for the resource.
    ///
    /// # Errors
    /// No such resource has the name, or several resources have it.
    fn resource(&self, name: &str) -> Result<String, String>;

    /// Returns the chosen dead letters.
    fn dead_letters(&self, chosen: &Chosen) -> DeadLetters;

    /// Replays the chosen dead letters.
    fn replay(&self, chosen: &Chosen) -> Replays;

    /// Drops the chosen dead letters.
    fn drop_dead_letters(&self, chosen: &Chosen) -> Dropped;

    /// Returns the place of one object in each stage, and its newest steps.
    ///
    /// # Errors
    /// No watch serves the resource, or there is no such plugin.
    fn explain(&self, request: &ExplainRequest) -> Result<Explanation, String>;

    /// Records the calls of a plugin with their objects, until a bound is reached. One recording runs at a time.
    ///
    /// # Errors
    /// There is no such plugin, or another recording runs.
    fn record(&self, request: RecordRequest) -> BoxFuture<'_, Result<Recording, String>>;

    /// Returns true if the configuration has a plugin of this name.
    fn has_plugin(&self, name: &str) -> bool;

    /// Returns the metrics as OpenMetrics text.
    fn metrics(&self) -> String;
}
