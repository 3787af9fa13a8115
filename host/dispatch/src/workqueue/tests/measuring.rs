//! The counters and durations of the workqueue (W-14).

use super::*;

/// The counters follow each key through the queue (W-14).
///
/// Scenario 125 (TestMetrics). There is nothing that refreshes the values, so nothing has to stop (TestMetricShutdown).
#[tokio::test(start_paused = true)]
async fn the_counters_follow_each_key_through_the_queue() {
    let queue = queue(10);
    queue.add("a").unwrap();
    after(30).await;
    // Added again while it waits: its first time counts.
    queue.add("a").unwrap();
    after(20).await;
    assert_eq!((queue.stats().adds, queue.stats().depth, queue.stats().ready), (1, 1, 1));

    let work = queue.take().unwrap();
    assert_eq!(work.waited(), Duration::from_millis(50));
    queue.add("a").unwrap();
    after(25).await;
    let stats = queue.stats();
    assert_eq!((stats.adds, stats.depth, stats.ready, stats.in_flight), (2, 1, 0, 1));
    assert_eq!(stats.unfinished_work, Duration::from_millis(25));
    assert_eq!(stats.longest_running, Duration::from_millis(25));

    work.done();
    let stats = queue.stats();
    assert_eq!((stats.work_duration.count(), stats.work_duration.sum()), (1, 0.025));
    assert_eq!((stats.unfinished_work, stats.longest_running), (Duration::ZERO, Duration::ZERO));
    after(10).await;
    // The latency begins with the add, although the key was in flight then.
    assert_eq!(queue.take().map(|work| work.waited()), Some(Duration::from_millis(35)));
}

/// A retry is counted, and its latency begins when it is due (W-14).
#[tokio::test(start_paused = true)]
async fn a_retry_is_counted_and_its_latency_begins_when_it_is_due() {
    let queue = queue(10);
    queue.add_rate_limited("a").unwrap();
    queue.add_after("b", Duration::ZERO).unwrap();
    assert_eq!((queue.stats().retries, queue.stats().adds), (2, 1));
    drain(&queue);

    // No worker looked at the moment when the key was due.
    after(110).await;
    let work = queue.take().unwrap();
    assert_eq!(work.waited(), Duration::from_millis(100));
    assert_eq!(queue.stats().latency.max(), 0.1);
    drop(work);
}

/// The total time of all calls in flight is measured, and the time of the longest (W-14).
#[tokio::test(start_paused = true)]
async fn the_work_in_flight_is_measured_in_total_and_by_its_longest_call() {
    let queue = queue(10);
    queue.add("a").unwrap();
    queue.add("b").unwrap();
    let _first = queue.take().unwrap();
    after(500).await;
    let _second = queue.take().unwrap();
    after(250).await;

    let stats = queue.stats();
    assert_eq!(stats.unfinished_work, Duration::from_millis(1_000));
    assert_eq!(stats.longest_running, Duration::from_millis(750));
}
