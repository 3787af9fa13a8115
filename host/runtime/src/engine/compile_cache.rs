//! Compiled code: loaded from a file, and kept on disk so that a restart and a reload do not compile again.
//!
//! This module has the only unsafe code of the project: wasmtime runs precompiled code without checks. It is sound because only
//! code that this host compiled is loaded: from a file in memory that a compilation has just filled, or from a file on disk that
//! carries an HMAC under a key which others cannot read.

use std::{
    fmt::Write as _,
    fs::File,
    hash::{DefaultHasher, Hash, Hasher},
    io::{self, Read, Seek, Write},
    os::fd::AsRawFd,
    path::PathBuf,
};

use informer_system::{NotPrivate, PrivateDir};
use ring::{
    digest::{Context, SHA256},
    hmac,
    rand::{SecureRandom, SystemRandom},
};
use sha2::{Digest, Sha256};
use wasmtime::component::Component;

/// Code is read in pieces of this size, so that no second copy of it is in memory.
const PIECE: usize = 64 << 10;

/// The most bytes of a tag: SHA-256.
const TAG_BYTES: u64 = 32;

/// A place for compiled code.
#[derive(Clone, Debug)]
pub struct CodeCache {
    /// The directory. If there is none, it is created for this user only.
    pub directory: PathBuf,
    /// Authenticates the code. Code that was stored under another key is not found.
    pub key: CodeKey,
}

/// The key that authenticates compiled code. Its owner keeps it where no other user can read it: code with this key is run
/// without validation.
#[derive(Clone, Copy, PartialEq, Eq)]
pub struct CodeKey([u8; CodeKey::BYTES]);

/// A directory of compiled components: `<component>-<engine>-<key>.cwasm`, each with its tag beside it.
#[derive(Debug)]
pub(crate) struct CompileCache {
    directory: PrivateDir,
    /// Hash of the engine's version and settings and of this machine's CPU features.
    engine: u64,
    key: CodeKey,
}

/// Why code in the cache is not loaded.
#[derive(Debug, thiserror::Error)]
enum NotLoaded {
    #[error(transparent)]
    NotPrivate(#[from] NotPrivate),
    #[error("its tag is wrong, so it is damaged, or another user wrote it")]
    NotAuthentic,
    #[error("it cannot be read: {0}")]
    Unreadable(#[from] io::Error),
    #[error("it does not fit this host: {0}")]
    Unfit(wasmtime::Error),
}

// === impl CodeKey ===

impl CodeKey {
    /// The length of a key.
    pub const BYTES: usize = 32;

    /// A new random key.
    ///
    /// # Errors
    /// The system has no random numbers.
    pub fn generate() -> io::Result<Self> {
        let mut bytes = [0; Self::BYTES];
        let filled = SystemRandom::new().fill(&mut bytes);
        filled.map_err(|_| io::Error::other("the system has no random numbers"))?;
        Ok(Self(bytes))
    }

    /// A key that was generated before.
    pub const fn from_bytes(bytes: [u8; Self::BYTES]) -> Self {
        Self(bytes)
    }

    /// The secret itself.
    pub fn as_bytes(&self) -> &[u8; Self::BYTES] {
        &self.0
    }

    fn hmac(&self) -> hmac::Key {
        hmac::Key::new(hmac::HMAC_SHA256, &self.0)
    }

    /// A name of the key that does not reveal the key.
    fn name(&self) -> String {
        hex(hmac::sign(&self.hmac(), b"name").as_ref().get(..8).unwrap_or_default())
    }
}

impl std::fmt::Debug for CodeKey {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        write!(f, "CodeKey({})", self.name())
    }
}

// === impl CompileCache ===

impl CompileCache {
    /// Opens the directory, or creates it.
    pub(crate) fn open(cache: &CodeCache, engine: &wasmtime::Engine) -> Result<Self, NotPrivate> {
        let directory = PrivateDir::create(&cache.directory)?;
        let mut hasher = DefaultHasher::new();
        engine.precompile_compatibility_hash().hash(&mut hasher);
        Ok(Self { directory, engine: hasher.finish(), key: cache.key })
    }

    /// Loads a compiled component. Returns `None` if the cache does not have it, or if it is not code that a host with this key
    /// wrote for this engine.
    pub(crate) fn load(&self, engine: &wasmtime::Engine, digest: &str) -> Option<Component> {
        let name = self.name(digest);
        let loaded = self.authentic(&name).and_then(|file| match file {
            Some(file) => load(engine, &file).map(Some).map_err(NotLoaded::Unfit),
            None => Ok(None),
        });
        loaded.unwrap_or_else(|why| {
            let (path, directory) = (self.directory.join(&name), self.directory.path());
            tracing::warn!(
                path = %path.display(), %why,
                "compiled code in the cache is not loaded; compiling again. If others could write to {}, empty it",
                directory.display(),
            );
            // New code replaces it.
            self.directory.remove(&name);
            self.directory.remove(&tag_name(&name));
            None
        })
    }

    /// Stores compiled code. If this fails, the next start compiles again.
    pub(crate) fn store(&self, digest: &str, mut code: &File) -> Result<(), NotPrivate> {
        let name = self.name(digest);
        let mut hash = Context::new(&SHA256);
        self.directory.replace(&name, |file| {
            code.rewind()?;
            in_pieces(code, |piece| {
                hash.update(piece);
                file.write_all(piece)
            })
        })?;
        let tag = hmac::sign(&self.key.hmac(), &message(&name, hash));
        // The tag is written last: code without its tag is not loaded.
        self.directory.replace(&tag_name(&name), |file| file.write_all(tag.as_ref()))
    }

    /// Opens code whose tag is right. The descriptor is the one that was checked, even if the name leads to another file by now.
    fn authentic(&self, name: &str) -> Result<Option<File>, NotLoaded> {
        let Some(code) = self.directory.read(name)? else { return Ok(None) };
        let Some(tag_file) = self.directory.read(&tag_name(name))? else {
            return Err(NotLoaded::NotAuthentic);
        };
        let mut tag = Vec::new();
        tag_file.take(TAG_BYTES + 1).read_to_end(&mut tag)?;
        let mut hash = Context::new(&SHA256);
        in_pieces(&code, |piece| {
            hash.update(piece);
            Ok(())
        })?;
        hmac::verify(&self.key.hmac(), &message(name, hash), &tag).map_err(|_| NotLoaded::NotAuthentic)?;
        Ok(Some(code))
    }

    fn name(&self, digest: &str) -> String {
        format!("{digest}-{:016x}-{}.cwasm", self.engine, self.key.name())
    }
}

/// Loads code from an open file, which wasmtime maps: the code is shared with the page cache and loaded on demand. The path means the open
/// file itself, so no other file can take its place.
pub(crate) fn load(engine: &wasmtime::Engine, code: &File) -> wasmtime::Result<Component> {
    let path = format!("/proc/self/fd/{}", code.as_raw_fd());
    // SAFETY: wasmtime of this host compiled the code, in this process, in one that this host started, or in an earlier run: the
    // callers have a sealed file from `Compiler::compile`, or a file whose HMAC is right (see `authentic`). Only this user can
    // write to the latter, and it is replaced by renaming, never changed in place. wasmtime itself refuses code of another
    // version, of other settings or for another CPU.
    #[expect(unsafe_code, reason = "see the module's documentation")]
    unsafe {
        Component::deserialize_file(engine, path)
    }
}

/// Lower-case hex of the SHA-256 of the bytes.
pub(crate) fn sha256_hex(bytes: &[u8]) -> String {
    hex(&Sha256::digest(bytes))
}

fn hex(bytes: &[u8]) -> String {
    bytes.iter().fold(String::new(), |mut text, byte| {
        // Writing to a `String` does not fail.
        write!(text, "{byte:02x}").ok();
        text
    })
}

/// The message that the tag authenticates: the name, so that code of one component is not valid for another one, and the hash of
/// the code.
fn message(name: &str, code: Context) -> Vec<u8> {
    [name.as_bytes(), &[0], code.finish().as_ref()].concat()
}

fn tag_name(code: &str) -> String {
    format!("{code}.hmac")
}

fn in_pieces(mut file: &File, mut each: impl FnMut(&[u8]) -> io::Result<()>) -> io::Result<()> {
    let mut piece = vec![0; PIECE];
    loop {
        let read = file.read(&mut piece)?;
        match piece.get(..read) {
            Some([]) | None => return Ok(()),
            Some(bytes) => each(bytes)?,
        }
    }
}

#[cfg(test)]
mod tests;
