//! What must outlive the process: one database file, for the key-values of plugins and for dead letters.
//!
//! It is [redb](https://docs.rs/redb): transactions that survive a crash, one writer at a time. Each use has tables of
//! its own beside this module. The file is `informer.redb` in `[host] state-dir`, readable by its owner alone.
//!
//! # Durability
//! A write that returned is on disk (`fsync` at each commit): a plugin that is told so may rely on it.
//!
//! # When it does not work
//! A database that is locked, damaged or full keeps nobody from hearing of events. The host runs, whatever uses
//! the state is told what is wrong and what helps, and `/readyz` says it. Nothing is ever lost in silence: a damaged file
//! is not replaced by an empty one. It is opened again every few seconds, so that a lock that was let go, a disk with
//! room again or a file that was put right needs no restart.

mod error;
mod key_values;
mod letters;
mod open;

use std::{
    panic::{AssertUnwindSafe, catch_unwind},
    path::{Path, PathBuf},
    sync::Arc,
    time::{Duration, Instant},
};

use parking_lot::Mutex;
use redb::{Database, ReadTransaction, ReadableDatabase, WriteTransaction};
use tokio_util::sync::CancellationToken;

pub use error::StateError;
pub use key_values::KeyValues;
pub use letters::{DeadLetters, DroppedKeys};
use open::Opener;

/// The name of the file in the state directory.
const FILE_NAME: &str = "informer.redb";

/// How long a database that could not be opened is left alone.
const OPEN_EVERY: Duration = Duration::from_secs(5);

/// The state of the host. Cheap to clone; all clones are one database.
#[derive(Clone)]
pub struct State(Arc<Shared>);

struct Shared {
    opener: Opener,
    open_every: Duration,
    slot: Mutex<Slot>,
    /// Held by whoever opens: others are told what was wrong last instead of waiting for a slow disk.
    opening: Mutex<()>,
}

enum Slot {
    Open(Arc<Database>),
    Closed { why: StateError, since: Instant },
}

// === impl State ===

impl State {
    /// Opens the database of this directory, and makes both where they are not there; none: in memory. Where that fails
    /// it is tried again later: see [`State::problem`].
    ///
    /// Blocks while the file is checked.
    pub fn open(directory: Option<&Path>) -> Self {
        let opener = directory.map_or(Opener::Memory, |directory| Opener::File(directory.join(FILE_NAME)));
        Self::with(opener, OPEN_EVERY)
    }

    fn with(opener: Opener, open_every: Duration) -> Self {
        let slot = match opener.open() {
            Ok(database) => Slot::Open(Arc::new(database)),
            Err(why) => {
                tracing::error!(error = %why, "the state cannot be used; it is tried again every few seconds");
                Slot::Closed { why, since: Instant::now() }
            }
        };
        Self(Arc::new(Shared { opener, open_every, slot: Mutex::new(slot), opening: Mutex::new(()) }))
    }

    /// The database file; none where the state is in memory.
    pub fn path(&self) -> Option<PathBuf> {
        self.0.opener.path()
    }

    /// What is wrong with the state, and what helps; none: it works.
    pub fn problem(&self) -> Option<StateError> {
        match &*self.0.slot.lock() {
            Slot::Open(_) => None,
            Slot::Closed { why, .. } => Some(why.clone()),
        }
    }

    /// Reads one snapshot, off the executor's threads.
    ///
    /// # Errors
    /// [`StateError`] where the database does not work.
    ///
    /// # Cancel safety
    /// A dropped future lets the read end for nothing.
    pub async fn read<T: Send + 'static>(
        &self,
        work: impl FnOnce(&ReadTransaction) -> Result<T, redb::Error> + Send + 'static,
    ) -> Result<T, StateError> {
        let state = self.clone();
        blocking(move || state.read_blocking(work)).await
    }

    /// Runs one transaction, off the executor's threads. The outer error of `work` is the database's; the inner one
    /// is the caller's own, and undoes what the transaction did. What it returns is on disk.
    ///
    /// # Errors
    /// [`StateError`] where the database does not work; the transaction did nothing then, unless the commit itself failed:
    /// then it did all or nothing.
    ///
    /// # Cancel safety
    /// A dropped future lets the transaction go on to its end.
    pub async fn write<T: Send + 'static, E: Send + 'static>(
        &self,
        work: impl FnOnce(&WriteTransaction) -> Result<Result<T, E>, redb::Error> + Send + 'static,
    ) -> Result<Result<T, E>, StateError> {
        let state = self.clone();
        blocking(move || state.write_blocking(work)).await
    }

    /// As [`State::read`], on this thread: it may wait for the disk.
    ///
    /// # Errors
    /// As [`State::read`].
    pub fn read_blocking<T>(
        &self,
        work: impl FnOnce(&ReadTransaction) -> Result<T, redb::Error>,
    ) -> Result<T, StateError> {
        self.run(|database| work(&database.begin_read()?))
    }

    /// As [`State::write`], on this thread: it waits for other writers and for the disk.
    ///
    /// # Errors
    /// As [`State::write`].
    pub fn write_blocking<T, E>(
        &self,
        work: impl FnOnce(&WriteTransaction) -> Result<Result<T, E>, redb::Error>,
    ) -> Result<Result<T, E>, StateError> {
        self.run(|database| {
            let transaction = database.begin_write()?;
            let done = work(&transaction)?;
            if done.is_ok() {
                transaction.commit()?;
            } else {
                transaction.abort()?;
            }
            Ok(done)
        })
    }

    /// Opens a database that is closed, until `stop` is cancelled: nobody has to ask for it first.
    pub async fn keep_open(&self, stop: CancellationToken) {
        let trying = async {
            loop {
                tokio::time::sleep(self.0.open_every).await;
                if self.problem().is_some() {
                    let state = self.clone();
                    // What is wrong is kept for `problem`.
                    blocking(move || state.database().map(drop)).await.ok();
                }
            }
        };
        stop.run_until_cancelled(trying).await;
    }

    /// Runs `work`; a database that failed is closed, because redb refuses to go on with it.
    fn run<T>(&self, work: impl FnOnce(&Database) -> Result<T, redb::Error>) -> Result<T, StateError> {
        let database = self.database()?;
        // A file that was damaged while it was open can make redb panic.
        let done = catch_unwind(AssertUnwindSafe(|| work(&database)));
        let why = match done {
            Ok(Ok(value)) => return Ok(value),
            Ok(Err(error)) => self.0.opener.explain(error),
            Err(_) => self.0.opener.panicked(),
        };
        let mut slot = self.0.slot.lock();
        // Another may have failed on it before, and a new one be open by now.
        if matches!(&*slot, Slot::Open(open) if Arc::ptr_eq(open, &database)) {
            tracing::error!(error = %why, "the state failed; it is opened anew");
            *slot = Slot::Closed { why: why.clone(), since: Instant::now() };
        }
        Err(why)
    }

    /// The database, opened anew where that is due.
    fn database(&self) -> Result<Arc<Database>, StateError> {
        let slot = self.0.slot.lock();
        match &*slot {
            Slot::Closed { since, .. } if since.elapsed() >= self.0.open_every => {
                drop(slot);
                self.reopen()
            }
            _ => slot.database(),
        }
    }

    /// Opens it, unless another does or has done so.
    fn reopen(&self) -> Result<Arc<Database>, StateError> {
        let Some(_opening) = self.0.opening.try_lock() else { return self.0.slot.lock().database() };
        // A second time it would be locked, by this very process.
        if let Slot::Open(database) = &*self.0.slot.lock() {
            return Ok(Arc::clone(database));
        }
        let opened = self.0.opener.open();
        if opened.is_ok() {
            tracing::info!("the state can be used again");
        }
        let mut slot = self.0.slot.lock();
        *slot = match opened {
            Ok(database) => Slot::Open(Arc::new(database)),
            Err(why) => Slot::Closed { why, since: Instant::now() },
        };
        slot.database()
    }
}

impl Slot {
    fn database(&self) -> Result<Arc<Database>, StateError> {
        match self {
            Self::Open(database) => Ok(Arc::clone(database)),
            Self::Closed { why, .. } => Err(why.clone()),
        }
    }
}

impl std::fmt::Debug for State {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.debug_struct("State").field("path", &self.path()).finish_non_exhaustive()
    }
}

async fn blocking<T: Send + 'static>(
    work: impl FnOnce() -> Result<T, StateError> + Send + 'static,
) -> Result<T, StateError> {
    // It does not panic; it is cancelled only where the process ends.
    tokio::task::spawn_blocking(work).await.unwrap_or(Err(StateError::Stopping))
}

#[cfg(test)]
mod tests;
