//! Writes that wait for the database, and are committed together.
//!
//! A commit waits for the disk, so one transaction takes all that waits, up to a limit. The owners take turns: an owner with
//! one write waits for the commit in progress and its own one, however many writes another owner has.

use std::{
    collections::{BTreeMap, VecDeque},
    sync::Arc,
};

use parking_lot::Mutex;
use redb::WriteTransaction;
use tokio::sync::oneshot;

use super::StateError;

/// Most writes of one commit.
const WRITES: usize = 64;

/// Bytes after which a commit takes no further write, so that the next one is not far away.
const BYTES: usize = 1 << 20;

/// The result of a write: the error of the database, or the result of the work.
type Written<T, E> = Result<Result<T, E>, StateError>;

/// A write and its bytes.
type Entry = (usize, Box<dyn Write>);

/// One write that waits.
pub(super) trait Write: Send {
    /// Does the work in the transaction. Returns true if it may have changed something.
    fn run(&mut self, transaction: &WriteTransaction) -> Result<bool, redb::Error>;

    /// Reports the result after the commit.
    fn end(self: Box<Self>, commit: Result<(), StateError>);
}

/// The writes that wait. Cheap to clone; all clones share one queue.
#[derive(Clone, Default)]
pub(super) struct Commits(Arc<Mutex<Waiting>>);

#[derive(Default)]
struct Waiting {
    by_owner: BTreeMap<Arc<str>, VecDeque<Entry>>,
    /// The owners with writes. The first is next.
    turns: VecDeque<Arc<str>>,
    /// True while a [`Turn`] exists.
    running: bool,
}

/// The right to commit. There is one at a time. If it is dropped early, the writes that wait fail.
pub(super) struct Turn {
    commits: Commits,
    over: bool,
}

struct Work<F, T, E> {
    work: Option<F>,
    done: Option<Result<T, E>>,
    reply: oneshot::Sender<Written<T, E>>,
}

/// A write of this work, and its result.
pub(super) fn write<T, E, F>(work: F) -> (Box<dyn Write>, oneshot::Receiver<Written<T, E>>)
where
    T: Send + 'static,
    E: Send + 'static,
    F: FnOnce(&WriteTransaction) -> Result<Result<T, E>, redb::Error> + Send + 'static,
{
    let (reply, result) = oneshot::channel();
    (Box::new(Work { work: Some(work), done: None, reply }), result)
}

// === impl Commits ===

impl Commits {
    /// Adds a write. Returns a turn if no other one will commit the write.
    pub(super) fn add(&self, owner: &Arc<str>, bytes: usize, write: Box<dyn Write>) -> Option<Turn> {
        let mut waiting = self.0.lock();
        let own = waiting.by_owner.entry(Arc::clone(owner)).or_default();
        own.push_back((bytes, write));
        if own.len() == 1 {
            waiting.turns.push_back(Arc::clone(owner));
        }
        let first = !std::mem::replace(&mut waiting.running, true);
        first.then(|| Turn { commits: self.clone(), over: false })
    }
}

// === impl Turn ===

impl Turn {
    /// The writes of the next commit, or `None` if nothing waits; the turn is over then.
    pub(super) fn next(&mut self) -> Option<Vec<Box<dyn Write>>> {
        let mut waiting = self.commits.0.lock();
        let (mut batch, mut bytes) = (Vec::new(), 0_usize);
        while batch.len() < WRITES && bytes < BYTES {
            let Some((size, write)) = waiting.pop() else { break };
            bytes = bytes.saturating_add(size);
            batch.push(write);
        }
        self.over = batch.is_empty();
        waiting.running = !self.over;
        waiting.running.then_some(batch)
    }
}

impl Drop for Turn {
    fn drop(&mut self) {
        if !self.over {
            *self.commits.0.lock() = Waiting::default();
        }
    }
}

// === impl Waiting ===

impl Waiting {
    /// The next write, with its bytes: the owners take turns.
    fn pop(&mut self) -> Option<Entry> {
        let owner = self.turns.pop_front()?;
        let own = self.by_owner.get_mut(&owner)?;
        let write = own.pop_front();
        if own.is_empty() {
            self.by_owner.remove(&owner);
        } else {
            self.turns.push_back(owner);
        }
        write
    }
}

// === impl Work ===

impl<T, E, F> Write for Work<F, T, E>
where
    T: Send,
    E: Send,
    F: FnOnce(&WriteTransaction) -> Result<Result<T, E>, redb::Error> + Send,
{
    fn run(&mut self, transaction: &WriteTransaction) -> Result<bool, redb::Error> {
        if let Some(work) = self.work.take() {
            self.done = Some(work(transaction)?);
        }
        Ok(self.done.as_ref().is_some_and(Result::is_ok))
    }

    fn end(self: Box<Self>, commit: Result<(), StateError>) {
        let done = self.done;
        let result = commit.and_then(|()| done.ok_or(StateError::Stopping));
        // The caller may have gone.
        self.reply.send(result).ok();
    }
}

#[cfg(test)]
mod tests;
