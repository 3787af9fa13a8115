//! Threads that only guests run on.
//!
//! What waits for a processor beside a guest waits for its tick at least, and a host call that copies a large object
//! waits for nobody. So guests have an executor of their own: the host's timers, connections and admin endpoint are on
//! another, and the operating system shares the processors between the two.

use std::{io, num::NonZeroUsize, thread::available_parallelism};

use tokio::runtime::{Builder, Handle, Runtime};

use crate::schedule::BESIDE;

/// A thread that is never idle looks at its timers and connections, and for tasks from outside, after so many tasks.
/// Tokio's own figures, 61 and more, are for tasks of microseconds; one of ours may take a tick.
const LOOK_AFTER_TASKS: u32 = 2;

/// An executor with a thread for each guest that may run at a time: one for each processor, and one more, on which whatever
/// becomes ready is looked at at once instead of when the guest of some thread is interrupted. Dropping it ends the threads as
/// soon as their guests are interrupted, and drops whatever still runs on them; it waits for nothing.
#[derive(Debug)]
pub struct GuestThreads {
    handle: Handle,
    /// Taken at the end.
    runtime: Option<Runtime>,
}

/// Guests that run at a time: a thread for each processor.
pub(crate) fn guest_threads() -> NonZeroUsize {
    available_parallelism().unwrap_or(NonZeroUsize::MIN)
}

// === impl GuestThreads ===

impl GuestThreads {
    /// Starts the threads.
    ///
    /// # Errors
    /// Where the operating system refuses threads or a poll descriptor.
    pub fn start() -> io::Result<Self> {
        let runtime = Builder::new_multi_thread()
            .worker_threads(guest_threads().get() + BESIDE)
            .thread_name("guests")
            .event_interval(LOOK_AFTER_TASKS)
            .global_queue_interval(LOOK_AFTER_TASKS)
            .enable_all()
            .build()?;
        Ok(Self { handle: runtime.handle().clone(), runtime: Some(runtime) })
    }

    /// To spawn on the threads what calls a [`Plugin`](crate::Plugin): its workers, loads and stops.
    pub fn handle(&self) -> &Handle {
        &self.handle
    }
}

impl Drop for GuestThreads {
    fn drop(&mut self) {
        if let Some(runtime) = self.runtime.take() {
            runtime.shutdown_background();
        }
    }
}
