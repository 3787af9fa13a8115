//! A notification queue with producers, workers, and a pause or a close at any time.

use std::{collections::BTreeMap, num::NonZeroU32, sync::Arc, time::Duration};

use informer_dispatch_interleavings::{QuarantineConfig, Queue, QueueConfig, Settlement};
use informer_types::{
    Backoff, Cause, Change, Failure, FailureKind, Notification, NotificationSink, SyncToken,
};
use parking_lot::Mutex;
use shuttle::{future::block_on, thread};
use tokio::sync::Notify;

use crate::objects::{object, told, update, version};

const OBJECTS: usize = 2;
const VERSIONS: usize = 3;

/// What the workers delivered.
#[derive(Default)]
struct Record {
    state: Mutex<State>,
    changed: Notify,
}

#[derive(Default)]
struct State {
    /// In flight at present.
    in_flight: BTreeMap<String, usize>,
    /// The newest version acknowledged.
    done: BTreeMap<String, usize>,
}

type Thread = thread::JoinHandle<()>;

/// Offers every version of every object, one thread for each object.
fn produce(queue: &Queue) -> Vec<Thread> {
    let producer = |name: usize| {
        let queue = queue.clone();
        move || (1..=VERSIONS).for_each(|to| queue.offer(told(update(name, to))))
    };
    (0..OBJECTS).map(|name| thread::spawn(producer(name))).collect()
}

/// Takes until the queue is closed. `end` decides how the attempt of this number ends.
fn work(queue: &Queue, record: &Arc<Record>, end: fn(u32) -> End) -> Thread {
    work_at_most(usize::MAX, queue, record, end)
}

fn work_at_most(calls: usize, queue: &Queue, record: &Arc<Record>, end: fn(u32) -> End) -> Thread {
    let (queue, record) = (queue.clone(), Arc::clone(record));
    thread::spawn(move || {
        block_on(async {
            for _ in 0..calls {
                let Some((lease, delivery)) = queue.next().await else {
                    return;
                };
                let object = delivery.notification.change.object();
                let (name, version) = (object.name().to_owned(), version(object));
                record.begin(&name, version);
                thread::yield_now();
                let end = end(delivery.attempt);
                record.end(&name, version, end == End::Acknowledge);
                match end {
                    End::Acknowledge => drop(lease.settle(Settlement::Acknowledged)),
                    End::Retry => {
                        let (delay, floor) = (Duration::ZERO, Duration::ZERO);
                        let failure = Failure::new(FailureKind::Handler, "no");
                        drop(lease.settle(Settlement::Retry { delay, floor, failure }));
                    }
                    End::Drop => drop(lease),
                }
            }
        });
    })
}

/// How an attempt ends.
#[derive(Clone, Copy, PartialEq, Eq)]
enum End {
    Acknowledge,
    Retry,
    /// The call was cut short.
    Drop,
}

impl Record {
    fn begin(&self, name: &str, version: usize) {
        let mut state = self.state.lock();
        let other = state.in_flight.insert(name.to_owned(), version);
        assert_eq!(other, None, "{name} is in flight twice (W-3)");
        let done = state.done.get(name).copied().unwrap_or_default();
        assert!(version > done, "{name} goes from {done} back to {version}");
    }

    fn end(&self, name: &str, version: usize, done: bool) {
        let mut state = self.state.lock();
        state.in_flight.remove(name);
        if done {
            state.done.insert(name.to_owned(), version);
        }
        drop(state);
        self.changed.notify_one();
    }

    /// Waits until the last version of everything is done. If a wake-up is lost, this waits for ever and
    /// shuttle reports a deadlock.
    fn wait(&self) {
        let all_done = || {
            let state = self.state.lock();
            state.done.len() == OBJECTS && state.done.values().all(|version| *version == VERSIONS)
        };
        block_on(async {
            while !all_done() {
                self.changed.notified().await;
            }
        });
    }
}

fn finish(threads: impl IntoIterator<Item = Thread>) {
    threads.into_iter().for_each(|thread| thread.join().unwrap());
}

/// Every offered notification is counted exactly once.
fn check_counters(queue: &Queue, offered: usize) {
    let stats = queue.stats();
    assert_eq!((stats.pending, stats.in_flight, stats.objects), (0, 0, 0));
    assert_eq!(stats.offered, u64::try_from(offered).unwrap());
    let settled = stats.acknowledged + stats.merged.total() + stats.cancelled + stats.dead + stats.dropped;
    assert_eq!(stats.offered, settled + stats.discarded);
}

fn run(end: fn(u32) -> End) {
    let (queue, record) = (Queue::new(&QueueConfig::default()), Arc::<Record>::default());
    let workers = [work(&queue, &record, end), work(&queue, &record, end)];
    let producers = produce(&queue);
    record.wait();
    finish(producers);
    let _ = queue.close();
    finish(workers);
    check_counters(&queue, OBJECTS * VERSIONS);
}

/// While workers fall asleep and wake up, the final state of every object is delivered, no object is in flight twice, and none
/// goes back in time (W-2 to W-4).
pub fn every_final_state_is_delivered() {
    run(|_| End::Acknowledge);
}

/// The same if the first attempts fail or are cut short.
pub fn failed_and_dropped_attempts_come_back() {
    run(|attempt| match attempt {
        1 => End::Drop,
        2 => End::Retry,
        _ => End::Acknowledge,
    });
}

/// A worker that ends after its call wakes another one for the notification that it gave back.
pub fn a_worker_that_ends_wakes_one_that_stays() {
    let (queue, record) = (Queue::new(&QueueConfig::default()), Arc::<Record>::default());
    let goes = work_at_most(1, &queue, &record, |_| End::Retry);
    let stays = work(&queue, &record, |_| End::Acknowledge);
    let producers = produce(&queue);
    record.wait();
    finish(producers);
    let _ = queue.close();
    finish([goes, stays]);
    check_counters(&queue, OBJECTS * VERSIONS);
}

/// A pause at any time loses nothing, and its end wakes the workers.
pub fn a_pause_loses_nothing() {
    let (queue, record) = (Queue::new(&QueueConfig::default()), Arc::<Record>::default());
    let workers = [work(&queue, &record, |_| End::Acknowledge), work(&queue, &record, |_| End::Acknowledge)];
    let producers = produce(&queue);
    let pauser = queue.clone();
    let pauser = thread::spawn(move || {
        pauser.pause();
        let delivered = pauser.stats().delivered;
        assert!(pauser.take().is_none(), "handed out while paused");
        thread::yield_now();
        assert_eq!(pauser.stats().delivered, delivered, "handed out while paused");
        pauser.resume();
    });
    record.wait();
    finish(producers);
    finish([pauser]);
    let _ = queue.close();
    finish(workers);
    check_counters(&queue, OBJECTS * VERSIONS);
}

/// A quarantine, whenever it begins, keeps everything, lets one call at a time through, and its end wakes
/// every worker that waits for it.
pub fn a_quarantine_loses_nothing() {
    let backoff = Backoff { min: Duration::ZERO, max: Duration::ZERO, factor: 1.0, jitter: 0.0 };
    let quarantine = QuarantineConfig { after: NonZeroU32::new(1), backoff };
    let queue = Queue::new(&QueueConfig { quarantine, ..QueueConfig::default() });
    let record = Arc::<Record>::default();
    let traps = Arc::new(Mutex::new(3));
    let worker = || {
        let (queue, record, traps) = (queue.clone(), Arc::clone(&record), Arc::clone(&traps));
        thread::spawn(move || block_on(work_and_trap(&queue, &record, &traps)))
    };
    let workers = [worker(), worker()];
    let producers = produce(&queue);
    record.wait();
    finish(producers);
    let _ = queue.close();
    finish(workers);
    // Not before: a call is done before it is settled, and only that ends the quarantine.
    assert_eq!(queue.stats().quarantine, None);
    check_counters(&queue, OBJECTS * VERSIONS);
}

/// Takes until the queue is closed. The first calls trap, as many as `traps` is, in any worker.
async fn work_and_trap(queue: &Queue, record: &Record, traps: &Mutex<u32>) {
    while let Some((lease, delivery)) = queue.next().await {
        let object = delivery.notification.change.object();
        let (name, version) = (object.name().to_owned(), version(object));
        record.begin(&name, version);
        thread::yield_now();
        let trapped = {
            let mut left = traps.lock();
            let trapped = *left > 0;
            *left = left.saturating_sub(1);
            trapped
        };
        record.end(&name, version, !trapped);
        let (delay, floor, failure) = (Duration::ZERO, Duration::ZERO, Failure::new(FailureKind::Trap, "no"));
        let settlement =
            if trapped { Settlement::Retry { delay, floor, failure } } else { Settlement::Acknowledged };
        drop(lease.settle(settlement));
    }
}

/// A close at any time ends every worker and releases every sync token.
pub fn a_close_ends_every_worker_and_releases_every_token() {
    let (queue, record) = (Queue::new(&QueueConfig::default()), Arc::<Record>::default());
    let retry = |attempt| if attempt < 3 { End::Retry } else { End::Acknowledge };
    let workers = [work(&queue, &record, retry), work(&queue, &record, |_| End::Drop)];
    let released = Arc::new(Mutex::new(0));
    let counter = Arc::clone(&released);
    let token = SyncToken::new(move || *counter.lock() += 1);
    let sink = queue.clone();
    let producer = thread::spawn(move || {
        for version in 1..=VERSIONS {
            let initial = Some(token.clone());
            let change = Change::Added { object: object(0, version) };
            sink.offer(Notification { initial, cause: Cause::Initial, ..told(change) });
        }
    });
    let _ = queue.close();
    finish([producer]);
    finish(workers);
    assert_eq!(*released.lock(), 1, "the token is released once it is no longer held");
    check_counters(&queue, VERSIONS);
}
