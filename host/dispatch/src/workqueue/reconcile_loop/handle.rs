//! What the host holds of running workers.

use std::{num::NonZeroUsize, time::Duration};

use tokio::{
    select,
    sync::watch,
    time::{Instant, sleep_until},
};
use tokio_util::{sync::DropGuard, task::TaskTracker};

use super::ReconcileConfig;
use crate::{dispatcher::supervisor::MAX_DRAIN, workqueue::RateLimitingQueue};

/// The running workers of one workqueue. Dropping it ends them at once; [`drain`](Self::drain) and
/// [`remove`](Self::remove) are the orderly ways.
#[derive(Debug)]
pub struct ReconcileHandle {
    queue: RateLimitingQueue,
    config: watch::Sender<ReconcileConfig>,
    tasks: TaskTracker,
    shutdown: DropGuard,
}

// === impl ReconcileHandle ===

impl ReconcileHandle {
    pub(super) fn new(
        queue: RateLimitingQueue,
        config: watch::Sender<ReconcileConfig>,
        tasks: TaskTracker,
        shutdown: DropGuard,
    ) -> Self {
        Self { queue, config, tasks, shutdown }
    }

    /// The queue they take from.
    pub fn queue(&self) -> &RateLimitingQueue {
        &self.queue
    }

    /// Changes how many calls run at a time. A worker that is too many finishes its call first.
    pub fn set_workers(&self, workers: NonZeroUsize) {
        self.config.send_modify(|config| config.workers = workers);
    }

    /// Changes how calls are made from now on. A call in hand is finished and ended as it was begun; its key is not handed
    /// out meanwhile.
    pub fn configure(&self, config: ReconcileConfig) {
        self.config.send_replace(config);
    }

    /// Shuts the queue down (W-5) and reconciles what waits, for at most `within` and at most a day; then drops the calls in
    /// hand. What is delayed is dropped, and so is what would come again; a paused queue hands nothing out. Gives the number of
    /// keys that were dropped or left waiting.
    ///
    /// # Cancel safety
    /// Dropping the future ends the workers at once; the queue is shut down as soon as it was first polled.
    pub async fn drain(self, within: Duration) -> usize {
        let deadline = Instant::now() + within.min(MAX_DRAIN);
        self.queue.shut_down();
        select! {
            biased;
            () = self.tasks.wait() => {}
            () = sleep_until(deadline) => {}
        }
        self.shutdown.disarm().cancel();
        self.tasks.wait().await;
        let stats = self.queue.stats();
        stats.keys + usize::try_from(stats.discarded).unwrap_or(usize::MAX)
    }

    /// Removes the plugin (D-10): [closes](RateLimitingQueue::close) the queue, and waits for the calls in hand. Gives the
    /// number of keys that were discarded now.
    ///
    /// # Cancel safety
    /// Dropping the future drops the calls in hand; the queue is closed as soon as it was first polled.
    pub async fn remove(self) -> usize {
        let discarded = self.queue.close();
        self.tasks.wait().await;
        discarded
    }
}
