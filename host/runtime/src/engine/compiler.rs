//! How a component is compiled: in a process of its own, or in this one.

mod answer;
mod child;
mod compilation;
mod engine;
mod worker;

use std::{
    ffi::OsString,
    fs::File,
    io::{Read, Seek},
    path::PathBuf,
};

use bytes::Bytes;

pub(crate) use compilation::{CompileLimits, NotCompiled};
pub use engine::Codegen;
pub use worker::compile_on_stdio;

use answer::{Answer, Work};
use compilation::CodeFile;

use crate::debug_info;

/// The compiler of components.
#[derive(Clone, Debug)]
pub enum Compiler {
    /// This process. A compilation is limited neither in time nor in memory, and its memory stays in this process: only for
    /// components that are trusted, as those of a test.
    InProcess,
    /// A process of its own for each compilation, which ends with it. It is killed if it exceeds a limit of
    /// [`EngineConfig`](crate::EngineConfig).
    Child {
        /// A program that calls [`compile_on_stdio`].
        program: PathBuf,
        /// The arguments that make it do so.
        arguments: Vec<OsString>,
    },
}

// === impl Compiler ===

impl Compiler {
    /// Compiles a component. The engine was set up for this kind of code. Returns the code in a file that has no name and never
    /// changes again.
    ///
    /// # Cancel safety
    /// If the future is dropped, a process of its own is killed. In this process the compilation goes on without a caller.
    pub(crate) async fn compile(
        &self,
        codegen: Codegen,
        engine: &wasmtime::Engine,
        component: &Bytes,
        limits: CompileLimits,
    ) -> Result<File, NotCompiled> {
        match self {
            Self::InProcess => {
                let (engine, component) = (engine.clone(), component.clone());
                let compiling = tokio::task::spawn_blocking(move || in_this_process(&engine, &component));
                compiling
                    .await
                    .map_err(|error| NotCompiled::Failed(format!("the compiler panicked: {error}")))?
            }
            Self::Child { program, arguments } => {
                child::work((program, arguments), Work::Compile(codegen), component, limits).await
            }
        }
    }

    /// Answers a question about frames: see [`debug_info::answer`].
    ///
    /// # Cancel safety
    /// If the future is dropped, a process of its own is killed. In this process the look-up goes on without a caller.
    pub(crate) async fn places(&self, query: Bytes, limits: CompileLimits) -> Result<Vec<u8>, NotCompiled> {
        match self {
            Self::InProcess => {
                let looking = tokio::task::spawn_blocking(move || debug_info::answer(&query));
                let found = looking.await.map_err(|error| NotCompiled::Failed(error.to_string()))?;
                found.map_err(NotCompiled::Invalid)
            }
            Self::Child { program, arguments } => {
                let mut file = child::work((program, arguments), Work::LookUp, &query, limits).await?;
                let mut answer = Vec::new();
                // The file is in memory.
                file.rewind()?;
                file.read_to_end(&mut answer)?;
                Ok(answer)
            }
        }
    }

    /// Returns true if dropping the future of a compilation ends it.
    pub(crate) fn can_be_stopped(&self) -> bool {
        matches!(self, Self::Child { .. })
    }
}

fn in_this_process(engine: &wasmtime::Engine, component: &[u8]) -> Result<File, NotCompiled> {
    let code = match Answer::of(engine.precompile_component(component)) {
        Answer::Done(code) => code,
        Answer::Invalid(why) => return Err(NotCompiled::Invalid(why)),
        Answer::OutOfMemory => return Err(NotCompiled::Failed("this process has no memory left".to_owned())),
    };
    let mut file = CodeFile::create()?;
    file.write(&code)?;
    file.seal()
}
