//! One compiler, with the engine that runs its code and its part of the cache.

use std::fs::File;

use wasmtime::component::Component;

use super::{
    compile_cache::{self, CodeCache, CompileCache},
    compiler::Codegen,
};

/// A compiler and what belongs to it.
#[derive(Debug)]
pub(super) struct Backend {
    pub(super) codegen: Codegen,
    /// Runs the code of this compiler only.
    pub(super) engine: wasmtime::Engine,
    /// `None` if code is not kept.
    cache: Option<CompileCache>,
}

// === impl Backend ===

impl Backend {
    /// If the cache cannot be used, a warning is logged and components are compiled at each start.
    ///
    /// # Errors
    /// The compiler does not work on this machine.
    pub(super) fn new(codegen: Codegen, cache: Option<&CodeCache>) -> wasmtime::Result<Self> {
        let engine = codegen.engine()?;
        let cache = cache.and_then(|cache| {
            CompileCache::open(cache, &engine)
                .inspect_err(|error| tracing::warn!(%error, "compiled code is not cached: the directory cannot be used"))
                .ok()
        });
        Ok(Self { codegen, engine, cache })
    }

    /// Loads compiled code from the cache. Returns `None` if the cache does not have it.
    pub(super) fn cached(&self, digest: &str) -> Option<Component> {
        self.cache.as_ref()?.load(&self.engine, digest)
    }

    /// Stores new code in the cache and loads it from there, so that it is shared with the page cache. If that fails, the code
    /// stays in memory.
    ///
    /// # Errors
    /// wasmtime cannot load the code.
    pub(super) fn keep(&self, code: &File, digest: &str) -> wasmtime::Result<Component> {
        let stored = self.cache.as_ref().and_then(|cache| {
            cache
                .store(digest, code)
                .inspect_err(
                    |error| tracing::warn!(%error, "the compiled code could not be stored in the cache"),
                )
                .ok()?;
            cache.load(&self.engine, digest)
        });
        stored.map_or_else(|| compile_cache::load(&self.engine, code), Ok)
    }
}
