//! The compiler and the clock that all plugins share.

mod compile_cache;
mod compiling;

use std::{
    num::NonZeroUsize,
    path::PathBuf,
    sync::{
        Arc,
        atomic::{AtomicBool, Ordering},
    },
    thread::{JoinHandle, park, park_timeout},
    time::Duration,
};

pub(crate) use compile_cache::sha256_hex;
pub(crate) use compiling::NotCompiled;

use crate::{
    memory::{Ceiling, GuestMemory},
    schedule::{TURN, Turnstile},
    threads::guest_threads,
};
use compile_cache::CompileCache;
use compiling::Compiling;

/// The size up to which wasmtime makes an image of a memory whose data is sparse. Larger images have data in half of their pages.
const SPARSE_IMAGE: u64 = 1 << 20;

/// How components are compiled and run.
#[derive(Clone, Debug)]
pub struct EngineConfig {
    /// The directory in which compiled code is kept between runs. `None` means that it is not kept. The directory is created
    /// for this user only.
    pub cache_dir: Option<PathBuf>,
    /// Largest component that is compiled, in bytes.
    pub component_bytes: u64,
    /// Longest time that one component may take to compile.
    pub compile_timeout: Duration,
    /// The most guests that run at a time; the others wait for a turn. `None` means the number of processors. With more turns
    /// than processors the operating system decides instead, and a plugin with many workers gets more than its share.
    pub turns: Option<NonZeroUsize>,
    /// The most memory of all guests together, in bytes: see [`GuestMemory`]. `None` means half of the memory of the machine, or of
    /// its control group if that is less.
    pub guest_memory: Option<u64>,
}

/// wasmtime does not work on this machine.
#[derive(Debug, thiserror::Error)]
#[error("the WebAssembly engine cannot be set up on this machine: {0}")]
pub struct EngineError(String);

/// Compiles components, interrupts guests and gives them turns. Cheap to clone; all clones are the same engine.
///
/// A guest that runs is interrupted every millisecond. It then yields to guests of other plugins, or traps if its deadline has
/// passed. While no guest runs, the clock rests.
#[derive(Clone)]
pub struct Engine {
    pub(crate) wasmtime: wasmtime::Engine,
    pub(crate) cache: Option<Arc<CompileCache>>,
    pub(crate) compiling: Arc<Compiling>,
    pub(crate) component_bytes: u64,
    pub(crate) turnstile: Arc<Turnstile>,
    pub(crate) ceiling: Arc<Ceiling>,
    _ticker: Arc<Ticker>,
}

/// Advances the epoch at the interval of turns while guests run. Dropping it stops the clock.
struct Ticker {
    stop: Arc<AtomicBool>,
    thread: Option<JoinHandle<()>>,
}

// === impl EngineConfig ===

impl Default for EngineConfig {
    /// No cache, components of at most 64 MiB (a Python component has 20), compilations of at most two minutes (it takes ten
    /// seconds), and one turn for each processor.
    fn default() -> Self {
        let compile_timeout = Duration::from_secs(120);
        Self { cache_dir: None, component_bytes: 64 << 20, compile_timeout, turns: None, guest_memory: None }
    }
}

// === impl Engine ===

impl Engine {
    /// Sets up the engine and starts its clock.
    ///
    /// # Errors
    /// [`EngineError`] if wasmtime does not work on this machine. If the cache directory cannot be used, a warning is logged
    /// and components are compiled at each start.
    pub fn new(config: &EngineConfig) -> Result<Self, EngineError> {
        let mut settings = wasmtime::Config::new();
        settings.epoch_interruption(true);
        // No function of our WIT is async. Without this support a call takes a quarter of the time.
        settings.concurrency_support(false);
        // A memory of more than 4 GiB would move when it grows, in one step that cannot be interrupted. No toolchain makes one.
        settings.wasm_memory64(false);
        // wasmtime makes an image of each memory that has data, and pads it to this size even if two bytes are far apart.
        settings.memory_guaranteed_dense_image_size(SPARSE_IMAGE);
        let failed = |error: &dyn std::fmt::Display| EngineError(error.to_string());
        let wasmtime = wasmtime::Engine::new(&settings).map_err(|error| failed(&error))?;
        let turnstile = Arc::new(Turnstile::new(config.turns.unwrap_or_else(guest_threads)));
        let ticker = Ticker::start(wasmtime.clone(), &turnstile).map_err(|error| failed(&error))?;
        let cache = config.cache_dir.as_ref().and_then(|directory| {
            CompileCache::open(directory, &wasmtime)
                .inspect_err(|error| tracing::warn!(%error, "compiled code is not cached: the directory cannot be used"))
                .ok()
        });
        Ok(Self {
            wasmtime,
            cache: cache.map(Arc::new),
            compiling: Arc::new(Compiling::new(config.compile_timeout)),
            component_bytes: config.component_bytes,
            turnstile,
            ceiling: Arc::new(Ceiling::new(config.guest_memory)),
            _ticker: Arc::new(ticker),
        })
    }

    /// The memory of the guests of all plugins.
    pub fn guest_memory(&self) -> GuestMemory {
        self.ceiling.snapshot()
    }
}

impl std::fmt::Debug for Engine {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.debug_struct("Engine").field("cache", &self.cache).finish_non_exhaustive()
    }
}

// === impl Ticker ===

impl Ticker {
    fn start(engine: wasmtime::Engine, turnstile: &Arc<Turnstile>) -> std::io::Result<Self> {
        let stop = Arc::new(AtomicBool::new(false));
        let (stopped, turns) = (Arc::clone(&stop), Arc::clone(turnstile));
        // A thread of its own: a busy executor must not delay the clock that interrupts its guests.
        let thread = std::thread::Builder::new().name("epoch".to_owned()).spawn(move || {
            while !stopped.load(Ordering::Relaxed) {
                park_timeout(TURN);
                engine.increment_epoch();
                // `drop` sets `stop` before it unparks this thread, so either the flag is seen here or the unpark is still to
                // come.
                if turns.may_rest() && !stopped.load(Ordering::Relaxed) {
                    park();
                }
            }
        })?;
        turnstile.set_clock(thread.thread().clone());
        Ok(Self { stop, thread: Some(thread) })
    }
}

impl Drop for Ticker {
    fn drop(&mut self) {
        self.stop.store(true, Ordering::Relaxed);
        if let Some(thread) = self.thread.take() {
            thread.thread().unpark();
            // The thread cannot panic.
            drop(thread.join());
        }
    }
}
