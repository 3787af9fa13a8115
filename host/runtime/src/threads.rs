//! The threads of guests.
//!
//! A task that shares a thread with a guest waits at least until the guest's tick, and longer if a host call copies a large
//! object. So guests have an executor of their own. The host's timers, connections and admin endpoint are on another
//! executor, and the operating system shares the processors between the two.

use std::{io, num::NonZeroUsize, thread::available_parallelism};

use tokio::runtime::{Builder, Handle, Runtime};

use crate::schedule::BESIDE;

/// Number of tasks after which a busy thread checks its timers, its connections and the tasks from other threads. Tokio's
/// default of 61 is for tasks of microseconds; a task of ours may take a tick.
const LOOK_AFTER_TASKS: u32 = 2;

/// An executor for guests, with one thread for each processor and one more. The extra thread polls tasks that become ready at
/// once, while the other threads run guests.
///
/// Dropping it does not wait: each thread ends as soon as its guest is interrupted, and tasks that still run are dropped.
#[derive(Debug)]
pub struct GuestThreads {
    handle: Handle,
    /// `None` only while it is dropped.
    runtime: Option<Runtime>,
}

/// The number of guests that run at a time: one for each processor.
pub(crate) fn guest_threads() -> NonZeroUsize {
    available_parallelism().unwrap_or(NonZeroUsize::MIN)
}

// === impl GuestThreads ===

impl GuestThreads {
    /// Starts the threads.
    ///
    /// # Errors
    /// If the operating system refuses threads or a poll descriptor.
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

    /// The handle to spawn tasks that call a [`Plugin`](crate::Plugin): its workers, loads and stops.
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
