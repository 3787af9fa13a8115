mod batches;
mod calls;
mod ending;
mod failures;
mod workers;

use futures::future::BoxFuture;
use informer_types::{Backoff, Cause, Notification, NotificationSink};
use parking_lot::Mutex;
use tokio::time::{Instant, sleep, timeout};

use super::*;
use crate::{
    QueueConfig, QueueStats,
    testing::{added, deleted, text, updated},
};

/// Answers with a function, and notes each call's beginning and end.
struct Handler<F> {
    answer: F,
    start: Instant,
    log: Mutex<Vec<String>>,
}

impl<F> Handler<F>
where
    F: Fn(Delivery) -> BoxFuture<'static, Outcome> + Send + Sync + 'static,
{
    fn new(answer: F) -> Arc<Self> {
        Arc::new(Self { answer, start: Instant::now(), log: Mutex::default() })
    }

    /// `web: +a1 #1 at 0` for each call: object, change, attempt, and milliseconds since the start.
    fn calls(&self) -> Vec<String> {
        self.log.lock().clone()
    }
}

impl<F> EventHandler for Handler<F>
where
    F: Fn(Delivery) -> BoxFuture<'static, Outcome> + Send + Sync + 'static,
{
    async fn handle(&self, delivery: Delivery) -> Option<Outcome> {
        let Notification { change, .. } = &delivery.notification;
        let call = format!(
            "{}: {} #{} at {}",
            change.object().name(),
            text(change),
            delivery.attempt,
            self.start.elapsed().as_millis()
        );
        self.log.lock().push(call);
        Some((self.answer)(delivery).await)
    }
}

/// The plugin under test.
struct Running {
    queue: Queue,
    handle: Dispatcher,
    shutdown: CancellationToken,
}

fn run(workers: usize, handler: &Arc<impl EventHandler>) -> Running {
    let queue = Queue::new(&QueueConfig::default());
    let shutdown = CancellationToken::new();
    let handle = Dispatcher::spawn(config(workers), queue.clone(), Arc::clone(handler), &shutdown);
    Running { queue, handle, shutdown }
}

/// Waits of 100, 200, 400 ms; dead after the fourth attempt.
fn config(workers: usize) -> DispatchConfig {
    DispatchConfig {
        plugin: Arc::from("test"),
        workers: count(workers),
        batch: count(3),
        retry: RetryConfig {
            backoff: Backoff {
                min: Duration::from_millis(100),
                max: Duration::from_secs(10),
                factor: 2.0,
                jitter: 0.0,
            },
            attempts: std::num::NonZeroU32::new(4),
            on_exhausted: Fate::DeadLetter,
        },
    }
}

fn count(workers: usize) -> NonZeroUsize {
    NonZeroUsize::new(workers).unwrap()
}

/// Waits until the counters are as expected; time is paused, so the deadline is far away.
async fn until(queue: &Queue, condition: impl Fn(&QueueStats) -> bool) {
    let reached = timeout(Duration::from_secs(60), async {
        while !condition(&queue.stats()) {
            sleep(Duration::from_millis(1)).await;
        }
    });
    assert!(reached.await.is_ok(), "never reached: {:?}", queue.stats());
}

async fn until_settled(queue: &Queue) {
    until(queue, |stats| stats.objects == 0).await;
}

fn ok() -> BoxFuture<'static, Outcome> {
    Box::pin(async { Outcome::Acknowledged })
}

fn answer(outcome: Outcome) -> BoxFuture<'static, Outcome> {
    Box::pin(async { outcome })
}

fn failed() -> Outcome {
    Outcome::Retry { after: None, failure: Failure::new(FailureKind::Handler, "no") }
}

/// A call of this length that succeeds.
fn slow(millis: u64) -> BoxFuture<'static, Outcome> {
    Box::pin(async move {
        sleep(Duration::from_millis(millis)).await;
        Outcome::Acknowledged
    })
}
