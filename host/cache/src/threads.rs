//! Threads that only informers run on.
//!
//! An event passes through three tasks: the connection, the reflector, the controller. On a runtime that spreads tasks
//! over threads each of these steps may wake another thread, which costs more than decoding the event; on one thread it
//! costs nothing. An informer stays on its thread for life, and no plugin can keep it from running.

use std::{
    io,
    sync::atomic::{AtomicUsize, Ordering},
};

use tokio::runtime::{Builder, Handle};
use tokio_util::{
    sync::{CancellationToken, DropGuard},
    task::TaskTracker,
};

/// Some threads with a runtime each, or none. Dropping it ends them, and whatever still runs on them.
pub(crate) struct Threads {
    runtimes: Vec<Handle>,
    next: AtomicUsize,
    _stop: DropGuard,
}

// === impl Threads ===

impl Threads {
    /// As many threads as asked for, or as many as there can be.
    pub(crate) fn start(count: usize) -> Self {
        let stop = CancellationToken::new();
        let start = |number| match thread(number, &stop) {
            Ok(runtime) => Some(runtime),
            Err(error) => {
                tracing::warn!(%error, "no thread for informers, using those there are");
                None
            }
        };
        let runtimes = (0..count).map_while(start).collect();
        Self { runtimes, next: AtomicUsize::new(0), _stop: stop.drop_guard() }
    }

    /// Spawns a task on the thread whose turn it is; without threads, on the runtime of the caller.
    pub(crate) fn spawn(&self, tasks: &TaskTracker, task: impl Future<Output = ()> + Send + 'static) {
        let turn = self.next.fetch_add(1, Ordering::Relaxed);
        match turn.checked_rem(self.runtimes.len()).and_then(|turn| self.runtimes.get(turn)) {
            Some(runtime) => tasks.spawn_on(task, runtime),
            None => tasks.spawn(task),
        };
    }
}

fn thread(number: usize, stop: &CancellationToken) -> io::Result<Handle> {
    let runtime = Builder::new_current_thread().enable_all().build()?;
    let handle = runtime.handle().clone();
    let stop = stop.clone();
    std::thread::Builder::new().name(format!("informers-{number}")).spawn(move || {
        runtime.block_on(stop.cancelled());
        runtime.shutdown_background();
    })?;
    Ok(handle)
}

#[cfg(test)]
mod tests {
    use std::sync::Arc;

    use parking_lot::Mutex;

    use super::*;

    async fn names_of(count: usize, tasks: usize) -> Vec<String> {
        let threads = Threads::start(count);
        let (tracker, names) = (TaskTracker::new(), Arc::new(Mutex::new(Vec::new())));
        for _ in 0..tasks {
            let names = Arc::clone(&names);
            threads.spawn(&tracker, async move {
                tokio::task::yield_now().await;
                names.lock().push(std::thread::current().name().unwrap_or_default().to_owned());
            });
        }
        tracker.close();
        tracker.wait().await;
        let mut names = std::mem::take(&mut *names.lock());
        names.sort();
        names
    }

    #[tokio::test]
    async fn tasks_take_turns_on_the_threads() {
        assert_eq!(names_of(2, 3).await, ["informers-0", "informers-0", "informers-1"]);
    }

    #[tokio::test]
    async fn without_threads_tasks_run_where_they_are_spawned() {
        let here = std::thread::current().name().unwrap_or_default().to_owned();
        assert_eq!(names_of(0, 1).await, [here]);
    }

    #[tokio::test]
    async fn what_still_runs_ends_with_the_threads() {
        let threads = Threads::start(1);
        let tracker = TaskTracker::new();
        threads.spawn(&tracker, std::future::pending());
        tracker.close();

        drop(threads);

        tracker.wait().await;
    }
}
