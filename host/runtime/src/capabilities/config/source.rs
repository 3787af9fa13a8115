//! Configuration that comes from files, as the capability needs it.

use std::collections::BTreeMap;

use futures::future::{BoxFuture, ready};

/// The files that a plugin's configuration is taken from besides its table.
pub trait ConfigSource: Send + Sync + 'static {
    /// What is in them now, by name; read anew at each call, so that a change needs no restart. One call sees one
    /// state of a mounted ConfigMap or Secret. Nothing of it is ever logged.
    ///
    /// # Errors
    /// [`ConfigFilesError`] where one cannot be read, is no text, or all are too large.
    ///
    /// # Cancel safety
    /// A dropped future lets the reading end for nothing.
    fn files(&self) -> BoxFuture<'_, Result<BTreeMap<String, String>, ConfigFilesError>>;
}

/// Why the files cannot be had. The text names a file, and nothing of what is in it.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
#[error("the configuration files of the plugin: {0}")]
pub struct ConfigFilesError(pub String);

/// No files: the table is all there is.
#[derive(Clone, Copy, Debug, Default)]
pub struct NoConfigFiles;

// === impl NoConfigFiles ===

impl ConfigSource for NoConfigFiles {
    fn files(&self) -> BoxFuture<'_, Result<BTreeMap<String, String>, ConfigFilesError>> {
        Box::pin(ready(Ok(BTreeMap::new())))
    }
}
