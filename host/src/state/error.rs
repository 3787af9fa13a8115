//! The errors of the state, by their remedies.

use std::{path::PathBuf, sync::Arc};

/// Why the state cannot be used.
#[derive(Clone, Debug, thiserror::Error)]
pub enum StateError {
    /// Another process has opened the database.
    #[error(
        "the state {} is in use by another process: stop that one, or give each host its own [host] state-dir",
        path.display()
    )]
    Locked {
        /// The database file.
        path: PathBuf,
    },
    /// The file is not a valid database.
    #[error(
        "the state {} is damaged ({problem}): restore a copy, or move it away to begin with an empty one",
        path.display()
    )]
    Damaged {
        /// The database file.
        path: PathBuf,
        /// The error of the database.
        problem: Arc<str>,
    },
    /// The disk is full.
    #[error(
        "the disk with the state {} is full: make room there, or move [host] state-dir to another one",
        path.display()
    )]
    Full {
        /// The database file.
        path: PathBuf,
    },
    /// The directory cannot be created, belongs to another user, or is read-only.
    #[error(
        "the state {} cannot be written ({problem}): make its directory writable for this user, name another one under [host] state-dir, or set it to \"off\"",
        path.display()
    )]
    Unwritable {
        /// The database file.
        path: PathBuf,
        /// The error of the system.
        problem: Arc<str>,
    },
    /// Another failure.
    #[error("the state {} failed: {problem}", path.display())]
    Failed {
        /// The database file.
        path: PathBuf,
        /// The error of the database.
        problem: Arc<str>,
    },
    /// The host is stopping.
    #[error("the host is stopping")]
    Stopping,
}

// === impl StateError ===

impl StateError {
    /// Returns a text for plugins, which has no paths of the host.
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
