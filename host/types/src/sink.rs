//! The interface through which the cache delivers notifications.

use std::collections::VecDeque;

use crate::Notification;

/// Receives the notifications of a listener. `dispatch` implements it with a plugin's queue.
pub trait NotificationSink: Send + Sync + 'static {
    /// Receives one notification. It is called by the task that applies changes to the cache, with the informer's lock
    /// held (C-10), so it must not block, call the cache, or fail.
    ///
    /// # Ordering
    /// Calls for one informer do not overlap and follow the order of the delta queue. For one object that is the order
    /// of its states.
    fn offer(&self, notification: Notification);

    /// Receives several notifications in their order, as if they were offered one by one, but takes locks only once. A
    /// notification that was received has been removed from `notifications`, even if the sink panicked on it.
    fn offer_all(&self, notifications: &mut VecDeque<Notification>) {
        while let Some(notification) = notifications.pop_front() {
            self.offer(notification);
        }
    }
}
