//! The origin of a plugin's component, and its pin.

use std::{path::Path, time::Duration};

use informer_registry::{Digest, Puller};

use crate::{
    config::{self, Config, Host, Source},
    lock::{LockError, locked},
};

/// The directory of pulled components, below `cache-dir`.
const DIRECTORY: &str = "registry";

/// The origin of a plugin's component.
#[derive(Clone, Debug, PartialEq)]
pub(crate) struct Origin {
    pub(crate) source: Source,
    /// The digest that the configuration names.
    pub(crate) digest: Option<Digest>,
    /// How often a tag is looked up.
    pub(crate) poll: Option<Duration>,
}

/// Why the digest of a component is not known.
#[derive(Debug, thiserror::Error)]
pub(crate) enum NotPinned {
    #[error(transparent)]
    Lock(#[from] LockError),
    #[error(
        "{tag} has the digest {locked} in informer.lock, and `digest` of the plugin is {own}; remove `digest`, or run `informer plugin lock`"
    )]
    Contradiction { tag: Source, locked: Digest, own: Digest },
}

// === impl Origin ===

impl Origin {
    pub(crate) fn of(plugin: &config::Plugin) -> Self {
        Self { source: plugin.source.clone(), digest: plugin.digest, poll: plugin.poll }
    }

    /// Returns true if both name the same component, even if the time between two lookups of the tag differs.
    pub(crate) fn is_of_same_component(&self, other: &Self) -> bool {
        (&self.source, self.digest) == (&other.source, other.digest)
    }

    /// The digest of the artifact that is pulled; `None` means the one that the tag has now. Reads the lock file, which blocks.
    pub(crate) fn pin(&self, lock: Option<&Path>) -> Result<Option<Digest>, NotPinned> {
        let Some(reference) = self.source.reference() else { return Ok(self.digest) };
        if let Some(named) = reference.digest() {
            return Ok(Some(named));
        }
        let locked = match lock {
            Some(path) if self.digest.is_none() => return Ok(locked(path, reference)?),
            // The pin in the configuration needs no line in the lock file.
            Some(path) => locked(path, reference).ok().flatten(),
            None => None,
        };
        match (locked, self.digest) {
            (Some(locked), Some(own)) if locked != own => {
                Err(NotPinned::Contradiction { tag: self.source.clone(), locked, own })
            }
            (_, own) => Ok(own),
        }
    }
}

/// The puller of a host. A directory that others can write to is not used: then nothing is kept.
///
/// # Blocking
/// The call creates a directory.
pub(crate) fn puller(config: &Config) -> Puller {
    let Host { cache_dir, component_bytes, .. } = &config.host;
    let directory = cache_dir.as_ref().map(|directory| directory.join(DIRECTORY));
    let bytes = *component_bytes as u64;
    let settings = config.registries.clone();
    Puller::new(settings.clone(), directory.as_deref(), bytes).unwrap_or_else(|error| {
        tracing::warn!(%error, "pulled components are not kept, so a start needs their registries");
        Puller::without_store(settings, bytes)
    })
}
