//! What can be wrong with the state, by what helps.

use std::{path::PathBuf, sync::Arc};

/// Why the state cannot be used.
#[derive(Clone, Debug, thiserror::Error)]
pub enum StateError {
    /// Another host has it.
    #[error(
        "the state {} is in use by another process: stop that one, or give each host its own [host] state-dir",
        path.display()
    )]
    Locked {
        /// The database file.
        path: PathBuf,
    },
    /// Not a database any more, or never one.
    #[error(
        "the state {} is damaged ({problem}): put a copy of it back, or move it away to begin with an empty one",
        path.display()
    )]
    Damaged {
        /// The database file.
        path: PathBuf,
        /// What the database says of it.
        problem: Arc<str>,
    },
    /// No room.
    #[error(
        "the disk with the state {} is full: make room there, or move [host] state-dir to another one",
        path.display()
    )]
    Full {
        /// The database file.
        path: PathBuf,
    },
    /// The directory is missing and cannot be made, or belongs to somebody else, or is read-only.
    #[error(
        "the state {} cannot be written ({problem}): make its directory writable for this user, name another one under [host] state-dir, or write \"off\" there",
        path.display()
    )]
    Unwritable {
        /// The database file.
        path: PathBuf,
        /// In the system's words.
        problem: Arc<str>,
    },
    /// Anything else.
    #[error("the state {} failed: {problem}", path.display())]
    Failed {
        /// The database file.
        path: PathBuf,
        /// In the database's words.
        problem: Arc<str>,
    },
    /// The process ends.
    #[error("the host is stopping")]
    Stopping,
}

// === impl StateError ===

impl StateError {
    /// As a plugin may know it: without the host's paths.
    pub(super) fn in_short(&self) -> &'static str {
        match self {
            Self::Locked { .. } => "another process has it",
            Self::Damaged { .. } => "it is damaged",
            Self::Full { .. } => "its disk is full",
            Self::Unwritable { .. } => "it cannot be written",
            Self::Failed { .. } => "it failed",
            Self::Stopping => "the host is stopping",
        }
    }
}
