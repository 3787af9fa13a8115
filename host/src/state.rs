//! The state that outlives the process: one database file with the key-values of plugins, the dead letters and
//! what plugins acknowledged.
//!
//! The database is [redb](https://docs.rs/redb): its transactions survive a crash, and it has one writer at a time. Each use has its
//! own tables in a submodule. The file is `informer.redb` in `[host] state-dir`, readable by its owner only. A file or a directory that
//! other users can write is not used; [`PrivateDir`](informer_system::PrivateDir) has the rules.
//!
//! # Durability
//! A write that has returned is on disk, because each commit calls `fsync`. Plugins may rely on it. Writes that wait at the same
//! time share a commit, in turns by owner.
//!
//! # Failures
//! A database that is locked, damaged or full does not stop the delivery of events. The host runs, each use of the state returns an
//! error with the remedy, and `/readyz?verbose` shows the failure. The host stays ready. A damaged or empty file is never replaced by
//! an empty database. A database that failed is opened again every few seconds: a released lock, free disk space or a repaired file
//! needs no restart.

mod commits;
mod forget;
mod key_values;
mod letters;
mod open;
mod receipts;

use std::{
    panic::{AssertUnwindSafe, catch_unwind},
    path::{Path, PathBuf},
    sync::{
        Arc, Weak,
        atomic::{AtomicU64, Ordering::Relaxed},
    },
    time::{Duration, Instant},
};

use parking_lot::{Condvar, Mutex};
use redb::{Database, ReadTransaction, ReadableDatabase, WriteTransaction};
use tokio::sync::Semaphore;
use tokio_util::sync::CancellationToken;

use commits::{Commits, Turn, Write, write};
pub use forget::forget;
pub use key_values::KeyValues;
pub use letters::{DeadLetters, DroppedKeys};
use open::Opener;
pub use open::StateError;
pub use receipts::{KeptReceipts, Size as ReceiptsSize};

/// Time between two attempts to open the database.
const OPEN_EVERY: Duration = Duration::from_secs(5);

/// The most reads at a time. Each needs a thread, and a host with many plugins starts many reads at once.
const READS: usize = 4;

/// redb reports the cause of a failure to one call only, and that call records the cause at once. The other calls wait for the record
/// at most this long.
const FIRST_ERROR_WITHIN: Duration = Duration::from_secs(1);

/// How long the end of the state waits for the uses of the database.
const USES_END_WITHIN: Duration = Duration::from_secs(1);

/// The state of the host. Cheap to clone; all clones share one database.
#[derive(Clone)]
pub struct State(Arc<Shared>);

struct Shared {
    opener: Opener,
    open_every: Duration,
    slot: Mutex<Slot>,
    /// Notified when the database in the slot is closed.
    closed: Condvar,
    /// The writes that wait for a commit.
    commits: Commits,
    /// The turns of reads.
    reads: Semaphore,
    /// Held while the database is opened. Other calls return the last error instead of waiting for a slow disk.
    opening: Mutex<()>,
    /// How often the database was closed after an error, and 1 more if it could not be opened at the start.
    failures: AtomicU64,
}

/// What the metrics show of the state.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct StateStats {
    /// The database cannot be used now.
    pub is_failing: bool,
    /// How often the state failed. A database on a full disk can be opened again, and fails at its next write.
    pub failures: u64,
}

enum Slot {
    Open(Arc<Database>),
    Closed {
        why: StateError,
        since: Instant,
    },
    /// The database is not opened any more.
    Ended,
}

// === impl State ===

impl State {
    /// Opens the database in this directory, and creates both if necessary. `None` means a database in memory. If it cannot be
    /// opened, [`State::problem`] has the reason, and it is tried again later.
    ///
    /// # Blocking
    /// The call checks the whole file.
    pub fn open(directory: Option<&Path>) -> Self {
        let opener = directory.map_or(Opener::Memory, |directory| Opener::File(directory.to_owned()));
        Self::with(opener, OPEN_EVERY)
    }

    fn with(opener: Opener, open_every: Duration) -> Self {
        let slot = match opener.open() {
            Ok(database) => Slot::Open(Arc::new(database)),
            Err(why) => {
                tracing::error!(error = %why, "the state cannot be used; it is opened again every few seconds");
                Slot::Closed { why, since: Instant::now() }
            }
        };
        let failures = AtomicU64::new(matches!(slot, Slot::Closed { .. }).into());
        let (slot, opening) = (Mutex::new(slot), Mutex::new(()));
        let (closed, commits, reads) = (Condvar::new(), Commits::default(), Semaphore::new(READS));
        Self(Arc::new(Shared { opener, open_every, slot, closed, commits, reads, opening, failures }))
    }

    /// Returns the database file, or `None` if the state is in memory.
    pub fn path(&self) -> Option<PathBuf> {
        self.0.opener.path()
    }

    /// Returns what is wrong with the state, with the remedy, or `None` if it works.
    pub fn problem(&self) -> Option<StateError> {
        match &*self.0.slot.lock() {
            Slot::Open(_) | Slot::Ended => None,
            Slot::Closed { why, .. } => Some(why.clone()),
        }
    }

    /// Returns whether the state works, and how often it has failed.
    pub fn stats(&self) -> StateStats {
        let is_failing = matches!(&*self.0.slot.lock(), Slot::Closed { .. });
        StateStats { is_failing, failures: self.0.failures.load(Relaxed) }
    }

    /// Reads one snapshot, outside of the threads of the executor.
    ///
    /// # Errors
    /// [`StateError`] if the database does not work.
    ///
    /// # Cancel safety
    /// The future may be dropped at any time.
    pub async fn read<T: Send + 'static>(
        &self,
        work: impl FnOnce(&ReadTransaction) -> Result<T, redb::Error> + Send + 'static,
    ) -> Result<T, StateError> {
        // The semaphore is never closed.
        let _turn = self.0.reads.acquire().await;
        let state = self.clone();
        blocking(move || state.read_blocking(work)).await
    }

    /// Runs `work` in a transaction, outside of the threads of the executor. The outer error of `work` is an error of the database;
    /// the inner error belongs to the caller, and work that returns it has changed nothing. What `work` changed is on disk when the
    /// function returns.
    ///
    /// Writes that wait are committed together. The owners take turns, so one owner cannot keep the others waiting. `bytes` is the
    /// size of the write.
    ///
    /// # Errors
    /// [`StateError`] if the database does not work. Then neither this write nor any other write of the same commit has changed
    /// anything; if the commit itself failed, all of them have changed everything or nothing.
    ///
    /// # Cancel safety
    /// The write is executed even if the future is dropped, unless every clone of the state is dropped before.
    pub async fn write<T: Send + 'static, E: Send + 'static>(
        &self,
        owner: &Arc<str>,
        bytes: usize,
        work: impl FnOnce(&WriteTransaction) -> Result<Result<T, E>, redb::Error> + Send + 'static,
    ) -> Result<Result<T, E>, StateError> {
        let (write, result) = write(work);
        if let Some(turn) = self.0.commits.add(owner, bytes, write) {
            let shared = Arc::downgrade(&self.0);
            // It ends when nothing waits; the callers wait for their results.
            drop(tokio::task::spawn_blocking(move || Self::commit_all(turn, &shared)));
        }
        result.await.unwrap_or(Err(StateError::Stopping))
    }

    /// Reads on this thread, which may wait for the disk.
    fn read_blocking<T>(
        &self,
        work: impl FnOnce(&ReadTransaction) -> Result<T, redb::Error>,
    ) -> Result<T, StateError> {
        self.run(|database| work(&database.begin_read()?))
    }

    /// Commits the waiting writes, on this thread, until none waits. The state may end with the result of the last write: its
    /// file is closed before the result is reported.
    fn commit_all(mut turn: Turn, shared: &Weak<Shared>) {
        while let Some(mut writes) = turn.next() {
            let done = match shared.upgrade() {
                Some(shared) => Self(shared).commit(&mut writes),
                None => Err(StateError::Stopping),
            };
            writes.into_iter().for_each(|write| write.end(done.clone()));
        }
    }

    /// Commits writes together.
    fn commit(&self, writes: &mut [Box<dyn Write>]) -> Result<(), StateError> {
        self.run(|database| {
            let transaction = database.begin_write()?;
            let mut changed = false;
            for write in writes.iter_mut() {
                changed |= write.run(&transaction)?;
            }
            if changed {
                transaction.commit()?;
            } else {
                transaction.abort()?;
            }
            Ok(())
        })
    }

    /// Opens the database whenever it is closed, without waiting for its next use, until `stop` is cancelled.
    pub async fn keep_open(&self, stop: CancellationToken) {
        let trying = async {
            loop {
                tokio::time::sleep(self.0.open_every).await;
                if self.problem().is_some() {
                    let state = self.clone();
                    // `problem` has the error.
                    blocking(move || state.database().map(drop)).await.ok();
                }
            }
        };
        stop.run_until_cancelled(trying).await;
    }

    /// Closes the database for good. Every later use returns [`StateError::Stopping`]. The lock of the file is released when this
    /// returns, unless a use of the database takes longer than a second.
    ///
    /// # Cancel safety
    /// The database is closed even if the future is dropped.
    pub async fn end(&self) {
        let Slot::Open(database) = std::mem::replace(&mut *self.0.slot.lock(), Slot::Ended) else { return };
        // No other use can begin.
        let used = async {
            while Arc::strong_count(&database) > 1 {
                tokio::time::sleep(Duration::from_millis(1)).await;
            }
        };
        tokio::time::timeout(USES_END_WITHIN, used).await.ok();
        let close = move || {
            drop(database);
            Ok(())
        };
        blocking(close).await.ok();
    }

    /// Runs `work`, and closes a database that failed: redb does not accept further calls then.
    fn run<T>(&self, work: impl FnOnce(&Database) -> Result<T, redb::Error>) -> Result<T, StateError> {
        let database = self.database()?;
        // A file that is damaged while it is open can make redb panic.
        let done = catch_unwind(AssertUnwindSafe(|| work(&database)));
        let why = match done {
            Ok(Ok(value)) => return Ok(value),
            Ok(Err(redb::Error::PreviousIo)) => self.first_error(&database),
            Ok(Err(error)) => self.0.opener.explain(error),
            Err(_) => self.0.opener.panicked(),
        };
        self.close(&database, &why);
        Err(why)
    }

    /// Closes this database, unless another call has closed it; a new one may be open by now.
    fn close(&self, database: &Arc<Database>, why: &StateError) {
        let mut slot = self.0.slot.lock();
        if slot.is_open(database) {
            tracing::error!(error = %why, "the state failed; it is opened again");
            *slot = Slot::Closed { why: why.clone(), since: Instant::now() };
            self.0.failures.fetch_add(1, Relaxed);
            self.0.closed.notify_all();
        }
    }

    /// Returns why this database does not work any more. redb reports the cause to one call only, which closes the database.
    fn first_error(&self, database: &Arc<Database>) -> StateError {
        let until = Instant::now() + FIRST_ERROR_WITHIN;
        let mut slot = self.0.slot.lock();
        while slot.is_open(database) && !self.0.closed.wait_until(&mut slot, until).timed_out() {}
        match &*slot {
            Slot::Closed { why, .. } => why.clone(),
            Slot::Ended => StateError::Stopping,
            Slot::Open(_) => self.0.opener.explain(redb::Error::PreviousIo),
        }
    }

    /// Returns the database, opened again if that is due.
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

    /// Opens the database, unless another call does so or has done so.
    fn reopen(&self) -> Result<Arc<Database>, StateError> {
        let Some(_opening) = self.0.opening.try_lock() else { return self.0.slot.lock().database() };
        match &*self.0.slot.lock() {
            // A second open would fail, because this process holds the lock.
            Slot::Open(database) => return Ok(Arc::clone(database)),
            Slot::Ended => return Err(StateError::Stopping),
            Slot::Closed { .. } => {}
        }
        let opened = self.0.opener.open();
        if opened.is_ok() {
            tracing::info!("the state can be used again");
        }
        let mut slot = self.0.slot.lock();
        if matches!(*slot, Slot::Ended) {
            return Err(StateError::Stopping);
        }
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
            Self::Ended => Err(StateError::Stopping),
        }
    }

    fn is_open(&self, database: &Arc<Database>) -> bool {
        matches!(self, Self::Open(open) if Arc::ptr_eq(open, database))
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
    // The task does not panic, and it is cancelled only when the process ends. The processor time of a read of key-values
    // counts for the `cpu` of the plugin whose call waits for it.
    informer_runtime::blocking_work(work).await.unwrap_or(Err(StateError::Stopping))
}

#[cfg(test)]
mod tests;
