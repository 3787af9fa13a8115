//! Where the cache leaves its notifications.

use std::collections::VecDeque;

use crate::Notification;

/// Takes notifications from a listener. `dispatch` implements it with a plugin's queue.
pub trait NotificationSink: Send + Sync + 'static {
    /// Takes one notification. It is called from the one task that applies changes to the cache, with the
    /// informer's lock held (C-10): it never blocks, never calls back into the cache and never fails.
    ///
    /// # Ordering
    /// Calls for one informer come one after the other, in the order of the delta queue; for one object
    /// that is the order of its states.
    fn offer(&self, notification: Notification);

    /// Takes as many as there are, in their order, as if they were offered one by one; what is cheaper once for many
    /// than for each is done once. One that was taken is gone from `notifications`, even where the sink panics over it.
    fn offer_all(&self, notifications: &mut VecDeque<Notification>) {
        while let Some(notification) = notifications.pop_front() {
            self.offer(notification);
        }
    }
}
