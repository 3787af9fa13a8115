//! The interface between the dispatcher and a handler.

use std::{future::Future, time::Duration};

use crate::{Failure, FailureKind, Notification};

/// The maximum number of deliveries in one call.
pub const MAX_BATCH: u16 = 1_000;

/// One attempt to deliver a notification.
#[derive(Clone, Debug)]
pub struct Delivery {
    /// The notification. Several pending notifications of one object may have merged into it.
    pub notification: Notification,
    /// The number of the attempt, 1 for the first.
    pub attempt: u32,
    /// Time since the notification entered the queue; the oldest one if several merged.
    pub queued: Duration,
}

/// How an attempt ended.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Outcome {
    /// The handler returned ok. The notification is delivered.
    Acknowledged,
    /// The handler returned ok. The notification is delivered, and the object is to be delivered again after this time, unless
    /// another call for it comes first.
    Again(Duration),
    /// The attempt failed and is to be repeated.
    Retry {
        /// The delay that the handler requested. `None` means the backoff.
        after: Option<Duration>,
        /// Why the attempt failed.
        failure: Failure,
    },
    /// The attempt failed and repeating it cannot help. The notification becomes a dead letter at once.
    Permanent {
        /// Why the attempt failed.
        failure: Failure,
    },
}

// === impl Outcome ===

impl Outcome {
    /// The failure, if the attempt failed.
    pub fn failure(&mut self) -> Option<&mut Failure> {
        match self {
            Self::Acknowledged | Self::Again(_) => None,
            Self::Retry { failure, .. } | Self::Permanent { failure } => Some(failure),
        }
    }
}

/// Handles deliveries, one call each, or several in one call. `runtime` implements it with a plugin.
pub trait EventHandler: Send + Sync + 'static {
    /// Returns true if the next call may take several deliveries. Such a handler has a [`handle_batch`](Self::handle_batch) of its
    /// own.
    fn takes_batches(&self) -> bool {
        false
    }

    /// Makes one attempt and returns how it ended. Returns `None` if no call was made, because a version without a handler was
    /// put into service meanwhile. The attempt does not count then, and the queue takes the notification back.
    ///
    /// The dispatcher never makes overlapping calls for one object. Calls for different objects may overlap, at most one for
    /// each worker.
    ///
    /// # Cancel safety
    /// A dropped future ends the call: the guest may have seen all, some or nothing of the delivery.
    fn handle(&self, delivery: Delivery) -> impl Future<Output = Option<Outcome>> + Send;

    /// Makes one call for several deliveries and returns their outcomes in the same order. There are at most [`MAX_BATCH`]
    /// deliveries, and no two of them are for the same object. Returns `None` if no call was made, as [`handle`](Self::handle)
    /// does. The dispatcher calls this only if [`takes_batches`](Self::takes_batches) returns true, so the default is an error.
    ///
    /// # Errors
    /// The failure of a call that did not return an outcome for each delivery. It does not count as an attempt of any delivery.
    ///
    /// # Cancel safety
    /// A dropped future ends the call: the guest may have seen all, some or none of the deliveries.
    fn handle_batch(
        &self,
        _deliveries: Vec<Delivery>,
    ) -> impl Future<Output = Option<Result<Vec<Outcome>, Failure>>> + Send {
        async { Some(Err(Failure::new(FailureKind::Host, "the handler takes one delivery at a time"))) }
    }
}
