//! What the admin endpoint requests from the running host.

use futures::future::BoxFuture;

use super::types::{
    Chosen, DeadLetters, Dropped, ExplainRequest, Explanation, Queues, Replays, Report, Status,
};

/// The running host, as the admin endpoint uses it.
pub trait Probe: Send + Sync + 'static {
    /// Returns why the host is not ready, one sentence each. The list is empty if the host is ready.
    fn unready(&self) -> Vec<String>;

    /// Returns what is wrong although the host serves, one sentence each. The list is empty if all is well.
    fn degraded(&self) -> Vec<String>;

    /// Returns the state of every informer, plugin and queue.
    fn status(&self) -> Status;

    /// Reads the files again, or the component of one plugin, and applies what changed.
    ///
    /// # Errors
    /// The reason why the host takes no reload now.
    fn reload(&self, plugin: Option<String>) -> BoxFuture<'_, Result<Report, String>>;

    /// Changes the log level of a plugin, or the log filter of the host if `plugin` is `None`. `default` restores the
    /// configured level. The change lasts until the next start.
    ///
    /// # Errors
    /// There is no such plugin or level.
    fn set_log_level(&self, plugin: Option<&str>, level: &str) -> Result<(), String>;

    /// Returns the queues of each plugin.
    fn queues(&self) -> Queues;

    /// Returns the chosen dead letters.
    fn dead_letters(&self, chosen: &Chosen) -> DeadLetters;

    /// Replays the chosen dead letters.
    fn replay(&self, chosen: &Chosen) -> Replays;

    /// Drops the chosen dead letters.
    fn drop_dead_letters(&self, chosen: &Chosen) -> Dropped;

    /// Returns where one object stands, and the newest steps of each stage.
    ///
    /// # Errors
    /// No watch serves the resource, or there is no such plugin.
    fn explain(&self, request: &ExplainRequest) -> Result<Explanation, String>;

    /// Returns true if the configuration has a plugin of this name.
    fn has_plugin(&self, name: &str) -> bool;

    /// Returns the metrics as OpenMetrics text.
    fn metrics(&self) -> String;
}
