//! The compiler and the clock that all plugins share.

use std::{
    path::PathBuf,
    sync::{
        Arc,
        atomic::{AtomicBool, Ordering},
    },
    thread::JoinHandle,
    time::Duration,
};

use tokio::sync::Semaphore;

use crate::component::CompileCache;

/// How often a running guest is interrupted: it yields to the executor, and its deadline is checked.
const TICK: Duration = Duration::from_millis(10);

/// Compiling a Python component takes 300 MiB and ten CPU-seconds: one at a time.
const COMPILES_AT_ONCE: usize = 1;

/// How components are compiled.
#[derive(Clone, Debug)]
pub struct EngineConfig {
    /// Where compiled code is kept between runs; none: nowhere. The directory is created, for this user only.
    pub cache_dir: Option<PathBuf>,
    /// The largest component that is compiled, in bytes.
    pub component_bytes: u64,
}

/// wasmtime refuses this machine.
#[derive(Debug, thiserror::Error)]
#[error("the WebAssembly engine cannot be set up on this machine: {0}")]
pub struct EngineError(String);

/// Compiles components and interrupts guests. Cheap to clone; all clones are the same engine.
///
/// Guests are interrupted every 10 ms: one that spins yields its thread that often, and traps at its deadline.
#[derive(Clone)]
pub struct Engine {
    pub(crate) wasmtime: wasmtime::Engine,
    pub(crate) cache: Option<Arc<CompileCache>>,
    pub(crate) compiling: Arc<Semaphore>,
    pub(crate) component_bytes: u64,
    _ticker: Arc<Ticker>,
}

/// Advances the epoch until it is dropped.
struct Ticker {
    stop: Arc<AtomicBool>,
    thread: Option<JoinHandle<()>>,
}

// === impl EngineConfig ===

impl Default for EngineConfig {
    /// No cache, and 64 MiB: a Python component has 20.
    fn default() -> Self {
        Self { cache_dir: None, component_bytes: 64 << 20 }
    }
}

// === impl Engine ===

impl Engine {
    /// Sets up the engine and starts its clock.
    ///
    /// # Errors
    /// [`EngineError`] where wasmtime does not work on this machine. A cache directory that cannot be used is
    /// a warning in the log; components are then compiled each time.
    pub fn new(config: &EngineConfig) -> Result<Self, EngineError> {
        let mut settings = wasmtime::Config::new();
        settings.epoch_interruption(true);
        // No function of our WIT is async: without it a call costs a quarter.
        settings.concurrency_support(false);
        let failed = |error: &dyn std::fmt::Display| EngineError(error.to_string());
        let wasmtime = wasmtime::Engine::new(&settings).map_err(|error| failed(&error))?;
        let ticker = Ticker::start(wasmtime.clone()).map_err(|error| failed(&error))?;
        let cache = config.cache_dir.as_ref().and_then(|directory| {
            CompileCache::open(directory, &wasmtime)
                .inspect_err(|error| tracing::warn!(%error, "compiled code is not cached"))
                .ok()
        });
        Ok(Self {
            wasmtime,
            cache: cache.map(Arc::new),
            compiling: Arc::new(Semaphore::new(COMPILES_AT_ONCE)),
            component_bytes: config.component_bytes,
            _ticker: Arc::new(ticker),
        })
    }
}

impl std::fmt::Debug for Engine {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.debug_struct("Engine").field("cache", &self.cache).finish_non_exhaustive()
    }
}

// === impl Ticker ===

impl Ticker {
    fn start(engine: wasmtime::Engine) -> std::io::Result<Self> {
        let stop = Arc::new(AtomicBool::new(false));
        let stopped = Arc::clone(&stop);
        // A thread of its own: a busy executor must not stop the clock that interrupts what keeps it busy.
        let thread = std::thread::Builder::new().name("epoch".to_owned()).spawn(move || {
            while !stopped.load(Ordering::Relaxed) {
                std::thread::park_timeout(TICK);
                engine.increment_epoch();
            }
        })?;
        Ok(Self { stop, thread: Some(thread) })
    }
}

impl Drop for Ticker {
    fn drop(&mut self) {
        self.stop.store(true, Ordering::Relaxed);
        if let Some(thread) = self.thread.take() {
            thread.thread().unpark();
            // It only counts; it cannot have panicked.
            drop(thread.join());
        }
    }
}
