//! The configuration file and the files that it names, to notice changes of any of them.

use std::path::{Path, PathBuf};

use super::directories::{Seen, look};
use crate::config;

/// The files and directories of [`config::files`], and their state when the configuration was read last.
pub(super) struct Followed {
    file: PathBuf,
    read: Vec<(PathBuf, Option<Seen>)>,
}

// === impl Followed ===

impl Followed {
    /// The present state counts as read.
    pub(super) fn read_now(file: &Path) -> Self {
        let read = config::files(file).into_iter().map(|path| {
            let seen = look(&path);
            (path, seen)
        });
        Self { file: file.to_owned(), read: read.collect() }
    }

    /// A file that is still to be read.
    #[cfg(test)]
    pub(super) fn unread(file: PathBuf) -> Self {
        Self { read: vec![(file.clone(), None)], file }
    }

    pub(super) fn file(&self) -> &Path {
        &self.file
    }

    /// A file or directory that has changed since it was read.
    pub(super) fn changed(&self) -> Option<&Path> {
        self.read.iter().find(|(path, seen)| look(path) != *seen).map(|(path, _)| path.as_path())
    }
}
