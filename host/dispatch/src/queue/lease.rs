//! A notification in flight.

use informer_types::Delivery;

use super::notifications::{Notifications, Outcome, Taken};
use crate::{
    ObjectRef,
    keyed::Held,
    retry::{Settled, Settlement},
};

/// A notification in flight, which has to be settled. While the lease exists, no other worker gets its object.
///
/// Dropping a lease puts its notification back, ready at once and before anything newer of the object. The handler may have
/// seen the notification, so the attempt still counts.
#[derive(Debug)]
pub struct Lease {
    held: Held<Notifications>,
    object: ObjectRef,
}

// === impl Lease ===

impl Lease {
    pub(super) fn new(held: Held<Notifications>) -> Option<(Self, Delivery)> {
        let Taken { object, entry, since, .. } = held.get()?;
        let (object, delivery) = (object.clone(), entry.delivery(object.source.clone(), *since));
        Some((Self { held, object }, delivery))
    }

    /// The object of the notification.
    pub fn object(&self) -> &ObjectRef {
        &self.object
    }

    /// Settles the notification.
    pub fn settle(self, settlement: Settlement) -> Settled {
        let outcome = self.held.end(|queue, taken, now| queue.settle(taken, settlement, now));
        let Some(Outcome { settled, released }) = outcome else { return Settled::Discarded };
        // Outside the lock: the last holder of a sync token runs code of the cache.
        drop(released);
        settled
    }

    /// Puts the notification back because no call was made: the attempt does not count.
    pub(crate) fn put_back(self) {
        drop(self.held.end(|queue, taken, now| queue.put_back_uncalled(taken, now)));
    }
}
