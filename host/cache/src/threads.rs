//! Threads that run only informers.
//!
//! An event passes three tasks: the connection, the reflector and the controller. On a runtime with several threads
//! each step may wake another thread, which costs more than decoding the event; on one thread a step is almost free. An
//! informer stays on its thread for its whole life, and no plugin can keep it from running.

use std::{
    io,
    sync::atomic::{AtomicUsize, Ordering},
};

use tokio::runtime::{Builder, Handle};
use tokio_util::{
    sync::{CancellationToken, DropGuard},
    task::TaskTracker,
};

/// Threads with a runtime each, or none. Dropping it ends the threads and all tasks on them.
pub(crate) struct Threads {
    runtimes: Vec<Handle>,
    next: AtomicUsize,
    _stop: DropGuard,
}

// === impl Threads ===

impl Threads {
    /// Starts `count` threads, or as many as the system allows.
    pub(crate) fn start(count: usize) -> Self {
        let stop = CancellationToken::new();
        let start = |number| match thread(number, &stop) {
            Ok(runtime) => Some(runtime),
            Err(error) => {
                tracing::warn!(%error, "cannot start another informer thread");
                None
            }
        };
        let runtimes = (0..count).map_while(start).collect();
        Self { runtimes, next: AtomicUsize::new(0), _stop: stop.drop_guard() }
    }

    /// Spawns a task on the next thread in turn. Without threads, spawns it on the caller's runtime.
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
    async fn without_threads_tasks_run_on_the_callers_runtime() {
        let here = std::thread::current().name().unwrap_or_default().to_owned();
        assert_eq!(names_of(0, 1).await, [here]);
    }

    #[tokio::test]
    async fn tasks_end_with_the_threads() {
        let threads = Threads::start(1);
        let tracker = TaskTracker::new();
        threads.spawn(&tracker, std::future::pending());
        tracker.close();

        drop(threads);

        tracker.wait().await;
    }
}
