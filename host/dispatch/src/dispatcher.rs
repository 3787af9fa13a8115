//! The workers of one plugin.

mod config;
mod handle;
mod worker;

use std::sync::Arc;

use informer_types::EventHandler;
use tokio_util::sync::CancellationToken;
use tracing::info_span;

pub use config::DispatchConfig;
pub use handle::DispatcherHandle;

use crate::{
    Queue,
    workers::{FailureLog, Workers},
};
use worker::Worker;

/// Takes deliveries from a [`Queue`], makes the calls, and settles them.
///
/// # Promises
/// A notification is delivered once the handler acknowledged it. A failed call is retried as [`RetryConfig`](crate::RetryConfig) defines, or as part
/// of newer state of its object; then the notification becomes a dead letter. A panic of the handler fails its own call
/// ([`FailureKind::Host`](informer_types::FailureKind::Host)) and has no other effect.
#[derive(Debug)]
pub struct Dispatcher;

// === impl Dispatcher ===

impl Dispatcher {
    /// Starts the workers. They run until the handle is dropped or consumed, or `shutdown` is cancelled. Then calls in flight
    /// are dropped, and their notifications stay in the queue.
    ///
    /// Must be called within a tokio runtime.
    pub fn spawn(
        config: DispatchConfig,
        queue: Queue,
        handler: Arc<impl EventHandler>,
        shutdown: &CancellationToken,
    ) -> DispatcherHandle {
        let span = info_span!("dispatcher", plugin = %config.plugin);
        let (taken, log) = (queue.clone(), Arc::new(FailureLog::new()));
        let hire = move |config: &DispatchConfig| {
            Worker::new(config, taken.clone(), Arc::clone(&handler), Arc::clone(&log))
        };
        DispatcherHandle::new(queue, Workers::spawn(config, span, shutdown, hire))
    }
}

#[cfg(test)]
mod tests;
