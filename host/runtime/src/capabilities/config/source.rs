//! The configuration files of a plugin, as the capability needs them.

use std::{collections::BTreeMap, path::PathBuf};

use futures::future::{BoxFuture, ready};

/// The configuration files of one plugin, which add to its table.
pub trait ConfigSource: Send + Sync + 'static {
    /// The texts of all files by name. They are read anew at each call, so that a change needs no restart. One call sees
    /// one state of a mounted ConfigMap or Secret. The texts are never logged.
    ///
    /// # Errors
    /// [`ConfigFilesError`] if a file cannot be read, is not text, or the files are too large together.
    ///
    /// # Cancel safety
    /// If the future is dropped, the reading goes on and its result is lost.
    fn files(&self) -> BoxFuture<'_, Result<BTreeMap<String, String>, ConfigFilesError>>;

    /// The text of the file of this name. Reads no other file. Returns `None` if there is no such file.
    ///
    /// # Errors
    /// [`ConfigFilesError`] if the file cannot be looked up or read, is not text, or is too large.
    ///
    /// # Cancel safety
    /// The same as for [`ConfigSource::files`].
    fn file(&self, name: &str) -> BoxFuture<'_, Result<Option<String>, ConfigFilesError>>;
}

/// Why the configuration files cannot be read. The text is for the operator and holds nothing of the files' content.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
#[error("the configuration files of the plugin: {}: {why}", path.display())]
pub struct ConfigFilesError {
    /// The path in the configuration. A plugin never sees it.
    pub path: PathBuf,
    /// The problem. A file in a directory appears by its name alone.
    pub why: String,
}

/// No configuration files: the plugin has its table alone.
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
