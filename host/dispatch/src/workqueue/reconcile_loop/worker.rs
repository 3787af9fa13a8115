//! client-go's `processNextWorkItem`, again and again.

use std::{future::Future, panic::AssertUnwindSafe, pin::pin, sync::Arc};

use futures::FutureExt;
use informer_types::{Failure, FailureKind, Reconciled, Reconciler, Request};
use tokio::{select, task::coop::consume_budget};
use tokio_util::sync::CancellationToken;
use tracing::{debug, error, info, trace, warn};

use super::ReconcileConfig;
use crate::{
    dispatcher::{supervisor, worker::panic_message},
    workqueue::{Failed, RateLimitingQueue, Work},
};

/// Takes a key, makes the call, ends it, and again.
pub(super) struct Worker<R>(Arc<Shared<R>>);

struct Shared<R> {
    config: ReconcileConfig,
    queue: RateLimitingQueue,
    reconciler: Arc<R>,
}

// === impl Worker ===

impl<R> Clone for Worker<R> {
    fn clone(&self) -> Self {
        Self(Arc::clone(&self.0))
    }
}

impl<R: Reconciler> Worker<R> {
    pub(super) fn new(config: ReconcileConfig, queue: RateLimitingQueue, reconciler: Arc<R>) -> Self {
        Self(Arc::new(Shared { config, queue, reconciler }))
    }

    /// Until the queue is shut down and empty. A call that is dropped drops its work, which puts the key back.
    async fn work(self, shutdown: CancellationToken, retire: CancellationToken) {
        let (mut shutdown, mut retired) = (pin!(shutdown.cancelled()), pin!(retire.cancelled()));
        loop {
            // A reconciler that is always ready at once must not keep the executor's thread.
            consume_budget().await;
            let next = select! {
                biased;
                () = &mut shutdown => return,
                () = &mut retired => return,
                next = self.0.queue.get() => next,
            };
            let Some(work) = next else { return };
            let reconciled = select! {
                biased;
                () = &mut shutdown => return,
                reconciled = self.call(&work) => reconciled,
            };
            self.end(work, reconciled);
        }
    }

    /// A panic of the reconciler is a failure like any other; nothing of ours is shared with it but the request.
    async fn call(&self, work: &Work) -> Reconciled {
        let request = Request { key: Arc::clone(work.key()), attempt: work.attempt(), queued: work.waited() };
        let call = async { self.0.reconciler.reconcile(request).await };
        AssertUnwindSafe(call).catch_unwind().await.unwrap_or_else(|panic| {
            let message = format!("the reconciler panicked: {}", panic_message(panic.as_ref()));
            Reconciled::Retry { failure: Failure::new(FailureKind::Host, message) }
        })
    }

    fn end(&self, work: Work, reconciled: Reconciled) {
        let ReconcileConfig { plugin, attempts, .. } = &self.0.config;
        let (key, attempt) = (Arc::clone(work.key()), work.attempt());
        let recovered = match reconciled {
            Reconciled::Done => {
                trace!(%plugin, %key, attempt, "reconciled");
                work.succeed()
            }
            Reconciled::Requeue => work.requeue(),
            Reconciled::RequeueAfter(delay) => work.requeue_after(delay),
            Reconciled::NotCalled(delay) => {
                work.put_back_after(delay);
                false
            }
            Reconciled::Retry { failure } => {
                let spent = attempts.is_some_and(|most| attempt >= most.get());
                self.failed(&key, attempt, work.fail(&failure, spent), &failure);
                false
            }
            Reconciled::Terminal { failure } => {
                self.failed(&key, attempt, Failed::GivenUp, &failure);
                work.give_up(failure);
                false
            }
        };
        if recovered {
            info!(%plugin, "a key was reconciled: the quarantine is over");
        }
    }

    fn failed(&self, key: &str, attempt: u32, failed: Failed, failure: &Failure) {
        let plugin = &*self.0.config.plugin;
        match failed {
            Failed::Retrying => debug!(plugin, key, attempt, %failure, "an attempt failed"),
            Failed::GivenUp => {
                error!(plugin, key, attempts = attempt, %failure, "given up: the key is kept as a dead letter until it is reconciled");
            }
            Failed::Quarantined { begins: true, probe_in } => {
                warn!(plugin, key, %failure, ?probe_in, "the reconciler is in quarantine: its keys wait");
            }
            Failed::Quarantined { begins: false, probe_in } => {
                debug!(plugin, key, %failure, ?probe_in, "the quarantine goes on");
            }
        }
    }
}

impl<R: Reconciler> supervisor::Work for Worker<R> {
    fn run(
        self,
        shutdown: CancellationToken,
        retire: CancellationToken,
    ) -> impl Future<Output = ()> + Send + 'static {
        self.work(shutdown, retire)
    }
}
