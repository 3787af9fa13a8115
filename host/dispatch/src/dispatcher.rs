//! The workers of one plugin.

pub(crate) mod failure_log;
mod handle;
pub(crate) mod supervisor;
mod worker;

use std::{num::NonZeroUsize, sync::Arc};

use informer_types::EventHandler;
use tokio::sync::watch;
use tokio_util::{sync::CancellationToken, task::TaskTracker};
use tracing::{Instrument, info_span};

pub use handle::DispatcherHandle;

use crate::{Queue, RetryConfig};
use failure_log::FailureLog;
use supervisor::{Supervisor, Target};
use worker::Worker;

/// How the notifications of one plugin are delivered.
#[derive(Clone, Debug, PartialEq)]
pub struct DispatchConfig {
    /// The plugin's name, for logs.
    pub plugin: Arc<str>,
    /// Calls at a time, each for another object.
    pub workers: NonZeroUsize,
    /// What a failure leads to.
    pub retry: RetryConfig,
}

/// Takes deliveries from a [`Queue`], makes the calls, and settles them.
///
/// # Promises
/// A call counts as delivered when the handler acknowledged it. One that failed is tried again as
/// [`RetryConfig`] says, or as part of newer state of its object; then it is a dead letter. A handler that
/// panics has failed that call ([`FailureKind::Host`](informer_types::FailureKind::Host)) and nothing else.
#[derive(Debug)]
pub struct Dispatcher;

// === impl Dispatcher ===

impl Dispatcher {
    /// Starts the workers. They run until the handle is dropped or consumed, or `shutdown` is cancelled; then
    /// calls in hand are dropped and what they were about stays in the queue.
    ///
    /// Must be called within a tokio runtime.
    pub fn spawn(
        config: DispatchConfig,
        queue: Queue,
        handler: Arc<impl EventHandler>,
        shutdown: &CancellationToken,
    ) -> DispatcherHandle {
        let span = info_span!("dispatcher", plugin = %config.plugin);
        let (config, target) = watch::channel(config);
        let shutdown = shutdown.child_token();
        let tasks = TaskTracker::new();
        let taken = queue.clone();
        let log = Arc::new(FailureLog::new());
        let hire = move |config: &DispatchConfig| {
            Worker::new(config, taken.clone(), Arc::clone(&handler), Arc::clone(&log))
        };
        let supervisor = Supervisor::new(target, shutdown.clone(), hire);
        tasks.spawn(supervisor.run().instrument(span));
        tasks.close();
        DispatcherHandle::new(queue, config, tasks, shutdown.drop_guard())
    }
}

impl Target for DispatchConfig {
    fn workers(&mut self) -> &mut NonZeroUsize {
        &mut self.workers
    }
}

#[cfg(test)]
mod tests;
