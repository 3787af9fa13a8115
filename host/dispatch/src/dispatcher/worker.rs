//! One call at a time.

use std::{any::Any, panic::AssertUnwindSafe, pin::pin, sync::Arc};

use futures::FutureExt;
use informer_types::{Delivery, EventHandler, Failure, FailureKind, Outcome};
use tokio::{select, task::coop::consume_budget};
use tokio_util::sync::CancellationToken;
use tracing::{debug, error, info, trace, warn};

use super::{DispatchConfig, supervisor::Work};
use crate::{DeadLetter, Fate, Lease, Queue, RetryConfig, Settled};

/// Takes a delivery, makes the call, settles it, and again.
pub(super) struct Worker<H>(Arc<Shared<H>>);

struct Shared<H> {
    plugin: Arc<str>,
    retry: RetryConfig,
    queue: Queue,
    handler: Arc<H>,
}

// === impl Worker ===

impl<H> Clone for Worker<H> {
    fn clone(&self) -> Self {
        Self(Arc::clone(&self.0))
    }
}

impl<H: EventHandler> Worker<H> {
    pub(super) fn new(config: &DispatchConfig, queue: Queue, handler: Arc<H>) -> Self {
        let (plugin, retry) = (Arc::clone(&config.plugin), config.retry.clone());
        Self(Arc::new(Shared { plugin, retry, queue, handler }))
    }

    /// Until the queue is closed. A call that is dropped drops its lease, which puts the notification back.
    async fn work(self, shutdown: CancellationToken, retire: CancellationToken) {
        let (mut shutdown, mut retired) = (pin!(shutdown.cancelled()), pin!(retire.cancelled()));
        loop {
            // A handler that is always ready at once must not keep the executor's thread.
            consume_budget().await;
            let next = select! {
                biased;
                () = &mut shutdown => return,
                () = &mut retired => return,
                next = self.0.queue.next() => next,
            };
            let Some((lease, delivery)) = next else { return };
            let attempt = delivery.attempt;
            let outcome = select! {
                biased;
                () = &mut shutdown => return,
                outcome = self.call(delivery) => outcome,
            };
            self.settle(lease, outcome, attempt);
        }
    }

    /// A panic of the handler is an outcome like any other; nothing of ours is shared with it but the delivery.
    async fn call(&self, delivery: Delivery) -> Outcome {
        let call = async { self.0.handler.handle(delivery).await };
        AssertUnwindSafe(call).catch_unwind().await.unwrap_or_else(|panic| {
            let message = format!("the handler panicked: {}", panic_message(panic.as_ref()));
            Outcome::Retry { after: None, failure: Failure::new(FailureKind::Host, message) }
        })
    }

    fn settle(&self, lease: Lease, outcome: Outcome, attempt: u32) {
        let plugin = &*self.0.plugin;
        let object = lease.object().clone();
        if let Outcome::Retry { failure, .. } = &outcome {
            debug!(plugin, resource = %object.source, key = %object.key, attempt, %failure, "an attempt failed");
        }
        match lease.settle(self.0.retry.settle(outcome, attempt, fastrand::f64())) {
            Settled::Acknowledged => {
                trace!(plugin, resource = %object.source, key = %object.key, attempt, "delivered");
            }
            Settled::Retrying { delay, superseded } => {
                debug!(plugin, resource = %object.source, key = %object.key, ?delay, superseded, "trying again");
            }
            Settled::Recovered => info!(plugin, "a call succeeded: the quarantine is over"),
            Settled::Quarantined { begins: true, failure, probe_in } => {
                warn!(plugin, resource = %object.source, key = %object.key, %failure, ?probe_in, "the plugin is in quarantine: its events wait");
            }
            Settled::Quarantined { begins: false, failure, probe_in } => {
                debug!(plugin, resource = %object.source, key = %object.key, %failure, ?probe_in, "the quarantine goes on");
            }
            Settled::GaveUp { fate, letter } => log_given_up(plugin, fate, &letter),
            Settled::Discarded => {
                debug!(plugin, resource = %object.source, key = %object.key, "discarded: the queue is closed");
            }
        }
    }
}

impl<H: EventHandler> Work for Worker<H> {
    fn run(
        self,
        shutdown: CancellationToken,
        retire: CancellationToken,
    ) -> impl Future<Output = ()> + Send + 'static {
        self.work(shutdown, retire)
    }
}

fn log_given_up(plugin: &str, fate: Fate, letter: &DeadLetter) {
    let DeadLetter { object, verb, resource_version: rv, attempts, failure, .. } = letter;
    let (resource, key) = (&object.source, &object.key);
    match fate {
        Fate::DeadLetter | Fate::Quarantine => {
            error!(plugin, %resource, %key, verb, %rv, attempts, %failure, "given up: kept as a dead letter");
        }
        // The operator chose to lose it, so it is no error.
        Fate::Drop => {
            warn!(plugin, %resource, %key, verb, %rv, attempts, %failure, "given up: dropped as configured");
        }
    }
}

/// The words of a panic, where it has any.
pub(crate) fn panic_message(panic: &(dyn Any + Send)) -> &str {
    panic
        .downcast_ref::<&str>()
        .copied()
        .or_else(|| panic.downcast_ref::<String>().map(String::as_str))
        .unwrap_or("no message")
}
