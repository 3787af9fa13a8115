//! Delivers one notification at a time.

use std::sync::Arc;

use informer_types::{Delivery, EventHandler, Failure, FailureKind, Outcome};
use tracing::{debug, error, info, trace, warn};

use super::config::DispatchConfig;
use crate::{
    DeadLetter, Fate, Lease, Queue, RetryConfig, Settled,
    workers::{FailureLog, Work},
};

/// Takes a delivery, makes the call, settles it, and repeats.
pub(super) struct Worker<H>(Arc<Shared<H>>);

struct Shared<H> {
    plugin: Arc<str>,
    retry: RetryConfig,
    queue: Queue,
    handler: Arc<H>,
    log: Arc<FailureLog>,
}

// === impl Worker ===

impl<H> Clone for Worker<H> {
    fn clone(&self) -> Self {
        Self(Arc::clone(&self.0))
    }
}

impl<H: EventHandler> Worker<H> {
    pub(super) fn new(config: &DispatchConfig, queue: Queue, handler: Arc<H>, log: Arc<FailureLog>) -> Self {
        let (plugin, retry) = (Arc::clone(&config.plugin), config.retry.clone());
        Self(Arc::new(Shared { plugin, retry, queue, handler, log }))
    }

    fn settle(&self, lease: Lease, outcome: Outcome, attempt: u32) {
        let plugin = &*self.0.plugin;
        let object = lease.object().clone();
        let (resource, key) = (&object.source, &object.key);
        if let Outcome::Retry { failure, .. } = &outcome {
            debug!(plugin, %resource, %key, attempt, %failure, "an attempt failed");
        }
        let settlement = self.0.retry.settle(outcome, attempt, fastrand::f64());
        match lease.settle(settlement) {
            Settled::Acknowledged => trace!(plugin, %resource, %key, attempt, "delivered"),
            Settled::Enqueued => trace!(plugin, %resource, %key, attempt, "enqueued for the reconciler"),
            Settled::Retrying { delay, superseded } => {
                debug!(plugin, %resource, %key, ?delay, superseded, "retrying");
            }
            Settled::Recovered => {
                if let Some(left_out) = self.0.log.admits() {
                    info!(plugin, left_out, "a call succeeded: the quarantine is over");
                }
            }
            Settled::Quarantined { begins: true, failure, probe_in } => {
                if let Some(left_out) = self.0.log.admits() {
                    warn!(plugin, %resource, %key, %failure, ?probe_in, left_out, "the plugin is in quarantine: its events wait");
                }
            }
            Settled::Quarantined { begins: false, failure, probe_in } => {
                debug!(plugin, %resource, %key, %failure, ?probe_in, "the plugin is still in quarantine: a call failed");
            }
            Settled::GaveUp { fate, letter } => {
                if let Some(left_out) = self.0.log.admits() {
                    log_given_up(plugin, fate, &letter, left_out);
                }
            }
            Settled::Discarded => debug!(plugin, %resource, %key, "discarded: the queue is closed"),
        }
    }
}

impl<H: EventHandler> Work for Worker<H> {
    /// The lease, with the number of the attempt.
    type Held = (Lease, u32);
    type Order = Delivery;
    type Outcome = Option<Outcome>;

    async fn next(&self) -> Option<((Lease, u32), Delivery)> {
        let (lease, delivery) = self.0.queue.next().await?;
        Some(((lease, delivery.attempt), delivery))
    }

    async fn call(&self, delivery: Delivery) -> Option<Outcome> {
        self.0.handler.handle(delivery).await
    }

    fn panicked(&self, message: &str) -> Option<Outcome> {
        let message = format!("the handler panicked: {message}");
        Some(Outcome::Retry { after: None, failure: Failure::new(FailureKind::Host, message) })
    }

    fn end(&self, (lease, attempt): (Lease, u32), outcome: Option<Outcome>) {
        match outcome {
            Some(outcome) => self.settle(lease, outcome, attempt),
            None => lease.put_back(),
        }
    }
}

fn log_given_up(plugin: &str, fate: Fate, letter: &DeadLetter, left_out: u64) {
    let DeadLetter { object, verb, resource_version: rv, attempts, failure, .. } = letter;
    let (resource, key) = (&object.source, &object.key);
    match fate {
        Fate::DeadLetter | Fate::Quarantine => {
            error!(plugin, %resource, %key, verb, %rv, attempts, %failure, left_out, "given up: kept as a dead letter");
        }
        // The operator chose to lose it, so it is no error.
        Fate::Drop => {
            warn!(plugin, %resource, %key, verb, %rv, attempts, %failure, left_out, "given up: dropped as configured");
        }
    }
}
