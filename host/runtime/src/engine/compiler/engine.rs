//! The settings of wasmtime, which the host and the processes that compile for it share.

/// The size up to which wasmtime makes an image of a memory however sparse its data is. A larger image is made only if it is less
/// than twice as large as the data.
const SPARSE_IMAGE: u64 = 1 << 20;

/// The compiler of wasmtime that makes the code of a component.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub enum Codegen {
    /// The optimising compiler, Cranelift: calls are fast.
    #[default]
    Optimised,
    /// The baseline compiler, Winch: a component is ready several times sooner, and its calls take longer. If Winch refuses a
    /// component, Cranelift compiles it.
    Baseline,
}

// === impl Codegen ===

impl Codegen {
    /// The compilers in the order in which they are tried.
    pub(crate) fn tried(self) -> &'static [Self] {
        match self {
            Self::Optimised => &[Self::Optimised],
            Self::Baseline => &[Self::Baseline, Self::Optimised],
        }
    }

    /// The name of the compiler.
    pub(crate) fn compiler(self) -> &'static str {
        match self {
            Self::Optimised => "cranelift",
            Self::Baseline => "winch",
        }
    }

    /// The engine as this process, and each process that compiles for it, sets it up. An engine loads only the code of its own
    /// compiler, because the calling conventions differ.
    pub(crate) fn engine(self) -> wasmtime::Result<wasmtime::Engine> {
        let mut settings = wasmtime::Config::new();
        if self == Self::Baseline {
            settings.strategy(wasmtime::Strategy::Winch);
        }
        settings.epoch_interruption(true);
        // No function of our WIT is async. Without this support a call takes a quarter of the time.
        settings.concurrency_support(false);
        // A memory of more than 4 GiB would move when it grows, in one step that cannot be interrupted. No toolchain makes one.
        settings.wasm_memory64(false);
        // wasmtime makes an image of each memory that has data, and pads it to this size even if two bytes are far apart.
        settings.memory_guaranteed_dense_image_size(SPARSE_IMAGE);
        wasmtime::Engine::new(&settings)
    }
}
