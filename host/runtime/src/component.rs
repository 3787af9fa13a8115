//! A component: compiled code, and what it imports and exports.

mod compile_cache;
mod compiling;
mod interface;
mod load_error;

use std::{
    path::Path,
    sync::Arc,
    time::{Duration, Instant},
};

use sha2::{Digest, Sha256};
use tokio::io::AsyncReadExt;

pub(crate) use compile_cache::CompileCache;
pub(crate) use compiling::Compiling;
pub use load_error::LoadError;

use crate::{Engine, Grants};

/// The first eight bytes of a component, and of a core module.
const COMPONENT: [u8; 8] = *b"\0asm\x0d\0\x01\0";
const CORE_MODULE: [u8; 8] = *b"\0asm\x01\0\0\0";

/// How much of a file that is something else is shown, in bytes.
const SHOWN: usize = 20;

/// Compiled code of a plugin. Cheap to clone.
#[derive(Clone)]
pub struct Component {
    pub(crate) compiled: wasmtime::component::Component,
    digest: Arc<str>,
    prepared_in: Duration,
}

// === impl Component ===

impl Component {
    /// Reads and compiles a file, off the executor's threads; or takes the compiled code from the cache.
    ///
    /// # Errors
    /// [`LoadError`] where the file cannot be read or is no component.
    ///
    /// # Cancel safety
    /// A dropped future lets a running compilation end for nothing.
    pub async fn from_file(engine: &Engine, path: &Path) -> Result<Self, LoadError> {
        Self::from_bytes(engine, read(engine, path).await?).await
    }

    /// As [`Component::from_file`], but none, and nothing is compiled, where the file has a digest that is `known`.
    ///
    /// # Errors
    /// As [`Component::from_file`].
    ///
    /// # Cancel safety
    /// As [`Component::from_file`].
    pub async fn from_file_unless(
        engine: &Engine,
        path: &Path,
        known: impl FnOnce(&str) -> bool,
    ) -> Result<Option<Self>, LoadError> {
        let (bytes, digest) = digested(read(engine, path).await?).await?;
        if known(&digest) {
            return Ok(None);
        }
        Self::from_digested(engine, bytes, digest).await.map(Some)
    }

    /// As [`Component::from_file`], for bytes in memory.
    ///
    /// # Errors
    /// [`LoadError`] where the bytes are no component, or take longer to compile than
    /// [`EngineConfig::compile_timeout`](crate::EngineConfig::compile_timeout).
    ///
    /// # Cancel safety
    /// As [`Component::from_file`].
    pub async fn from_bytes(engine: &Engine, bytes: Vec<u8>) -> Result<Self, LoadError> {
        let (bytes, digest) = digested(bytes).await?;
        Self::from_digested(engine, bytes, digest).await
    }

    async fn from_digested(engine: &Engine, bytes: Vec<u8>, digest: String) -> Result<Self, LoadError> {
        check_preamble(&bytes)?;
        check_size(engine, bytes.len() as u64)?;
        let (looking, asked) = (engine.clone(), digest.clone());
        let cached = tokio::task::spawn_blocking(move || Self::cached(&looking, asked));
        if let Ok(Some(component)) = cached.await {
            return Ok(component);
        }
        let compiler = engine.clone();
        engine.compiling.run(move || Self::compile(&compiler, &bytes, digest)).await?
    }

    /// What the cache of compiled code has of it.
    fn cached(engine: &Engine, digest: String) -> Option<Self> {
        let begun = Instant::now();
        let compiled = engine.cache.as_ref()?.load(&engine.wasmtime, &digest)?;
        Some(Self { compiled, digest: digest.into(), prepared_in: begun.elapsed() })
    }

    /// Lower-case hex of the SHA-256 of the component's bytes.
    pub fn digest(&self) -> &str {
        &self.digest
    }

    /// How long it took to compile it, or to take it from the cache of compiled code.
    pub fn prepared_in(&self) -> Duration {
        self.prepared_in
    }

    /// Checks what the component imports and exports against what this host serves and grants.
    ///
    /// # Errors
    /// [`LoadError`] naming everything that is missing, and what to change.
    pub fn check(&self, engine: &Engine, grants: &Grants) -> Result<(), LoadError> {
        interface::check(&self.compiled.component_type(), &engine.wasmtime, grants)
    }

    /// To be run when it is its turn: others may have compiled it meanwhile.
    fn compile(engine: &Engine, bytes: &[u8], digest: String) -> Result<Self, LoadError> {
        if let Some(known) = Self::cached(engine, digest.clone()) {
            return Ok(known);
        }
        let begun = Instant::now();
        let compiled = wasmtime::component::Component::from_binary(&engine.wasmtime, bytes)
            .map_err(|error| LoadError::Compile(format!("{error:#}")))?;
        let prepared_in = begun.elapsed();
        if let Some(cache) = &engine.cache {
            let stored = compiled.serialize().map_err(|error| error.to_string());
            let stored =
                stored.and_then(|code| cache.store(&digest, &code).map_err(|error| error.to_string()));
            if let Err(error) = stored {
                tracing::warn!(error, "compiled code was not kept");
            }
        }
        Ok(Self { compiled, digest: digest.into(), prepared_in })
    }
}

impl std::fmt::Debug for Component {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        write!(f, "Component({})", self.digest)
    }
}

/// Reads a file that may be replaced while it is read, but not for ever.
async fn read(engine: &Engine, path: &Path) -> Result<Vec<u8>, LoadError> {
    let unreadable = |source| LoadError::Read { path: path.to_owned(), source };
    let file = tokio::fs::File::open(path).await.map_err(unreadable)?;
    check_size(engine, file.metadata().await.map_err(unreadable)?.len())?;
    let mut bytes = Vec::new();
    let most = engine.component_bytes.saturating_add(1);
    file.take(most).read_to_end(&mut bytes).await.map_err(unreadable)?;
    Ok(bytes)
}

/// With their digest: it takes a tenth of a second for the largest, so it is not made on the executor's threads.
async fn digested(bytes: Vec<u8>) -> Result<(Vec<u8>, String), LoadError> {
    let digesting = tokio::task::spawn_blocking(move || {
        let digest = hex(&Sha256::digest(&bytes));
        (bytes, digest)
    });
    digesting.await.map_err(|error| LoadError::Compile(error.to_string()))
}

/// Compiling takes memory and time in proportion.
fn check_size(engine: &Engine, bytes: u64) -> Result<(), LoadError> {
    let limit = engine.component_bytes;
    if bytes > limit { Err(LoadError::TooLarge { bytes, limit }) } else { Ok(()) }
}

/// Whether this is a component at all, said in words where it is not.
fn check_preamble(bytes: &[u8]) -> Result<(), LoadError> {
    let start = bytes.get(..COMPONENT.len());
    if start == Some(&COMPONENT) {
        return Ok(());
    }
    if start == Some(&CORE_MODULE) {
        return Err(LoadError::CoreModule);
    }
    let found = match bytes {
        [] => "the file is empty".to_owned(),
        [0, b'a', b's', b'm', ..] if start.is_none() => "the file is cut off".to_owned(),
        [0, b'a', b's', b'm', ..] => "it is WebAssembly of a version this host does not know".to_owned(),
        _ => {
            let text = String::from_utf8_lossy(bytes.get(..SHOWN).unwrap_or(bytes));
            format!("it starts with {text:?}")
        }
    };
    Err(LoadError::NotWasm { found })
}

fn hex(bytes: &[u8]) -> String {
    bytes.iter().map(|byte| format!("{byte:02x}")).collect()
}

#[cfg(test)]
mod tests;
