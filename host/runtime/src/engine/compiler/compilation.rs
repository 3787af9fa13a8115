//! One compilation: its limits, and its code or the reason why it failed.

use std::{
    fs::File,
    io::{self, Write},
    time::Duration,
};

use rustix::fs::{MemfdFlags, SealFlags, fcntl_add_seals, memfd_create};

/// The limits of one compilation, or of another work of the process that compiles.
#[derive(Clone, Copy, Debug)]
pub(crate) struct CompileLimits {
    pub(crate) time: Duration,
    /// The limit of processor time, summed over all processors. `None` means `time` on each processor that the process uses.
    pub(crate) cpu_seconds: Option<u64>,
    /// Memory of the process that compiles, in bytes.
    pub(crate) memory: u64,
}

/// Why there is no compiled code.
#[derive(Debug, thiserror::Error)]
pub(crate) enum NotCompiled {
    /// The component is not valid. The text is the compiler's.
    #[error("{0}")]
    Invalid(String),
    #[error("the compilation takes longer than {limit:?}")]
    TooLong { limit: Duration },
    #[error("the compilation needs more than {} MiB of memory", limit >> 20)]
    TooMuchMemory { limit: u64 },
    #[error("{0}")]
    Failed(String),
    #[error("the compiled code cannot be put into memory: {0}")]
    NoFile(#[from] io::Error),
}

/// A file in memory that receives code.
pub(super) struct CodeFile(File);

// === impl CodeFile ===

impl CodeFile {
    pub(super) fn create() -> io::Result<Self> {
        let file = memfd_create("informer-code", MemfdFlags::CLOEXEC | MemfdFlags::ALLOW_SEALING)?;
        Ok(Self(file.into()))
    }

    /// Appends a piece of the code.
    pub(super) fn write(&mut self, piece: &[u8]) -> io::Result<()> {
        self.0.write_all(piece)
    }

    /// Returns the file. Its content never changes again.
    pub(super) fn seal(self) -> Result<File, NotCompiled> {
        let all = SealFlags::WRITE | SealFlags::SHRINK | SealFlags::GROW | SealFlags::SEAL;
        fcntl_add_seals(&self.0, all).map_err(io::Error::from)?;
        Ok(self.0)
    }
}
