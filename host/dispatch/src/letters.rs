//! Dead letters: what a queue gave up, kept until it succeeds after all or is dropped.

mod keeper;
mod list;

use std::{num::NonZeroUsize, pin::pin, sync::Arc};

use informer_types::Failure;
use parking_lot::Mutex;
use tokio::sync::Notify;

pub use keeper::{DeadLetterKeeper, DeadLetterStore};
pub use list::Letter;

use list::Letters;

/// The longest message of a failure that is kept, in bytes. A stack trace fits.
const MAX_MESSAGE_BYTES: usize = 4096;

/// The dead letters of one queue: at most one for each id, the newest. If there are too many, the oldest is evicted and
/// counted. Clones are handles of the same list.
#[derive(Debug)]
pub struct LetterBox<L: Letter>(Arc<Shared<L>>);

#[derive(Debug)]
struct Shared<L: Letter> {
    letters: Mutex<Letters<L>>,
    changed: Notify,
}

// === impl LetterBox ===

impl<L: Letter> Clone for LetterBox<L> {
    fn clone(&self) -> Self {
        Self(Arc::clone(&self.0))
    }
}

impl<L: Letter> LetterBox<L> {
    /// An empty list of at most `capacity` letters.
    pub(crate) fn new(capacity: NonZeroUsize) -> Self {
        Self(Arc::new(Shared { letters: Mutex::new(Letters::new(capacity)), changed: Notify::new() }))
    }

    /// All letters, the oldest first.
    pub fn list(&self) -> Vec<L> {
        self.0.letters.lock().list()
    }

    /// Drops the letters that `chosen` selects and returns their ids. Nothing else happens to what the letters are about.
    pub fn drop_if(&self, chosen: impl Fn(&L::Id) -> bool) -> Vec<L::Id> {
        self.change(|letters| letters.drop_if(chosen))
    }

    /// Number of letters.
    pub(crate) fn count(&self) -> usize {
        self.0.letters.lock().len()
    }

    /// Number of letters evicted so far.
    pub(crate) fn evicted(&self) -> u64 {
        self.0.letters.lock().evicted()
    }

    /// Evicts the oldest letters if there are more than `capacity`.
    pub(crate) fn set_capacity(&self, capacity: NonZeroUsize) {
        self.change(|letters| letters.set_capacity(capacity));
    }

    /// Keeps a letter in place of an older one with the same id.
    pub(crate) fn keep(&self, letter: L) {
        self.change(|letters| letters.keep(letter));
    }

    /// Removes the letter of an id that succeeded after all.
    pub(crate) fn withdraw(&self, id: &L::Id) {
        self.change(|letters| letters.withdraw(id));
    }

    /// From now on the list remembers which ids succeed or are dropped, at most 65,536 of them, until
    /// [`restore`](Self::restore) brings the letters of an earlier process.
    pub(crate) fn expect(&self) {
        self.0.letters.lock().expect();
    }

    /// Puts the letters of an earlier process before all others, the oldest first. Letters of ids that have a newer letter,
    /// or that succeeded or were dropped since [`expect`](Self::expect), are left out.
    pub(crate) fn restore(&self, letters: Vec<L>) {
        self.change(|list| list.restore(letters));
    }

    /// The version of the list, which every change increments, and all letters.
    pub(crate) fn now(&self) -> (u64, Vec<L>) {
        let letters = self.0.letters.lock();
        (letters.version(), letters.list())
    }

    /// Waits until the version is not `seen`, then returns what [`now`](Self::now) returns.
    ///
    /// # Cancel safety
    /// Safe.
    pub(crate) async fn after(&self, seen: Option<u64>) -> (u64, Vec<L>) {
        loop {
            let mut changed = pin!(self.0.changed.notified());
            // From here on no change is missed.
            changed.as_mut().enable();
            let (version, letters) = self.now();
            if Some(version) != seen {
                return (version, letters);
            }
            changed.await;
        }
    }

    fn change<T>(&self, change: impl FnOnce(&mut Letters<L>) -> T) -> T {
        let (done, changed) = {
            let mut letters = self.0.letters.lock();
            let before = letters.version();
            let done = change(&mut letters);
            (done, letters.version() != before)
        };
        if changed {
            self.0.changed.notify_waiters();
        }
        done
    }
}

/// Cuts the message of a failure that is kept.
pub(crate) fn cut(mut failure: Failure) -> Failure {
    let end = failure.message.floor_char_boundary(MAX_MESSAGE_BYTES);
    failure.message.truncate(end);
    failure
}
