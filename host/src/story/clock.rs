//! The wall clock of the guest: it moves when a step lets time pass.

use std::{sync::Arc, time::Duration};

use informer_runtime::WallClock;
use parking_lot::Mutex;

/// A clock that stands still between steps. Clones share one time.
#[derive(Clone, Debug)]
pub(super) struct StoryClock(Arc<Mutex<Duration>>);

// === impl StoryClock ===

impl StoryClock {
    /// `since_1970` is the time that it shows.
    pub(super) fn new(since_1970: Duration) -> Self {
        Self(Arc::new(Mutex::new(since_1970)))
    }

    pub(super) fn advance(&self, by: Duration) {
        let mut time = self.0.lock();
        *time = time.saturating_add(by);
    }
}

impl WallClock for StoryClock {
    fn now(&self) -> Duration {
        *self.0.lock()
    }
}
