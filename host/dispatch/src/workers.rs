//! The workers of a queue: the same for notifications and for keys.

mod failure_log;
mod supervisor;
mod work;

use std::{future::Future, time::Duration};

use tokio::{
    select,
    sync::watch,
    time::{Instant, sleep_until},
};
use tokio_util::{
    sync::{CancellationToken, DropGuard},
    task::TaskTracker,
};
use tracing::{Instrument, Span};

pub(crate) use failure_log::FailureLog;
pub(crate) use supervisor::Target;
pub(crate) use work::Work;

use supervisor::Supervisor;

/// The longest drain. It keeps the sum of an instant and a duration far from overflow.
const MAX_DRAIN: Duration = Duration::from_secs(24 * 60 * 60);

/// Running workers with a configuration that can change. Dropping them ends them at once: their calls are dropped, and what
/// was in flight is given back.
#[derive(Debug)]
pub(crate) struct Workers<C> {
    config: watch::Sender<C>,
    tasks: TaskTracker,
    shutdown: DropGuard,
}

// === impl Workers ===

impl<C: Target> Workers<C> {
    /// Starts workers that run until they are dropped or `shutdown` is cancelled. `hire` makes a worker for a configuration.
    ///
    /// Must be called within a tokio runtime.
    pub(crate) fn spawn<W: Work>(
        config: C,
        span: Span,
        shutdown: &CancellationToken,
        hire: impl Fn(&C) -> W + Send + 'static,
    ) -> Self {
        let (config, target) = watch::channel(config);
        let (shutdown, tasks) = (shutdown.child_token(), TaskTracker::new());
        tasks.spawn(Supervisor::new(target, shutdown.clone(), hire).run().instrument(span));
        tasks.close();
        Self { config, tasks, shutdown: shutdown.drop_guard() }
    }

    /// Changes how many calls run at a time. A surplus worker finishes its call first.
    pub(crate) fn set_count(&self, workers: std::num::NonZeroUsize) {
        self.config.send_modify(|config| *config.workers() = workers);
    }

    /// Changes how calls are made. A call in flight ends as it began.
    pub(crate) fn configure(&self, config: C) {
        self.config.send_replace(config);
    }

    /// Waits for `quiet`, the end of all workers, or the end of `within`, at most a day; then ends the workers at once.
    pub(crate) async fn drain<Q: Future<Output = ()>>(
        self,
        within: Duration,
        quiet: impl FnOnce(Instant) -> Q,
    ) {
        let deadline = Instant::now() + within.min(MAX_DRAIN);
        select! {
            biased;
            () = self.tasks.wait() => {}
            () = quiet(deadline) => {}
            () = sleep_until(deadline) => {}
        }
        self.shutdown.disarm().cancel();
        self.tasks.wait().await;
    }

    /// Waits until all workers have ended, because their queue has ended.
    pub(crate) async fn ended(self) {
        self.tasks.wait().await;
    }
}
