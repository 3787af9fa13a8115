//! The workers of a controller (W-1).

mod config;
mod handle;
mod worker;

use std::sync::Arc;

use informer_types::Reconciler;
use tokio_util::sync::CancellationToken;
use tracing::info_span;

pub use config::ReconcileConfig;
pub use handle::ReconcileHandle;

use super::RateLimitingQueue;
use crate::workers::{FailureLog, Workers};
use worker::Worker;

/// Takes keys from a [`RateLimitingQueue`], makes the calls, and ends them: `Forget` after a success, `AddRateLimited` after a
/// failure, and always `Done` (W-1).
///
/// # Promises
/// A panic of the reconciler fails its own call ([`FailureKind::Host`](informer_types::FailureKind::Host)) and has no other
/// effect.
#[derive(Debug)]
pub struct ReconcileLoop;

// === impl ReconcileLoop ===

impl ReconcileLoop {
    /// Starts the workers. They run until the queue has ended, the handle is dropped or consumed, or `shutdown` is cancelled.
    /// Then calls in flight are dropped and their keys put back.
    ///
    /// Must be called within a tokio runtime.
    pub fn spawn(
        config: ReconcileConfig,
        queue: RateLimitingQueue,
        reconciler: Arc<impl Reconciler>,
        shutdown: &CancellationToken,
    ) -> ReconcileHandle {
        let span = info_span!("workqueue", plugin = %config.plugin);
        let (taken, log) = (queue.clone(), Arc::new(FailureLog::new()));
        let hire = move |config: &ReconcileConfig| {
            Worker::new(config.clone(), taken.clone(), Arc::clone(&reconciler), Arc::clone(&log))
        };
        ReconcileHandle::new(queue, Workers::spawn(config, span, shutdown, hire))
    }
}
