//! client-go's `processNextWorkItem`, again and again.

use std::{future::Future, panic::AssertUnwindSafe, pin::pin, sync::Arc};

use futures::FutureExt;
use informer_types::{Failure, FailureKind, Reconciled, Reconciler, Request};
use tokio::{select, task::coop::consume_budget};
use tokio_util::sync::CancellationToken;
use tracing::{debug, error, trace};

use super::ReconcileConfig;
use crate::{
    dispatcher::{supervisor, worker::panic_message},
    workqueue::{RateLimitingQueue, Work},
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
        match reconciled {
            Reconciled::Done => {
                work.succeed();
                trace!(%plugin, %key, attempt, "reconciled");
            }
            Reconciled::Requeue => work.requeue(),
            Reconciled::RequeueAfter(delay) => work.requeue_after(delay),
            Reconciled::NotCalled(delay) => work.put_back_after(delay),
            Reconciled::Retry { failure } if attempts.is_none_or(|most| attempt < most.get()) => {
                debug!(%plugin, %key, attempt, %failure, "an attempt failed");
                work.retry(&failure);
            }
            Reconciled::Retry { failure } | Reconciled::Terminal { failure } => {
                error!(%plugin, %key, attempts = attempt, %failure, "given up: the key is forgotten until it is added again");
                work.give_up(failure);
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
