//! Carries deltas from the reflectors to the controller, in order.
//!
//! This is the in-order queue of client-go with atomic replacement: the queue never merges, drops
//! or reorders deltas. Unlike client-go's queue it is bounded: if it is full, a push waits, so the reflector stops reading its
//! socket and TCP carries the back pressure to the API server. Merging happens after the cache, in the queue of each plugin,
//! which tracks what was delivered.

use std::{num::NonZeroUsize, sync::Arc};

use informer_types::{EventTrace, Object, ObjectKey, Observed};
use tokio::sync::mpsc;

/// One entry of the delta queue: what the reflector of one scope saw. The store decides later whether it is an
/// addition or an update (C-3).
#[derive(Debug)]
pub(crate) struct Delta {
    pub(crate) kind: DeltaKind,
    /// When it was received, and the trace of its event.
    pub(crate) observed: Observed,
}

/// The number of a reflector within its informer. There is one for each watched namespace.
pub(crate) type Scope = usize;

#[derive(Debug)]
pub(crate) enum DeltaKind {
    Added(Scope, Arc<Object>),
    Updated(Scope, Arc<Object>),
    /// The last state, with the resource version of the deletion (C-4).
    Deleted(Scope, Arc<Object>),
    /// A deletion whose last state did not decode (D-2).
    DeletedKey(Scope, ObjectKey),
    /// A state that did not decode. The store keeps the last good state of the object (D-2).
    Undecoded(Scope, Quarantined),
    /// A whole list as one entry. When it is applied, the store determines which objects are gone.
    ReplacedAll(Scope, Replacement),
    /// The resync period of a listener has elapsed.
    SyncAll,
    /// A bookmark: it changes the store's resource version and nothing else (Q-32, C-8).
    Bookmark(Scope, String),
}

/// The content of a list.
#[derive(Debug, Default)]
pub(crate) struct Replacement {
    pub(crate) resource_version: String,
    /// In list order.
    pub(crate) objects: Vec<Arc<Object>>,
    /// The listed objects that did not decode. The store keeps their last good state (D-2).
    pub(crate) quarantined: Vec<Quarantined>,
}

/// An object whose latest state did not decode (D-2).
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) struct Quarantined {
    /// `None` if the key is unreadable too.
    pub(crate) key: Option<ObjectKey>,
    pub(crate) problem: String,
}

/// The reflectors' end of the queue.
#[derive(Clone, Debug)]
pub(crate) struct DeltaSender(mpsc::Sender<Delta>);

/// Measures the queue without keeping it open.
#[derive(Clone, Debug)]
pub(crate) struct DeltaGauge(mpsc::WeakSender<Delta>);

// === impl Delta ===

impl Delta {
    /// A delta that was received now.
    pub(crate) fn now(kind: DeltaKind) -> Self {
        Self::of_event(kind, EventTrace::default())
    }

    /// A delta of an event that the watch sent now.
    pub(crate) fn of_event(kind: DeltaKind, trace: EventTrace) -> Self {
        Self { kind, observed: Observed { at: tokio::time::Instant::now().into_std(), trace } }
    }
}

// === impl DeltaSender ===

impl DeltaSender {
    /// Appends a delta as soon as there is room. After the controller is gone it does nothing.
    ///
    /// # Cancel safety
    /// A dropped future has pushed nothing.
    pub(crate) async fn push(&self, delta: Delta) {
        // While a sender exists, only a bug or the end of the runtime ends the controller. After a bug the informer lists again.
        let _ = self.0.send(delta).await;
    }

    /// Appends deltas in their order and leaves `deltas` empty. The controller is woken once for all deltas that there
    /// is room for. After the controller is gone it does nothing else.
    ///
    /// # Cancel safety
    /// A dropped future has pushed some deltas from the front; they are no longer in `deltas`.
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
    /// The number of waiting deltas; 0 once the queue is closed.
    pub(crate) fn len(&self) -> usize {
        self.0.upgrade().map_or(0, |sender| sender.max_capacity() - sender.capacity())
    }
}

/// Makes a queue of at most `capacity` deltas. If it is full, [`DeltaSender::push`] waits. The controller
/// has the only receiver; it receives nothing more once every sender is gone and the queue is empty.
pub(crate) fn delta_queue(capacity: NonZeroUsize) -> (DeltaSender, mpsc::Receiver<Delta>) {
    let (sender, receiver) = mpsc::channel(capacity.get());
    (DeltaSender(sender), receiver)
}

#[cfg(test)]
mod tests {
    use futures::FutureExt;

    use super::*;

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

    /// A full queue blocks the producer and keeps the order.
    /// The reflector pushes and the controller pops. Unlike client-go's the queue is bounded, and
    /// the reflector waits at the bound.
    #[tokio::test]
    async fn a_push_to_a_full_queue_waits_and_keeps_the_order() {
        let (sender, mut receiver) = delta_queue(NonZeroUsize::new(2).unwrap());
        sender.push(bookmark("1")).await;
        sender.push(bookmark("2")).await;
        let mut third = Box::pin(sender.push(bookmark("3")));

        assert!(third.as_mut().now_or_never().is_none());
        let mut batch = Vec::new();
        receiver.recv_many(&mut batch, 1).await;
        assert!(third.now_or_never().is_some());
        receiver.recv_many(&mut batch, 10).await;

        assert_eq!(versions(&batch), ["1", "2", "3"]);
    }

    /// Scenarios 62 and 118: a burst that is larger than the queue is delivered in order.
    #[tokio::test]
    async fn a_burst_larger_than_the_queue_passes_in_order_and_never_exceeds_the_capacity() {
        let (sender, mut receiver) = delta_queue(NonZeroUsize::new(2).unwrap());
        let mut burst: Vec<Delta> = ["1", "2", "3", "4", "5"].map(bookmark).into();
        let mut batch = Vec::new();
        {
            let mut push = Box::pin(sender.push_all(&mut burst));
            while push.as_mut().now_or_never().is_none() {
                assert_eq!(receiver.recv_many(&mut batch, 10).await, 2);
            }
        }
        receiver.recv_many(&mut batch, 10).await;

        assert!(burst.is_empty());
        assert_eq!(versions(&batch), ["1", "2", "3", "4", "5"]);
    }

    /// Deltas that were queued before the close are still popped.
    #[tokio::test]
    async fn deltas_queued_before_the_close_are_still_popped() {
        let (sender, mut receiver) = delta_queue(NonZeroUsize::new(2).unwrap());
        sender.push(bookmark("1")).await;
        drop(sender);
        let mut batch = Vec::new();

        assert_eq!(receiver.recv_many(&mut batch, 10).await, 1);
        assert_eq!(receiver.recv_many(&mut batch, 10).await, 0);
    }

    /// Scenario 58: a pop that waits returns when the queue is closed.
    #[tokio::test]
    async fn a_waiting_pop_returns_when_the_queue_is_closed() {
        let (sender, mut receiver) = delta_queue(NonZeroUsize::MIN);
        let mut batch = Vec::new();
        let mut pop = Box::pin(receiver.recv_many(&mut batch, 1));
        assert!(pop.as_mut().now_or_never().is_none());

        drop(sender);

        assert_eq!(pop.await, 0);
    }

    /// A push after the controller is gone does nothing.
    #[tokio::test]
    async fn a_push_after_the_controller_is_gone_does_nothing() {
        let (sender, receiver) = delta_queue(NonZeroUsize::MIN);
        drop(receiver);

        sender.push(bookmark("1")).await;
        sender.push(bookmark("2")).await;
        let mut burst = vec![bookmark("3"), bookmark("4")];
        sender.push_all(&mut burst).await;
        assert!(burst.is_empty());
    }
}
