//! Reconciles one key at a time, as client-go's `processNextWorkItem` does.

use std::sync::Arc;

use informer_types::{Failure, FailureKind, Reconciled, Reconciler, Request};
use tracing::{debug, error, info, trace, warn};

use super::config::ReconcileConfig;
use crate::{
    workers::{self, FailureLog},
    workqueue::{Failed, RateLimitingQueue, Work},
};

/// Takes a key, makes the call, ends it, and repeats.
pub(super) struct Worker<R>(Arc<Shared<R>>);

struct Shared<R> {
    config: ReconcileConfig,
    queue: RateLimitingQueue,
    reconciler: Arc<R>,
    log: Arc<FailureLog>,
}

// === impl Worker ===

impl<R> Clone for Worker<R> {
    fn clone(&self) -> Self {
        Self(Arc::clone(&self.0))
    }
}

impl<R: Reconciler> Worker<R> {
    pub(super) fn new(
        config: ReconcileConfig,
        queue: RateLimitingQueue,
        reconciler: Arc<R>,
        log: Arc<FailureLog>,
    ) -> Self {
        Self(Arc::new(Shared { config, queue, reconciler, log }))
    }

    fn settle(&self, work: Work, reconciled: Reconciled) {
        let ReconcileConfig { plugin, attempts, .. } = &self.0.config;
        let (key, attempt) = (Arc::clone(work.key()), work.attempt());
        let recovered = match reconciled {
            Reconciled::Done => {
                trace!(%plugin, %key, attempt, "reconciled");
                work.succeed()
            }
            Reconciled::Requeue => work.requeue(),
            Reconciled::RequeueAfter(delay) => work.requeue_after(delay),
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
        if recovered && let Some(left_out) = self.0.log.admits() {
            info!(%plugin, left_out, "a key was reconciled: the quarantine is over");
        }
    }

    fn failed(&self, key: &str, attempt: u32, failed: Failed, failure: &Failure) {
        let plugin = &*self.0.config.plugin;
        match failed {
            Failed::Retrying => debug!(plugin, key, attempt, %failure, "an attempt failed"),
            Failed::GivenUp => {
                let Some(left_out) = self.0.log.admits() else { return };
                error!(plugin, key, attempts = attempt, %failure, left_out, "given up: the key is kept as a dead letter until it is reconciled");
            }
            Failed::Quarantined { begins: true, probe_in } => {
                let Some(left_out) = self.0.log.admits() else { return };
                warn!(plugin, key, %failure, ?probe_in, left_out, "the reconciler is in quarantine: its keys wait");
            }
            Failed::Quarantined { begins: false, probe_in } => {
                debug!(plugin, key, %failure, ?probe_in, "the reconciler is still in quarantine: a call failed");
            }
        }
    }
}

impl<R: Reconciler> workers::Work for Worker<R> {
    type Held = Work;
    type Order = Request;
    type Outcome = Option<Reconciled>;

    async fn next(&self) -> Option<(Work, Request)> {
        let work = self.0.queue.get().await?;
        let request = Request { key: Arc::clone(work.key()), attempt: work.attempt(), queued: work.waited() };
        Some((work, request))
    }

    async fn call(&self, request: Request) -> Option<Reconciled> {
        self.0.reconciler.reconcile(request).await
    }

    fn panicked(&self, message: &str) -> Option<Reconciled> {
        let message = format!("the reconciler panicked: {message}");
        Some(Reconciled::Retry { failure: Failure::new(FailureKind::Host, message) })
    }

    fn end(&self, work: Work, reconciled: Option<Reconciled>) {
        match reconciled {
            Some(reconciled) => self.settle(work, reconciled),
            // No call was made. Dropping the work puts the key back.
            None => drop(work),
        }
    }
}
