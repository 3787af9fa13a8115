//! The handle of a running dispatcher.

use std::{num::NonZeroUsize, time::Duration};

use super::config::DispatchConfig;
use crate::{Backlog, Queue, workers::Workers};

/// The running workers of one plugin. Dropping the handle ends them at once; [`drain`](Self::drain) and
/// [`remove`](Self::remove) end them in order.
#[derive(Debug)]
pub struct DispatcherHandle {
    queue: Queue,
    workers: Workers<DispatchConfig>,
}

// === impl DispatcherHandle ===

impl DispatcherHandle {
    pub(super) fn new(queue: Queue, workers: Workers<DispatchConfig>) -> Self {
        Self { queue, workers }
    }

    /// The queue that the workers take from: counters, dead letters, and the sink of the plugin's listeners.
    pub fn queue(&self) -> &Queue {
        &self.queue
    }

    /// No call begins after this returned, until [`resume`](Self::resume). Calls in flight continue, and offered notifications
    /// stay pending and merge.
    pub fn pause(&self) {
        self.queue.pause();
    }

    /// Ends a pause.
    pub fn resume(&self) {
        self.queue.resume();
    }

    /// Changes how many calls run at a time. A surplus worker finishes its call first.
    pub fn set_workers(&self, workers: NonZeroUsize) {
        self.workers.set_count(workers);
    }

    /// Changes how calls are made. A call in flight is settled under the configuration it began with, while the first calls
    /// under the new one run; its object is not handed out meanwhile. Retry waits do not change.
    pub fn configure(&self, config: DispatchConfig) {
        self.workers.configure(config);
    }

    /// The orderly shutdown, after the last offer: delivers what is pending, for at most `within` and at most a day. It ends
    /// sooner if everything is delivered, if the rest waits for retries beyond the deadline, or if the dispatcher is paused.
    /// At the deadline calls in flight are dropped.
    ///
    /// Returns what was left. The queue is closed afterwards.
    ///
    /// # Cancel safety
    /// Dropping the future ends the workers at once and leaves the queue as it is.
    pub async fn drain(self, within: Duration) -> Backlog {
        let Self { queue, workers } = self;
        workers.drain(within, |deadline| queue.quiet(deadline.into_std())).await;
        queue.close()
    }

    /// Removes the plugin (D-10): calls in flight are finished, and nothing else is delivered. Returns what was discarded. A
    /// failed call that would have been retried is discarded too, and only counted.
    ///
    /// # Cancel safety
    /// Dropping the future drops the calls in flight. The queue is closed once the future was polled.
    pub async fn remove(self) -> Backlog {
        let backlog = self.queue.close();
        self.workers.ended().await;
        backlog
    }
}
