//! Regular files, read up to a limit by the descriptor that was checked.

use std::{
    fs::{self, File, FileType, OpenOptions},
    io::{self, ErrorKind, Read},
    os::unix::fs::{FileTypeExt, OpenOptionsExt},
    path::Path,
};

use bytes::Bytes;
use memmap2::MmapMut;
use rustix::fs::OFlags;

/// With these flags, opening a named pipe does not wait for a writer, and a terminal does not become the terminal of the process.
pub(crate) const FLAGS: OFlags = OFlags::NONBLOCK.union(OFlags::NOCTTY);

/// Why a file was not read.
#[derive(Debug, thiserror::Error)]
pub enum FileError {
    /// The operating system refused.
    #[error(transparent)]
    Io(#[from] io::Error),
    /// It is a directory, a named pipe, a socket or a device.
    #[error("it is {0}, not a regular file")]
    Special(&'static str),
    /// It has more bytes than the caller accepts.
    #[error("it has more than {limit} bytes")]
    TooLarge {
        /// The most bytes that the caller accepts.
        limit: u64,
    },
    /// It is a link to something outside its directory.
    #[error("it is a link that leads out of its directory, which is not followed")]
    Outside,
}

/// An open regular file.
#[derive(Debug)]
pub struct RegularFile {
    file: File,
    length: u64,
}

// === impl FileError ===

impl FileError {
    /// Returns true if there is no such file.
    pub fn is_absent(&self) -> bool {
        matches!(self, Self::Io(error) if error.kind() == ErrorKind::NotFound)
    }
}

impl From<FileError> for io::Error {
    fn from(error: FileError) -> Self {
        match error {
            FileError::Io(error) => error,
            other => Self::other(other),
        }
    }
}

// === impl RegularFile ===

impl RegularFile {
    /// Opens the file at the path. Links are followed. Never waits for another process.
    ///
    /// # Errors
    /// [`FileError`] if it is no regular file, or cannot be opened.
    pub fn open(path: &Path) -> Result<Self, FileError> {
        // A device is not even opened, because that alone may have an effect.
        check(fs::metadata(path)?.file_type())?;
        let flags = i32::try_from(FLAGS.bits()).unwrap_or_default();
        Self::checked(OpenOptions::new().read(true).custom_flags(flags).open(path)?)
    }

    /// Checks what was opened: the name may lead to another file by now.
    pub(crate) fn checked(file: File) -> Result<Self, FileError> {
        let metadata = file.metadata()?;
        check(metadata.file_type())?;
        Ok(Self { file, length: metadata.len() })
    }

    /// The length in bytes when the file was opened.
    pub fn length(&self) -> u64 {
        self.length
    }

    /// Reads the whole file. If it grows meanwhile, or reports a wrong length, at most one byte more than `limit` is
    /// read.
    ///
    /// # Errors
    /// [`FileError::TooLarge`] if the file has more than `limit` bytes, or the error of the operating system.
    pub fn read(self, limit: u64) -> Result<Vec<u8>, FileError> {
        if self.length > limit {
            return Err(FileError::TooLarge { limit });
        }
        let mut bytes = Vec::with_capacity(usize::try_from(self.length).unwrap_or_default());
        self.file.take(limit.saturating_add(1)).read_to_end(&mut bytes)?;
        if bytes.len() as u64 > limit {
            return Err(FileError::TooLarge { limit });
        }
        Ok(bytes)
    }

    /// Like [`RegularFile::read`], into memory that goes back to the operating system when the bytes are dropped. It is for files of many
    /// megabytes: an allocator keeps freed memory of this size, once for each thread that read such a file.
    ///
    /// # Errors
    /// The same as for [`RegularFile::read`].
    pub fn read_large(mut self, limit: u64) -> Result<Bytes, FileError> {
        // The kernel reports no length of its own files.
        if self.length == 0 || self.length > limit {
            return self.read(limit).map(Bytes::from);
        }
        let mut memory = MmapMut::map_anon(usize::try_from(self.length).unwrap_or(usize::MAX))?;
        let mut length = 0;
        while let Some(rest @ [_, ..]) = memory.get_mut(length..) {
            match self.file.read(rest) {
                Ok(0) => break,
                Ok(read) => length += read,
                Err(error) if error.kind() == ErrorKind::Interrupted => {}
                Err(error) => return Err(error.into()),
            }
        }
        let mut more = Vec::new();
        self.file.take(limit.saturating_add(1).saturating_sub(length as u64)).read_to_end(&mut more)?;
        if (length + more.len()) as u64 > limit {
            return Err(FileError::TooLarge { limit });
        }
        let bytes = Bytes::from_owner(memory).slice(..length);
        Ok(if more.is_empty() { bytes } else { [bytes, more.into()].concat().into() })
    }
}

/// Reads the regular file at the path, which has at most `limit` bytes. Links are followed. Blocks.
///
/// # Errors
/// [`FileError`] if it is no regular file, has more bytes, or cannot be read.
pub fn read_file(path: &Path, limit: u64) -> Result<Vec<u8>, FileError> {
    RegularFile::open(path)?.read(limit)
}

pub(crate) fn check(kind: FileType) -> Result<(), FileError> {
    if kind.is_file() {
        return Ok(());
    }
    let kinds = [
        (kind.is_dir(), "a directory"),
        (kind.is_fifo(), "a named pipe"),
        (kind.is_socket(), "a socket"),
        (kind.is_char_device() || kind.is_block_device(), "a device"),
    ];
    let found = kinds.into_iter().find_map(|(is_it, name)| is_it.then_some(name));
    Err(FileError::Special(found.unwrap_or("something else")))
}

#[cfg(test)]
mod tests;
