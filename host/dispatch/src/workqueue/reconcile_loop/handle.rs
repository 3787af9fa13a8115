//! The handle of running workers.

use std::{num::NonZeroUsize, time::Duration};

use super::config::ReconcileConfig;
use crate::{workers::Workers, workqueue::RateLimitingQueue};

/// The running workers of one workqueue. Dropping the handle ends them at once; [`drain`](Self::drain) and
/// [`remove`](Self::remove) end them in order.
#[derive(Debug)]
pub struct ReconcileHandle {
    queue: RateLimitingQueue,
    workers: Workers<ReconcileConfig>,
}

// === impl ReconcileHandle ===

impl ReconcileHandle {
    pub(super) fn new(queue: RateLimitingQueue, workers: Workers<ReconcileConfig>) -> Self {
        Self { queue, workers }
    }

    /// The queue that the workers take from.
    pub fn queue(&self) -> &RateLimitingQueue {
        &self.queue
    }

    /// Changes how many calls run at a time. A surplus worker finishes its call first.
    pub fn set_workers(&self, workers: NonZeroUsize) {
        self.workers.set_count(workers);
    }

    /// Changes how calls are made. A call in flight ends under the configuration it began with; its key is not handed out
    /// meanwhile.
    pub fn configure(&self, config: ReconcileConfig) {
        self.workers.configure(config);
    }

    /// Shuts the queue down (W-5) and reconciles the ready keys, for at most `within` and at most a day. Then drops the calls
    /// in flight. Delayed keys and retries are dropped, and a paused queue hands nothing out. Returns the number of keys that
    /// were dropped or left.
    ///
    /// # Cancel safety
    /// Dropping the future ends the workers at once. The queue is shut down once the future was polled.
    pub async fn drain(self, within: Duration) -> usize {
        self.queue.shut_down();
        // The workers end by themselves when the queue has ended.
        self.workers.drain(within, |_| std::future::pending()).await;
        let stats = self.queue.stats();
        stats.keys + usize::try_from(stats.discarded).unwrap_or(usize::MAX)
    }

    /// Removes the plugin (D-10): [closes](RateLimitingQueue::close) the queue and waits for the calls in flight. Returns the
    /// number of discarded keys.
    ///
    /// # Cancel safety
    /// Dropping the future drops the calls in flight. The queue is closed once the future was polled.
    pub async fn remove(self) -> usize {
        let discarded = self.queue.close();
        self.workers.ended().await;
        discarded
    }
}
