//! What W-14 measures.

use super::*;

/// Scenario 125 (TestMetrics). There is nothing that refreshes the values, so nothing has to stop (TestMetricShutdown).
#[tokio::test(start_paused = true)]
async fn the_counters_follow_each_key_through_the_queue_w14() {
    let queue = queue(10);
    queue.add("a").unwrap();
    after(30).await;
    // Added again while it waits: its first time counts.
    queue.add("a").unwrap();
    after(20).await;
    assert_eq!((queue.stats().adds, queue.stats().depth, queue.stats().waiting), (1, 1, 1));

    let work = queue.take().unwrap();
    assert_eq!(work.waited(), Duration::from_millis(50));
    queue.add("a").unwrap();
    after(25).await;
    let stats = queue.stats();
    assert_eq!((stats.adds, stats.depth, stats.waiting, stats.in_hand), (2, 1, 0, 1));
    assert_eq!(stats.unfinished_work, Duration::from_millis(25));
    assert_eq!(stats.longest_running, Duration::from_millis(25));

    work.done();
    let stats = queue.stats();
    assert_eq!((stats.work_duration.count(), stats.work_duration.sum()), (1, 0.025));
    assert_eq!((stats.unfinished_work, stats.longest_running), (Duration::ZERO, Duration::ZERO));
    after(10).await;
    // From the add, though it was in hand then.
    assert_eq!(queue.take().map(|work| work.waited()), Some(Duration::from_millis(35)));
}

#[tokio::test(start_paused = true)]
async fn retries_are_adds_with_a_delay_and_the_time_counts_from_when_they_are_due_w14() {
    let queue = queue(10);
    queue.add_rate_limited("a").unwrap();
    queue.add_after("b", Duration::ZERO).unwrap();
    assert_eq!((queue.stats().retries, queue.stats().adds), (2, 1));
    drain(&queue);

    // Nobody looked at the moment itself.
    after(110).await;
    let work = queue.take().unwrap();
    assert_eq!(work.waited(), Duration::from_millis(100));
    assert_eq!(queue.stats().latency.max(), 0.1);
    drop(work);
}

#[tokio::test(start_paused = true)]
async fn the_time_of_all_work_in_hand_is_added_up_and_the_longest_told_w14() {
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
