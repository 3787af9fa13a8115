//! The calls of one plugin, and whether it gets notifications or keys.

use std::sync::Arc;

use informer_dispatch::{Queue, workqueue::RateLimitingQueue};
use informer_runtime::Plugin;
use informer_types::{
    Delivery, EventHandler, Failure, Object, Outcome, Reconciled, Reconciler, Request, Source,
};
use parking_lot::Mutex;
use tokio::sync::watch;

use super::{Repeats, witness::WitnessSlot};

/// The calls of one plugin. When a version is put into service, its exports decide whether the plugin gets notifications or
/// keys: see [`Queue::decide`].
pub(crate) struct Calls {
    plugin: Arc<Plugin>,
    queue: Queue,
    workqueue: RateLimitingQueue,
    signals: RateLimitingQueue,
    repeats: Repeats,
    /// The number of versions put into service so far.
    swaps: watch::Receiver<u64>,
    /// The number of swaps that the queues were notified of.
    noted: Mutex<u64>,
    witness: WitnessSlot,
}

/// The part of a delivery that is needed after the call of the handler, which takes the delivery.
struct Subject {
    source: Source,
    object: Arc<Object>,
    /// For a witness, if there is one.
    seen: Option<Delivery>,
}

// === impl Subject ===

impl Subject {
    fn of(delivery: &Delivery, witness: &WitnessSlot) -> Self {
        let notification = &delivery.notification;
        Self {
            source: notification.source.clone(),
            object: Arc::clone(notification.change.object()),
            seen: witness.is_set().then(|| delivery.clone()),
        }
    }
}

// === impl Calls ===

impl Calls {
    /// The calls that the workers of these queues make.
    pub(crate) fn new(
        plugin: Arc<Plugin>,
        (queue, workqueue, signals): (Queue, RateLimitingQueue, RateLimitingQueue),
        repeats: Repeats,
        witness: WitnessSlot,
    ) -> Arc<Self> {
        let swaps = plugin.swaps();
        Arc::new(Self { plugin, queue, workqueue, signals, repeats, swaps, noted: Mutex::default(), witness })
    }

    /// Reports the outcome of a call for a notification to the repeats and to the witness.
    fn handled(&self, Subject { source, object, seen }: &Subject, outcome: &Outcome) {
        self.repeats.settle(source, || object.key(), outcome);
        if let Some(seen) = seen {
            self.witness.notify(|witness| witness.handled(self.plugin.name(), seen, outcome));
        }
    }

    pub(crate) fn repeats(&self) -> &Repeats {
        &self.repeats
    }

    /// Returns true if notifications were discarded, because the plugin stops or is removed. The discarded notifications have released
    /// their sync tokens, although the plugin has not received them.
    pub(super) fn has_discarded(&self) -> bool {
        self.queue.stats().discarded > 0
    }

    /// Notifies the queues of the version in service. It is called after each swap, before the first call of the version, and before a
    /// failed call is settled: the failure may have brought back an earlier version, and must not count against that version.
    ///
    /// # Ordering
    /// After the last of several concurrent swaps, the queues are as the version in service needs them.
    pub(crate) fn note_swaps(&self) {
        let mut noted = self.noted.lock();
        let swaps = *self.swaps.borrow();
        let (handles, reconciles) = (self.plugin.handles(), self.plugin.reconciles());
        // Without a version in service the queues stay as they are.
        if handles || reconciles {
            self.queue.decide(handles, reconciles);
        }
        if *noted < swaps {
            *noted = swaps;
            self.queue.new_version();
            self.workqueue.new_version();
            self.signals.new_version();
        }
    }
}

impl EventHandler for Calls {
    fn takes_batches(&self) -> bool {
        self.plugin.takes_batches()
    }

    async fn handle(&self, delivery: Delivery) -> Option<Outcome> {
        let subject = Subject::of(&delivery, &self.witness);
        let outcome = self.plugin.handle(delivery).await;
        if let Some(outcome) = &outcome {
            self.handled(&subject, outcome);
        }
        if matches!(outcome, None | Some(Outcome::Retry { .. })) {
            self.note_swaps();
        }
        outcome
    }

    async fn handle_batch(&self, deliveries: Vec<Delivery>) -> Option<Result<Vec<Outcome>, Failure>> {
        let subjects: Vec<_> =
            deliveries.iter().map(|delivery| Subject::of(delivery, &self.witness)).collect();
        let outcomes = self.plugin.handle_batch(deliveries).await;
        match &outcomes {
            Some(Ok(outcomes)) => {
                subjects.iter().zip(outcomes).for_each(|(subject, outcome)| self.handled(subject, outcome));
            }
            Some(Err(failure)) => {
                self.witness.notify(|witness| witness.batch_failed(self.plugin.name(), failure));
            }
            None => {}
        }
        let is_retry = |outcome: &Outcome| matches!(outcome, Outcome::Retry { .. });
        if !matches!(&outcomes, Some(Ok(outcomes)) if !outcomes.iter().any(is_retry)) {
            self.note_swaps();
        }
        outcomes
    }
}

impl Reconciler for Calls {
    async fn reconcile(&self, request: Request) -> Option<Reconciled> {
        let seen = self.witness.is_set().then(|| request.clone());
        let reconciled = self.plugin.reconcile(request).await;
        if let (Some(seen), Some(reconciled)) = (&seen, &reconciled) {
            self.witness.notify(|witness| witness.reconciled(self.plugin.name(), seen, reconciled));
        }
        if matches!(reconciled, None | Some(Reconciled::Retry { .. })) {
            self.note_swaps();
        }
        reconciled
    }
}
