//! The settings of wasmtime, which the host and the processes that compile for it share.

/// The size up to which wasmtime makes an image of a memory whose data is sparse. Larger images have data in half of their pages.
const SPARSE_IMAGE: u64 = 1 << 20;

/// The engine as this process, and each process that compiles for it, sets it up.
pub(crate) fn wasmtime_engine() -> wasmtime::Result<wasmtime::Engine> {
    let mut settings = wasmtime::Config::new();
    settings.epoch_interruption(true);
    // No function of our WIT is async. Without this support a call takes a quarter of the time.
    settings.concurrency_support(false);
    // A memory of more than 4 GiB would move when it grows, in one step that cannot be interrupted. No toolchain makes one.
    settings.wasm_memory64(false);
    // wasmtime makes an image of each memory that has data, and pads it to this size even if two bytes are far apart.
    settings.memory_guaranteed_dense_image_size(SPARSE_IMAGE);
    wasmtime::Engine::new(&settings)
}
