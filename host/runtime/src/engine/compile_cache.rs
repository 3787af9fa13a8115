//! Compiled code on disk, so that a restart and a reload do not compile again.
//!
//! This module has the only unsafe code of the project: wasmtime runs precompiled code without checks. It is sound because
//! only code that this host wrote is loaded, from a directory that only this user can write.

use std::{
    fs::{self, DirBuilder, File},
    hash::{DefaultHasher, Hash, Hasher},
    io::{self, Write},
    os::unix::fs::{DirBuilderExt, MetadataExt, PermissionsExt},
    path::{Path, PathBuf},
};

use sha2::{Digest, Sha256};
use wasmtime::component::Component;

/// A directory of compiled components: `<component>-<engine>.cwasm`, each with its checksum beside it.
#[derive(Debug)]
pub(crate) struct CompileCache {
    directory: PathBuf,
    /// Hash of the engine's version and settings and of this machine's CPU features.
    engine: u64,
}

/// The directory, or a file in it, cannot be used.
#[derive(Debug, thiserror::Error)]
pub(crate) enum CacheError {
    #[error("{}: {source}", path.display())]
    Io { path: PathBuf, source: io::Error },
    #[error(
        "{}: other users may write to it and could run code in this process; make it your own, with mode 0700",
        path.display()
    )]
    NotPrivate { path: PathBuf },
}

// === impl CompileCache ===

impl CompileCache {
    /// Opens the directory, or creates it.
    pub(crate) fn open(directory: &Path, engine: &wasmtime::Engine) -> Result<Self, CacheError> {
        let fail = |source| CacheError::Io { path: directory.to_owned(), source };
        DirBuilder::new().recursive(true).mode(0o700).create(directory).map_err(fail)?;
        let metadata = fs::metadata(directory).map_err(fail)?;
        // Without /proc only the mode is checked.
        let user = fs::metadata("/proc/self").map_or(metadata.uid(), |process| process.uid());
        if metadata.permissions().mode() & 0o022 != 0 || metadata.uid() != user {
            return Err(CacheError::NotPrivate { path: directory.to_owned() });
        }
        let mut hasher = DefaultHasher::new();
        engine.precompile_compatibility_hash().hash(&mut hasher);
        Ok(Self { directory: directory.to_owned(), engine: hasher.finish() })
    }

    /// Loads a compiled component. Returns `None` if the cache does not have it, or if the file is damaged or does not fit
    /// this engine.
    pub(crate) fn load(&self, engine: &wasmtime::Engine, digest: &str) -> Option<Component> {
        let path = self.path(digest);
        let compiled = fs::read(&path).ok()?;
        if fs::read_to_string(checksum_path(&path)).ok() != Some(sha256_hex(&compiled)) {
            tracing::warn!(path = %path.display(), "the compiled code in the cache is damaged; compiling again");
            return None;
        }
        // wasmtime maps the file instead: the code is shared with the page cache and loaded on demand.
        drop(compiled);
        // SAFETY: the file was compiled by wasmtime in this or an earlier run of this host: the checksum shows that
        // it is whole, and it lies in a directory that only this user can write (see `open`); it is replaced by
        // renaming, never changed in place. wasmtime itself refuses code of another version, of other settings or
        // for another CPU.
        #[expect(unsafe_code, reason = "see the module's documentation")]
        let loaded = unsafe { Component::deserialize_file(engine, &path) };
        loaded
            .inspect_err(|error| {
                tracing::warn!(path = %path.display(), %error, "the compiled code in the cache does not fit this host; compiling again");
            })
            .ok()
    }

    /// Stores compiled code. If this fails, the next start compiles again.
    pub(crate) fn store(&self, digest: &str, compiled: &[u8]) -> Result<(), CacheError> {
        let path = self.path(digest);
        // The checksum is written last: code without a matching checksum is not loaded.
        replace(&path, compiled)?;
        replace(&checksum_path(&path), sha256_hex(compiled).as_bytes())
    }

    fn path(&self, digest: &str) -> PathBuf {
        self.directory.join(format!("{digest}-{:016x}.cwasm", self.engine))
    }
}

/// Lower-case hex of the SHA-256 of the bytes.
pub(crate) fn sha256_hex(bytes: &[u8]) -> String {
    Sha256::digest(bytes).iter().map(|byte| format!("{byte:02x}")).collect()
}

fn checksum_path(path: &Path) -> PathBuf {
    path.with_extension("sha256")
}

/// Replaces a file atomically: readers see the old content or the whole new one.
fn replace(path: &Path, content: &[u8]) -> Result<(), CacheError> {
    // The name is unique to this process, which compiles one component at a time.
    let partial = path.with_added_extension(format!("{}.partial", std::process::id()));
    let write = || -> io::Result<()> {
        let mut file = File::create(&partial)?;
        file.write_all(content)?;
        file.sync_data()?;
        fs::rename(&partial, path)
    };
    write().map_err(|source| {
        // A partial file is never read, and the next attempt overwrites it.
        drop(fs::remove_file(&partial));
        CacheError::Io { path: path.to_owned(), source }
    })
}

#[cfg(test)]
mod tests;
