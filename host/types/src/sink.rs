//! Where the cache leaves its notifications.

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
}
