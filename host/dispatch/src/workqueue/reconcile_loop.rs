//! The workers of a controller (W-1).

use std::{
    num::{NonZeroU32, NonZeroUsize},
    sync::Arc,
    time::Duration,
};

use informer_types::{Failure, FailureKind, KeyedVersion, Reconciled, Reconciler, Request};
use tokio_util::sync::CancellationToken;
use tracing::{debug, error, field, info, info_span, trace, warn};

use super::{Failed, RateLimitingQueue, Work};
use crate::workers::{self, FailureLog, Target, Workers};

/// How the keys of one plugin are reconciled.
#[derive(Clone, Debug, PartialEq)]
pub struct ReconcileConfig {
    /// The name of the plugin, for logs.
    pub plugin: Arc<str>,
    /// Number of calls at a time, each for another key.
    pub workers: NonZeroUsize,
    /// Failed calls in a row after which a key is given up (W-13). `None` means never.
    pub attempts: Option<NonZeroU32>,
}

/// Running workers, which take keys from a [`RateLimitingQueue`], make the calls, and end them: `Forget` after a success,
/// `AddRateLimited` after a failure, and always `Done` (W-1). Dropping the loop ends the workers at once; [`drain`](Self::drain)
/// and [`remove`](Self::remove) end them in order.
///
/// # Promises
/// A panic of the reconciler fails its own call ([`FailureKind::Host`]) and has no other effect.
#[derive(Debug)]
pub struct ReconcileLoop {
    queue: RateLimitingQueue,
    workers: Workers<ReconcileConfig>,
}

/// Reconciles one key at a time, as client-go's `processNextWorkItem` does.
struct Worker<R> {
    config: ReconcileConfig,
    queue: RateLimitingQueue,
    reconciler: Arc<R>,
    log: Arc<FailureLog>,
}

/// A call that has ended, for the log.
struct Call<'a> {
    key: &'a str,
    version: Option<Arc<KeyedVersion>>,
    attempt: u32,
}

impl Target for ReconcileConfig {
    fn workers(&mut self) -> &mut NonZeroUsize {
        &mut self.workers
    }
}

// === impl ReconcileLoop ===

impl ReconcileLoop {
    /// Starts the workers. They run until the queue has ended, the loop is dropped or consumed, or `shutdown` is cancelled.
    /// Then calls in flight are dropped and their keys put back.
    ///
    /// Must be called within a tokio runtime.
    pub fn spawn(
        config: ReconcileConfig,
        queue: RateLimitingQueue,
        reconciler: Arc<impl Reconciler>,
        shutdown: &CancellationToken,
    ) -> Self {
        let span = info_span!("workqueue", plugin = %config.plugin);
        let (taken, log) = (queue.clone(), Arc::new(FailureLog::new()));
        let hire = move |config: &ReconcileConfig| Worker {
            config: config.clone(),
            queue: taken.clone(),
            reconciler: Arc::clone(&reconciler),
            log: Arc::clone(&log),
        };
        Self { queue, workers: Workers::spawn(config, span, shutdown, hire) }
    }

    /// Changes how many calls run at a time, and how calls are made. A surplus worker finishes its call first. A call in flight
    /// ends under the configuration it began with; its key is not handed out meanwhile.
    pub fn configure(&self, config: ReconcileConfig) {
        self.workers.configure(config);
    }

    /// Shuts the queue down (W-5) and reconciles the ready keys, for at most `within` and at most a day. Then drops the calls
    /// in flight. Delayed keys and retries are dropped, and a paused queue hands nothing out. Returns the number of keys that
    /// were dropped or left.
    ///
    /// # Cancel safety
    /// Dropping the future ends the workers at once. The queue is shut down once the future was polled.
    pub async fn drain(self, within: Duration) -> usize {
        self.queue.shut_down();
        // The workers end by themselves when the queue has ended.
        self.workers.drain(within, |_| std::future::pending()).await;
        let stats = self.queue.stats();
        stats.keys + usize::try_from(stats.discarded).unwrap_or(usize::MAX)
    }

    /// Removes the plugin (D-10): [closes](RateLimitingQueue::close) the queue and waits for the calls in flight. Returns the
    /// number of discarded keys.
    ///
    /// # Cancel safety
    /// Dropping the future drops the calls in flight. The queue is closed once the future was polled.
    pub async fn remove(self) -> usize {
        let discarded = self.queue.close();
        self.workers.ended().await;
        discarded
    }
}

// === impl Worker ===

impl<R: Reconciler> Worker<R> {
    fn settle(&self, work: Work, reconciled: Reconciled) {
        let ReconcileConfig { plugin, attempts, .. } = &self.config;
        let (key, attempt) = (Arc::clone(work.key()), work.attempt());
        let call = Call { key: &key, version: work.version().cloned(), attempt };
        let recovered = match reconciled {
            Reconciled::Done => {
                trace!(%plugin, %key, attempt, "reconciled");
                work.succeed()
            }
            Reconciled::Requeue => work.requeue(),
            Reconciled::RequeueAfter(delay) => work.requeue_after(delay),
            Reconciled::Retry { after, failure } => {
                let spent = attempts.is_some_and(|most| attempt >= most.get());
                self.failed(&call, work.fail_after(&failure, after, spent), &failure);
                false
            }
            Reconciled::Terminal { failure } => {
                self.failed(&call, Failed::GivenUp, &failure);
                work.give_up(failure);
                false
            }
        };
        if recovered && let Some(left_out) = self.log.admits() {
            info!(%plugin, left_out, "a key was reconciled: the quarantine is over");
        }
    }

    fn failed(&self, call: &Call<'_>, failed: Failed, failure: &Failure) {
        let (plugin, key, attempt) = (&*self.config.plugin, call.key, call.attempt);
        let resource = call.version.as_ref().map(|version| field::display(&version.source));
        let rv = call.version.as_ref().map(|version| &*version.resource_version);
        match failed {
            Failed::Retrying { delay } => {
                let retry_in = delay.map(field::debug);
                match self.log.admits_attempt(attempt) {
                    Some(left_out) => {
                        warn!(plugin, resource, key, rv, attempt, %failure, retry_in, left_out, "a call failed, and is made again");
                    }
                    None => {
                        debug!(plugin, resource, key, rv, attempt, %failure, retry_in, "an attempt failed");
                    }
                }
            }
            Failed::GivenUp => {
                let Some(left_out) = self.log.admits() else { return };
                error!(plugin, resource, key, rv, attempts = attempt, %failure, left_out, "given up: the key is kept as a dead letter until it is reconciled");
            }
            Failed::Quarantined { begins: true, probe_in } => {
                let Some(left_out) = self.log.admits() else { return };
                warn!(plugin, resource, key, rv, attempt, %failure, ?probe_in, left_out, "the reconciler is in quarantine: its keys wait");
            }
            Failed::Quarantined { begins: false, probe_in } => {
                debug!(plugin, resource, key, rv, attempt, %failure, ?probe_in, "the reconciler is still in quarantine: a call failed");
            }
        }
    }
}

impl<R: Reconciler> workers::Work for Worker<R> {
    type Held = Work;
    type Order = Request;
    type Outcome = Option<Reconciled>;

    async fn next(&self) -> Option<(Work, Request)> {
        let work = self.queue.get().await?;
        let (key, trace) = (Arc::clone(work.key()), work.trace().clone());
        let version = work.version().cloned();
        let request = Request { key, attempt: work.attempt(), queued: work.waited(), trace, version };
        Some((work, request))
    }

    async fn call(&self, request: Request) -> Option<Reconciled> {
        self.reconciler.reconcile(request).await
    }

    fn panicked(&self, message: &str) -> Option<Reconciled> {
        let message = format!("the reconciler panicked: {message}");
        Some(Reconciled::Retry { after: None, failure: Failure::new(FailureKind::Host, message) })
    }

    fn end(&self, work: Work, reconciled: Option<Reconciled>) {
        match reconciled {
            Some(reconciled) => self.settle(work, reconciled),
            // No call was made. Dropping the work puts the key back.
            None => drop(work),
        }
    }
}
