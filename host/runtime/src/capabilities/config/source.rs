//! Configuration that comes from files, as the capability needs it.

use std::{collections::BTreeMap, path::PathBuf};

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

    /// What is in the one of this name, which is all that is read; none where there is none.
    ///
    /// # Errors
    /// [`ConfigFilesError`] where it cannot be read, is no text or is too large, or where one cannot look for it.
    ///
    /// # Cancel safety
    /// As [`ConfigSource::files`].
    fn file(&self, name: &str) -> BoxFuture<'_, Result<Option<String>, ConfigFilesError>>;
}

/// Why the files cannot be had, for whoever runs the host. Nothing of what is in them is in it.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
#[error("the configuration files of the plugin: {}: {why}", path.display())]
pub struct ConfigFilesError {
    /// As the configuration names it: nothing for a plugin.
    pub path: PathBuf,
    /// What is wrong with it; a file below it is named by its name alone.
    pub why: String,
}

/// No files: the table is all there is.
#[derive(Clone, Copy, Debug, Default)]
pub struct NoConfigFiles;

// === impl NoConfigFiles ===

impl ConfigSource for NoConfigFiles {
    fn files(&self) -> BoxFuture<'_, Result<BTreeMap<String, String>, ConfigFilesError>> {
        Box::pin(ready(Ok(BTreeMap::new())))
    }

    fn file(&self, _: &str) -> BoxFuture<'_, Result<Option<String>, ConfigFilesError>> {
        Box::pin(ready(Ok(None)))
    }
}
