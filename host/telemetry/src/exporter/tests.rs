use std::sync::atomic::AtomicBool;

use informer_types::{EventTrace, Gvr, SeenEvent, Source, WatchVerb};
use opentelemetry_sdk::error::OTelSdkError;
use parking_lot::Mutex;

use super::*;
use crate::{Protocol, Stats};

/// A collector that can be down.
#[derive(Clone, Default)]
struct Collector {
    down: Arc<AtomicBool>,
    batches: Arc<Mutex<Vec<usize>>>,
}

impl Collector {
    fn exporter(&self) -> (Exporter, Spans, Pending) {
        let own = self.clone();
        let settings =
            Settings { endpoint: "http://collector:4317".into(), protocol: Protocol::Grpc, sample: 1.0 };
        let send = move |batch: Vec<SpanData>| -> Pin<Box<dyn Future<Output = OTelSdkResult> + Send>> {
            let own = own.clone();
            Box::pin(async move {
                if own.down.load(Relaxed) {
                    return Err(OTelSdkError::InternalFailure("connection refused".into()));
                }
                own.batches.lock().push(batch.len());
                Ok(())
            })
        };
        Exporter::sending(&settings, Box::new(send))
    }
}

fn event(spans: &Spans) -> EventTrace {
    let seen = SeenEvent { namespace: "shop", name: "web", verb: WatchVerb::Added, version: "7" };
    spans.begin(&Source::new(Gvr::new("", "v1", "pods")), &seen)
}

#[tokio::test(start_paused = true)]
async fn spans_are_sent_in_batches_and_the_rest_when_the_host_stops() {
    let collector = Collector::default();
    let (exporter, spans, pending) = collector.exporter();
    let stop = CancellationToken::new();
    let running = tokio::spawn(exporter.clone().run(pending, stop.clone()));
    (0..600).for_each(|_| drop(event(&spans)));

    sleep(2 * EVERY).await;
    assert_eq!(*collector.batches.lock(), [512, 88]);
    (0..3).for_each(|_| drop(event(&spans)));
    stop.cancel();
    running.await.unwrap();

    assert_eq!(*collector.batches.lock(), [512, 88, 3]);
    let standing = exporter.standing();
    assert_eq!(standing.stats, Stats { exported: 603, dropped: 0, failed: 0 });
    assert_eq!(standing.failure, None);
}

#[tokio::test(start_paused = true)]
async fn a_collector_that_is_down_costs_spans_and_nothing_else() {
    let collector = Collector::default();
    collector.down.store(true, Relaxed);
    let (exporter, spans, pending) = collector.exporter();
    let stop = CancellationToken::new();
    let running = tokio::spawn(exporter.clone().run(pending, stop.clone()));

    // There are more spans than the queue has room for: the queue drops the others, and no call waits.
    (0..WAITING + 100).for_each(|_| drop(event(&spans)));
    sleep(2 * EVERY).await;

    let standing = exporter.standing();
    assert_eq!(standing.stats.dropped, 100);
    assert!(standing.stats.failed >= BATCH as u64 && standing.stats.exported == 0, "{standing:?}");
    assert!(standing.failure.is_some_and(|why| why.contains("connection refused")));

    collector.down.store(false, Relaxed);
    sleep(2 * EVERY).await;
    let standing = exporter.standing();
    assert_eq!(standing.failure, None, "the failure is over");
    assert_eq!(standing.stats.exported + standing.stats.failed, WAITING as u64);
    stop.cancel();
    running.await.unwrap();
}

#[tokio::test(start_paused = true)]
async fn a_collector_that_does_not_answer_holds_up_the_stop_for_two_seconds_at_most() {
    let settings =
        Settings { endpoint: "http://collector:4317".into(), protocol: Protocol::Grpc, sample: 1.0 };
    let send = |_: Vec<SpanData>| -> Pin<Box<dyn Future<Output = OTelSdkResult> + Send>> {
        Box::pin(std::future::pending())
    };
    let (exporter, spans, pending) = Exporter::sending(&settings, Box::new(send));
    let stop = CancellationToken::new();
    let running = tokio::spawn(exporter.run(pending, stop.clone()));
    drop(event(&spans));
    sleep(2 * EVERY).await;

    // The batch is on its way.
    let stopped = Instant::now();
    stop.cancel();

    timeout(3 * LAST_WITHIN, running).await.unwrap().unwrap();
    assert!(stopped.elapsed() <= LAST_WITHIN + EVERY, "{:?}", stopped.elapsed());
}
