//! Keeps the right number of workers.

use std::sync::Arc;

use informer_types::EventHandler;
use tokio::{
    select,
    sync::watch,
    task::{Id, JoinError, JoinSet},
};
use tokio_util::sync::CancellationToken;
use tracing::{Instrument, error};

use super::{DispatchConfig, worker::Worker};
use crate::Queue;

/// Starts workers, retires those that are too many, and replaces one that died: a handler's panic does not
/// kill a worker, so that would be a fault of ours, and the plugin should not stand still for it.
pub(super) struct Supervisor<H> {
    worker: Worker<H>,
    queue: Queue,
    handler: Arc<H>,
    /// What the workers were made for.
    made_for: DispatchConfig,
    target: watch::Receiver<DispatchConfig>,
    shutdown: CancellationToken,
    tasks: JoinSet<()>,
    /// Those not retired, each with the token that retires it.
    active: Vec<(Id, CancellationToken)>,
}

// === impl Supervisor ===

impl<H: EventHandler> Supervisor<H> {
    pub(super) fn new(
        queue: Queue,
        handler: Arc<H>,
        target: watch::Receiver<DispatchConfig>,
        shutdown: CancellationToken,
    ) -> Self {
        let made_for = target.borrow().clone();
        let worker = Worker::new(&made_for, queue.clone(), Arc::clone(&handler));
        Self { worker, queue, handler, made_for, target, shutdown, tasks: JoinSet::new(), active: Vec::new() }
    }

    /// Runs until the last worker ended: because of `shutdown`, or because the queue was closed.
    pub(super) async fn run(mut self) {
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
        let config = self.target.borrow_and_update().clone();
        let target = config.workers.get();
        if config != (DispatchConfig { workers: config.workers, ..self.made_for.clone() }) {
            // Those of before finish their calls; what they have in hand nobody else gets.
            self.active.drain(..).for_each(|(_, retire)| retire.cancel());
            self.worker = Worker::new(&config, self.queue.clone(), Arc::clone(&self.handler));
        }
        self.made_for = config;
        for (_, retire) in self.active.drain(target.min(self.active.len())..) {
            retire.cancel();
        }
        while self.active.len() < target && !self.shutdown.is_cancelled() {
            let retire = CancellationToken::new();
            let run = self.worker.clone().run(self.shutdown.clone(), retire.clone());
            let task = self.tasks.spawn(run.in_current_span());
            self.active.push((task.id(), retire));
        }
    }
}
