//! What the host holds of a running dispatcher.

use std::{num::NonZeroUsize, time::Duration};

use tokio::{
    select,
    sync::watch,
    time::{Instant, sleep_until},
};
use tokio_util::{sync::DropGuard, task::TaskTracker};

use super::supervisor::MAX_DRAIN;
use crate::{Backlog, DispatchConfig, Queue};

/// The running workers of one plugin. Dropping it ends them as cancelling does; [`drain`](Self::drain) and
/// [`remove`](Self::remove) are the orderly ways.
#[derive(Debug)]
pub struct DispatcherHandle {
    queue: Queue,
    config: watch::Sender<DispatchConfig>,
    tasks: TaskTracker,
    shutdown: DropGuard,
}

// === impl DispatcherHandle ===

impl DispatcherHandle {
    pub(super) fn new(
        queue: Queue,
        config: watch::Sender<DispatchConfig>,
        tasks: TaskTracker,
        shutdown: DropGuard,
    ) -> Self {
        Self { queue, config, tasks, shutdown }
    }

    /// The queue it takes from: counters, dead letters, and the sink of the plugin's listeners.
    pub fn queue(&self) -> &Queue {
        &self.queue
    }

    /// No call starts after this returned, until [`DispatcherHandle::resume`]; calls in hand go on. For the time
    /// in which a plugin has no working version: what is offered meanwhile stays and merges.
    pub fn pause(&self) {
        self.queue.pause();
    }

    /// Ends a pause.
    pub fn resume(&self) {
        self.queue.resume();
    }

    /// Changes how many calls run at a time. A worker that is too many finishes its call first.
    pub fn set_workers(&self, workers: NonZeroUsize) {
        self.config.send_modify(|config| config.workers = workers);
    }

    /// Changes how calls are made from now on. A call in hand is finished and settled as it was begun, beside the
    /// first ones of the new kind; its object is not handed out meanwhile. What waits for its retry waits on.
    pub fn configure(&self, config: DispatchConfig) {
        self.config.send_replace(config);
    }

    /// Delivers what is left, for at most `within` and at most a day, and ends: the orderly shutdown, once nothing more is
    /// offered. It ends sooner when all is delivered, when the rest waits for retries beyond the deadline, or
    /// when the dispatcher is paused. At the deadline calls in hand are dropped.
    ///
    /// Gives what was left. The queue is closed afterwards.
    ///
    /// # Cancel safety
    /// Dropping the future ends the workers at once and leaves the queue as it is.
    pub async fn drain(self, within: Duration) -> Backlog {
        let deadline = Instant::now() + within.min(MAX_DRAIN);
        select! {
            biased;
            // Ended from outside.
            () = self.tasks.wait() => {}
            () = self.queue.quiet(deadline.into_std()) => {}
            () = sleep_until(deadline) => {}
        }
        self.shutdown.disarm().cancel();
        self.tasks.wait().await;
        self.queue.close()
    }

    /// Removes the plugin (D-10): calls in hand are finished, and nothing else is delivered. Gives what was
    /// discarded; a call in hand that failed and would have been tried again is discarded too, and only counted.
    ///
    /// # Cancel safety
    /// Dropping the future drops the calls in hand; the queue is closed as soon as it was first polled.
    pub async fn remove(self) -> Backlog {
        let backlog = self.queue.close();
        self.tasks.wait().await;
        backlog
    }
}
