//! A component: compiled code, checked against the interfaces that the host serves and the plugin's grants.

mod census;
mod custom_section;
mod interface;
mod load_error;
mod symbols;

use std::{
    collections::BTreeSet,
    path::Path,
    sync::Arc,
    time::{Duration, Instant},
};

use bytes::Bytes;
use informer_system::{FileError, RegularFile};
use informer_types::DeclaredReads;
use tokio::sync::{AcquireError, SemaphorePermit};

pub(crate) use custom_section::declared_reads;
pub use load_error::LoadError;
pub(crate) use symbols::Symbols;

use crate::{
    Engine, Grants,
    engine::{NotCompiled, Prepared, sha256_hex},
    memory::Amount,
};
use census::Census;

/// The first eight bytes of a component, and of a core module.
const COMPONENT: [u8; 8] = *b"\0asm\x0d\0\x01\0";
const CORE_MODULE: [u8; 8] = *b"\0asm\x01\0\0\0";

/// The most bytes shown of a file that is not WebAssembly.
const SHOWN: usize = 20;

/// A turn of reading components. The semaphore is never closed.
type Turn<'a> = Result<SemaphorePermit<'a>, AcquireError>;

/// The compiled code of a plugin. Cheap to clone. Plugins with the same component share its code, wherever their files are.
#[derive(Clone)]
pub struct Component {
    prepared: Arc<Prepared>,
    digest: Arc<str>,
    symbols: Option<Arc<Symbols>>,
}

// === impl Component ===

impl Component {
    /// Reads a file and compiles it, or loads its compiled code from the cache. The work runs on other threads than the
    /// executor's. If there is debug information in the file or in a debug file beside it, the failures of its instances name lines of
    /// the sources.
    ///
    /// # Errors
    /// [`LoadError`] if the file cannot be read or is not a component.
    ///
    /// # Cancel safety
    /// If the future is dropped, a compilation in another process ends, and one in this process goes on without a caller.
    pub async fn from_file(engine: &Engine, path: &Path) -> Result<Self, LoadError> {
        let turn = engine.reading.acquire().await;
        let (bytes, digest) = digested(read(engine, path).await?).await?;
        Self::from_read(engine, path, bytes, digest, turn).await
    }

    /// Like [`Component::from_file`], but returns `None` without compiling if the digest of the file is `known`.
    ///
    /// # Errors
    /// The same as for [`Component::from_file`].
    ///
    /// # Cancel safety
    /// The same as for [`Component::from_file`].
    pub async fn from_file_unless(
        engine: &Engine,
        path: &Path,
        known: impl FnOnce(&str) -> bool,
    ) -> Result<Option<Self>, LoadError> {
        let turn = engine.reading.acquire().await;
        let (bytes, digest) = digested(read(engine, path).await?).await?;
        if known(&digest) {
            return Ok(None);
        }
        Self::from_read(engine, path, bytes, digest, turn).await.map(Some)
    }

    /// Makes a component of the contents of a file. The turn in which the file was read ends before the component is prepared:
    /// preparing takes turns of its own.
    async fn from_read(
        engine: &Engine,
        path: &Path,
        bytes: Bytes,
        digest: String,
        turn: Turn<'_>,
    ) -> Result<Self, LoadError> {
        let (path, limit) = (path.to_owned(), engine.component_bytes.saturating_mul(2));
        let (in_use, look_up) = (Arc::clone(&engine.symbols), Arc::clone(&engine.look_up));
        let reading = tokio::task::spawn_blocking(move || {
            let symbols = Symbols::of_file((&in_use, &look_up), &path, &bytes, &digest, limit);
            (bytes, digest, symbols)
        });
        let (bytes, digest, symbols) =
            reading.await.map_err(|error| LoadError::Compile(error.to_string()))?;
        drop(turn);
        let component = Self::from_digested(engine, bytes, digest).await?;
        Ok(Self { symbols, ..component })
    }

    /// Reads the bytes of a component without compiling them. Reading runs on another thread than the executor's.
    ///
    /// # Errors
    /// [`LoadError`] if the file cannot be read or is too large.
    ///
    /// # Cancel safety
    /// A dropped future changes nothing.
    pub async fn read_file(engine: &Engine, path: &Path) -> Result<Bytes, LoadError> {
        read(engine, path).await
    }

    /// Like [`Component::from_file`], for bytes in memory.
    ///
    /// # Errors
    /// [`LoadError`] if the bytes are not a component, or if compiling them exceeds a limit of
    /// [`EngineConfig`](crate::EngineConfig).
    ///
    /// # Cancel safety
    /// The same as for [`Component::from_file`].
    pub async fn from_bytes(engine: &Engine, bytes: impl Into<Bytes>) -> Result<Self, LoadError> {
        let (bytes, digest) = digested(bytes.into()).await?;
        Self::from_digested(engine, bytes, digest).await
    }

    async fn from_digested(engine: &Engine, bytes: Bytes, digest: String) -> Result<Self, LoadError> {
        check_preamble(&bytes)?;
        check_size(engine, bytes.len() as u64)?;
        let digest: Arc<str> = digest.into();
        let prepare = |bytes| prepare(engine, bytes, &digest);
        let prepared = engine.prepared.get_or(&digest, bytes, prepare).await?;
        Ok(Self { prepared, digest, symbols: None })
    }

    /// Functions and lines of the sources. `None` if there is no debug information.
    pub(crate) fn symbols(&self) -> Option<Arc<Symbols>> {
        self.symbols.clone()
    }

    /// The code for wasmtime.
    pub(crate) fn code(&self) -> &wasmtime::component::Component {
        &self.prepared.code
    }

    /// Lower-case hex of the SHA-256 of the component's bytes.
    pub fn digest(&self) -> &str {
        &self.digest
    }

    /// What wasmtime allocates for one instance besides memories and tables.
    pub(crate) fn structures(&self) -> Amount {
        self.prepared.structures
    }

    /// What the component declares to read.
    pub fn declared_reads(&self) -> &DeclaredReads {
        &self.prepared.reads
    }

    /// The size of the component in bytes.
    pub fn bytes(&self) -> u64 {
        self.prepared.bytes
    }

    /// The size of its compiled code in bytes, with the tables that belong to it.
    pub fn code_bytes(&self) -> u64 {
        let code = self.code().image_range();
        code.end.addr().saturating_sub(code.start.addr()) as u64
    }

    /// How long it took to compile the component, or to load its code from the cache, for the first plugin with it.
    pub fn prepared_in(&self) -> Duration {
        self.prepared.took
    }

    /// Checks the imports and exports against the interfaces that this host serves and the grants of the plugin.
    ///
    /// # Errors
    /// [`LoadError`], which names everything that is missing and what to change.
    pub fn check(&self, grants: &Grants) -> Result<(), LoadError> {
        interface::check(&self.code().component_type(), self.code().engine(), grants)
    }

    /// Checks imports and exports like [`Component::check`], by their full names and without the component. What is missing in
    /// the component itself is found when it is loaded.
    ///
    /// # Errors
    /// The same as for [`Component::check`].
    pub fn check_names(imports: &[&str], exports: &[&str], grants: &Grants) -> Result<(), LoadError> {
        interface::check_names(imports, exports, grants)
    }

    /// The grants that a component with these imports and exports needs, by their full names: lines to add under
    /// `[plugin.grant]`, each once and in the order of the alphabet. The resources and places in them are examples.
    ///
    /// # Errors
    /// [`LoadError`] if no grants make it a plugin.
    pub fn grants(imports: &[&str], exports: &[&str]) -> Result<BTreeSet<&'static str>, LoadError> {
        interface::grants(imports, exports)
    }

    /// The names of the imports and exports, each list in the order of the component.
    pub fn names(&self) -> (Vec<String>, Vec<String>) {
        let (component, engine) = (self.code().component_type(), self.code().engine());
        let imports = component.imports(engine).map(|(name, _)| name.to_owned()).collect();
        let exports = component.exports(engine).map(|(name, _)| name.to_owned()).collect();
        (imports, exports)
    }
}

impl std::fmt::Debug for Component {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        write!(f, "Component({})", self.digest)
    }
}

/// The bytes of the host's structures for one instance.
pub(crate) fn structure_bytes(component: &[u8]) -> Result<u64, LoadError> {
    Ok(Census::of(component)?.structures().bytes)
}

/// Counts what an instance takes, and compiles the component or loads its code from the cache.
async fn prepare(engine: &Engine, bytes: Bytes, digest: &str) -> Result<Prepared, LoadError> {
    let (begun, size) = (Instant::now(), bytes.len() as u64);
    let counted = bytes.clone();
    let turn = engine.reading.acquire().await;
    let counting = tokio::task::spawn_blocking(move || {
        let structures = Census::of(&counted)?.structures();
        Ok::<_, LoadError>((structures, declared_reads(&counted)))
    });
    let (structures, reads) = counting.await.map_err(|error| LoadError::Compile(error.to_string()))??;
    drop(turn);
    let (code, took) = match engine.cached(digest).await {
        Some(code) => (code, begun.elapsed()),
        None => engine.compile(bytes, digest).await?,
    };
    Ok(Prepared { code, structures, reads, bytes: size, took })
}

/// Reads a regular file up to the limit. Reading runs on another thread than the executor's.
async fn read(engine: &Engine, path: &Path) -> Result<Bytes, LoadError> {
    let (path, limit) = (path.to_owned(), engine.component_bytes);
    let unreadable = |path, source: FileError| LoadError::Read { path, source: source.into() };
    let reading = tokio::task::spawn_blocking(move || {
        let file = match RegularFile::open(&path) {
            Ok(file) => file,
            Err(error) => return Err(unreadable(path, error)),
        };
        let bytes = file.length();
        match file.read_large(limit) {
            Ok(bytes) => Ok(bytes),
            Err(FileError::TooLarge { limit }) => {
                Err(LoadError::TooLarge { bytes: bytes.max(limit.saturating_add(1)), limit })
            }
            Err(error) => Err(unreadable(path, error)),
        }
    });
    reading.await.map_err(|error| LoadError::Compile(error.to_string()))?
}

/// The bytes with their digest. It takes a tenth of a second for the largest component, so it runs on another thread.
async fn digested(bytes: Bytes) -> Result<(Bytes, String), LoadError> {
    let digesting = tokio::task::spawn_blocking(move || {
        let digest = sha256_hex(&bytes);
        (bytes, digest)
    });
    digesting.await.map_err(|error| LoadError::Compile(error.to_string()))
}

impl From<NotCompiled> for LoadError {
    fn from(error: NotCompiled) -> Self {
        match error {
            NotCompiled::Invalid(why) => Self::Compile(why),
            NotCompiled::TooLong { limit } => Self::TooLong { limit },
            NotCompiled::TooMuchMemory { limit } => Self::TooMuchMemory { limit },
            NotCompiled::Failed(why) => Self::Compiler(why),
            NotCompiled::NoFile(_) => Self::Compiler(error.to_string()),
        }
    }
}

/// Refuses a component that is too large: compiling takes memory and time in proportion to the size.
fn check_size(engine: &Engine, bytes: u64) -> Result<(), LoadError> {
    let limit = engine.component_bytes;
    if bytes > limit { Err(LoadError::TooLarge { bytes, limit }) } else { Ok(()) }
}

/// Refuses bytes that are not a component, with a description of what they are.
fn check_preamble(bytes: &[u8]) -> Result<(), LoadError> {
    let start = bytes.get(..COMPONENT.len());
    if start == Some(&COMPONENT) {
        return Ok(());
    }
    if start == Some(&CORE_MODULE) {
        let advice = "`informer inspect` says how its language makes a component".to_owned();
        return Err(LoadError::CoreModule { advice });
    }
    let found = match bytes {
        [] => "the file is empty".to_owned(),
        [0, b'a', b's', b'm', ..] if start.is_none() => "the file is cut off".to_owned(),
        [0, b'a', b's', b'm', ..] => {
            "it is WebAssembly of a version that this host does not support".to_owned()
        }
        _ => {
            let text = String::from_utf8_lossy(bytes.get(..SHOWN).unwrap_or(bytes));
            format!("it starts with {text:?}")
        }
    };
    Err(LoadError::NotWasm { found })
}

#[cfg(test)]
mod tests;
