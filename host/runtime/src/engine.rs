//! The compiler and the clock that all plugins share.

mod ticker;

use std::{num::NonZeroUsize, path::PathBuf, sync::Arc, time::Duration};

use crate::{
    component::{CompileCache, Compiling},
    schedule::Turnstile,
    threads::guest_threads,
};
use ticker::Ticker;

/// How components are compiled.
#[derive(Clone, Debug)]
pub struct EngineConfig {
    /// Where compiled code is kept between runs; none: nowhere. The directory is created, for this user only.
    pub cache_dir: Option<PathBuf>,
    /// The largest component that is compiled, in bytes.
    pub component_bytes: u64,
    /// How long one component may take to compile.
    pub compile_timeout: Duration,
    /// Guests that run at a time; none: as many as there are processors. The others wait for their turn, plugin by plugin, so with
    /// more than run at all nobody waits, and a plugin with many workers takes what it likes.
    pub turns: Option<NonZeroUsize>,
}

/// wasmtime refuses this machine.
#[derive(Debug, thiserror::Error)]
#[error("the WebAssembly engine cannot be set up on this machine: {0}")]
pub struct EngineError(String);

/// Compiles components, interrupts guests and lets them take turns. Cheap to clone; all clones are the same engine.
///
/// Guests are interrupted every millisecond: one that spins lets the others have their turn that often, plugin by plugin,
/// and traps at its deadline. While none runs, nothing ticks.
#[derive(Clone)]
pub struct Engine {
    pub(crate) wasmtime: wasmtime::Engine,
    pub(crate) cache: Option<Arc<CompileCache>>,
    pub(crate) compiling: Arc<Compiling>,
    pub(crate) component_bytes: u64,
    pub(crate) turnstile: Arc<Turnstile>,
    _ticker: Arc<Ticker>,
}

// === impl EngineConfig ===

impl Default for EngineConfig {
    /// No cache, 64 MiB (a Python component has 20), two minutes (it takes ten seconds), and a turn for each processor.
    fn default() -> Self {
        let compile_timeout = Duration::from_secs(120);
        Self { cache_dir: None, component_bytes: 64 << 20, compile_timeout, turns: None }
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
        let turnstile = Arc::new(Turnstile::new(config.turns.unwrap_or_else(guest_threads)));
        let ticker = Ticker::start(wasmtime.clone(), &turnstile).map_err(|error| failed(&error))?;
        let cache = config.cache_dir.as_ref().and_then(|directory| {
            CompileCache::open(directory, &wasmtime)
                .inspect_err(|error| tracing::warn!(%error, "compiled code is not cached"))
                .ok()
        });
        Ok(Self {
            wasmtime,
            cache: cache.map(Arc::new),
            compiling: Arc::new(Compiling::new(config.compile_timeout)),
            component_bytes: config.component_bytes,
            turnstile,
            _ticker: Arc::new(ticker),
        })
    }
}

impl std::fmt::Debug for Engine {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.debug_struct("Engine").field("cache", &self.cache).finish_non_exhaustive()
    }
}
