//! The workqueue of a plugin, with its workers.

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

/// The workqueue of a plugin, and the workers that call its reconciler.
pub(super) struct Keys {
    queue: RateLimitingQueue,
    /// `None` once the plugin is stopped.
    workers: Mutex<Option<ReconcileHandle>>,
}

// === impl Keys ===

impl Keys {
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

    /// Applies another configuration. The keys stay, with their failures. If the rate or the backoff changes, `burst` is
    /// available again at once.
    pub(super) fn configure(&self, old: &config::Plugin, new: &config::Plugin) {
        let (before, now) = (&old.workqueue, &new.workqueue);
        self.queue.set_capacity(now.capacity);
        self.queue.set_quarantine(settings::queue(new).quarantine);
        let delays = |queue: &Workqueue| (queue.min, queue.max, queue.qps, queue.burst);
        if delays(before) != delays(now) {
            self.queue.set_limiter(settings::limiter(now));
        }
        if let Some(workers) = &*self.workers.lock() {
            workers.configure(settings::reconcile(new));
        }
    }

    /// Reconciles the keys that wait, until the deadline. Returns the number of keys that are left, delayed keys included.
    pub(super) async fn stop(&self, deadline: Instant) -> usize {
        let workers = self.workers.lock().take();
        match workers {
            Some(workers) => workers.drain(deadline.saturating_duration_since(Instant::now())).await,
            None => 0,
        }
    }

    /// Discards the keys that wait, and ends every wait for room. Returns the number of keys discarded.
    pub(super) fn close(&self) -> usize {
        self.queue.close()
    }

    /// Discards the keys that wait, and returns once the calls in flight have ended.
    pub(super) async fn remove(&self) {
        let workers = self.workers.lock().take();
        if let Some(workers) = workers {
            workers.remove().await;
        }
    }
}
