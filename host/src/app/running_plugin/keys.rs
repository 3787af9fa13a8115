//! The plugin's own keys: the workqueue, and who reconciles what is in it.

use std::sync::Arc;

use informer_dispatch::workqueue::{RateLimitingQueue, ReconcileHandle, ReconcileLoop};
use parking_lot::Mutex;
use tokio::time::Instant;
use tokio_util::sync::CancellationToken;

use crate::{
    app::settings,
    config::{self, Workqueue},
    wiring::Calls,
};

/// A workqueue with its workers.
pub(super) struct OwnKeys {
    queue: RateLimitingQueue,
    /// Taken at the stop.
    workers: Mutex<Option<ReconcileHandle>>,
}

// === impl OwnKeys ===

impl OwnKeys {
    /// Must be called within a tokio runtime.
    pub(super) fn spawn(
        config: &config::Plugin,
        queue: RateLimitingQueue,
        calls: Arc<Calls>,
        abort: &CancellationToken,
    ) -> Self {
        queue.set_quarantine(settings::queue(config).quarantine);
        let workers = ReconcileLoop::spawn(settings::reconcile(config), queue.clone(), calls, abort);
        Self { queue, workers: Mutex::new(Some(workers)) }
    }

    pub(super) fn queue(&self) -> &RateLimitingQueue {
        &self.queue
    }

    /// Takes on another configuration: what is in the queue stays, with its failures. Where the rate or the backoff is
    /// another one, `burst` may come again at once.
    pub(super) fn configure(&self, old: &config::Plugin, new: &config::Plugin) {
        let (before, now) = (&old.workqueue, &new.workqueue);
        self.queue.set_capacity(now.capacity);
        self.queue.set_quarantine(settings::queue(new).quarantine);
        let waits = |queue: &Workqueue| (queue.min, queue.max, queue.qps, queue.burst);
        if waits(before) != waits(now) {
            self.queue.set_limiter(settings::limiter(now));
        }
        if let Some(workers) = &*self.workers.lock() {
            workers.configure(settings::reconcile(new));
        }
    }

    /// Reconciles what waits, until the deadline. Gives how many keys were left, delayed ones included.
    pub(super) async fn stop(&self, deadline: Instant) -> usize {
        let workers = self.workers.lock().take();
        match workers {
            Some(workers) => workers.drain(deadline.saturating_duration_since(Instant::now())).await,
            None => 0,
        }
    }

    /// Discards what waits. Nobody waits for room any more.
    pub(super) fn close(&self) -> usize {
        self.queue.close()
    }

    /// Discards what waits, and returns once the calls in hand are finished.
    pub(super) async fn remove(&self) {
        let workers = self.workers.lock().take();
        if let Some(workers) = workers {
            workers.remove().await;
        }
    }
}
