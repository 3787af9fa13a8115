//! Compiled code on disk, so that a restart and a reload do not compile again.
//!
//! This is the one place of the project with unsafe code: loading precompiled code runs it unchecked. What makes
//! it sound: only code that this host wrote is loaded, from a directory that only this user can write.

use std::{
    fs::{self, DirBuilder},
    hash::{DefaultHasher, Hash, Hasher},
    io::{self, Write},
    os::unix::fs::{DirBuilderExt, MetadataExt, PermissionsExt},
    path::{Path, PathBuf},
};

use sha2::{Digest, Sha256};
use wasmtime::component::Component;

/// A directory of compiled components.
#[derive(Debug)]
pub(crate) struct CompileCache {
    directory: PathBuf,
    /// Of the engine's version, settings and this machine's CPU features.
    engine: u64,
}

/// The directory cannot be used.
#[derive(Debug, thiserror::Error)]
pub(crate) enum CacheError {
    #[error("{}: {source}", path.display())]
    Io { path: PathBuf, source: io::Error },
    #[error("{}: others may write to it, and whoever writes to it can run code in this process; make it mode 0700 and your own", path.display())]
    NotPrivate { path: PathBuf },
}

// === impl CompileCache ===

impl CompileCache {
    /// Opens the directory, making it where it is missing.
    pub(crate) fn open(directory: &Path, engine: &wasmtime::Engine) -> Result<Self, CacheError> {
        let fail = |source| CacheError::Io { path: directory.to_owned(), source };
        DirBuilder::new().recursive(true).mode(0o700).create(directory).map_err(fail)?;
        let metadata = fs::metadata(directory).map_err(fail)?;
        let own = fs::metadata("/proc/self").map_or(metadata.uid(), |process| process.uid());
        if metadata.permissions().mode() & 0o022 != 0 || metadata.uid() != own {
            return Err(CacheError::NotPrivate { path: directory.to_owned() });
        }
        let mut hasher = DefaultHasher::new();
        engine.precompile_compatibility_hash().hash(&mut hasher);
        Ok(Self { directory: directory.to_owned(), engine: hasher.finish() })
    }

    /// The compiled component, if it is here, whole, and fits this engine; anything else is as good as none.
    pub(crate) fn load(&self, engine: &wasmtime::Engine, digest: &str) -> Option<Component> {
        let path = self.path(digest);
        let sealed = fs::read(&path).ok()?;
        let Some(compiled) = unseal(&sealed) else {
            tracing::warn!(path = %path.display(), "compiled code is damaged, compiling again");
            return None;
        };
        // SAFETY: these bytes were compiled by wasmtime in this or an earlier run of this host: the checksum
        // shows that they are whole, and they come from a directory that only this user can write (see `open`).
        // wasmtime itself refuses code of another version, of other settings or for another CPU.
        #[expect(unsafe_code, reason = "see the module's documentation")]
        let loaded = unsafe { Component::deserialize(engine, compiled) };
        loaded
            .inspect_err(|error| {
                tracing::warn!(path = %path.display(), %error, "compiled code does not fit, compiling again");
            })
            .ok()
    }

    /// Keeps compiled code. Failing only costs the next start some time.
    pub(crate) fn store(&self, digest: &str, compiled: &[u8]) -> Result<(), CacheError> {
        let path = self.path(digest);
        let partial = path.with_extension(format!("{}.partial", std::process::id()));
        let write = || -> io::Result<()> {
            let mut file = fs::File::create(&partial)?;
            file.write_all(&Sha256::digest(compiled))?;
            file.write_all(compiled)?;
            file.sync_data()?;
            fs::rename(&partial, &path)
        };
        write().map_err(|source| {
            // Whatever is left of it is never read; the next attempt overwrites it.
            drop(fs::remove_file(&partial));
            CacheError::Io { path, source }
        })
    }

    fn path(&self, digest: &str) -> PathBuf {
        self.directory.join(format!("{digest}-{:016x}.cwasm", self.engine))
    }
}

/// What follows the checksum, if the checksum is right.
fn unseal(sealed: &[u8]) -> Option<&[u8]> {
    let (checksum, compiled) = sealed.split_at_checked(<Sha256 as Digest>::output_size())?;
    (Sha256::digest(compiled).as_slice() == checksum).then_some(compiled)
}
