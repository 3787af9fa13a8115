//! A dispatcher on several threads: what shuttle cannot reach, under many seeds.

use std::{
    num::NonZeroUsize,
    sync::Arc,
    time::{Duration, SystemTime},
};

use fastrand::Rng;
use informer_dispatch::{DispatchConfig, Dispatcher, Fate, Queue, QueueConfig, QueueStats, RetryConfig};
use informer_types::{
    Backoff, Cause, Delivery, EventHandler, Failure, FailureKind, NotificationSink, Outcome,
};
use parking_lot::Mutex;
use tokio::{runtime::Builder, task::yield_now, time::timeout};
use tokio_util::sync::CancellationToken;

use crate::{
    contract::{Contract, End},
    history::{Collection, Event, OBJECTS},
};

const SEEDS: usize = 300;

const EVENTS: usize = 60;

/// Nothing here takes a hundredth of it.
const PATIENCE: Duration = Duration::from_secs(30);

struct Handler {
    contract: Mutex<Contract>,
    rng: Mutex<Rng>,
}

/// How the plugin ends.
#[derive(Clone, Copy, PartialEq, Eq)]
enum Ending {
    Drain,
    Remove,
    Cancel,
    Drop,
}

impl EventHandler for Handler {
    async fn handle(&self, delivery: Delivery) -> Option<Outcome> {
        let (turns, end) = {
            let mut rng = self.rng.lock();
            (rng.u8(0..4), rng.u8(0..8))
        };
        self.contract.lock().begin(&delivery);
        // A call that is dropped has ended, too: the notification comes back.
        let call = Call(self, Some(&delivery));
        for _ in 0..turns {
            yield_now().await;
        }
        let failure = Failure::new(FailureKind::Handler, "no");
        Some(match end {
            0 => Outcome::Retry { after: Some(Duration::ZERO), failure },
            1 => std::panic::resume_unwind(Box::new("out of order")),
            2 => call.over(Outcome::Permanent { failure }),
            _ => call.over(Outcome::Acknowledged),
        })
    }
}

struct Call<'a>(&'a Handler, Option<&'a Delivery>);

impl Call<'_> {
    fn over(mut self, outcome: Outcome) -> Outcome {
        if let Some(delivery) = self.1.take() {
            self.0.contract.lock().end(delivery, End::Over);
        }
        outcome
    }
}

impl Drop for Call<'_> {
    fn drop(&mut self) {
        if let Some(delivery) = self.1 {
            self.0.contract.lock().end(delivery, End::Again);
        }
    }
}

fn config(workers: NonZeroUsize) -> DispatchConfig {
    let (min, max) = (Duration::from_micros(10), Duration::from_millis(1));
    DispatchConfig {
        plugin: Arc::from("races"),
        workers,
        batch: NonZeroUsize::MIN,
        retry: RetryConfig {
            backoff: Backoff { min, max, factor: 2.0, jitter: 0.5 },
            // The handler cannot know which failure was its last, so there is none.
            attempts: None,
            on_exhausted: Fate::DeadLetter,
        },
    }
}

fn workers(rng: &mut Rng) -> NonZeroUsize {
    NonZeroUsize::new(rng.usize(1..5)).unwrap()
}

fn event(rng: &mut Rng) -> Event {
    match rng.u8(0..9) {
        0 => Event::Create { cause: Cause::Initial },
        1..4 => Event::Update { cause: Cause::Live },
        4 => Event::Update { cause: Cause::Relist },
        5 => Event::Delete { final_state_known: true },
        6 => Event::Delete { final_state_known: false },
        7 => Event::Resync,
        _ => Event::Replay,
    }
}

/// Offers a history while the plugin is paused, resumed and resized.
async fn offer(rng: &mut Rng, queue: &Queue, running: &Dispatcher) -> Collection {
    let mut collection = Collection::default();
    for _ in 0..EVENTS {
        let (object, event) = (rng.usize(0..OBJECTS), event(rng));
        if let Some(notification) = collection.apply(object, event) {
            queue.offer(notification);
        }
        match rng.u8(0..20) {
            0 => running.configure(config(workers(rng))),
            1 => queue.pause(),
            2 | 3 => queue.resume(),
            4..12 => yield_now().await,
            _ => {}
        }
    }
    queue.resume();
    collection
}

async fn run(seed: u64) {
    let mut rng = Rng::with_seed(seed);
    let queue = Queue::new(&QueueConfig::default());
    let handler = Arc::new(Handler { contract: Mutex::default(), rng: Mutex::new(rng.fork()) });
    let shutdown = CancellationToken::new();
    let running =
        Dispatcher::spawn(config(workers(&mut rng)), queue.clone(), Arc::clone(&handler), &shutdown);
    let collection = offer(&mut rng, &queue, &running).await;
    let ending =
        *rng.choice(&[Ending::Drain, Ending::Drain, Ending::Remove, Ending::Cancel, Ending::Drop]).unwrap();
    match ending {
        Ending::Drain => assert_eq!(running.drain(PATIENCE).await.notifications, 0),
        Ending::Remove => drop(running.remove().await),
        Ending::Cancel => {
            shutdown.cancel();
            drop(running.drain(PATIENCE).await);
        }
        Ending::Drop => drop(running),
    }
    // Whatever ended it, every worker lets go of the handler.
    while Arc::strong_count(&handler) > 1 {
        yield_now().await;
    }
    drop(queue.close());
    let QueueStats { offered, acknowledged, merged, cancelled, dead, dropped, discarded, in_flight, .. } =
        queue.stats();
    assert_eq!(in_flight, 0);
    assert_eq!(offered, acknowledged + merged.total() + cancelled + dead + dropped + discarded);
    assert_eq!(collection.tokens_held(), 0, "a sync token is still held");
    if ending == Ending::Drain {
        handler.contract.lock().assert_up_to_date(&collection);
    }
}

#[test]
fn on_several_threads_the_contract_is_kept_and_no_task_is_left() {
    let runtime = Builder::new_multi_thread().worker_threads(4).enable_time().build().unwrap();
    // The gate sets the seed.
    let clock = || u64::from(SystemTime::UNIX_EPOCH.elapsed().unwrap().subsec_nanos());
    let first = std::env::var("PROPTEST_RNG_SEED").map_or_else(|_| clock(), |seed| seed.parse().unwrap());
    for seed in (first..).take(SEEDS) {
        println!("seed {seed}");
        let ended = runtime.block_on(async { timeout(PATIENCE, run(seed)).await });
        ended.expect("a task waits for ever");
        let start = std::time::Instant::now();
        while runtime.metrics().num_alive_tasks() > 0 {
            assert!(start.elapsed() < PATIENCE, "{} tasks are left", runtime.metrics().num_alive_tasks());
            runtime.block_on(yield_now());
        }
    }
}
