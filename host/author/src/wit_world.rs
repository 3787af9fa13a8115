//! A world of WIT files that a component is built for.

use std::path::{Path, PathBuf};

use wit_parser::{Resolve, WorldId};

/// The world, with everything that it refers to.
pub(crate) struct World {
    pub(crate) resolve: Resolve,
    pub(crate) id: WorldId,
}

/// Why a world cannot be used.
#[derive(Debug, thiserror::Error)]
pub enum WorldError {
    /// The WIT files have a mistake, or there are none.
    #[error("the WIT files in {} cannot be used; `informer wit` writes those of this version", folder.display())]
    Wit {
        /// The folder.
        folder: PathBuf,
        /// The cause.
        #[source]
        source: Box<dyn std::error::Error + Send + Sync>,
    },
    /// There is no world with this name.
    #[error("there is no world `{world}` in {}; there are {}", folder.display(), found.join(", "))]
    Unknown {
        /// The name.
        world: String,
        /// The folder.
        folder: PathBuf,
        /// The names of the worlds.
        found: Vec<String>,
    },
}

// === impl World ===

impl World {
    /// Reads the WIT files of a folder.
    ///
    /// # Errors
    /// [`WorldError`] if they cannot be used, or have no world of this name.
    #[expect(clippy::indexing_slicing, reason = "an id of a `Resolve` is in its arena")]
    pub(crate) fn read(folder: &Path, world: &str) -> Result<Self, WorldError> {
        let mut resolve = Resolve::default();
        let (package, _) = resolve
            .push_dir(folder)
            .map_err(|error| WorldError::Wit { folder: folder.to_owned(), source: error.into() })?;
        let worlds = &resolve.packages[package].worlds;
        let Some(&id) = worlds.get(world) else {
            let found = worlds.keys().cloned().collect();
            return Err(WorldError::Unknown { world: world.to_owned(), folder: folder.to_owned(), found });
        };
        Ok(Self { resolve, id })
    }
}
