//! `config-files`: the part of a plugin's configuration that comes from mounted ConfigMaps and Secrets.
//!
//! The owner of a mounted directory decides about plugins that read it, and not about the host: links that lead out of the
//! directory are not followed, only regular files are read, and their size and number are limited.

use std::{
    collections::BTreeMap,
    hash::{BuildHasher, RandomState},
    io::{self, ErrorKind},
    path::{Path, PathBuf},
    sync::Arc,
};

use futures::future::BoxFuture;
use informer_runtime::capabilities::{ConfigFilesError, ConfigSource};
use informer_system::{Directory, Entry, FileError, RegularFile};
use parking_lot::Mutex;
use tokio::sync::Semaphore;

/// The most bytes of all files of a plugin together. A ConfigMap or Secret has at most 1 MiB.
const BYTES: u64 = 4 << 20;

/// In a mounted volume, the link to the directory of its present state. A change replaces the link.
const PRESENT: &str = "..data";

/// How often a directory is read at most, if its link is replaced while it is read.
const SWAPS: usize = 10;

/// The most files of a directory.
const FILES: usize = 10_000;

/// The most reads of one plugin at a time. If the disk hangs, the plugin blocks at most this many threads.
const READS: usize = 2;

/// The configuration files of one plugin.
#[derive(Clone, Debug)]
pub(crate) struct ConfigFiles {
    /// Files, and directories of files. If two files have the same name, the later one wins.
    paths: Arc<Mutex<Vec<PathBuf>>>,
    reads: Arc<Semaphore>,
    hasher: RandomState,
}

// === impl ConfigFiles ===

impl ConfigFiles {
    pub(crate) fn new(paths: Vec<PathBuf>) -> Self {
        let (paths, reads) = (Arc::new(Mutex::new(paths)), Arc::new(Semaphore::new(READS)));
        Self { paths, reads, hasher: RandomState::new() }
    }

    /// Replaces the paths.
    pub(crate) fn set(&self, paths: Vec<PathBuf>) {
        *self.paths.lock() = paths;
    }

    /// Reads the text of every file, by name. Blocks.
    fn read(&self) -> Result<BTreeMap<String, String>, ConfigFilesError> {
        let (mut texts, mut bytes) = (BTreeMap::new(), 0);
        for path in &self.paths.lock().clone() {
            texts.extend(read(path, &mut bytes).map_err(|error| failed(path, &error))?);
        }
        Ok(texts)
    }

    /// Reads the file of this name, from the last path that has one. Blocks.
    fn read_one(&self, name: &str) -> Result<Option<String>, ConfigFilesError> {
        for path in self.paths.lock().clone().iter().rev() {
            let found = read_one(path, name).map_err(|error| failed(path, &error))?;
            if found.is_some() {
                return Ok(found);
            }
        }
        Ok(None)
    }

    /// A hash of the names and texts of all files, to notice changes. It is good in this process only.
    ///
    /// # Errors
    /// [`ConfigFilesError`] as for [`ConfigSource::files`].
    pub(crate) async fn state(&self) -> Result<u64, ConfigFilesError> {
        let hasher = self.hasher.clone();
        self.files().await.map(|files| hasher.hash_one(files))
    }

    /// Runs the work outside the threads of the executor. If a call of the plugin waits for it, its processor time counts for `cpu`.
    /// Without paths there is nothing to do.
    fn blocking<T: Default + Send + 'static>(
        &self,
        work: impl FnOnce(&Self) -> Result<T, ConfigFilesError> + Send + 'static,
    ) -> BoxFuture<'_, Result<T, ConfigFilesError>> {
        let files = self.clone();
        Box::pin(async move {
            if files.paths.lock().is_empty() {
                return Ok(T::default());
            }
            // The semaphore is never closed. A read keeps its place until it ends, even if its call is over.
            let place = Arc::clone(&files.reads).acquire_owned().await.ok();
            let reading = informer_runtime::blocking_work(move || {
                let _place = place;
                work(&files)
            });
            reading.await.unwrap_or_else(|error| Err(failed(Path::new(""), &error)))
        })
    }
}

impl ConfigSource for ConfigFiles {
    fn files(&self) -> BoxFuture<'_, Result<BTreeMap<String, String>, ConfigFilesError>> {
        self.blocking(Self::read)
    }

    fn file(&self, name: &str) -> BoxFuture<'_, Result<Option<String>, ConfigFilesError>> {
        let name = name.to_owned();
        self.blocking(move |files| files.read_one(&name))
    }
}

fn failed(path: &Path, why: &impl ToString) -> ConfigFilesError {
    ConfigFilesError { path: path.to_owned(), why: why.to_string() }
}

/// Reads a file, or the files of a directory in one of its states. `bytes` counts the bytes of all files.
fn read(path: &Path, bytes: &mut u64) -> Result<BTreeMap<String, String>, FileError> {
    let before = *bytes;
    match open(path)? {
        Entry::File(file) => Ok(BTreeMap::from([(name_of(path), text(file, &name_of(path), bytes)?)])),
        Entry::Directory(directory) => of_one_state(&directory, |state| {
            *bytes = before;
            texts(state, bytes)
        }),
    }
}

/// Opens the file or the directory at the path.
fn open(path: &Path) -> Result<Entry, FileError> {
    for _ in 1..SWAPS {
        match Entry::open(path) {
            // The system read the link of the state just before it was replaced.
            Err(error) if error.is_absent() && path.is_symlink() => {}
            opened => return opened,
        }
    }
    Entry::open(path)
}

/// Reads the present state of a mounted volume, and another directory as it is. If the state is replaced meanwhile, reads
/// the new one: files of the old state may have been removed already.
fn of_one_state<T>(
    directory: &Directory,
    mut read: impl FnMut(&Directory) -> Result<T, FileError>,
) -> Result<T, FileError> {
    for _ in 0..SWAPS {
        let state = match directory.entry(PRESENT.as_ref()) {
            Ok(Entry::Directory(state)) => state,
            // The system read the link just before it was replaced.
            Err(error) if error.is_absent() && directory.has_link(PRESENT.as_ref()) => continue,
            Err(error) if !error.is_absent() => return Err(of_file(PRESENT, &error)),
            Ok(Entry::File(_)) | Err(_) => return read(directory),
        };
        let result = read(&state);
        let now = directory.entry(PRESENT.as_ref());
        if matches!(now, Ok(Entry::Directory(now)) if now.is(&state).unwrap_or_default()) {
            return result;
        }
    }
    let why = format!("`{PRESENT}` leads nowhere, or was replaced {SWAPS} times while its files were read");
    Err(io::Error::other(why).into())
}

fn texts(directory: &Directory, bytes: &mut u64) -> Result<BTreeMap<String, String>, FileError> {
    let mut texts = BTreeMap::new();
    for (index, name) in directory.names()?.enumerate() {
        if index >= FILES {
            return Err(io::Error::other(format!("more than {FILES} files")).into());
        }
        let name = name?.to_string_lossy().into_owned();
        if !is_shown(&name) {
            continue;
        }
        if let Entry::File(file) = directory.entry(name.as_ref()).map_err(|error| of_file(&name, &error))? {
            let text = text(file, &name, bytes)?;
            texts.insert(name, text);
        }
    }
    Ok(texts)
}

/// Reads the file at the path, or the file of this name in the directory at the path. Returns `None` if there is none.
fn read_one(path: &Path, name: &str) -> Result<Option<String>, FileError> {
    match open(path)? {
        Entry::File(file) if name_of(path) == name => text(file, name, &mut 0).map(Some),
        Entry::File(_) => Ok(None),
        // A name must not be a path.
        Entry::Directory(_) if !is_shown(name) || name_of(Path::new(name)) != name => Ok(None),
        Entry::Directory(directory) => of_one_state(&directory, |state| match state.entry(name.as_ref()) {
            Ok(Entry::File(file)) => text(file, name, &mut 0).map(Some),
            Ok(Entry::Directory(_)) => Ok(None),
            Err(error) if error.is_absent() || is_no_name(&error) => Ok(None),
            Err(error) => Err(of_file(name, &error)),
        }),
    }
}

/// Returns true if no file can have the name.
fn is_no_name(error: &FileError) -> bool {
    let FileError::Io(error) = error else { return false };
    matches!(error.kind(), ErrorKind::InvalidFilename | ErrorKind::InvalidInput)
}

/// Returns true if the file belongs to the content of a mounted volume. Names that start with `.` belong to the mechanism
/// of the volume. Content files are links, which are followed inside the volume.
fn is_shown(name: &str) -> bool {
    !name.is_empty() && !name.starts_with('.')
}

/// Reads the text of a file, and adds its size to `bytes`.
fn text(file: RegularFile, name: &str, bytes: &mut u64) -> Result<String, FileError> {
    let read = match file.read(BYTES.saturating_sub(*bytes)) {
        Err(FileError::TooLarge { .. }) => {
            return Err(io::Error::other(format!("more than {BYTES} bytes")).into());
        }
        read => read.map_err(|error| of_file(name, &error))?,
    };
    *bytes += read.len() as u64;
    String::from_utf8(read).map_err(|_| io::Error::other(format!("`{name}` is not UTF-8")).into())
}

fn name_of(path: &Path) -> String {
    path.file_name().unwrap_or_default().to_string_lossy().into_owned()
}

fn of_file(name: &str, error: &FileError) -> FileError {
    io::Error::other(format!("`{name}`: {error}")).into()
}

#[cfg(test)]
mod tests;
