//! The handle of a listener.

use std::{fmt, sync::Arc};

use crate::{
    listener::SyncState,
    processor::{Joined, Processor},
};

/// A listener's registration at an informer. Dropping it changes nothing; [`remove`](Self::remove) ends it.
#[derive(Clone)]
pub struct Registration {
    pub(crate) joined: Joined,
    pub(crate) processor: Arc<Processor>,
}

// === impl Registration ===

impl Registration {
    pub(crate) fn new(joined: Joined, processor: Arc<Processor>) -> Self {
        Self { joined, processor }
    }

    /// The name in the listener's configuration.
    pub fn name(&self) -> &str {
        &self.joined.name
    }

    /// Returns true once the informer has synced and every initial notification offered to this listener is settled:
    /// acknowledged, merged or given up (P-16, D-8). It never becomes false again.
    pub fn has_synced(&self) -> bool {
        *self.joined.sync.borrow() == SyncState::Synced
    }

    /// Waits for [`has_synced`](Self::has_synced). Returns false if the listener is removed or the informer stops
    /// first.
    ///
    /// # Cancel safety
    /// A dropped future changes nothing.
    pub async fn wait_synced(&self) -> bool {
        let mut sync = self.joined.sync.clone();
        match sync.wait_for(|sync| *sync != SyncState::Pending).await {
            Ok(sync) => *sync == SyncState::Synced,
            Err(_) => false,
        }
    }

    /// Removes the listener. When this returns, the sink will not be called again; notifications that the sink already
    /// has are not affected (D-10). It waits for a call of the sink that is in progress, so a sink must not call it
    /// (P-15). A second call, and a call after the informer stopped, does nothing (P-14).
    pub fn remove(&self) {
        self.processor.leave(self.joined.id);
    }
}

impl fmt::Debug for Registration {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "Registration({} synced={})", self.joined.name, self.has_synced())
    }
}
