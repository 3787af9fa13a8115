//! The same with a dispatcher: several workers, calls that take time, fail and panic, and a change of the number
//! of workers in between.

use std::{num::NonZeroUsize, sync::Arc, time::Duration};

use informer_dispatch::{DispatchConfig, Dispatcher, Fate, Queue, QueueConfig, QueueStats, RetryConfig};
use informer_types::{
    Backoff, Delivery, EventHandler, Failure, FailureKind, NotificationSink, Outcome, Source,
};
use parking_lot::Mutex;
use proptest::prelude::*;
use tokio::time::sleep;
use tokio_util::sync::CancellationToken;

use crate::{
    contract::{Contract, End},
    history::{Collection, Event, OBJECTS, cases, event},
};

/// One call of the handler: how long it takes, and how it ends.
#[derive(Clone, Copy, Debug)]
struct Call {
    millis: u64,
    end: CallEnd,
}

#[derive(Clone, Copy, Debug)]
enum CallEnd {
    Acknowledge,
    Retry { after: Option<u64> },
    Permanent,
    Panic,
}

struct Handler {
    takes_batches: bool,
    /// Used round and round; empty once everything is to succeed.
    calls: Mutex<Vec<Call>>,
    made: Mutex<usize>,
    contract: Arc<Mutex<Contract>>,
}

fn call() -> impl Strategy<Value = Call> {
    let end = prop_oneof![
        4 => Just(CallEnd::Acknowledge),
        3 => prop::option::of(0..50_u64).prop_map(|after| CallEnd::Retry { after }),
        1 => Just(CallEnd::Permanent),
        1 => Just(CallEnd::Panic),
    ];
    (0..20_u64, end).prop_map(|(millis, end)| Call { millis, end })
}

// === impl Call ===

impl Call {
    /// Returns `None` for a panic.
    fn outcome(self) -> Option<Outcome> {
        let failure = Failure::new(FailureKind::Handler, "no");
        match self.end {
            CallEnd::Acknowledge => Some(Outcome::Acknowledged),
            CallEnd::Permanent => Some(Outcome::Permanent { failure }),
            CallEnd::Retry { after } => {
                Some(Outcome::Retry { after: after.map(Duration::from_millis), failure })
            }
            CallEnd::Panic => None,
        }
    }
}

// === impl Handler ===

impl Handler {
    fn next(&self) -> Call {
        let (calls, mut made) = (self.calls.lock(), self.made.lock());
        *made += 1;
        calls
            .get(*made % calls.len().max(1))
            .copied()
            .unwrap_or(Call { millis: 1, end: CallEnd::Acknowledge })
    }
}

impl EventHandler for Handler {
    fn takes_batches(&self) -> bool {
        self.takes_batches
    }

    /// A panic of one call is one of the batch: none of its outcomes count.
    async fn handle_batch(&self, deliveries: Vec<Delivery>) -> Option<Result<Vec<Outcome>, Failure>> {
        deliveries.iter().for_each(|delivery| self.contract.lock().begin(delivery));
        let calls: Vec<Call> = deliveries.iter().map(|_| self.next()).collect();
        sleep(Duration::from_millis(calls.iter().map(|call| call.millis).max().unwrap_or_default())).await;
        let outcomes: Vec<_> = calls.iter().map(|call| call.outcome()).collect();
        let panics = outcomes.iter().any(Option::is_none);
        for (delivery, outcome) in deliveries.iter().zip(&outcomes) {
            let is_over = !panics && !matches!(outcome, Some(Outcome::Retry { .. }));
            self.contract.lock().end(delivery, if is_over { End::Over } else { End::Again });
        }
        match outcomes.into_iter().collect() {
            Some(outcomes) => Some(Ok(outcomes)),
            None => Some(Err(Failure::new(FailureKind::Trap, "out of order"))),
        }
    }

    async fn handle(&self, delivery: Delivery) -> Option<Outcome> {
        self.contract.lock().begin(&delivery);
        let call = self.next();
        sleep(Duration::from_millis(call.millis)).await;
        let outcome = call.outcome();
        let end = match outcome {
            Some(Outcome::Retry { .. }) | None => End::Again,
            Some(_) => End::Over,
        };
        self.contract.lock().end(&delivery, end);
        // Without the panic hook, which would print each of them.
        Some(outcome.unwrap_or_else(|| std::panic::resume_unwind(Box::new("out of order"))))
    }
}

fn config(workers: usize, batch: usize) -> DispatchConfig {
    DispatchConfig {
        plugin: Arc::from("props"),
        workers: NonZeroUsize::new(workers).unwrap(),
        batch: NonZeroUsize::new(batch).unwrap(),
        retry: RetryConfig {
            backoff: Backoff {
                min: Duration::from_millis(1),
                max: Duration::from_millis(50),
                factor: 2.0,
                jitter: 0.5,
            },
            // The handler cannot know which failure was its last, so there is none.
            attempts: None,
            on_exhausted: Fate::DeadLetter,
        },
    }
}

async fn play(
    [workers, later]: [usize; 2],
    batch: Option<usize>,
    settle: Option<u64>,
    calls: Vec<Call>,
    events: Vec<(u64, usize, Event)>,
) {
    let settle =
        settle.map(|millis| (Source::new("v1/pods".parse().unwrap()), Duration::from_millis(millis)));
    let queue = Queue::new(&QueueConfig { settle: settle.into_iter().collect(), ..QueueConfig::default() });
    let contract = Arc::new(Mutex::new(Contract::default()));
    let handler = Arc::new(Handler {
        takes_batches: batch.is_some(),
        calls: Mutex::new(calls),
        made: Mutex::new(0),
        contract: Arc::clone(&contract),
    });
    let config = |workers| config(workers, batch.unwrap_or(1));
    let shutdown = CancellationToken::new();
    let running = Dispatcher::spawn(config(workers), queue.clone(), Arc::clone(&handler), &shutdown);
    let mut collection = Collection::default();
    let half = events.len() / 2;
    for (number, (wait, object, event)) in events.into_iter().enumerate() {
        if number == half {
            running.configure(config(later));
        }
        sleep(Duration::from_millis(wait)).await;
        if let Some(notification) = collection.apply(object, event) {
            queue.offer(notification);
        }
    }
    handler.calls.lock().clear();
    let left = running.drain(Duration::from_secs(3600)).await;

    assert_eq!(left.notifications, 0);
    let QueueStats { offered, acknowledged, merged, cancelled, dead, .. } = queue.stats();
    assert_eq!(offered, acknowledged + merged.total() + cancelled + dead);
    assert_eq!(collection.tokens_held(), 0, "a sync token is still held");
    contract.lock().assert_up_to_date(&collection);
}

proptest! {
    #![proptest_config(cases(500))]

    #[test]
    fn any_history_any_failures_and_any_number_of_workers_keep_the_contract(
        workers in [1..5_usize, 1..5_usize],
        batch in prop::option::of(1..4_usize),
        settle in prop::option::of(1..60_u64),
        calls in prop::collection::vec(call(), 1..20),
        events in prop::collection::vec((0..15_u64, 0..OBJECTS, event()), 0..80),
    ) {
        let runtime = tokio::runtime::Builder::new_current_thread().enable_time().start_paused(true).build();
        runtime.unwrap().block_on(play(workers, batch, settle, calls, events));
    }
}
