//! The workers of a controller: W-1.

mod handle;
mod worker;

use std::{
    num::{NonZeroU32, NonZeroUsize},
    sync::Arc,
};

use informer_types::Reconciler;
use tokio::sync::watch;
use tokio_util::{sync::CancellationToken, task::TaskTracker};
use tracing::{Instrument, info_span};

pub use handle::ReconcileHandle;

use super::RateLimitingQueue;
use crate::dispatcher::{
    failure_log::FailureLog,
    supervisor::{Supervisor, Target},
};
use worker::Worker;

/// How the keys of one plugin are reconciled.
#[derive(Clone, Debug, PartialEq)]
pub struct ReconcileConfig {
    /// The plugin's name, for logs.
    pub plugin: Arc<str>,
    /// Calls at a time, each for another key.
    pub workers: NonZeroUsize,
    /// Calls in a row that may fail before a key is given up; none: it is never given up (W-13).
    pub attempts: Option<NonZeroU32>,
}

/// Takes keys from a [`RateLimitingQueue`], makes the calls, and ends them as W-1 says: `Forget` after a success,
/// `AddRateLimited` after a failure, and always `Done`.
///
/// # Promises
/// A reconciler that panics has failed that call ([`FailureKind::Host`](informer_types::FailureKind::Host)) and nothing
/// else.
#[derive(Debug)]
pub struct ReconcileLoop;

// === impl ReconcileLoop ===

impl ReconcileLoop {
    /// Starts the workers. They run until the queue is shut down and empty, the handle is dropped or consumed, or
    /// `shutdown` is cancelled; then calls in hand are dropped and their keys put back.
    ///
    /// Must be called within a tokio runtime.
    pub fn spawn(
        config: ReconcileConfig,
        queue: RateLimitingQueue,
        reconciler: Arc<impl Reconciler>,
        shutdown: &CancellationToken,
    ) -> ReconcileHandle {
        let span = info_span!("workqueue", plugin = %config.plugin);
        let (config, target) = watch::channel(config);
        let shutdown = shutdown.child_token();
        let taken = queue.clone();
        let log = Arc::new(FailureLog::new());
        let hire = move |config: &ReconcileConfig| {
            Worker::new(config.clone(), taken.clone(), Arc::clone(&reconciler), Arc::clone(&log))
        };
        let tasks = TaskTracker::new();
        tasks.spawn(Supervisor::new(target, shutdown.clone(), hire).run().instrument(span));
        tasks.close();
        ReconcileHandle::new(queue, config, tasks, shutdown.drop_guard())
    }
}

impl Target for ReconcileConfig {
    fn workers(&mut self) -> &mut NonZeroUsize {
        &mut self.workers
    }
}
