//! Work that blocks a thread.

use tokio::sync::Semaphore;

/// The most work at a time. Each needs a thread, and a host with many plugins has work for all of them at once.
const THREADS: usize = 4;

static TURNS: Semaphore = Semaphore::const_new(THREADS);

/// Runs work that holds an informer's lock for as long as it takes to visit every cached object, on a thread where nothing
/// else waits. At most [`THREADS`] run at a time, so the work must not wait for other such work.
pub(super) async fn off_the_workers<T: Send + 'static>(work: impl FnOnce() -> T + Send + 'static) -> T {
    // The semaphore is never closed.
    let turn = TURNS.acquire().await;
    let in_turn = move || {
        let _turn = turn;
        work()
    };
    match tokio::task::spawn_blocking(in_turn).await {
        Ok(done) => done,
        Err(panicked) => std::panic::resume_unwind(panicked.into_panic()),
    }
}
