//! Work that blocks a thread.

/// Runs work that holds an informer's lock for as long as it takes to visit every cached object, on a thread where nothing
/// else waits.
pub(super) async fn off_the_workers<T: Send + 'static>(work: impl FnOnce() -> T + Send + 'static) -> T {
    match tokio::task::spawn_blocking(work).await {
        Ok(done) => done,
        Err(panicked) => std::panic::resume_unwind(panicked.into_panic()),
    }
}
