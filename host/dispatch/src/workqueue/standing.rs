//! Where one key stands in a workqueue.

use super::{RateLimitingQueue, now};
use crate::Stands;

/// A key that waits, is delayed or in hand.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct KeyStanding {
    /// Its place; what is delayed waits.
    pub stands: Stands,
    /// It is in hand, and comes again afterwards.
    pub again: bool,
    /// Calls in a row that failed.
    pub failed: u32,
}

// === impl RateLimitingQueue ===

impl RateLimitingQueue {
    /// Where one key stands; none where it is nowhere.
    pub fn standing(&self, key: &str) -> Option<KeyStanding> {
        self.0.keys.lock().standing(key, now())
    }
}
