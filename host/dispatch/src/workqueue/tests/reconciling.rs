//! The loop of W-1.

use std::{
    collections::VecDeque,
    num::NonZeroU32,
    sync::{
        Arc,
        atomic::{AtomicUsize, Ordering},
    },
};

use informer_types::{Failure, FailureKind, Reconciled, Reconciler, Request};
use parking_lot::Mutex;
use tokio_util::sync::CancellationToken;

use super::*;

/// Returns its answers in order, then `Done`, and records each request with its time.
#[derive(Default)]
pub(super) struct Scripted {
    /// `None` means that no call is made.
    answers: Mutex<VecDeque<Option<Reconciled>>>,
    calls: Mutex<Vec<(String, u32, time::Instant)>>,
    running: AtomicUsize,
    most_running: AtomicUsize,
    takes: Duration,
}

impl Scripted {
    pub(super) fn new(answers: impl IntoIterator<Item = Reconciled>) -> Arc<Self> {
        Arc::new(Self { answers: Mutex::new(answers.into_iter().map(Some).collect()), ..Self::default() })
    }

    pub(super) fn calls(&self) -> Vec<(String, u32)> {
        self.calls.lock().iter().map(|(key, attempt, _)| (key.clone(), *attempt)).collect()
    }

    pub(super) fn gaps(&self) -> Vec<u128> {
        let calls = self.calls.lock();
        calls.windows(2).map(|pair| (pair[1].2 - pair[0].2).as_millis()).collect()
    }
}

impl Reconciler for Scripted {
    async fn reconcile(&self, request: Request) -> Option<Reconciled> {
        self.calls.lock().push((request.key.to_string(), request.attempt, time::Instant::now()));
        let running = self.running.fetch_add(1, Ordering::SeqCst) + 1;
        self.most_running.fetch_max(running, Ordering::SeqCst);
        time::sleep(self.takes).await;
        self.running.fetch_sub(1, Ordering::SeqCst);
        let answer = self.answers.lock().pop_front();
        answer.unwrap_or(Some(Reconciled::Done))
    }
}

fn failed() -> Reconciled {
    Reconciled::Retry { after: None, failure: Failure::new(FailureKind::Handler, "no") }
}

pub(super) fn run(
    queue: &RateLimitingQueue,
    reconciler: &Arc<impl Reconciler>,
    workers: usize,
    attempts: u32,
) -> ReconcileLoop {
    let config = config(workers, attempts);
    ReconcileLoop::spawn(config, queue.clone(), Arc::clone(reconciler), &CancellationToken::new())
}

fn config(workers: usize, attempts: u32) -> ReconcileConfig {
    ReconcileConfig {
        plugin: "test".into(),
        workers: NonZeroUsize::new(workers).unwrap(),
        attempts: NonZeroU32::new(attempts),
    }
}

/// Until nothing is left; paused time runs as far as it has to.
pub(super) async fn settled(queue: &RateLimitingQueue) {
    while queue.keys() > 0 {
        time::sleep(Duration::from_millis(1)).await;
    }
}

/// A failed key waits for its backoff, and a success forgets its failures (W-1, W-12).
#[tokio::test(start_paused = true)]
async fn a_failed_key_waits_for_its_backoff_and_a_success_resets_it() {
    let queue = queue(10);
    let reconciler = Scripted::new([failed(), failed()]);
    let _handle = run(&queue, &reconciler, 1, 0);
    queue.add("a").unwrap();
    settled(&queue).await;

    let expected = [("a", 1), ("a", 2), ("a", 3)].map(|(key, attempt)| (key.to_owned(), attempt));
    assert_eq!(reconciler.calls(), expected);
    assert_eq!(reconciler.gaps(), [10, 20]);
    assert_eq!(queue.num_requeues("a"), 0);
    let stats = queue.stats();
    assert_eq!((stats.failed, stats.succeeded, stats.dropped), (2, 1, 0));
}

#[tokio::test(start_paused = true)]
async fn a_key_for_which_no_call_was_made_comes_again_unchanged() {
    let queue = queue(10);
    let answers = Mutex::new([Some(failed()), None].into());
    let reconciler = Arc::new(Scripted { answers, ..Scripted::default() });
    let _handle = run(&queue, &reconciler, 1, 0);
    queue.add("a").unwrap();
    settled(&queue).await;

    let expected = [("a", 1), ("a", 2), ("a", 2)].map(|(key, attempt)| (key.to_owned(), attempt));
    assert_eq!(reconciler.calls(), expected, "its failure is not forgotten (W-12)");
    assert_eq!(reconciler.gaps(), [10, 0]);
    let stats = queue.stats();
    assert_eq!((stats.given_back, stats.requeued, stats.failed, stats.succeeded), (1, 0, 1, 1));
}

/// A key whose attempts are spent is given up, and starts over when it is added again (W-13).
#[tokio::test(start_paused = true)]
async fn a_key_whose_attempts_are_spent_is_given_up_and_starts_over_when_it_is_added() {
    let queue = queue(10);
    let reconciler = Scripted::new([failed(), failed(), failed()]);
    let _handle = run(&queue, &reconciler, 1, 3);
    queue.add("a").unwrap();
    settled(&queue).await;

    assert_eq!(reconciler.calls().len(), 3);
    let dropped = queue.dropped().list();
    assert_eq!((&*dropped[0].key, dropped[0].attempts, &*dropped[0].failure.message), ("a", 3, "no"));
    assert_eq!(queue.num_requeues("a"), 0, "it is forgotten (W-12)");

    queue.add("a").unwrap();
    settled(&queue).await;
    assert_eq!(reconciler.calls().last(), Some(&("a".to_owned(), 1)), "it starts over");
    assert_eq!(queue.dropped().list(), []);
    assert_eq!(queue.stats().dropped, 1, "what happened stays counted");
}

#[tokio::test(start_paused = true)]
async fn a_terminal_failure_is_given_up_at_once() {
    let queue = queue(10);
    let terminal = Reconciled::Terminal { failure: Failure::new(FailureKind::Handler, "never") };
    let reconciler = Scripted::new([terminal]);
    let _handle = run(&queue, &reconciler, 1, 0);
    queue.add("a").unwrap();
    settled(&queue).await;

    assert_eq!(reconciler.calls().len(), 1);
    assert_eq!(queue.dropped().list()[0].failure.message, "never");
}

#[tokio::test(start_paused = true)]
async fn asking_again_is_no_failure_and_spends_no_attempts() {
    let queue = queue(10);
    let answers = [
        Reconciled::Requeue,
        Reconciled::Requeue,
        failed(),
        Reconciled::RequeueAfter(Duration::from_secs(5)),
        failed(),
    ];
    let reconciler = Scripted::new(answers);
    let _handle = run(&queue, &reconciler, 1, 2);
    queue.add("a").unwrap();
    settled(&queue).await;

    let attempts: Vec<u32> = reconciler.calls().iter().map(|(_, attempt)| *attempt).collect();
    assert_eq!(attempts, [1, 1, 1, 2, 1, 2]);
    // The backoff grows with each `Requeue` and each failure, and starts over after `RequeueAfter`.
    assert_eq!(reconciler.gaps(), [10, 20, 40, 5_000, 10]);
    assert_eq!(queue.stats().dropped, 0);
}

#[tokio::test(start_paused = true)]
async fn as_many_keys_are_reconciled_at_once_as_there_are_workers_and_the_number_can_change() {
    let queue = queue(100);
    let reconciler = Arc::new(Scripted { takes: Duration::from_millis(10), ..Scripted::default() });
    let handle = run(&queue, &reconciler, 3, 0);
    (0..30).for_each(|key| queue.add(&key.to_string()).unwrap());
    settled(&queue).await;
    assert_eq!(reconciler.most_running.load(Ordering::SeqCst), 3);

    reconciler.most_running.store(0, Ordering::SeqCst);
    handle.configure(config(5, 0));
    (0..30).for_each(|key| queue.add(&key.to_string()).unwrap());
    settled(&queue).await;
    assert_eq!(reconciler.most_running.load(Ordering::SeqCst), 5);
}

#[tokio::test(start_paused = true)]
async fn a_delayed_key_is_reconciled_though_the_worker_that_slept_for_it_was_too_many() {
    // The worker that is woken for a delay is the one that has waited longest: each of the three in turn.
    for turn in ["", "x", "xy"] {
        let queue = queue(10);
        let reconciler = Scripted::new([]);
        let handle = run(&queue, &reconciler, 3, 0);
        time::sleep(Duration::from_millis(1)).await;
        for key in turn.chars() {
            queue.add(&key.to_string()).unwrap();
            settled(&queue).await;
        }
        queue.add_after("late", Duration::from_secs(10)).unwrap();
        time::sleep(Duration::from_millis(1)).await;

        handle.configure(config(1, 0));

        let reconciled = time::timeout(Duration::from_secs(20), settled(&queue)).await;
        assert!(reconciled.is_ok(), "no worker slept for it, after {turn:?}");
    }
}

#[tokio::test(start_paused = true)]
async fn a_reconciler_that_panics_fails_that_call_only() {
    struct Panics(AtomicUsize);
    impl Reconciler for Panics {
        async fn reconcile(&self, request: Request) -> Option<Reconciled> {
            assert!(self.0.fetch_add(1, Ordering::SeqCst) > 0, "the first call of {}", request.key);
            Some(Reconciled::Done)
        }
    }
    let queue = queue(10);
    let _handle = run(&queue, &Arc::new(Panics(AtomicUsize::new(0))), 1, 0);
    queue.add("a").unwrap();
    queue.add("b").unwrap();
    settled(&queue).await;

    assert_eq!((queue.stats().failed, queue.stats().succeeded), (1, 2));
}

/// Draining reconciles the ready keys and ends (W-5).
#[tokio::test(start_paused = true)]
async fn draining_reconciles_the_ready_keys_and_ends() {
    let queue = queue(100);
    let reconciler = Arc::new(Scripted { takes: Duration::from_millis(10), ..Scripted::default() });
    let handle = run(&queue, &reconciler, 2, 0);
    (0..20).for_each(|key| queue.add(&key.to_string()).unwrap());

    assert_eq!(handle.drain(Duration::from_secs(10)).await, 0);
    assert_eq!(reconciler.calls().len(), 20);
}

/// Draining counts delayed keys as left (W-8).
#[tokio::test(start_paused = true)]
async fn draining_counts_delayed_keys_as_left() {
    let queue = queue(100);
    let reconciler = Scripted::new([Reconciled::RequeueAfter(Duration::from_secs(60)), failed()]);
    let handle = run(&queue, &reconciler, 1, 0);
    queue.add("later").unwrap();
    time::sleep(Duration::from_secs(1)).await;
    queue.add("fails").unwrap();

    assert_eq!(handle.drain(Duration::from_secs(10)).await, 2);
    assert_eq!((queue.keys(), queue.stats().discarded), (0, 2));
}

#[tokio::test(start_paused = true)]
async fn at_the_deadline_draining_drops_the_calls_in_flight_and_counts_the_keys_left() {
    let queue = queue(100);
    let reconciler = Arc::new(Scripted { takes: Duration::from_secs(60), ..Scripted::default() });
    let handle = run(&queue, &reconciler, 2, 0);
    (0..5).for_each(|key| queue.add(&key.to_string()).unwrap());
    time::sleep(Duration::from_secs(1)).await;

    assert_eq!(handle.drain(Duration::from_secs(1)).await, 5);
    assert_eq!(queue.stats().given_back, 2);
}

#[tokio::test(start_paused = true)]
async fn a_dropped_handle_ends_the_workers_and_the_keys_stay() {
    let queue = queue(100);
    let reconciler = Arc::new(Scripted { takes: Duration::from_secs(60), ..Scripted::default() });
    let handle = run(&queue, &reconciler, 1, 0);
    queue.add("a").unwrap();
    time::sleep(Duration::from_secs(1)).await;
    drop(handle);
    time::sleep(Duration::from_secs(1)).await;

    assert_eq!(queue.take().map(|work| work.key().to_string()).as_deref(), Some("a"));
}

#[tokio::test(start_paused = true)]
async fn a_changed_configuration_applies_to_later_calls_and_not_to_the_call_in_flight() {
    let queue = queue(10);
    let failures = std::iter::repeat_with(failed).take(4);
    let reconciler = Arc::new(Scripted {
        answers: Mutex::new(failures.map(Some).collect()),
        takes: Duration::from_millis(10),
        ..Scripted::default()
    });
    let handle = run(&queue, &reconciler, 1, 0);
    queue.add("a").unwrap();
    time::sleep(Duration::from_millis(5)).await;

    let (plugin, workers) = ("test".into(), NonZeroUsize::MIN);
    handle.configure(ReconcileConfig { plugin, workers, attempts: NonZeroU32::new(1) });
    settled(&queue).await;

    // The first was to be tried again for ever, and is; the second is the last.
    assert_eq!(reconciler.calls(), [("a".to_owned(), 1), ("a".to_owned(), 2)]);
    assert_eq!(queue.stats().dropped, 1);
}

/// A removal finishes the calls in flight and makes no further one (D-10).
#[tokio::test(start_paused = true)]
async fn a_removal_finishes_the_calls_in_flight_and_makes_no_further_one() {
    let queue = queue(100);
    let reconciler = Arc::new(Scripted { takes: Duration::from_millis(10), ..Scripted::default() });
    let handle = run(&queue, &reconciler, 2, 0);
    (0..5).for_each(|key| queue.add(&key.to_string()).unwrap());
    time::sleep(Duration::from_millis(5)).await;

    assert_eq!(handle.remove().await, 3);
    assert_eq!(reconciler.calls().len(), 2);
    assert_eq!((queue.stats().succeeded, queue.keys()), (2, 0));
}
