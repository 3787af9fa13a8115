//! When calls may be made.

use informer_dispatch::{Queue, workqueue::RateLimitingQueue};
use parking_lot::Mutex;
use tokio::sync::watch;

/// Lets the queues of a plugin hand out only while what it reads is complete (W-1). It is closed at first.
pub(super) struct Gate {
    queue: Queue,
    workqueue: RateLimitingQueue,
    /// One who opens and one who closes agree on who was last.
    state: Mutex<()>,
    /// Counts the times it was closed.
    round: watch::Sender<u64>,
    /// True once it was open; it stays so.
    opened: watch::Sender<bool>,
}

// === impl Gate ===

impl Gate {
    pub(super) fn new(queue: Queue, workqueue: RateLimitingQueue) -> Self {
        queue.pause();
        workqueue.pause();
        let (round, opened) = (watch::Sender::new(0), watch::Sender::new(false));
        Self { queue, workqueue, state: Mutex::new(()), round, opened }
    }

    /// No call begins until it is opened for a later round than this one.
    pub(super) fn close(&self) {
        let _state = self.state.lock();
        self.queue.pause();
        self.workqueue.pause();
        self.round.send_modify(|round| *round += 1);
    }

    /// Which round it is: ask before looking at what decides.
    pub(super) fn round(&self) -> u64 {
        *self.round.borrow()
    }

    /// Opens it, unless it was closed again since this round.
    pub(super) fn open(&self, round: u64) {
        let _state = self.state.lock();
        if self.round() == round {
            self.queue.resume();
            self.workqueue.resume();
            self.opened.send_replace(true);
        }
    }

    /// Returns once it was closed after this round.
    pub(super) async fn closed_since(&self, round: u64) {
        // The sender lives as long as `self`: it cannot be gone. So below.
        self.round.subscribe().wait_for(|now| *now > round).await.ok();
    }

    /// Returns once it was open.
    pub(super) async fn opened(&self) {
        self.opened.subscribe().wait_for(|opened| *opened).await.ok();
    }
}

#[cfg(test)]
mod tests {
    use std::{
        num::{NonZeroU32, NonZeroUsize},
        time::Instant,
    };

    use informer_dispatch::{QueueConfig, workqueue::BucketRateLimiter};
    use informer_types::{
        Body, Cause, Change, Header, Notification, NotificationSink, Object, Source, Workqueue,
    };

    use super::*;

    fn gate() -> (Gate, Queue, RateLimitingQueue) {
        let queue = Queue::new(&QueueConfig::default());
        let object = Object::new(&Header { name: "web".into(), ..Header::default() }, Body::Raw("{}".into()));
        queue.offer(Notification {
            source: Source::new("v1/pods".parse().unwrap()),
            change: Change::Added { object: object.unwrap().into() },
            cause: Cause::Live,
            initial: None,
            observed: Instant::now(),
        });
        let workqueue =
            RateLimitingQueue::new(NonZeroUsize::MIN, BucketRateLimiter::new(1.0, NonZeroU32::MIN));
        workqueue.add("default/web").unwrap();
        (Gate::new(queue.clone(), workqueue.clone()), queue, workqueue)
    }

    #[test]
    fn nothing_is_handed_out_before_it_is_open() {
        let (gate, queue, workqueue) = gate();
        assert!(queue.take().is_none() && workqueue.take().is_none());

        gate.open(gate.round());

        assert!(queue.take().is_some() && workqueue.take().is_some());
    }

    #[test]
    fn who_looked_before_it_was_closed_again_does_not_open_it() {
        let (gate, queue, workqueue) = gate();
        let round = gate.round();

        gate.close();
        gate.open(round);
        assert!(
            queue.take().is_none() && workqueue.take().is_none(),
            "something became incomplete meanwhile"
        );

        gate.open(gate.round());
        assert!(queue.take().is_some() && workqueue.take().is_some());

        // Both were put back.
        gate.close();
        assert!(queue.take().is_none() && workqueue.take().is_none());
    }
}
