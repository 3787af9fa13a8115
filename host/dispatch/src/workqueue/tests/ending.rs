//! Shutdown, drain, and what is left in memory (W-4, W-5, W-8, W-15).

use std::sync::Arc;

use tokio::task::yield_now;

use super::*;

/// After the shutdown ready keys are handed out, and no key is added or delayed (W-4, W-5, W-8).
///
/// Scenario 121 (TestForceQueueShutdownUsingShutDown).
#[tokio::test(start_paused = true)]
async fn after_the_shutdown_ready_keys_are_handed_out_and_no_key_is_added_or_delayed() {
    let queue = queue(10);
    queue.add("a").unwrap();
    queue.add_after("delayed", Duration::from_millis(1)).unwrap();
    queue.shut_down();
    queue.add("b").unwrap();
    queue.add_after("b", Duration::from_millis(1)).unwrap();
    queue.add_rate_limited("b").unwrap();
    after(1_000).await;

    let work = queue.get().await.unwrap();
    assert_eq!(&**work.key(), "a");
    work.retry(&failure());
    assert!(queue.get().await.is_none());
    assert_eq!(queue.keys(), 0);
}

/// The shutdown wakes every waiting worker (W-4).
#[tokio::test(start_paused = true)]
async fn the_shutdown_wakes_every_waiting_worker() {
    let queue = queue(10);
    let get = || {
        let queue = queue.clone();
        tokio::spawn(async move { queue.get().await.is_none() })
    };
    let workers = [get(), get(), get()];
    yield_now().await;
    queue.shut_down();

    for worker in workers {
        assert!(worker.await.unwrap());
    }
}

/// Draining waits for keys in flight and hands out those that were added again (W-5).
///
/// Scenario 121 (TestQueueDrainageUsingShutDownWithDrain and its dirty item).
#[tokio::test(start_paused = true)]
async fn draining_waits_for_keys_in_flight_and_hands_out_those_added_again() {
    let queue = queue(10);
    queue.add("a").unwrap();
    let work = queue.take().unwrap();
    queue.add("a").unwrap();
    let draining = tokio::spawn({
        let queue = queue.clone();
        async move { queue.shut_down_with_drain().await }
    });
    yield_now().await;
    queue.add("b").unwrap();
    assert!(!draining.is_finished(), "a missing Done blocks");

    work.done();
    let again = queue.get().await.unwrap();
    assert_eq!(&**again.key(), "a");
    again.done();
    draining.await.unwrap();
    assert!(queue.get().await.is_none());
}

/// A plain shutdown does not wait for keys in flight, and releases a waiting drain (W-5).
///
/// Scenario 121 (TestNoQueueDrainageUsingShutDown).
#[tokio::test(start_paused = true)]
async fn a_plain_shutdown_releases_a_waiting_drain() {
    let queue = queue(10);
    queue.add("a").unwrap();
    let _work = queue.take().unwrap();
    let draining = tokio::spawn({
        let queue = queue.clone();
        async move { queue.shut_down_with_drain().await }
    });
    yield_now().await;
    assert!(!draining.is_finished());

    queue.shut_down();
    draining.await.unwrap();
}

#[tokio::test(start_paused = true)]
async fn a_paused_queue_that_is_shut_down_hands_out_nothing() {
    let queue = queue(10);
    queue.pause();
    queue.add("a").unwrap();
    queue.shut_down();

    assert!(queue.get().await.is_none());
    assert_eq!(queue.keys(), 1, "it is counted as left");
}

/// Each key that a shutdown discards is counted once (W-5, W-8).
#[tokio::test(start_paused = true)]
async fn each_key_that_a_shutdown_discards_is_counted_once() {
    let queue = queue(10);
    ["retried", "requeued", "later", "added again", "delayed again", "done", "both"]
        .iter()
        .for_each(|key| queue.add(key).unwrap());
    let works: Vec<_> = (0..6).map(|_| queue.take().unwrap()).collect();
    for key in ["delayed", "delayed again", "both"] {
        queue.add_after(key, Duration::from_secs(1)).unwrap();
    }
    queue.add("added again").unwrap();
    queue.shut_down();
    assert_eq!(queue.stats().discarded, 1, "`delayed`: of the others it is known at the end of their calls");

    let [retried, requeued, later, added, delayed, done] = works.try_into().unwrap();
    retried.retry(&failure());
    requeued.requeue();
    later.requeue_after(Duration::from_secs(1));
    added.retry(&failure());
    delayed.succeed();
    done.succeed();
    assert_eq!(queue.stats().discarded, 5);

    assert_eq!(drain(&queue), ["both", "added again"], "they waited");
    assert_eq!((queue.stats().discarded, queue.keys()), (5, 0));
    queue.add("after").unwrap();
    assert_eq!(queue.stats().discarded, 6);
}

/// The memory of a key is released when the key is done and forgotten (W-15).
///
/// Scenario 122 (TestGarbageCollection).
#[tokio::test(start_paused = true)]
async fn the_memory_of_a_key_is_released_when_the_key_is_done_and_forgotten() {
    let queue = queue(10);
    queue.add_rate_limited("a").unwrap();
    after(10).await;
    let work = queue.take().unwrap();
    let key = Arc::downgrade(work.key());
    work.done();
    assert!(key.upgrade().is_some(), "its failures are still known (W-12)");

    queue.forget("a");
    assert!(key.upgrade().is_none());
}

#[tokio::test(start_paused = true)]
async fn a_closed_queue_discards_ready_keys_and_ends_only_calls_in_flight() {
    let queue = queue(4);
    ["in flight", "twice", "ready"].iter().for_each(|key| queue.add(key).unwrap());
    queue.add_after("delayed", Duration::from_secs(1)).unwrap();
    let (in_hand, twice) = (queue.take().unwrap(), queue.take().unwrap());
    queue.add("twice").unwrap();

    assert_eq!(queue.close(), 2, "`ready` and `delayed`");
    // A gate that opens at that moment hands out nothing either.
    queue.resume();
    assert!(queue.get().await.is_none());
    assert_eq!((queue.keys(), queue.stats().depth), (2, 0));
    assert_eq!(queue.stats().discarded, 2);
    in_hand.retry(&failure());
    twice.succeed();
    assert_eq!(queue.stats().discarded, 4, "the one would have come again, and the other too");
    assert_eq!((queue.keys(), queue.stats().in_flight), (0, 0));
    assert!(queue.get().await.is_none());
}

/// The host takes a key that is not due, and makes no call for it.
#[tokio::test]
async fn a_key_that_is_skipped_is_not_put_back_and_counts_as_no_call() {
    let queue = queue(10);
    queue.add("a").unwrap();
    let work = queue.take().unwrap();
    queue.skip("a");
    queue.skip("other");
    drop(work);
    let stats = queue.stats();
    assert_eq!((stats.keys, stats.given_back, stats.succeeded), (0, 0, 0));

    queue.add("a").unwrap();
    let work = queue.take().unwrap();
    queue.skip("a");
    queue.add("a").unwrap();
    drop(work);
    assert_eq!(queue.keys(), 1, "it was added meanwhile");

    drop(queue.take());
    assert_eq!(drain(&queue), ["a"], "only the work of that moment was skipped");
}
