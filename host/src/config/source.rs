//! The origin of a plugin's component.

use std::{
    fmt,
    path::{Path, PathBuf},
};

use informer_registry::Reference;

/// The origin of a plugin's component.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Source {
    /// A file, absolute.
    File(PathBuf),
    /// An artifact in a registry.
    Registry(Reference),
}

// === impl Source ===

impl Source {
    /// The file; `None` for an artifact.
    pub fn file(&self) -> Option<&Path> {
        match self {
            Self::File(path) => Some(path),
            Self::Registry(_) => None,
        }
    }

    /// The artifact; `None` for a file.
    pub fn reference(&self) -> Option<&Reference> {
        match self {
            Self::File(_) => None,
            Self::Registry(reference) => Some(reference),
        }
    }
}

impl Default for Source {
    /// A source before its key is read.
    fn default() -> Self {
        Self::File(PathBuf::new())
    }
}

impl fmt::Display for Source {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::File(path) => write!(f, "{}", path.display()),
            Self::Registry(reference) => write!(f, "{reference}"),
        }
    }
}
