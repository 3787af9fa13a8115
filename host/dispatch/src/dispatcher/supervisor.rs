//! Keeps the right number of workers.

mod work;

use std::{future::Future, num::NonZeroUsize, time::Duration};

use tokio::{
    select,
    sync::watch,
    task::{Id, JoinError, JoinSet},
};
use tokio_util::sync::CancellationToken;
use tracing::{Instrument, error};

use work::work;

/// The longest drain; it keeps the sum of an instant and a duration far from overflow.
pub(crate) const MAX_DRAIN: Duration = Duration::from_secs(24 * 60 * 60);

/// What a supervisor keeps running, each in a task of its own: see [`work()`].
pub(crate) trait Work: Clone + Send + Sync + 'static {
    /// What is in hand during a call. Dropping it puts it back.
    type Held: Send;
    /// What a call is about.
    type Order: Send;
    /// How a call ended.
    type Outcome: Send;

    /// The next one, when there is one; none: there will never be another. Dropping the future takes nothing.
    fn next(&self) -> impl Future<Output = Option<(Self::Held, Self::Order)>> + Send;

    /// Makes the call.
    fn call(&self, order: Self::Order) -> impl Future<Output = Self::Outcome> + Send;

    /// What a panic of the call, with these words, comes to: an outcome like any other.
    fn panicked(&self, words: &str) -> Self::Outcome;

    /// Ends the call.
    fn end(&self, held: Self::Held, outcome: Self::Outcome);
}

/// How many workers there should be, and what each of them is made for.
pub(crate) trait Target: Clone + PartialEq {
    /// The number, which changes without another worker.
    fn workers(&mut self) -> &mut NonZeroUsize;
}

/// Starts workers, retires those that are too many, and replaces one that died: a handler's panic does not
/// kill a worker, so that would be a fault of ours, and the plugin should not stand still for it.
pub(crate) struct Supervisor<T, W, F> {
    worker: W,
    hire: F,
    /// What the workers were made for.
    made_for: T,
    target: watch::Receiver<T>,
    shutdown: CancellationToken,
    tasks: JoinSet<()>,
    /// Those not retired, each with the token that retires it.
    active: Vec<(Id, CancellationToken)>,
}

// === impl Supervisor ===

impl<T: Target, W: Work, F: Fn(&T) -> W> Supervisor<T, W, F> {
    /// `hire` makes a worker for a target.
    pub(crate) fn new(target: watch::Receiver<T>, shutdown: CancellationToken, hire: F) -> Self {
        let made_for = target.borrow().clone();
        let worker = hire(&made_for);
        Self { worker, hire, made_for, target, shutdown, tasks: JoinSet::new(), active: Vec::new() }
    }

    /// Runs until the last worker ended: because of `shutdown`, or because the queue was closed.
    pub(crate) async fn run(mut self) {
        self.adjust();
        loop {
            let changed = async {
                // Without a sender the number stays what it is.
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
            // Those of before finish their calls; what they have in hand nobody else gets.
            self.active.drain(..).for_each(|(_, retire)| retire.cancel());
            self.worker = (self.hire)(&wanted);
            self.made_for = wanted;
        }
        let target = workers.get();
        for (_, retire) in self.active.drain(target.min(self.active.len())..) {
            retire.cancel();
        }
        while self.active.len() < target && !self.shutdown.is_cancelled() {
            let retire = CancellationToken::new();
            let work = work(self.worker.clone(), self.shutdown.clone(), retire.clone());
            let task = self.tasks.spawn(work.in_current_span());
            self.active.push((task.id(), retire));
        }
    }
}
