//! A workqueue with producers, workers, and a shutdown at any time.

use std::{
    collections::{BTreeMap, BTreeSet},
    num::NonZeroUsize,
    sync::Arc,
    time::Duration,
};

use informer_dispatch_interleavings::workqueue::{RateLimiter, RateLimitingQueue, Work};
use informer_types::{Failure, FailureKind, Workqueue};
use parking_lot::Mutex;
use shuttle::{future::block_on, thread};
use tokio::sync::Notify;

const KEYS: [&str; 2] = ["a", "b"];
const VERSIONS: usize = 3;

type Thread = thread::JoinHandle<()>;

/// The versions of the objects behind the keys, as in a cache, and the versions that the workers read.
#[derive(Default)]
struct World {
    state: Mutex<State>,
    changed: Notify,
}

#[derive(Default)]
struct State {
    versions: BTreeMap<&'static str, usize>,
    in_flight: BTreeSet<String>,
    seen: BTreeMap<String, usize>,
    calls: usize,
}

impl World {
    /// Reads the version of a key in flight. Returns true for the very first call.
    fn call(&self, work: &Work) -> bool {
        let key = work.key().to_string();
        let version = {
            let mut state = self.state.lock();
            assert!(state.in_flight.insert(key.clone()), "{key} is in flight twice (W-3)");
            state.calls += 1;
            state.versions.get(&*key).copied().unwrap_or_default()
        };
        thread::yield_now();
        let mut state = self.state.lock();
        state.in_flight.remove(&key);
        let first = state.calls == 1;
        if !first {
            state.seen.insert(key, version);
        }
        first
    }

    fn all_seen(&self) -> bool {
        let state = self.state.lock();
        KEYS.iter().all(|key| state.seen.get(*key) == Some(&VERSIONS))
    }

    /// If a wake-up or a key is lost, this waits for ever and shuttle reports a deadlock.
    fn wait(&self) {
        block_on(async {
            while !self.all_seen() {
                self.changed.notified().await;
            }
        });
    }
}

fn queue(capacity: usize) -> RateLimitingQueue {
    let limiter = RateLimiter::exponential(Duration::ZERO, Duration::ZERO);
    RateLimitingQueue::new(NonZeroUsize::new(capacity).unwrap(), limiter)
}

/// Changes the object of each key and adds the key, as handlers do, in one thread for each key.
fn produce(queue: &RateLimitingQueue, world: &Arc<World>) -> Vec<Thread> {
    let producer = |key: &'static str| {
        let (queue, world) = (queue.clone(), Arc::clone(world));
        move || {
            for version in 1..=VERSIONS {
                world.state.lock().versions.insert(key, version);
                while queue.add(key).is_err() {
                    thread::yield_now();
                }
            }
        }
    };
    KEYS.map(|key| thread::spawn(producer(key))).into_iter().collect()
}

/// A worker that runs until the queue has ended. The very first call ends with `first` and does not count as a read.
fn work(queue: &RateLimitingQueue, world: &Arc<World>, first: fn(Work)) -> Thread {
    let (queue, world) = (queue.clone(), Arc::clone(world));
    thread::spawn(move || {
        block_on(async {
            while let Some(work) = queue.get().await {
                if world.call(&work) {
                    first(work);
                } else {
                    work.succeed();
                }
                world.changed.notify_one();
            }
        });
    })
}

fn finish(threads: impl IntoIterator<Item = Thread>) {
    threads.into_iter().for_each(|thread| thread.join().unwrap());
}

fn run(capacity: usize, first: fn(Work)) {
    let (queue, world) = (queue(capacity), Arc::<World>::default());
    let workers = [work(&queue, &world, first), work(&queue, &world, first)];
    let producers = produce(&queue, &world);
    world.wait();
    finish(producers);
    queue.shut_down();
    finish(workers);
    assert_eq!(queue.keys(), 0);
}

fn retry(work: Work) {
    work.retry(&Failure::new(FailureKind::Handler, "no"));
}

/// After each add of a key a worker reads its version, and never two workers at once (W-2, W-3). A call that fails or is cut
/// short is repeated.
pub fn every_last_state_is_seen() {
    run(KEYS.len(), retry);
    run(KEYS.len(), drop);
}

/// The same in a queue with room for one key, so that producers retry until the workers are done.
pub fn a_full_queue_has_room_again_once_a_key_is_done() {
    run(1, retry);
}

/// A drain, whenever it comes, ends, and every worker with it, and leaves nothing behind (W-4, W-5).
pub fn a_drain_ends_and_leaves_nothing_behind() {
    let (queue, world) = (queue(KEYS.len()), Arc::<World>::default());
    let workers = [work(&queue, &world, Work::done), work(&queue, &world, Work::done)];
    let producer = queue.clone();
    let producer = thread::spawn(move || KEYS.iter().for_each(|key| producer.add(key).unwrap()));
    block_on(queue.shut_down_with_drain());
    finish([producer]);
    finish(workers);
    assert_eq!(queue.keys(), 0);
}
