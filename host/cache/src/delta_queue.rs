//! Carries deltas from the reflectors to the controller, in order.
//!
//! The in-order queue of client-go with atomic replacement: every delta is an item
//! of its own, nothing is merged, dropped or overtaken. Other than client-go's it has a bound: when it is full,
//! pushing waits, so the reflector stops reading its socket and TCP carries the pressure to the API server.
//! Merging happens behind the cache, in the queue of each plugin, where it is known what was delivered.

use std::num::NonZeroUsize;

use tokio::sync::mpsc;

use crate::delta::Delta;

/// The reflectors' end.
#[derive(Clone, Debug)]
pub(crate) struct DeltaSender(mpsc::Sender<Delta>);

/// The controller's end; there is only one.
#[derive(Debug)]
pub(crate) struct DeltaReceiver(mpsc::Receiver<Delta>);

/// A queue of at most `capacity` deltas; when it is full, [`DeltaSender::push`] waits.
pub(crate) fn delta_queue(capacity: NonZeroUsize) -> (DeltaSender, DeltaReceiver) {
    let (sender, receiver) = mpsc::channel(capacity.get());
    (DeltaSender(sender), DeltaReceiver(receiver))
}

/// Sees how full the queue is, without keeping it open.
#[derive(Clone, Debug)]
pub(crate) struct DeltaGauge(mpsc::WeakSender<Delta>);

// === impl DeltaSender ===

impl DeltaSender {
    /// Appends a delta as soon as there is room. After the controller has gone it is harmless.
    ///
    /// # Cancel safety
    /// A dropped future has pushed nothing.
    pub(crate) async fn push(&self, delta: Delta) {
        // The controller goes only when the informer stops; nobody is left to apply the delta then.
        let _ = self.0.send(delta).await;
    }

    /// Appends deltas in their order and leaves `deltas` empty; the controller is woken once for as many as
    /// there is room for. After the controller has gone it is harmless.
    ///
    /// # Cancel safety
    /// A dropped future has pushed some of the first; they are no longer in `deltas`.
    pub(crate) async fn push_all(&self, deltas: &mut Vec<Delta>) {
        while !deltas.is_empty() {
            let many = deltas.len().min(self.0.max_capacity());
            let Ok(room) = self.0.reserve_many(many).await else {
                deltas.clear();
                return;
            };
            for (slot, delta) in room.zip(deltas.drain(..many)) {
                slot.send(delta);
            }
        }
    }

    pub(crate) fn gauge(&self) -> DeltaGauge {
        DeltaGauge(self.0.downgrade())
    }
}

// === impl DeltaGauge ===

impl DeltaGauge {
    /// Deltas waiting; none once the queue is closed.
    pub(crate) fn len(&self) -> usize {
        self.0.upgrade().map_or(0, |sender| sender.max_capacity() - sender.capacity())
    }
}

// === impl DeltaReceiver ===

impl DeltaReceiver {
    /// Waits for deltas and appends what is there, at most `max`, to `batch`; 0 once every sender has gone
    /// and nothing is left.
    ///
    /// # Cancel safety
    /// A dropped future has taken nothing.
    pub(crate) async fn pop(&mut self, batch: &mut Vec<Delta>, max: usize) -> usize {
        self.0.recv_many(batch, max).await
    }
}

#[cfg(test)]
mod tests {
    use futures::FutureExt;

    use super::*;
    use crate::delta::DeltaKind;

    fn bookmark(rv: &str) -> Delta {
        Delta::now(DeltaKind::Bookmark(0, rv.to_owned()))
    }

    fn versions(batch: &[Delta]) -> Vec<&str> {
        batch
            .iter()
            .map(|delta| match &delta.kind {
                DeltaKind::Bookmark(_, rv) => rv.as_str(),
                other => panic!("{other:?}"),
            })
            .collect()
    }

    #[tokio::test]
    async fn a_full_queue_makes_the_producer_wait_and_keeps_the_order_q20() {
        let (sender, mut receiver) = delta_queue(NonZeroUsize::new(2).unwrap());
        sender.push(bookmark("1")).await;
        sender.push(bookmark("2")).await;
        let mut third = Box::pin(sender.push(bookmark("3")));

        assert!(third.as_mut().now_or_never().is_none());
        let mut batch = Vec::new();
        receiver.pop(&mut batch, 1).await;
        assert!(third.now_or_never().is_some());
        receiver.pop(&mut batch, 10).await;

        assert_eq!(versions(&batch), ["1", "2", "3"]);
    }

    /// Scenarios 62 and 118.
    #[tokio::test]
    async fn a_burst_beyond_the_bound_goes_through_in_order_and_never_exceeds_it_q20() {
        let (sender, mut receiver) = delta_queue(NonZeroUsize::new(2).unwrap());
        let mut burst: Vec<Delta> = ["1", "2", "3", "4", "5"].map(bookmark).into();
        let mut batch = Vec::new();
        {
            let mut push = Box::pin(sender.push_all(&mut burst));
            while push.as_mut().now_or_never().is_none() {
                assert_eq!(receiver.pop(&mut batch, 10).await, 2);
            }
        }
        receiver.pop(&mut batch, 10).await;

        assert!(burst.is_empty());
        assert_eq!(versions(&batch), ["1", "2", "3", "4", "5"]);
    }

    #[tokio::test]
    async fn what_was_queued_is_still_popped_after_the_close_q8() {
        let (sender, mut receiver) = delta_queue(NonZeroUsize::new(2).unwrap());
        sender.push(bookmark("1")).await;
        drop(sender);
        let mut batch = Vec::new();

        assert_eq!(receiver.pop(&mut batch, 10).await, 1);
        assert_eq!(receiver.pop(&mut batch, 10).await, 0);
    }

    /// Scenario 58.
    #[tokio::test]
    async fn a_blocked_pop_wakes_when_the_queue_is_closed_q8() {
        let (sender, mut receiver) = delta_queue(NonZeroUsize::MIN);
        let mut batch = Vec::new();
        let mut pop = Box::pin(receiver.pop(&mut batch, 1));
        assert!(pop.as_mut().now_or_never().is_none());

        drop(sender);

        assert_eq!(pop.await, 0);
    }

    #[tokio::test]
    async fn a_push_after_the_controller_has_gone_is_harmless_q8() {
        let (sender, receiver) = delta_queue(NonZeroUsize::MIN);
        drop(receiver);

        sender.push(bookmark("1")).await;
        sender.push(bookmark("2")).await;
        let mut burst = vec![bookmark("3"), bookmark("4")];
        sender.push_all(&mut burst).await;
        assert!(burst.is_empty());
    }
}
