//! Directories that others may write to. No link leads out of them.

use std::{
    ffi::OsString,
    fs::File,
    io::{self, ErrorKind},
    os::unix::fs::MetadataExt,
    path::Path,
};

use cap_std::{
    ambient_authority,
    fs::{Dir, OpenOptions, OpenOptionsExt},
};
use rustix::fs::OFlags;

use crate::file::{FLAGS, FileError, RegularFile, check};

/// An open directory. A link inside it is followed if it stays inside.
#[derive(Debug)]
pub struct Directory {
    dir: Dir,
}

/// What a name in a directory leads to.
#[derive(Debug)]
pub enum Entry {
    /// A regular file.
    File(RegularFile),
    /// A directory.
    Directory(Directory),
}

// === impl Entry ===

impl Entry {
    /// Opens the file or directory at the path. Links among its parent directories are followed. The last part of the path may be a link
    /// too, but only to a place inside its parent directory: a mounted file may be a link inside its volume, and must not be a link to a
    /// file of another owner.
    ///
    /// # Errors
    /// [`FileError`] if it is neither a regular file nor a directory, leads outside, or cannot be opened.
    pub fn open(path: &Path) -> Result<Self, FileError> {
        match (path.parent(), path.file_name()) {
            (Some(parent), Some(name)) => Directory::open(parent)?.entry(name.as_ref()),
            _ => Directory::open(path).map(Self::Directory),
        }
    }
}

// === impl Directory ===

impl Directory {
    /// Opens the directory at the path. Links in the path are followed.
    ///
    /// # Errors
    /// The error of the operating system.
    pub fn open(path: &Path) -> Result<Self, FileError> {
        Ok(Self { dir: Dir::open_ambient_dir(path, ambient_authority())? })
    }

    /// Opens what stands under the name. Never waits for another process.
    ///
    /// # Errors
    /// [`FileError`] if it is neither a regular file nor a directory, leads outside, or cannot be opened.
    pub fn entry(&self, name: &Path) -> Result<Entry, FileError> {
        // A device is not even opened, because that alone may have an effect.
        let found = self.opened(name, OFlags::PATH)?.metadata()?;
        if found.is_dir() {
            return Ok(Entry::Directory(Self { dir: self.dir.open_dir(name).map_err(outside)? }));
        }
        check(found.file_type())?;
        RegularFile::checked(self.opened(name, FLAGS)?).map(Entry::File)
    }

    /// Returns true if the name is a link, wherever it leads.
    pub fn has_link(&self, name: &Path) -> bool {
        self.dir.symlink_metadata(name).is_ok_and(|found| found.is_symlink())
    }

    /// The names of the entries, in no order.
    ///
    /// # Errors
    /// The error of the operating system. Each item of the iterator may be such an error too.
    pub fn names(&self) -> Result<impl Iterator<Item = io::Result<OsString>> + use<>, FileError> {
        Ok(self.dir.entries()?.map(|entry| entry.map(|entry| entry.file_name())))
    }

    /// Returns true if both are the same directory of the file system.
    ///
    /// # Errors
    /// The error of the operating system.
    pub fn is(&self, other: &Self) -> Result<bool, FileError> {
        let identity = |directory: &Self| -> io::Result<_> {
            let metadata = directory.dir.try_clone()?.into_std_file().metadata()?;
            Ok((metadata.dev(), metadata.ino()))
        };
        Ok(identity(self)? == identity(other)?)
    }

    fn opened(&self, name: &Path, flags: OFlags) -> Result<File, FileError> {
        let mut options = OpenOptions::new();
        options.read(true).custom_flags(i32::try_from(flags.bits()).unwrap_or_default());
        Ok(self.dir.open_with(name, &options).map_err(outside)?.into_std())
    }
}

/// The library reports a link that leads outside as a lack of permission without a code of the operating system.
fn outside(error: io::Error) -> FileError {
    if error.kind() == ErrorKind::PermissionDenied && error.raw_os_error().is_none() {
        return FileError::Outside;
    }
    FileError::Io(error)
}

#[cfg(test)]
mod tests;
