//! The queue of one plugin: keyed, merging, bounded by the number of distinct objects.
//!
//! [`Keyed`] is the queue itself, without time, threads or tasks of its own; [`Queue`] puts a lock around it and
//! lets workers wait.

mod budget;
mod config;
mod keyed;
mod lane;
mod lease;
pub(crate) mod quarantine;
mod slot;
mod standing;
mod stats;

use std::{collections::VecDeque, pin::pin, sync::Arc, time::Instant};

use informer_types::{Delivery, Notification, NotificationSink, Tracer};
use parking_lot::Mutex;
use tokio::{sync::Notify, time};

pub use config::{DeliveryMode, QueueConfig, Rate};
pub use lease::Lease;
pub use quarantine::{Quarantine, QuarantineConfig};
pub use standing::{Standing, Stands};
pub use stats::{Backlog, MergeCounts, QueueStats};

use crate::{
    DeadLetter, ObjectRef, Settled, Settlement,
    dead_letter::LetterBox,
    idle::{self, Idle},
};
use keyed::{Keyed, Outcome, Taken, Wake};

/// The notifications on their way to one plugin.
///
/// # Promises
/// What is pending for one object merges (see the merging rule in `coalesce.rs`), unless [`DeliveryMode::Every`] was
/// asked for; nothing else does. Everything offered ends in exactly one counter of [`QueueStats`]: acknowledged, merged, cancelled, dead, dropped or
/// discarded.
///
/// # Ordering
/// One object is never handed to two workers at once (W-3), and its entries come in the order of its states.
/// Across objects: first in, first out by the oldest pending entry, in two lanes. An object with a live change
/// goes before those that are only listed, relisted, resynced or replayed, but out of five turns one is theirs,
/// so neither starves. A retry goes to the end of its lane when its wait is over and delays no other object.
///
/// # Bound
/// At most two pending entries and one in hand for each distinct object, whatever the rate, and no more than
/// [`DeliveryMode::Every`] adds to that; [`offer`] never waits and never refuses. Memory goes back when the objects are done (W-15).
///
/// One source feeds a queue through one listener: two would tell the same twice, and what one of them filters
/// out could cancel what the other told.
///
/// Cheap to clone; all clones are the same queue.
///
/// [`offer`]: NotificationSink::offer
#[derive(Clone, Debug)]
pub struct Queue(Arc<Shared>);

#[derive(Debug)]
struct Shared {
    keyed: Mutex<Keyed>,
    /// One permit for each object that became ready, and for each change of the earliest wait.
    ready: Notify,
    /// Something was settled, or the queue was paused.
    settled: Notify,
    /// The list of dead letters changed.
    letters: Notify,
}

// === impl Queue ===

impl Queue {
    /// An empty queue.
    pub fn new(config: &QueueConfig) -> Self {
        Self::traced(config, Tracer::default())
    }

    /// As [`Queue::new`]; what it decides is written to `tracer`.
    pub fn traced(config: &QueueConfig, tracer: Tracer) -> Self {
        Self(Arc::new(Shared {
            keyed: Mutex::new(Keyed::new(config, tracer)),
            ready: Notify::new(),
            settled: Notify::new(),
            letters: Notify::new(),
        }))
    }

    /// The next delivery and the duty to settle it, if an object is ready now. It counts as an attempt.
    pub fn take(&self) -> Option<(Lease, Delivery)> {
        self.look().ok()
    }

    /// As [`Queue::take`], but waits for it; none once the queue is closed.
    ///
    /// # Cancel safety
    /// A dropped future has taken nothing.
    pub async fn next(&self) -> Option<(Lease, Delivery)> {
        idle::wait(&self.0.ready, || self.look()).await
    }

    /// Changes what it is told to do, from now on. What is pending stays as it is, and so does what is left of a rate that
    /// is the same.
    pub fn configure(&self, config: &QueueConfig) {
        let mut keyed = self.0.keyed.lock();
        let letters = keyed.dead_letters().version();
        keyed.configure(config);
        let letters_changed = keyed.dead_letters().version() != letters;
        drop(keyed);
        self.0.ready.notify_waiters();
        if letters_changed {
            self.0.letters.notify_waiters();
        }
    }

    /// A new version is in service, from now on: it is judged by its own calls, and where the plugin is in quarantine, the
    /// next probe is due now.
    pub fn new_version(&self) {
        let due = self.0.keyed.lock().new_version(now());
        if due {
            self.0.ready.notify_waiters();
        }
    }

    /// From now on nothing is handed out; offers are still taken in. What workers have in hand is not touched.
    pub fn pause(&self) {
        self.0.keyed.lock().set_paused(true);
        self.0.settled.notify_waiters();
    }

    /// Ends a pause.
    pub fn resume(&self) {
        self.0.keyed.lock().set_paused(false);
        self.0.ready.notify_waiters();
    }

    /// Discards what is pending and, from now on, what is offered or would be tried again (D-10); workers that
    /// wait hear that there is nothing more. Closing twice discards what is pending then.
    pub fn close(&self) -> Backlog {
        let (backlog, released) = self.0.keyed.lock().close();
        self.0.ready.notify_waiters();
        self.0.settled.notify_waiters();
        // Outside the lock: the last holder of a sync token runs the cache's code.
        drop(released);
        backlog
    }

    /// Waits until nothing is in hand and nothing will become ready before `until`.
    ///
    /// # Cancel safety
    /// Safe.
    pub(crate) async fn quiet(&self, until: Instant) {
        loop {
            let mut settled = pin!(self.0.settled.notified());
            settled.as_mut().enable();
            if self.0.keyed.lock().is_quiet(until, now()) {
                return;
            }
            settled.await;
        }
    }

    /// Counters and gauges, all of the same moment. It looks at each pending object, under the lock: at 100,000
    /// of them some milliseconds. Meant for scrapes, not for loops.
    pub fn stats(&self) -> QueueStats {
        self.0.keyed.lock().stats(now())
    }

    /// Where one object stands; none where nothing of it is pending or in hand.
    pub fn standing(&self, object: &ObjectRef) -> Option<Standing> {
        self.0.keyed.lock().standing(object, now())
    }

    /// What was given up and not delivered since, the oldest first.
    pub fn dead_letters(&self) -> Vec<DeadLetter> {
        self.0.keyed.lock().dead_letters().list()
    }

    /// Forgets the letters of the chosen objects; gives the objects. Nothing else happens to them.
    pub fn drop_dead_letters(&self, chosen: impl Fn(&ObjectRef) -> bool) -> Vec<ObjectRef> {
        let dropped = self.0.keyed.lock().dead_letters_mut().drop_if(chosen);
        self.0.letters.notify_waiters();
        dropped
    }

    fn look(&self) -> Result<(Lease, Delivery), Idle> {
        let mut keyed = self.0.keyed.lock();
        // With the lock held: what others did before is not in the future.
        let now = now();
        let Some(taken) = keyed.take(now) else {
            return Err(if keyed.is_closed() { Idle::Over } else { Idle::Until(keyed.next_due(now)) });
        };
        let more = keyed.has_more_later();
        drop(keyed);
        if more {
            // Somebody else waits for it, now that this worker is busy.
            self.0.ready.notify_one();
        }
        let Taken { id, object, mut entry } = taken;
        let delivery = entry.delivery(object.source.clone(), now);
        // From here on the handler may know the object, unless it is told of its end alone.
        entry.unseen &= entry.is_deletion();
        Ok((Lease::new(self.clone(), id, object, entry), delivery))
    }

    fn settle(&self, taken: Taken, settlement: Settlement) -> Settled {
        let mut keyed = self.0.keyed.lock();
        let letters = keyed.dead_letters().version();
        let Outcome { settled, wake, released } = keyed.settle(taken, settlement, now());
        let letters_changed = keyed.dead_letters().version() != letters;
        drop(keyed);
        self.wake(wake);
        if letters_changed {
            self.0.letters.notify_waiters();
        }
        drop(released);
        settled
    }

    fn give_back(&self, taken: Taken) {
        let Outcome { wake, released, .. } = self.0.keyed.lock().give_back(taken, now());
        self.wake(wake);
        drop(released);
    }

    fn wake(&self, wake: Wake) {
        match wake {
            Wake::Nobody => {}
            Wake::One => self.0.ready.notify_one(),
            Wake::All => {
                self.0.ready.notify_waiters();
                // For whoever is about to wait.
                self.0.ready.notify_one();
            }
        }
        self.0.settled.notify_waiters();
    }
}

impl LetterBox for Queue {
    type Letter = DeadLetter;

    fn letters_now(&self) -> (u64, Vec<DeadLetter>) {
        let keyed = self.0.keyed.lock();
        (keyed.dead_letters().version(), keyed.dead_letters().list())
    }

    fn letters_changed(&self) -> &Notify {
        &self.0.letters
    }

    fn expect_letters(&self) {
        self.0.keyed.lock().dead_letters_mut().expect();
    }

    fn restore_letters(&self, letters: Vec<DeadLetter>) {
        self.0.keyed.lock().dead_letters_mut().restore(letters);
        self.0.letters.notify_waiters();
    }
}

impl NotificationSink for Queue {
    fn offer(&self, notification: Notification) {
        let offered = self.0.keyed.lock().offer(notification, now());
        if offered.wake {
            self.0.ready.notify_one();
        }
        // Outside the lock: the last holder of a sync token runs the cache's code.
        drop(offered.released);
    }

    fn offer_all(&self, notifications: &mut VecDeque<Notification>) {
        let now = now();
        let mut released = Vec::new();
        let mut ready = 0_usize;
        let mut keyed = self.0.keyed.lock();
        while let Some(notification) = notifications.pop_front() {
            let offered = keyed.offer(notification, now);
            ready += usize::from(offered.wake);
            if !offered.released.is_empty() {
                released.push(offered.released);
            }
        }
        drop(keyed);
        // A worker for each; those that are not waiting will look by themselves.
        (0..ready).for_each(|_| self.0.ready.notify_one());
        drop(released);
    }
}

/// The runtime's clock, so that tests can pause it.
fn now() -> Instant {
    time::Instant::now().into_std()
}

#[cfg(test)]
mod tests;
