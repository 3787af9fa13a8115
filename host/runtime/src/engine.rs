//! The compiler and the clock that all plugins share.

mod backend;
mod compile_cache;
mod compiler;
mod compiling;
mod in_use;
mod look_up;
mod prepared;

use std::{
    fs::File,
    num::NonZeroUsize,
    sync::{
        Arc,
        atomic::{AtomicBool, Ordering},
    },
    thread::{JoinHandle, park, park_timeout},
    time::{Duration, Instant},
};

use bytes::Bytes;
use informer_system::memory::memory_eighths;
use tokio::{sync::Semaphore, task::spawn_blocking};

pub use compile_cache::{CodeCache, CodeKey};
pub use compiler::{Codegen, Compiler, compile_on_stdio};

pub(crate) use compile_cache::sha256_hex;
pub(crate) use compiler::NotCompiled;
pub(crate) use in_use::InUse;
pub(crate) use look_up::LookUp;
pub(crate) use prepared::Prepared;

use crate::{
    component::Symbols,
    memory::{Ceiling, GuestMemory},
    schedule::{TURN, Turnstile},
    threads::guest_threads,
};
use backend::Backend;
use compiler::CompileLimits;
use compiling::Compiling;
use prepared::PreparedComponents;

/// The number of components that are read at a time, or the number of processors if that is more. Each needs a thread. One
/// processor has several readers too, because a disk that does not answer blocks its reader.
const READERS: usize = 8;

/// The bounds of the default of [`EngineConfig::compile_memory`], in bytes. The lower bound is enough for a small component, and the upper
/// bound for the components of all known toolchains.
const COMPILE_MEMORY: (u64, u64) = (64 << 20, 1 << 30);

/// How components are compiled and run.
#[derive(Clone, Debug)]
pub struct EngineConfig {
    /// Where compiled code is kept between runs. `None` means that it is not kept.
    pub cache: Option<CodeCache>,
    /// The compiler for components whose code is not in the cache: the optimising or the baseline compiler. The cache keeps the code of
    /// each compiler apart.
    pub codegen: Codegen,
    /// Largest component that is compiled, in bytes.
    pub component_bytes: u64,
    /// The process that compiles components. If it is this process, the next two limits do not apply.
    pub compiler: Compiler,
    /// Longest time that one component may take to compile, not counting the wait for its turn.
    pub compile_timeout: Duration,
    /// The most memory of a process that compiles, in bytes. Two such processes may run at a time. `None` means three eighths of
    /// [`memory_bytes`](informer_system::memory::memory_bytes), with a minimum of 64 MiB and a maximum of 1 GiB.
    pub compile_memory: Option<u64>,
    /// The most guests that run at a time; the others wait for a turn. `None` means the number of processors. With more turns
    /// than processors the operating system decides instead, and a plugin with many workers gets more than its share.
    pub turns: Option<NonZeroUsize>,
    /// The most memory of all guests together, in bytes: see [`GuestMemory`]. `None` means a quarter of
    /// [`memory_bytes`](informer_system::memory::memory_bytes).
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
    /// The compilers in the order in which they are tried. There is at least one.
    backends: Arc<[Arc<Backend>]>,
    pub(crate) component_bytes: u64,
    compiler: Arc<Compiler>,
    limits: CompileLimits,
    compiling: Arc<Compiling>,
    /// The turns of reading: a host with many plugins reads their components in turns, not all at once.
    pub(crate) reading: Arc<Semaphore>,
    pub(crate) prepared: Arc<PreparedComponents>,
    /// Functions and lines, by the digests of the files that they were read from.
    pub(crate) symbols: Arc<InUse<Symbols>>,
    pub(crate) look_up: Arc<LookUp>,
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
    /// There is no cache, code is optimised, a component has at most 64 MiB (a Python component has 20 MiB), this process compiles, and
    /// there is one turn for each processor. A compilation in another process may take two minutes (a Python component takes ten seconds)
    /// and the default memory of [`EngineConfig::compile_memory`].
    fn default() -> Self {
        Self {
            cache: None,
            codegen: Codegen::Optimised,
            component_bytes: 64 << 20,
            compiler: Compiler::InProcess,
            compile_timeout: Duration::from_secs(120),
            compile_memory: None,
            turns: None,
            guest_memory: None,
        }
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
        let failed = |error: &dyn std::fmt::Display| EngineError(error.to_string());
        let backends = backends(config).map_err(|error| failed(&error))?;
        let turnstile = Arc::new(Turnstile::new(config.turns.unwrap_or_else(guest_threads)));
        let engines = backends.iter().map(|backend| backend.engine.clone()).collect();
        let ticker = Ticker::start(engines, &turnstile).map_err(|error| failed(&error))?;
        let compiler = Arc::new(config.compiler.clone());
        Ok(Self {
            backends,
            component_bytes: config.component_bytes,
            look_up: Arc::new(LookUp::new(Arc::clone(&compiler))),
            compiler,
            limits: CompileLimits {
                time: config.compile_timeout,
                cpu_seconds: None,
                memory: config.compile_memory.unwrap_or_else(|| compile_memory(memory_eighths(3))),
            },
            compiling: Arc::new(Compiling::new(config.compiler.can_be_stopped())),
            reading: Arc::new(Semaphore::new(guest_threads().get().max(READERS))),
            prepared: Arc::default(),
            symbols: Arc::default(),
            turnstile,
            ceiling: Arc::new(Ceiling::new(config.guest_memory)),
            _ticker: Arc::new(ticker),
        })
    }

    /// The memory of the guests of all plugins.
    pub fn guest_memory(&self) -> GuestMemory {
        self.ceiling.snapshot()
    }

    /// Compiles a component when its turn comes, unless its code is in the cache by then. Returns the time that it took, without
    /// the wait. The work runs on other threads than the executor's.
    ///
    /// # Cancel safety
    /// If the future is dropped, the compilation ends if it runs in another process; otherwise its result is lost.
    pub(crate) async fn compile(
        &self,
        component: Bytes,
        digest: &str,
    ) -> Result<(wasmtime::component::Component, Duration), NotCompiled> {
        let attempt = || async {
            let begun = Instant::now();
            let compiled = match self.cached(digest).await {
                Some(compiled) => compiled,
                None => self.compile_now(&component, digest).await?,
            };
            Ok((compiled, begun.elapsed()))
        };
        self.compiling.run(attempt).await
    }

    /// Compiles with the first compiler that accepts the component. If none does, the last one gives the reason.
    async fn compile_now(
        &self,
        component: &Bytes,
        digest: &str,
    ) -> Result<wasmtime::component::Component, NotCompiled> {
        let mut refused = NotCompiled::Failed("there is no compiler".to_owned());
        for backend in self.backends.iter() {
            let (begun, compiler) = (Instant::now(), backend.codegen.compiler());
            let Backend { codegen, engine, .. } = &**backend;
            match self.compiler.compile(*codegen, engine, component, self.limits).await {
                Ok(code) => {
                    tracing::debug!(digest, compiler, took = ?begun.elapsed(), "compiled a component");
                    return keep(Arc::clone(backend), code, digest).await;
                }
                // The next compiler is slower.
                Err(why @ NotCompiled::TooLong { .. }) => return Err(why),
                Err(why) => {
                    tracing::debug!(digest, compiler, %why, "the compiler refuses a component");
                    refused = why;
                }
            }
        }
        Err(refused)
    }

    /// Loads compiled code from the cache, the fastest that it has. Returns `None` if the cache has none.
    pub(crate) async fn cached(&self, digest: &str) -> Option<wasmtime::component::Component> {
        let (backends, digest) = (Arc::clone(&self.backends), digest.to_owned());
        // The semaphore is never closed.
        let _turn = self.reading.acquire().await;
        // The task does not panic.
        spawn_blocking(move || backends.iter().rev().find_map(|backend| backend.cached(&digest)))
            .await
            .ok()?
    }
}

/// The default of [`EngineConfig::compile_memory`]. `share` is three eighths of the memory, in bytes. `None` means that the system does not
/// report its memory.
fn compile_memory(share: Option<u64>) -> u64 {
    let (least, most) = COMPILE_MEMORY;
    share.map_or(most, |bytes| bytes.clamp(least, most))
}

/// The compilers that work on this machine. The optimising one must; the baseline compiler does not know each processor.
fn backends(config: &EngineConfig) -> wasmtime::Result<Arc<[Arc<Backend>]>> {
    let mut backends = Vec::new();
    for codegen in config.codegen.tried() {
        match Backend::new(*codegen, config.cache.as_ref()) {
            Ok(backend) => backends.push(Arc::new(backend)),
            Err(error) if *codegen == Codegen::Optimised => return Err(error),
            Err(error) => tracing::info!(%error, "the baseline compiler does not work on this machine"),
        }
    }
    Ok(backends.into())
}

/// Stores new code and loads it. The work runs on another thread than the executor's.
async fn keep(
    backend: Arc<Backend>,
    code: File,
    digest: &str,
) -> Result<wasmtime::component::Component, NotCompiled> {
    let digest = digest.to_owned();
    let keeping = spawn_blocking(move || backend.keep(&code, &digest));
    let kept = keeping.await.map_err(|error| NotCompiled::Failed(error.to_string()))?;
    kept.map_err(|error| NotCompiled::Failed(format!("the compiled code cannot be loaded: {error:#}")))
}

impl std::fmt::Debug for Engine {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.debug_struct("Engine").field("backends", &self.backends).finish_non_exhaustive()
    }
}

// === impl Ticker ===

impl Ticker {
    fn start(engines: Vec<wasmtime::Engine>, turnstile: &Arc<Turnstile>) -> std::io::Result<Self> {
        let stop = Arc::new(AtomicBool::new(false));
        let (stopped, turns) = (Arc::clone(&stop), Arc::clone(turnstile));
        // A thread of its own: a busy executor must not delay the clock that interrupts its guests.
        let thread = std::thread::Builder::new().name("epoch".to_owned()).spawn(move || {
            while !stopped.load(Ordering::Relaxed) {
                park_timeout(TURN);
                engines.iter().for_each(wasmtime::Engine::increment_epoch);
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

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_compilation_takes_its_share_of_the_memory_within_bounds() {
        let container = |mib: u64| compile_memory(Some((mib << 20) / 8 * 3)) >> 20;

        assert_eq!([64, 128, 512, 1024, 24 << 10].map(container), [64, 64, 192, 384, 1024]);
        assert_eq!(compile_memory(None) >> 20, 1024, "the system does not report its memory");
    }
}
