//! The workers of a queue: the same for notifications and for keys.

mod failure_log;

use std::{
    any::Any, future::Future, num::NonZeroUsize, panic::AssertUnwindSafe, pin::pin, sync::Arc, time::Duration,
};

use futures::FutureExt;
use tokio::{
    select,
    sync::watch,
    task::{Id, JoinError, JoinSet, coop::consume_budget},
    time::{Instant, sleep_until},
};
use tokio_util::{
    sync::{CancellationToken, DropGuard},
    task::TaskTracker,
};
use tracing::{Instrument, Span, error};

pub(crate) use failure_log::FailureLog;

/// The longest drain. It keeps the sum of an instant and a duration far from overflow.
const MAX_DRAIN: Duration = Duration::from_secs(24 * 60 * 60);

/// The number of workers, and the configuration of each.
pub(crate) trait Target: Clone + PartialEq + Send + Sync + 'static {
    /// The number of workers. A change of it alone replaces no worker.
    fn workers(&mut self) -> &mut NonZeroUsize;
}

/// What a worker does: takes something from a queue, makes a call, and ends it.
pub(crate) trait Work: Send + Sync + 'static {
    /// The lease of a worker during a call. Dropping it gives the notification or key back to the queue.
    type Held: Send;
    /// The argument of a call.
    type Order: Send;
    /// How a call ended.
    type Outcome: Send;

    /// Waits for the next call. Returns `None` if there will never be another one. A dropped future has taken nothing.
    fn next(&self) -> impl Future<Output = Option<(Self::Held, Self::Order)>> + Send;

    /// Makes the call.
    fn call(&self, order: Self::Order) -> impl Future<Output = Self::Outcome> + Send;

    /// The outcome of a call that panicked with this message.
    fn panicked(&self, message: &str) -> Self::Outcome;

    /// Ends the call.
    fn end(&self, held: Self::Held, outcome: Self::Outcome);
}

/// Running workers with a configuration that can change. Dropping them ends them at once: their calls are dropped, and what
/// was in flight is given back.
#[derive(Debug)]
pub(crate) struct Workers<C> {
    config: watch::Sender<C>,
    tasks: TaskTracker,
    shutdown: DropGuard,
}

/// Starts workers, retires surplus ones, and replaces a worker that died. A panic of a handler does not kill a worker, so a
/// dead worker is a fault of the host, and the plugin must not stop because of it.
struct Supervisor<T, W, F> {
    worker: Arc<W>,
    hire: F,
    /// The configuration of the present workers.
    made_for: T,
    target: watch::Receiver<T>,
    shutdown: CancellationToken,
    tasks: JoinSet<()>,
    /// The workers that are not retired, each with the token that retires it.
    active: Vec<(Id, CancellationToken)>,
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
        let worker = Arc::new(hire(&config));
        let (config, target) = watch::channel(config);
        let (shutdown, tasks) = (shutdown.child_token(), TaskTracker::new());
        let made_for = target.borrow().clone();
        let (workers, active) = (JoinSet::new(), Vec::new());
        let supervisor =
            Supervisor { worker, hire, made_for, target, shutdown: shutdown.clone(), tasks: workers, active };
        tasks.spawn(supervisor.run().instrument(span));
        tasks.close();
        Self { config, tasks, shutdown: shutdown.drop_guard() }
    }

    /// Changes the number of workers and how calls are made. A surplus worker finishes its call first, and a call in flight ends
    /// as it began.
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

// === impl Supervisor ===

impl<T: Target, W: Work, F: Fn(&T) -> W> Supervisor<T, W, F> {
    /// Runs until the last worker has ended, because of `shutdown` or because the queue has ended.
    async fn run(mut self) {
        self.adjust();
        loop {
            let changed = async {
                // Without a sender the target never changes.
                if self.target.changed().await.is_err() {
                    std::future::pending::<()>().await;
                }
            };
            select! {
                biased;
                ended = self.tasks.join_next_with_id() => match ended {
                    None => return,
                    Some(Ok((id, ()))) => self.active.retain(|(active, _)| *active != id),
                    Some(Err(failure)) => self.replace(&failure),
                },
                () = changed => self.adjust(),
            }
        }
    }

    fn replace(&mut self, failure: &JoinError) {
        error!(error = %failure, "a worker died and is replaced");
        self.active.retain(|(active, _)| *active != failure.id());
        self.adjust();
    }

    fn adjust(&mut self) {
        let mut wanted = self.target.borrow_and_update().clone();
        let workers = *wanted.workers();
        *self.made_for.workers() = workers;
        if wanted != self.made_for {
            // The present workers finish their calls; no other worker gets what they have in flight.
            self.active.drain(..).for_each(|(_, retire)| retire.cancel());
            self.worker = Arc::new((self.hire)(&wanted));
            self.made_for = wanted;
        }
        let target = workers.get();
        for (_, retire) in self.active.drain(target.min(self.active.len())..) {
            retire.cancel();
        }
        while self.active.len() < target && !self.shutdown.is_cancelled() {
            let retire = CancellationToken::new();
            let work = work(Arc::clone(&self.worker), self.shutdown.clone(), retire.clone());
            let task = self.tasks.spawn(work.in_current_span());
            self.active.push((task.id(), retire));
        }
    }
}

/// Makes one call after the other until the queue has ended. `retire` ends the worker after its call; `shutdown` ends it at
/// once and drops its call.
async fn work(worker: Arc<impl Work>, shutdown: CancellationToken, retire: CancellationToken) {
    let (mut shutdown, mut retired) = (pin!(shutdown.cancelled()), pin!(retire.cancelled()));
    loop {
        // Calls that are always ready at once must not block the executor's thread.
        consume_budget().await;
        let next = select! {
            biased;
            () = &mut shutdown => return,
            () = &mut retired => return,
            next = worker.next() => next,
        };
        let Some((held, order)) = next else { return };
        // The call shares only its order with the worker, so a panic leaves nothing inconsistent.
        let call = pin!(AssertUnwindSafe(async { worker.call(order).await }).catch_unwind());
        let outcome = select! {
            biased;
            () = &mut shutdown => return,
            outcome = call => outcome,
        };
        worker.end(held, outcome.unwrap_or_else(|panic| worker.panicked(message(panic.as_ref()))));
    }
}

/// The message of a panic, if it has one.
fn message(panic: &(dyn Any + Send)) -> &str {
    panic
        .downcast_ref::<&str>()
        .copied()
        .or_else(|| panic.downcast_ref::<String>().map(String::as_str))
        .unwrap_or("no message")
}
