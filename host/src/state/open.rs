//! The place of the database, how it is opened, and what its errors mean.

use std::{
    fs::File,
    io::{self, ErrorKind},
    panic::{AssertUnwindSafe, catch_unwind},
    path::{Path, PathBuf},
    sync::Arc,
};

use informer_system::{LockHolder, NotPrivate, PrivateDir};
use redb::{
    Builder, Database,
    backends::{FileBackend, InMemoryBackend},
};

/// Name of the file in the state directory.
pub(super) const FILE_NAME: &str = "informer.redb";

/// Most bytes of pages in memory; the default of redb is 1 GiB.
const CACHE_BYTES: usize = 8 << 20;

/// The text for a database without a path.
const IN_MEMORY: &str = "(in memory)";

/// Why the state cannot be used. Each variant names the database file, if it has one, and the error of the system or of redb.
#[derive(Clone, Debug, thiserror::Error)]
pub enum StateError {
    /// Another process has opened the database.
    #[error(
        "the state {path} is in use by {holder}: stop that one, or give each host its own [host] state-dir",
        path = .0.display(), holder = .1.as_ref().map_or("another process".to_owned(), LockHolder::to_string)
    )]
    Locked(PathBuf, Option<LockHolder>),
    /// The file is not a valid database.
    #[error(
        "the state {path} is damaged ({1}): restore a copy, or move it away to begin with an empty one",
        path = .0.display()
    )]
    Damaged(PathBuf, Arc<str>),
    /// The disk is full.
    #[error(
        "the disk with the state {path} is full: make room there, or move [host] state-dir to another one",
        path = .0.display()
    )]
    Full(PathBuf),
    /// The directory or the file cannot be created, opened or written.
    #[error(
        "the state {path} cannot be written ({1}): make its directory writable for this user, name another one under [host] state-dir, or set it to \"off\"",
        path = .0.display()
    )]
    Unwritable(PathBuf, Arc<str>),
    /// The directory or the file belongs to another user, other users can write to it, or the file is not a regular file.
    #[error(
        "the state {path} is not used: {1}; correct that, name another directory under [host] state-dir, or set it to \"off\"",
        path = .0.display()
    )]
    NotPrivate(PathBuf, Arc<str>),
    /// Another failure.
    #[error("the state {path} failed: {1}", path = .0.display())]
    Failed(PathBuf, Arc<str>),
    /// The host is stopping.
    #[error("the host is stopping")]
    Stopping,
}

/// Opens one database, as often as necessary.
pub(super) enum Opener {
    /// The database ends with the process.
    Memory,
    /// The database is in this directory.
    File(PathBuf),
    /// A database of a test.
    #[cfg(test)]
    Test(Box<dyn Fn() -> Result<Database, redb::DatabaseError> + Send + Sync>),
}

// === impl StateError ===

impl StateError {
    /// Returns a text for plugins, which has no paths of the host.
    pub(super) fn in_short(&self) -> &'static str {
        match self {
            Self::Locked(..) => "another process has it",
            Self::Damaged(..) => "it is damaged",
            Self::Full(..) => "its disk is full",
            Self::Unwritable(..) => "it cannot be written",
            Self::NotPrivate(..) => "others could have written it",
            Self::Failed(..) => "it failed",
            Self::Stopping => "the host is stopping",
        }
    }
}

// === impl Opener ===

impl Opener {
    /// Opens the database and checks the whole file, so that a damaged page is found now and not when it is read.
    pub(super) fn open(&self) -> Result<Database, StateError> {
        let mut file = match self {
            Self::File(directory) => Some(self.open_file(directory)?),
            _ => None,
        };
        let opened = catch_unwind(AssertUnwindSafe(|| match self {
            Self::Memory | Self::File(_) => match file.take() {
                Some(file) => builder().create_with_backend(FileBackend::new(file)?),
                None => builder().create_with_backend(InMemoryBackend::new()),
            },
            #[cfg(test)]
            Self::Test(open) => open(),
        }));
        match opened {
            Ok(Ok(database)) => Ok(database),
            Ok(Err(error)) => Err(self.explain(error.into())),
            Err(_) => Err(self.panicked()),
        }
    }

    pub(super) fn path(&self) -> Option<PathBuf> {
        match self {
            Self::File(directory) => Some(directory.join(FILE_NAME)),
            _ => None,
        }
    }

    /// Opens or creates the file, unless other users could have written it. An empty file counts as damaged: redb would write an empty
    /// database into it.
    fn open_file(&self, directory: &Path) -> Result<File, StateError> {
        let path = || directory.join(FILE_NAME);
        let opened = PrivateDir::create(directory).and_then(|private| {
            let is_whole = create(&private)?;
            Ok((private.write(FILE_NAME)?, is_whole))
        });
        let (file, is_whole) = opened.map_err(|why| match why {
            NotPrivate::Io { source, .. } => explain_io(&source, path()),
            other => StateError::NotPrivate(path(), other.to_string().into()),
        })?;
        let bytes = file.metadata().map_err(|error| explain_io(&error, path()))?.len();
        if is_whole && bytes == 0 {
            return Err(StateError::Damaged(path(), "it is empty".into()));
        }
        Ok(file)
    }

    /// Classifies an error of the database.
    pub(super) fn explain(&self, error: redb::Error) -> StateError {
        let path = self.path().unwrap_or_else(|| IN_MEMORY.into());
        match error {
            redb::Error::DatabaseAlreadyOpen | redb::Error::LockProtocolMismatch => {
                let holder = LockHolder::of(&path);
                StateError::Locked(path, holder)
            }
            redb::Error::Corrupted(_) | redb::Error::UpgradeRequired(_) | redb::Error::RepairAborted => {
                StateError::Damaged(path, error.to_string().into())
            }
            redb::Error::Io(error) => explain_io(&error, path),
            other => StateError::Failed(path, other.to_string().into()),
        }
    }

    /// The error after a panic: redb panics if parts that its checksums do not cover are damaged.
    pub(super) fn panicked(&self) -> StateError {
        let path = self.path().unwrap_or_else(|| IN_MEMORY.into());
        StateError::Damaged(path, "its content contradicts itself".into())
    }
}

/// Creates an empty database if there is no file. A host that is killed meanwhile, or a disk that is full, leaves no part of a
/// database, which would count as damaged. Returns false and creates nothing if the file system has no hard links. The caller then
/// creates the database in its final place.
fn create(private: &PrivateDir) -> Result<bool, NotPrivate> {
    match private.create_whole(FILE_NAME, empty_database) {
        Err(NotPrivate::Io { source, .. })
            if matches!(source.kind(), ErrorKind::PermissionDenied | ErrorKind::Unsupported) =>
        {
            Ok(false)
        }
        created => created.map(|()| true),
    }
}

fn empty_database(file: &mut File) -> io::Result<()> {
    let backend = FileBackend::new(file.try_clone()?);
    let created = backend.and_then(|backend| builder().create_with_backend(backend));
    created.map(drop).map_err(|error| match redb::Error::from(error) {
        redb::Error::Io(error) => error,
        error => io::Error::other(error.to_string()),
    })
}

fn explain_io(error: &io::Error, path: PathBuf) -> StateError {
    let problem = error.to_string().into();
    match error.kind() {
        ErrorKind::StorageFull | ErrorKind::QuotaExceeded | ErrorKind::FileTooLarge => StateError::Full(path),
        ErrorKind::PermissionDenied
        | ErrorKind::ReadOnlyFilesystem
        | ErrorKind::NotADirectory
        | ErrorKind::IsADirectory
        | ErrorKind::AlreadyExists
        | ErrorKind::NotFound => StateError::Unwritable(path, problem),
        ErrorKind::InvalidData | ErrorKind::UnexpectedEof => StateError::Damaged(path, problem),
        _ => StateError::Failed(path, problem),
    }
}

pub(super) fn builder() -> Builder {
    let mut builder = Builder::new();
    builder.set_cache_size(CACHE_BYTES).set_check_integrity_on_open(true);
    builder
}

#[cfg(test)]
mod tests {
    use tempfile::TempDir;

    use super::*;

    /// A host that is killed later leaves a database, and not a part of one.
    #[test]
    fn a_database_is_whole_when_it_gets_its_name() {
        let directory = TempDir::new().unwrap();
        let private = PrivateDir::open(directory.path()).unwrap();

        create(&private).unwrap();

        assert!(std::fs::read(private.join(FILE_NAME)).unwrap().starts_with(b"redb"));
    }
}
