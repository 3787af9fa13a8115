//! The workers of one plugin.

use std::{num::NonZeroUsize, sync::Arc, time::Duration};

use informer_types::{Delivery, EventHandler, Failure, FailureKind, MAX_BATCH, Object, Outcome};
use tokio_util::sync::CancellationToken;
use tracing::{debug, error, info, info_span, trace, warn};

use crate::{
    Backlog, DeadLetter, Fate, Lease, Queue, RetryConfig, Settled,
    workers::{FailureLog, Target, Work, Workers},
};

/// How the notifications of one plugin are delivered.
#[derive(Clone, Debug, PartialEq)]
pub struct DispatchConfig {
    /// The name of the plugin, for logs.
    pub plugin: Arc<str>,
    /// Number of calls at a time, each for another object.
    pub workers: NonZeroUsize,
    /// The maximum number of notifications in one call, if the handler accepts several. At most [`MAX_BATCH`].
    pub batch: NonZeroUsize,
    /// The retries after a failure.
    pub retry: RetryConfig,
}

/// Running workers, which take deliveries from a [`Queue`], make the calls, and settle them. Dropping the dispatcher ends them at
/// once; [`drain`](Self::drain) and [`remove`](Self::remove) end them in order.
///
/// # Promises
/// A notification counts as delivered once the handler has acknowledged it. A failed call is retried as [`RetryConfig`] defines,
/// or as part of newer state of its object. After the last attempt, [`RetryConfig::on_exhausted`] defines what happens to the
/// notification. A panic of the handler fails its own call ([`FailureKind::Host`]) and has no other effect.
///
/// A handler that takes several notifications in one call gets those that are ready when a worker is free, each of another object
/// and with an outcome of its own. If such a call fails as a whole, it does not count as an attempt, and each notification is
/// delivered alone.
#[derive(Debug)]
pub struct Dispatcher {
    queue: Queue,
    workers: Workers<DispatchConfig>,
}

/// Takes a delivery, makes the call, settles it, and repeats.
struct Worker<H> {
    config: DispatchConfig,
    queue: Queue,
    handler: Arc<H>,
    log: Arc<FailureLog>,
}

/// The leases of one call, each with the number of its attempt.
struct InFlight {
    first: (Lease, u32),
    more: Vec<(Lease, u32)>,
}

/// The deliveries of one call.
enum Order {
    One(Delivery),
    /// At least two.
    Batch(Vec<Delivery>),
}

/// How a call ended.
enum Ended {
    NotCalled,
    One(Outcome),
    /// The outcomes in the order of the deliveries.
    Batch(Vec<Outcome>),
    /// The call returned nothing.
    Failed(Failure),
}

impl Target for DispatchConfig {
    fn workers(&mut self) -> &mut NonZeroUsize {
        &mut self.workers
    }
}

// === impl Dispatcher ===

impl Dispatcher {
    /// Starts the workers. They run until the dispatcher is dropped or consumed, or `shutdown` is cancelled. Then calls in flight
    /// are dropped, and their notifications stay in the queue.
    ///
    /// Must be called within a tokio runtime.
    pub fn spawn(
        config: DispatchConfig,
        queue: Queue,
        handler: Arc<impl EventHandler>,
        shutdown: &CancellationToken,
    ) -> Self {
        let span = info_span!("dispatcher", plugin = %config.plugin);
        let (taken, log) = (queue.clone(), Arc::new(FailureLog::new()));
        let hire = move |config: &DispatchConfig| Worker {
            config: config.clone(),
            queue: taken.clone(),
            handler: Arc::clone(&handler),
            log: Arc::clone(&log),
        };
        Self { queue, workers: Workers::spawn(config, span, shutdown, hire) }
    }

    /// Changes how many calls run at a time, and how calls are made. A surplus worker finishes its call first. A call in flight is
    /// settled under the configuration it began with, while the first calls under the new one run; its object is not handed out
    /// meanwhile. Retry waits do not change.
    pub fn configure(&self, config: DispatchConfig) {
        self.workers.configure(config);
    }

    /// Delivers what is pending, for at most `within` and at most a day. Call it after the last offer. From now on no object waits
    /// until it is quiet. The drain ends sooner if everything is delivered, if all that is left waits beyond the deadline for a retry
    /// or for the rate, or if the queue is paused or in quarantine and no call is in flight. At the deadline, calls in flight are
    /// dropped.
    ///
    /// Returns what was left. The queue is closed afterwards.
    ///
    /// # Cancel safety
    /// Dropping the future ends the workers at once and leaves the queue as it is.
    pub async fn drain(self, within: Duration) -> Backlog {
        let Self { queue, workers } = self;
        queue.end_settling();
        workers.drain(within, |deadline| queue.quiet(deadline.into_std())).await;
        queue.close()
    }

    /// Removes the plugin (D-10): calls in flight are finished, and nothing else is delivered. Returns what was discarded. If a call
    /// fails that would have been retried, its notification is discarded and counted, but not returned.
    ///
    /// # Cancel safety
    /// Dropping the future drops the calls in flight. The queue is closed once the future was polled.
    pub async fn remove(self) -> Backlog {
        let backlog = self.queue.close();
        self.workers.ended().await;
        backlog
    }
}

// === impl Worker ===

impl<H: EventHandler> Worker<H> {
    /// The call for several notifications failed.
    fn split(&self, leases: Vec<Lease>, failure: &Failure) {
        let (plugin, notifications) = (&*self.config.plugin, leases.len());
        if let Some(left_out) = self.log.admits() {
            warn!(plugin, notifications, %failure, left_out, "a call for several notifications failed: each is delivered alone");
        }
        leases.into_iter().for_each(Lease::split);
    }

    fn settle(&self, lease: Lease, outcome: Outcome, attempt: u32) {
        let plugin = &*self.config.plugin;
        let object = lease.object().clone();
        let (resource, key) = (&object.source, &object.key);
        let newest = lease.newest().cloned();
        let rv = newest.as_deref().map(Object::resource_version);
        let failure = match &outcome {
            Outcome::Retry { failure, .. } => Some(failure.clone()),
            _ => None,
        };
        let settlement = self.config.retry.settle(outcome, attempt, fastrand::f64());
        match lease.settle(settlement) {
            Settled::Acknowledged => trace!(plugin, %resource, %key, rv, attempt, "delivered"),
            Settled::Enqueued => trace!(plugin, %resource, %key, rv, attempt, "enqueued for the reconciler"),
            Settled::Retrying { delay, superseded } => {
                // Every retry follows a failure.
                let Some(failure) = failure else { return };
                match self.log.admits_attempt(attempt) {
                    Some(left_out) => {
                        warn!(plugin, %resource, %key, rv, attempt, %failure, retry_in = ?delay, left_out, "a call failed, and is made again");
                    }
                    None => {
                        debug!(plugin, %resource, %key, rv, attempt, %failure, ?delay, superseded, "an attempt failed");
                    }
                }
            }
            Settled::Recovered => {
                if let Some(left_out) = self.log.admits() {
                    info!(plugin, left_out, "a call succeeded: the quarantine is over");
                }
            }
            Settled::Quarantined { begins: true, failure, probe_in } => {
                if let Some(left_out) = self.log.admits() {
                    warn!(plugin, %resource, %key, rv, attempt, %failure, ?probe_in, left_out, "the plugin is in quarantine: its events wait");
                }
            }
            Settled::Quarantined { begins: false, failure, probe_in } => {
                debug!(plugin, %resource, %key, rv, attempt, %failure, ?probe_in, "the plugin is still in quarantine: a call failed");
            }
            Settled::GaveUp { fate, letter } => {
                if let Some(left_out) = self.log.admits() {
                    log_given_up(plugin, fate, &letter, left_out);
                }
            }
            Settled::Discarded => debug!(plugin, %resource, %key, rv, "discarded: the queue is closed"),
        }
    }
}

impl<H: EventHandler> Work for Worker<H> {
    type Held = InFlight;
    type Order = Order;
    type Outcome = Ended;

    async fn next(&self) -> Option<(InFlight, Order)> {
        let (lease, delivery) = self.queue.next().await?;
        let may_go_along = self.handler.takes_batches() && !lease.is_alone();
        let along = if may_go_along {
            self.queue.take_along(self.config.batch.get().min(MAX_BATCH.into()) - 1)
        } else {
            Vec::new()
        };
        let first = (lease, delivery.attempt);
        if along.is_empty() {
            return Some((InFlight { first, more: Vec::new() }, Order::One(delivery)));
        }
        let mut deliveries = vec![delivery];
        let more = along.into_iter().map(|(lease, delivery)| {
            let attempt = delivery.attempt;
            deliveries.push(delivery);
            (lease, attempt)
        });
        let more = more.collect();
        Some((InFlight { first, more }, Order::Batch(deliveries)))
    }

    async fn call(&self, order: Order) -> Ended {
        match order {
            Order::One(delivery) => self.handler.handle(delivery).await.map_or(Ended::NotCalled, Ended::One),
            Order::Batch(deliveries) => match self.handler.handle_batch(deliveries).await {
                None => Ended::NotCalled,
                Some(Ok(outcomes)) => Ended::Batch(outcomes),
                Some(Err(failure)) => Ended::Failed(failure),
            },
        }
    }

    fn panicked(&self, message: &str) -> Ended {
        let failure = Failure::new(FailureKind::Host, format!("the handler panicked: {message}"));
        Ended::Failed(failure)
    }

    fn end(&self, InFlight { first, more }: InFlight, ended: Ended) {
        let (lease, attempt) = first;
        match ended {
            Ended::NotCalled => {
                lease.put_back();
                more.into_iter().for_each(|(lease, _)| lease.put_back());
            }
            Ended::One(outcome) => self.settle(lease, outcome, attempt),
            Ended::Batch(outcomes) => {
                // A lease without an outcome is dropped, which puts its notification back.
                let in_flight = std::iter::once((lease, attempt)).chain(more);
                for ((lease, attempt), outcome) in in_flight.zip(outcomes) {
                    self.settle(lease, outcome, attempt);
                }
            }
            Ended::Failed(failure) if more.is_empty() => {
                self.settle(lease, Outcome::Retry { after: None, failure }, attempt);
            }
            Ended::Failed(failure) => {
                let more = more.into_iter().map(|(lease, _)| lease);
                self.split(std::iter::once(lease).chain(more).collect(), &failure);
            }
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
        // The operator has configured that such a notification is dropped, so this is no error.
        Fate::Drop => {
            warn!(plugin, %resource, %key, verb, %rv, attempts, %failure, left_out, "given up: dropped as configured");
        }
    }
}

#[cfg(test)]
mod tests;
