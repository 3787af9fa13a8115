//! Dead letters that outlive the process.

use std::{collections::HashMap, fmt, future::Future, pin::pin, sync::Arc, time::Duration};

use parking_lot::Mutex;
use tokio::{sync::Notify, time::sleep};
use tokio_util::sync::CancellationToken;
use tracing::{error, info};

use super::Letter;
use crate::{DeadLetter, Queue};

/// How long a store that failed is left alone.
const TRY_EVERY: Duration = Duration::from_secs(5);

/// Where the dead letters of one plugin are kept, those of one kind.
pub trait DeadLetterStore<L: Letter = DeadLetter>: Send + Sync + 'static {
    /// Why it does not work, and what helps.
    type Error: fmt::Display + Send;

    /// All that are kept, the oldest first.
    fn load(&self) -> impl Future<Output = Result<Vec<L>, Self::Error>> + Send;

    /// Keeps some, in place of older ones of the same ids, and forgets others: all of it or nothing.
    fn apply(&self, keep: Vec<L>, forget: Vec<L::Id>)
    -> impl Future<Output = Result<(), Self::Error>> + Send;
}

/// A queue, as its dead letters are concerned.
pub trait LetterBox: Send + Sync + 'static {
    /// What it keeps of each.
    type Letter: Letter;

    /// All of them, the oldest first, with a number that is another one after each change of the list.
    fn letters_now(&self) -> (u64, Vec<Self::Letter>);

    /// Tells of each change of the list.
    fn letters_changed(&self) -> &Notify;

    /// As [`LetterBox::letters_now`], once the number is not `seen`.
    ///
    /// # Cancel safety
    /// Safe.
    fn letters_after(&self, seen: Option<u64>) -> impl Future<Output = (u64, Vec<Self::Letter>)> + Send {
        async move {
            loop {
                let mut changed = pin!(self.letters_changed().notified());
                // From here on no change is missed.
                changed.as_mut().enable();
                let (version, letters) = self.letters_now();
                if Some(version) != seen {
                    return (version, letters);
                }
                changed.await;
            }
        }
    }

    /// The letters of an earlier process will be restored: until then, what is done or dropped is remembered, 65,536 of
    /// it at most.
    fn expect_letters(&self);

    /// Takes in those of an earlier process, the oldest first; but neither for what has one already, which is newer, nor
    /// for what was done or dropped since they are expected. They do not count as given up.
    fn restore_letters(&self, letters: Vec<Self::Letter>);
}

/// By what they are about.
type ById<L> = HashMap<<L as Letter>::Id, L>;

/// Keeps the dead letters of one queue in a store.
///
/// The queue's own list is the truth; the store follows it, many changes in one write, so that a slow disk delays no
/// delivery. What does not work (a full disk, a locked database) is shown by [`DeadLetterKeeper::problem`], tried again every
/// few seconds, and costs nothing but that: the letters stay in memory.
///
/// # Durability
/// A process that dies may lose the letters of its last moments. Their objects are listed and told again at the next start,
/// so only a deletion can be lost by that, and it is one that the handler had refused; or a key that no object leads to.
#[derive(Debug)]
pub struct DeadLetterKeeper<S, B: LetterBox = Queue> {
    queue: B,
    store: S,
    /// What is in the store; none until it was read.
    kept: Mutex<Option<ById<B::Letter>>>,
    problem: Mutex<Option<String>>,
}

// === impl DeadLetterKeeper ===

impl<B: LetterBox, S: DeadLetterStore<B::Letter>> DeadLetterKeeper<S, B> {
    /// Does nothing until it is told to. From now on the queue remembers what is delivered, so that no letter of it is
    /// brought back.
    pub fn new(queue: B, store: S) -> Arc<Self> {
        queue.expect_letters();
        Arc::new(Self { queue, store, kept: Mutex::new(None), problem: Mutex::new(None) })
    }

    /// Why the letters are in memory only; none: they are kept.
    pub fn problem(&self) -> Option<String> {
        self.problem.lock().clone()
    }

    /// Brings the queue's list what an earlier process left, then keeps what changes, until `stop` is cancelled; then once
    /// more.
    ///
    /// # Cancel safety
    /// A dropped future leaves the store at some earlier state of the list, and perhaps a write under way.
    pub async fn run(&self, stop: CancellationToken) {
        let mut seen = None;
        // The waits end with `stop`, and never a write: one that goes on unheard would come after the last.
        while let Some((version, letters)) = stop.run_until_cancelled(self.queue.letters_after(seen)).await {
            if self.keep(letters).await {
                seen = Some(version);
            } else if stop.run_until_cancelled(sleep(TRY_EVERY)).await.is_none() {
                break;
            }
        }
        let (_, letters) = self.queue.letters_now();
        self.keep(letters).await;
    }

    /// Makes the store what the list is. False where that failed.
    async fn keep(&self, letters: Vec<B::Letter>) -> bool {
        let letters = match self.restore(letters).await {
            Ok(letters) => letters,
            Err(why) => return self.failed(&why),
        };
        let wanted: ById<B::Letter> =
            letters.into_iter().map(|letter| (letter.id().clone(), letter)).collect();
        let (mut keep, forget) = {
            let kept = self.kept.lock();
            let kept = kept.as_ref();
            let is_kept = |letter: &&B::Letter| kept.and_then(|kept| kept.get(letter.id())) == Some(*letter);
            let keep: Vec<_> = wanted.values().filter(|letter| !is_kept(letter)).cloned().collect();
            let ids = kept.into_iter().flatten().map(|(id, _)| id);
            (keep, ids.filter(|id| !wanted.contains_key(*id)).cloned().collect::<Vec<_>>())
        };
        keep.sort_by_key(Letter::at);
        if !(keep.is_empty() && forget.is_empty()) {
            if let Err(why) = self.store.apply(keep, forget).await {
                return self.failed(&why);
            }
            *self.kept.lock() = Some(wanted);
        }
        if self.problem.lock().take().is_some() {
            info!("dead letters are kept on disk again");
        }
        true
    }

    /// The first time, brings what is in the store into the list; gives the list.
    async fn restore(&self, letters: Vec<B::Letter>) -> Result<Vec<B::Letter>, S::Error> {
        if self.kept.lock().is_some() {
            return Ok(letters);
        }
        let found = self.store.load().await?;
        self.queue.restore_letters(found.clone());
        *self.kept.lock() = Some(found.into_iter().map(|letter| (letter.id().clone(), letter)).collect());
        Ok(self.queue.letters_now().1)
    }

    fn failed(&self, why: &S::Error) -> bool {
        let why = why.to_string();
        if self.problem.lock().replace(why.clone()).is_none() {
            error!(%why, "dead letters are in memory only");
        }
        false
    }
}

#[cfg(test)]
mod tests;
