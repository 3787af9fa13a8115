//! Keys that were given up: the dead letters of a workqueue.

use std::{sync::Arc, time::SystemTime};

use informer_types::Failure;

use crate::letters::{Letter, cut};

/// A key that was given up. It is listed until a later call for it succeeds.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct DroppedKey {
    /// The key.
    pub key: Arc<str>,
    /// Number of failed calls in a row.
    pub attempts: u32,
    /// Why the last call failed; the message is cut at 4 KiB.
    pub failure: Failure,
    /// When the key was given up.
    pub at: SystemTime,
}

// === impl DroppedKey ===

impl DroppedKey {
    pub(super) fn new(key: Arc<str>, attempts: u32, failure: Failure) -> Self {
        Self { key, attempts, failure: cut(failure), at: SystemTime::now() }
    }
}

impl Letter for DroppedKey {
    type Id = Arc<str>;

    fn id(&self) -> &Arc<str> {
        &self.key
    }

    fn at(&self) -> SystemTime {
        self.at
    }
}
