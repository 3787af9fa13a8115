//! Dead letters that outlive the process.

use std::{collections::HashMap, fmt, future::Future, sync::Arc, time::Duration};

use parking_lot::Mutex;
use tokio::time::sleep;
use tokio_util::sync::CancellationToken;
use tracing::{error, info};

use super::{Letter, LetterBox};

/// Time between two attempts to write to a store that failed.
const RETRY_EVERY: Duration = Duration::from_secs(5);

/// Keeps the dead letters of one queue beyond the end of the process.
pub trait DeadLetterStore<L: Letter>: Send + Sync + 'static {
    /// Why the store failed, with a remedy.
    type Error: fmt::Display + Send;

    /// All letters in the store, the oldest first.
    fn load(&self) -> impl Future<Output = Result<Vec<L>, Self::Error>> + Send;

    /// Keeps the letters `keep` in place of older ones with the same ids, and removes those with the ids `forget`. Either both
    /// happen or neither does.
    fn apply(&self, keep: Vec<L>, forget: Vec<L::Id>)
    -> impl Future<Output = Result<(), Self::Error>> + Send;
}

/// Letters by id.
type ById<L> = HashMap<<L as Letter>::Id, L>;

/// Keeps the dead letters of one queue in a store.
///
/// The list in memory is authoritative. The store follows the list, many changes in one write, so that a slow disk delays no
/// delivery. If the store fails (a full disk, a locked database), [`DeadLetterKeeper::problem`] returns the reason, the
/// letters stay in memory, and the write is retried every few seconds.
///
/// # Durability
/// A process that dies may lose the letters of its last moments. The next start lists their objects and delivers them again,
/// so only two kinds of letters are lost for good: deletions that the handler had refused, and keys that no object leads to.
#[derive(Debug)]
pub struct DeadLetterKeeper<S, L: Letter> {
    letters: LetterBox<L>,
    store: S,
    /// The contents of the store. `None` until the store was read.
    kept: Mutex<Option<ById<L>>>,
    /// Why the store failed the last time. `None` if it works.
    problem: Mutex<Option<String>>,
}

// === impl DeadLetterKeeper ===

impl<L: Letter, S: DeadLetterStore<L>> DeadLetterKeeper<S, L> {
    /// A keeper that does nothing until [`run`](Self::run). From now on the list remembers which ids succeed, so that their
    /// old letters are not restored.
    pub fn new(letters: LetterBox<L>, store: S) -> Arc<Self> {
        letters.expect();
        Arc::new(Self { letters, store, kept: Mutex::new(None), problem: Mutex::new(None) })
    }

    /// Why the letters are in memory only. Returns `None` if the store works.
    pub fn problem(&self) -> Option<String> {
        self.problem.lock().clone()
    }

    /// Restores the letters of an earlier process, then writes each change of the list to the store until `stop` is
    /// cancelled, and then once more.
    ///
    /// # Cancel safety
    /// A dropped future leaves the store at an earlier state of the list, and a write may still be under way.
    pub async fn run(&self, stop: CancellationToken) {
        let mut seen = None;
        // `stop` ends the waits but never a write: an abandoned write could finish after the last one.
        while let Some((version, letters)) = stop.run_until_cancelled(self.letters.after(seen)).await {
            if self.keep(letters).await {
                seen = Some(version);
            } else if stop.run_until_cancelled(sleep(RETRY_EVERY)).await.is_none() {
                break;
            }
        }
        let (_, letters) = self.letters.now();
        self.keep(letters).await;
    }

    /// Writes the list to the store. Returns false if that failed.
    async fn keep(&self, letters: Vec<L>) -> bool {
        let letters = match self.restore(letters).await {
            Ok(letters) => letters,
            Err(why) => return self.failed(&why),
        };
        let wanted: ById<L> = letters.into_iter().map(|letter| (letter.id().clone(), letter)).collect();
        let (mut keep, forget) = {
            let kept = self.kept.lock();
            let kept = kept.as_ref();
            let is_kept = |letter: &&L| kept.and_then(|kept| kept.get(letter.id())) == Some(*letter);
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

    /// Restores the contents of the store into the list, the first time only. Returns the list.
    async fn restore(&self, letters: Vec<L>) -> Result<Vec<L>, S::Error> {
        if self.kept.lock().is_some() {
            return Ok(letters);
        }
        let found = self.store.load().await?;
        self.letters.restore(found.clone());
        *self.kept.lock() = Some(found.into_iter().map(|letter| (letter.id().clone(), letter)).collect());
        Ok(self.letters.now().1)
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
