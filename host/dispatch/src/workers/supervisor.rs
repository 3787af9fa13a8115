//! Keeps the right number of workers running.

use std::num::NonZeroUsize;

use tokio::{
    select,
    sync::watch,
    task::{Id, JoinError, JoinSet},
};
use tokio_util::sync::CancellationToken;
use tracing::{Instrument, error};

use super::work::{Work, work};

/// The number of workers, and what each of them is made for.
pub(crate) trait Target: Clone + PartialEq + Send + Sync + 'static {
    /// The number of workers. A change of it alone replaces no worker.
    fn workers(&mut self) -> &mut NonZeroUsize;
}

/// Starts workers, retires surplus ones, and replaces a worker that died. A panic of a handler does not kill a worker, so a
/// dead worker is a fault of the host, and the plugin must not stop because of it.
pub(super) struct Supervisor<T, W, F> {
    worker: W,
    hire: F,
    /// What the present workers were made for.
    made_for: T,
    target: watch::Receiver<T>,
    shutdown: CancellationToken,
    tasks: JoinSet<()>,
    /// The workers that are not retired, each with the token that retires it.
    active: Vec<(Id, CancellationToken)>,
}

// === impl Supervisor ===

impl<T: Target, W: Work, F: Fn(&T) -> W> Supervisor<T, W, F> {
    /// `hire` makes a worker for a target.
    pub(super) fn new(target: watch::Receiver<T>, shutdown: CancellationToken, hire: F) -> Self {
        let made_for = target.borrow().clone();
        let worker = hire(&made_for);
        Self { worker, hire, made_for, target, shutdown, tasks: JoinSet::new(), active: Vec::new() }
    }

    /// Runs until the last worker has ended, because of `shutdown` or because the queue has ended.
    pub(super) async fn run(mut self) {
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
