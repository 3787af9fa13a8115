//! The notification queue of one plugin: keyed by object, merging, bounded by the number of distinct objects.
//!
//! [`Notifications`] is the queue itself; it reads no clock and never waits. [`Queue`] puts a lock around it and lets workers
//! wait.

mod config;
mod keying;
mod notifications;
mod settling;
mod stats;

use std::{
    collections::{BTreeMap, VecDeque},
    sync::Arc,
    time::{Duration, Instant},
};

use informer_types::{Change, Delivery, Notification, NotificationSink, Object, Source, Tracer, WorkKey};

pub use config::{DeliveryMode, QueueConfig, Rate};
pub use settling::{MAX_SETTLE, SETTLES_WITHIN};
pub use stats::{Backlog, MergeCounts, QueueStats, Standing};

use crate::{
    DeadLetter, ObjectRef, Receipts,
    keyed::{Handle, Held},
    letters::LetterBox,
    retry::{Settled, Settlement},
    workqueue::RateLimitingQueue,
};
use keying::Keying;
use notifications::{Notifications, Taken};

/// The notifications on their way to one plugin.
///
/// # Promises
/// - Pending notifications of one object merge (see the merging rule in `coalesce.rs`), unless [`DeliveryMode::Every`] is
///   configured. Notifications of different objects never merge.
/// - Every offered notification ends in exactly one counter of [`QueueStats`]: acknowledged, merged, cancelled, dead, dropped or
///   discarded.
/// - If the version in service has only a reconciler, notifications become keys of the workqueue instead, without merging. A
///   notification is acknowledged once its keys are in the workqueue.
///
/// # Ordering
/// No object is ever handed out to two workers at once (W-3), and its notifications come in the order of its states. Across
/// objects: first in, first out by the oldest pending notification, in two lanes. Objects with a live change go before objects
/// that are only listed, relisted, resynced or replayed, but one turn in five is for the latter, so neither lane starves. A
/// retry goes to the end of its lane when its wait is over, and delays no other object.
///
/// # Settling
/// If [`QueueConfig::settle`] has a time for the source, a change of an object is delivered once the object has not changed for that
/// time, and at the latest [`SETTLES_WITHIN`] times that time after the first change that was not delivered. Its changes merge
/// meanwhile, and a quiet object goes to the end of its lane. A deletion is delivered at once, and so are first lists, resyncs and
/// replays. If a change merges with a notification that does not wait, both are delivered together. A change that comes while a
/// quiet object is pending is delivered with the object, without another wait. A retry is not delayed by the quiet time: newer state
/// is delivered with the retry, or earlier, once the object is quiet.
///
/// # Bound
/// At most two pending notifications and one in flight for each distinct object, whatever the rate, plus what
/// [`DeliveryMode::Every`] allows. [`offer`] never waits and never refuses. Memory is released when the objects are done (W-15).
/// A plugin that may take keys has at most 65,536 of them besides, until a version is in service.
///
/// One source feeds a queue through one listener. Two listeners would deliver everything twice, and a notification that one of
/// them filters out could cancel one of the other's.
///
/// Clones are handles of the same queue.
///
/// [`offer`]: NotificationSink::offer
#[derive(Clone, Debug)]
pub struct Queue(Handle<Notifications>);

/// A notification in flight, which has to be settled. While the lease exists, no other worker gets its object.
///
/// Dropping a lease puts its notification back, ready at once and before anything newer of the object. The handler may have
/// seen the notification, so the attempt still counts.
#[derive(Debug)]
pub struct Lease {
    held: Held<Notifications>,
    object: ObjectRef,
}

/// A queue under construction. It receives no notification before it is [built](Self::build), so its tracer, its receipts and its
/// workqueue see every notification.
#[derive(Debug)]
pub struct QueueBuilder(Notifications);

// === impl QueueBuilder ===

impl QueueBuilder {
    /// Writes the steps of each object to `tracer`.
    #[must_use]
    pub fn traced(mut self, tracer: Tracer) -> Self {
        self.0.tracer = tracer;
        self
    }

    /// Adds a receipt to `receipts` for each acknowledged notification of a resource whose receipts are [kept](Receipts::keep). No
    /// receipt is added while the plugin takes keys.
    #[must_use]
    pub fn with_receipts(mut self, receipts: Receipts) -> Self {
        self.0.receipts = receipts;
        self
    }

    /// Puts a workqueue beside the queue. Whether the plugin gets notifications or keys is undecided until [`Queue::decide`].
    /// `keys_of` returns the keys that a change concerns.
    #[must_use]
    pub fn with_keys(
        mut self,
        workqueue: RateLimitingQueue,
        keys_of: impl Fn(&Source, &Change) -> Vec<WorkKey> + Send + Sync + 'static,
    ) -> Self {
        self.0.keying = Some(Keying::new(workqueue, Arc::new(keys_of)));
        self
    }

    /// The queue, without any notification.
    pub fn build(self) -> Queue {
        Queue(Handle::new(self.0))
    }
}

// === impl Queue ===

impl Queue {
    /// An empty queue for a plugin with a handler.
    pub fn new(config: &QueueConfig) -> Self {
        Self::builder(config).build()
    }

    /// A queue to be extended before it receives notifications.
    pub fn builder(config: &QueueConfig) -> QueueBuilder {
        QueueBuilder(Notifications::new(config))
    }

    /// A version is in service that has a handler, a reconciler, or both. A version with a handler gets notifications. A version
    /// with only a reconciler gets keys: everything pending becomes keys now, and so does everything offered later. If the version gets
    /// keys, a quarantine of this queue ends. While there is no reconciler, the keys of the workqueue are held. After
    /// [`close`](Self::close), the call only decides whether keys are held.
    ///
    /// # Ordering
    /// Every notification is offered either before the decision or after it, so none is lost.
    pub fn decide(&self, handles: bool, reconciles: bool) {
        self.0.change(|queue, _| queue.decide(handles, reconciles));
        self.0.notify_settled();
    }

    /// The next delivery, and the lease to settle it, if an object is ready now. The delivery counts as an attempt.
    pub fn take(&self) -> Option<(Lease, Delivery)> {
        Lease::new(self.0.take().ok()?)
    }

    /// Waits for the next delivery. Returns `None` once the queue is closed.
    ///
    /// # Cancel safety
    /// A dropped future has taken nothing.
    pub async fn next(&self) -> Option<(Lease, Delivery)> {
        Lease::new(self.0.next().await?)
    }

    /// The next deliveries for the call of a worker that has taken one, at most this many: what is ready now, up to the first
    /// object that has to be delivered alone.
    pub fn take_along(&self, most: usize) -> Vec<(Lease, Delivery)> {
        self.0.take_along(most, Notifications::take_along).into_iter().filter_map(Lease::new).collect()
    }

    /// Changes the configuration. What is pending stays, and so do the tokens of a rate that does not change. Objects that are not
    /// quiet yet wait as the new configuration defines.
    pub fn configure(&self, config: &QueueConfig) {
        self.0.change(|queue, now| queue.configure(config, now));
        self.0.wake_workers();
    }

    /// From now on no object waits until it is quiet.
    pub(crate) fn end_settling(&self) {
        self.0.end(|queue, now| queue.set_settle(BTreeMap::new(), now));
    }

    /// A new version is in service: it is judged by its own calls, and if the plugin is in quarantine, the next probe is due
    /// now.
    pub fn new_version(&self) {
        self.0.new_version();
    }

    /// Hands out nothing until [`resume`](Self::resume). Offers are still taken in, and calls in flight are not affected.
    pub fn pause(&self) {
        self.0.set_paused(true);
    }

    /// Ends a pause. If the clock is stopped, the objects that are only listed, relisted, resynced or replayed are sorted by
    /// resource, namespace and name first.
    pub fn resume(&self) {
        self.0.set_paused(false);
    }

    /// Stops the clock of this queue, for tests of plugins: retries, quiet times, rates and the quarantine wait for
    /// [`advance`](Self::advance). Time limits of calls are not affected.
    pub fn stop_clock(&self) {
        self.0.stop_clock();
    }

    /// Moves a stopped clock. It does nothing while the clock runs.
    pub fn advance(&self, by: Duration) {
        self.0.advance(by);
    }

    /// Time until a worker gets something without a further offer; zero if something is ready now. `None` means never.
    pub fn next_due(&self) -> Option<Duration> {
        self.0.next_due()
    }

    /// Discards what is pending and, from now on, every offer and every retry (D-10). Workers that wait get `None`. A second
    /// call discards nothing more.
    pub fn close(&self) -> Backlog {
        self.0.end(|queue, _| queue.close())
    }

    /// Waits until nothing is in flight, and either nothing will become ready before `until`, or a pause or a quarantine holds
    /// calls back. If the clock is stopped, nothing becomes ready by itself.
    ///
    /// # Cancel safety
    /// A dropped future changes nothing.
    pub(crate) async fn quiet(&self, until: Instant) {
        let is_stopped = self.0.is_stopped();
        self.0.until(|queue, now| queue.is_quiet(if is_stopped { now } else { until }, now)).await;
    }

    /// Counters and gauges of one moment. It reads every pending notification under the lock, which takes some milliseconds for
    /// 100,000 of them. It is meant for scrapes, not for loops.
    pub fn stats(&self) -> QueueStats {
        self.0.with(|queue, now| queue.stats(now))
    }

    /// The place of an object. Returns `None` if nothing of it is pending or in flight.
    pub fn standing(&self, object: &ObjectRef) -> Option<Standing> {
        self.0.with(|queue, now| queue.standing(object, now))
    }

    /// Notifications that were given up and whose objects have not been delivered since.
    pub fn dead_letters(&self) -> LetterBox<DeadLetter> {
        self.0.with(|queue, _| queue.letters.clone())
    }
}

impl NotificationSink for Queue {
    fn offer(&self, notification: Notification) {
        self.0.change(|queue, now| queue.offer(notification, now));
    }

    fn offer_all(&self, notifications: &mut VecDeque<Notification>) {
        self.0.change(|queue, now| {
            while let Some(notification) = notifications.pop_front() {
                queue.offer(notification, now);
            }
        });
    }
}

// === impl Lease ===

impl Lease {
    fn new(held: Held<Notifications>) -> Option<(Self, Delivery)> {
        let Taken { object, entry, since, .. } = held.get()?;
        let (object, delivery) = (object.clone(), entry.delivery(object.source.clone(), *since));
        Some((Self { held, object }, delivery))
    }

    /// The object of the notification.
    pub fn object(&self) -> &ObjectRef {
        &self.object
    }

    /// The newest object of the notification.
    pub fn newest(&self) -> Option<&Arc<Object>> {
        Some(self.held.get()?.entry.change.object())
    }

    /// Returns true if a call for several notifications with this object failed, so that the object is delivered alone.
    pub fn is_alone(&self) -> bool {
        self.held.get().is_some_and(|taken| taken.alone)
    }

    /// Settles the notification.
    pub fn settle(self, settlement: Settlement) -> Settled {
        let settled = self.held.end(|queue, taken, now| queue.settle(taken, settlement, now));
        settled.unwrap_or(Settled::Discarded)
    }

    /// Puts the notification back because no call was made: the attempt does not count.
    pub(crate) fn put_back(self) {
        self.held.end(|queue, taken, now| queue.put_back(taken, false, now));
    }

    /// Puts the notification back because the call for it and others failed: the attempt does not count, and the object is delivered
    /// alone until one of its notifications is delivered or given up.
    pub fn split(self) {
        self.held.end(|queue, taken, now| queue.split(taken, now));
    }
}

#[cfg(test)]
mod tests;
