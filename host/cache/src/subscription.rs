//! A counted claim on an informer.

use std::{fmt, sync::Arc};

use informer_types::NotificationSink;
use parking_lot::Mutex;

use crate::{
    InformerStopped, ListenerConfig, Lister, Registration, SharedInformer,
    factory::{Shared, end},
};

/// A claim on a shared informer. The informer runs while it has a subscription (D-12).
///
/// After the end of a subscription its listeners receive nothing more. If it was the last one, the cache is emptied, so
/// listers that still exist find nothing either. No deletions are delivered, because the objects still exist. A later
/// subscription starts with an initial list: all objects that exist then are added with cause `initial`, and objects
/// that were deleted in between are not reported. A subscriber that keeps state of its own about objects must therefore
/// drop or compare that state when it ends its subscription.
///
/// Dropping a subscription is the same as [`release`](Self::release) without waiting.
pub struct Subscription {
    informer: SharedInformer,
    registrations: Mutex<Vec<Registration>>,
    factory: Arc<Shared>,
}

// === impl Subscription ===

impl Subscription {
    pub(crate) fn new(informer: SharedInformer, factory: Arc<Shared>) -> Self {
        Self { informer, registrations: Mutex::default(), factory }
    }

    /// The informer of this subscription. A clone of it is not counted and does not keep it running.
    pub fn informer(&self) -> &SharedInformer {
        &self.informer
    }

    /// Returns a reader of the cache. The cache is empty and not synced once the informer's last subscription has
    /// ended.
    pub fn lister(&self) -> Lister {
        self.informer.lister()
    }

    /// Adds a listener as [`SharedInformer::add_listener`] does. It is removed with the subscription.
    ///
    /// # Errors
    /// [`InformerStopped`] if the informer or the factory was stopped explicitly.
    pub fn add_listener(
        &self,
        config: ListenerConfig,
        sink: Arc<dyn NotificationSink>,
    ) -> Result<Registration, InformerStopped> {
        let registration = self.informer.add_listener(config, sink)?;
        self.registrations.lock().push(registration.clone());
        Ok(registration)
    }

    /// Ends the subscription. When this returns, none of its sinks is called any more. If it was the last subscription,
    /// every task of the informer has ended, the watch is closed and the cache is freed (P-15, P-18). A sink must not
    /// await this.
    ///
    /// # Cancel safety
    /// If the future is dropped, the subscription ends nevertheless, without the wait.
    pub async fn release(self) {
        let informer = self.informer.clone();
        drop(self);
        if informer.inner.stop.is_cancelled() {
            end(&informer).await;
        }
    }
}

impl Drop for Subscription {
    fn drop(&mut self) {
        self.registrations.get_mut().drain(..).for_each(|registration| registration.remove());
        self.factory.release(&self.informer);
    }
}

impl fmt::Debug for Subscription {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "Subscription({})", self.informer.key())
    }
}
