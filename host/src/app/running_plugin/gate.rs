//! The gate between the queues of a plugin and its workers.

use informer_dispatch::{Queue, workqueue::RateLimitingQueue};
use parking_lot::Mutex;
use tokio::{select, sync::watch};

/// Pauses the queues of a plugin while a cache that the plugin reads is incomplete (W-1), and while a test of the plugin holds its
/// calls back. The gate is closed at first.
pub(super) struct Gate {
    queue: Queue,
    workqueue: RateLimitingQueue,
    signals: RateLimitingQueue,
    state: Mutex<State>,
    /// The present round. A round ends when the gate closes, and when the plugin may use other caches.
    round: watch::Sender<u64>,
    /// True once the gate was open; it stays true.
    opened: watch::Sender<bool>,
}

/// Calls begin while the gate is open and not held.
struct State {
    is_open: bool,
    is_held: bool,
}

// === impl Gate ===

impl Gate {
    /// `is_held` is true if a test holds the calls back from the start.
    pub(super) fn new(
        (queue, workqueue, signals): (Queue, RateLimitingQueue, RateLimitingQueue),
        is_held: bool,
    ) -> Self {
        let (round, opened) = (watch::Sender::new(0), watch::Sender::new(false));
        let state = State { is_open: false, is_held };
        let gate = Self { queue, workqueue, signals, state: Mutex::new(state), round, opened };
        gate.apply(&gate.state.lock());
        gate
    }

    /// Closes the gate: no call begins until it is opened for the round that begins now.
    pub(super) fn close(&self) {
        let mut state = self.state.lock();
        state.is_open = false;
        self.apply(&state);
        self.round.send_modify(|round| *round += 1);
    }

    /// Begins another round without closing the gate, because the plugin may use fewer caches than before.
    pub(super) fn renew(&self) {
        let _state = self.state.lock();
        self.round.send_modify(|round| *round += 1);
    }

    /// Sets whether calls are held back, for tests of plugins. Calls in flight go on.
    pub(super) fn set_held(&self, is_held: bool) {
        let mut state = self.state.lock();
        state.is_held = is_held;
        self.apply(&state);
    }

    /// The present round. Read it before you check the caches.
    pub(super) fn round(&self) -> u64 {
        *self.round.borrow()
    }

    /// Opens the gate, unless this round has ended.
    pub(super) fn open(&self, round: u64) {
        let mut state = self.state.lock();
        if self.round() == round {
            state.is_open = true;
            self.apply(&state);
            self.opened.send_replace(true);
        }
    }

    fn apply(&self, state: &State) {
        if state.is_open && !state.is_held {
            self.queue.resume();
            self.workqueue.resume();
            self.signals.resume();
        } else {
            self.queue.pause();
            self.workqueue.pause();
            self.signals.pause();
        }
    }

    /// Waits until the caches are complete, as `complete` reports. Returns false if this round ends first, because `complete` may wait
    /// for a cache that the plugin no longer uses.
    ///
    /// # Cancel safety
    /// A dropped future changes nothing.
    pub(super) async fn completed(&self, round: u64, complete: impl Future<Output = bool>) -> bool {
        let completed = async {
            if !complete.await {
                // Another informer replaces the informer of a cache. Then the gate closes, which ends the round.
                std::future::pending::<()>().await;
            }
        };
        select! {
            biased;
            () = self.ended(round) => false,
            () = completed => true,
        }
    }

    /// Returns once this round has ended.
    pub(super) async fn ended(&self, round: u64) {
        // The sender lives as long as `self`.
        self.round.subscribe().wait_for(|now| *now > round).await.ok();
    }

    /// Returns once the gate was open.
    pub(super) async fn opened(&self) {
        // The sender lives as long as `self`.
        self.opened.subscribe().wait_for(|opened| *opened).await.ok();
    }
}

#[cfg(test)]
mod tests {
    use std::{
        num::{NonZeroU32, NonZeroUsize},
        time::Instant,
    };

    use informer_dispatch::{QueueConfig, workqueue::RateLimiter};
    use informer_types::{
        Body, Cause, Change, Header, Notification, NotificationSink, Object, Source, Workqueue,
    };

    use super::*;

    /// The gate with a notification, a key and a signal behind it.
    fn gate() -> (Gate, Queue, RateLimitingQueue, RateLimitingQueue) {
        let queue = Queue::new(&QueueConfig::default());
        let object = Object::new(&Header { name: "web".into(), ..Header::default() }, Body::Raw("{}".into()));
        queue.offer(Notification {
            source: Source::new("v1/pods".parse().unwrap()),
            change: Change::Added { object: object.unwrap().into() },
            cause: Cause::Live,
            initial: None,
            observed: Instant::now().into(),
        });
        let workqueue = RateLimitingQueue::new(NonZeroUsize::MIN, RateLimiter::bucket(1.0, NonZeroU32::MIN));
        workqueue.add("default/web").unwrap();
        let signals = RateLimitingQueue::new(NonZeroUsize::MIN, RateLimiter::bucket(1.0, NonZeroU32::MIN));
        signals.raise("synced v1/pods").unwrap();
        let queues = (queue.clone(), workqueue.clone(), signals.clone());
        (Gate::new(queues, false), queue, workqueue, signals)
    }

    #[test]
    fn nothing_is_handed_out_before_the_gate_is_open() {
        let (gate, queue, workqueue, signals) = gate();
        assert!([queue.take().is_none(), workqueue.take().is_none(), signals.take().is_none()] == [true; 3]);

        gate.open(gate.round());

        assert!([queue.take().is_some(), workqueue.take().is_some(), signals.take().is_some()] == [true; 3]);
    }

    #[test]
    fn nothing_is_handed_out_while_a_test_holds_the_calls_back() {
        let (gate, queue, workqueue, signals) = gate();
        gate.set_held(true);
        gate.open(gate.round());
        assert!([queue.take().is_none(), workqueue.take().is_none(), signals.take().is_none()] == [true; 3]);

        gate.set_held(false);
        assert!([queue.take().is_some(), workqueue.take().is_some(), signals.take().is_some()] == [true; 3]);

        // All were dropped, and so put back.
        gate.set_held(true);
        gate.close();
        gate.set_held(false);
        assert!(queue.take().is_none(), "a cache became incomplete meanwhile");
    }

    #[test]
    fn an_opening_for_an_earlier_round_has_no_effect() {
        let (gate, queue, workqueue, signals) = gate();
        let round = gate.round();

        gate.close();
        gate.open(round);
        assert!(
            [queue.take().is_none(), workqueue.take().is_none(), signals.take().is_none()] == [true; 3],
            "a cache became incomplete meanwhile"
        );

        gate.open(gate.round());
        assert!([queue.take().is_some(), workqueue.take().is_some(), signals.take().is_some()] == [true; 3]);

        // All were dropped, and so put back.
        gate.close();
        assert!([queue.take().is_none(), workqueue.take().is_none(), signals.take().is_none()] == [true; 3]);
    }
}
