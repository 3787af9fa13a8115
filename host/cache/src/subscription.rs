//! One consumer's claim on an informer.

use std::{fmt, sync::Arc};

use informer_types::NotificationSink;
use parking_lot::Mutex;

use crate::{
    InformerStopped, ListenerConfig, Lister, Registration, SharedInformer,
    factory::{Shared, end},
};

/// A claim on a shared informer, counted: the informer runs while there is one (D-12).
///
/// A subscription that has ended sees nothing any more: its listeners hear nothing, and when it was the last
/// one the cache is emptied, so that listers still held find nothing either. Nobody is told that the objects
/// are gone, because they are not. Whoever subscribes anew begins with an initial list: everything that is
/// there then is told as added, with cause `initial`; of what was deleted in between nothing is told. So
/// whoever keeps state of its own about objects, and ends its subscription, has to drop or compare that state
/// itself.
///
/// Dropping it is the same as [`release`](Self::release), without waiting.
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

    /// The informer subscribed to. A clone of it does not count, and does not keep it running.
    pub fn informer(&self) -> &SharedInformer {
        &self.informer
    }

    /// Reads the cache. Empty and unsynced once the informer's last subscription has ended.
    pub fn lister(&self) -> Lister {
        self.informer.lister()
    }

    /// Adds a listener, as [`SharedInformer::add_listener`] does, that is removed with the subscription.
    ///
    /// # Errors
    /// [`InformerStopped`] where somebody stopped the informer by name, or the factory.
    pub fn add_listener(
        &self,
        config: ListenerConfig,
        sink: Arc<dyn NotificationSink>,
    ) -> Result<Registration, InformerStopped> {
        let registration = self.informer.add_listener(config, sink)?;
        self.registrations.lock().push(registration.clone());
        Ok(registration)
    }

    /// Ends the subscription. When it returns none of its sinks is called any more, and if it was the last
    /// one, every task of the informer has ended, the watch is closed and the cache is freed (P-15, P-18).
    /// Must not be awaited within a sink.
    ///
    /// # Cancel safety
    /// A dropped future has ended the subscription; only nobody waits for it.
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
