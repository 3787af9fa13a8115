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
    on_a_thread(in_turn).await
}

/// Runs work that waits for a disk. It takes no turn, because a disk that does not answer would keep it.
pub(super) async fn on_a_thread<T: Send + 'static>(work: impl FnOnce() -> T + Send + 'static) -> T {
    match tokio::task::spawn_blocking(work).await {
        Ok(done) => done,
        Err(panicked) => std::panic::resume_unwind(panicked.into_panic()),
    }
}
