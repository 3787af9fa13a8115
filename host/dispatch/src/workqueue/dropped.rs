//! Keys that were given up: the dead letters of a workqueue.

use std::{sync::Arc, time::SystemTime};

use informer_types::Failure;
use tokio::sync::Notify;

use super::RateLimitingQueue;
use crate::dead_letter::{Letter, LetterBox, cut};

/// A key that was given up, until it is reconciled after all.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct DroppedKey {
    /// The key.
    pub key: Arc<str>,
    /// Calls in a row that failed.
    pub attempts: u32,
    /// Why the last one failed; the message is cut at 4 KiB.
    pub failure: Failure,
    /// When it was given up.
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

// === impl RateLimitingQueue ===

impl RateLimitingQueue {
    /// Keys that were given up and not reconciled since, the oldest first; at most a thousand.
    pub fn dropped(&self) -> Vec<DroppedKey> {
        self.0.keys.lock().dropped().list()
    }

    /// Forgets the chosen ones; gives the keys. Nothing else happens to them.
    pub fn forget_dropped(&self, chosen: impl Fn(&str) -> bool) -> Vec<Arc<str>> {
        let forgotten = self.0.keys.lock().dropped_mut().drop_if(|key| chosen(key));
        self.0.letters.notify_waiters();
        forgotten
    }
}

impl LetterBox for RateLimitingQueue {
    type Letter = DroppedKey;

    fn letters_now(&self) -> (u64, Vec<DroppedKey>) {
        let keys = self.0.keys.lock();
        (keys.dropped().version(), keys.dropped().list())
    }

    fn letters_changed(&self) -> &Notify {
        &self.0.letters
    }

    fn expect_letters(&self) {
        self.0.keys.lock().dropped_mut().expect();
    }

    fn restore_letters(&self, letters: Vec<DroppedKey>) {
        self.0.keys.lock().dropped_mut().restore(letters);
        self.0.letters.notify_waiters();
    }
}
