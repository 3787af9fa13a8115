//! Shutdown, drain, and what is left in memory (W-4, W-5, W-8, W-15).

use std::sync::Arc;

use tokio::task::yield_now;

use super::*;

/// Scenario 121 (TestForceQueueShutdownUsingShutDown).
#[tokio::test(start_paused = true)]
async fn after_the_shutdown_what_waits_is_handed_out_and_nothing_is_added_or_kept_for_later_w4_w5_w8() {
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

#[tokio::test(start_paused = true)]
async fn every_worker_that_waits_hears_of_the_shutdown_w4() {
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

/// Scenario 121 (TestQueueDrainageUsingShutDownWithDrain and its dirty item).
#[tokio::test(start_paused = true)]
async fn draining_waits_for_what_is_in_hand_and_what_was_added_again_is_handed_out_w5() {
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

/// Scenario 121 (TestNoQueueDrainageUsingShutDown): a plain shutdown waits for nobody, and releases who drains.
#[tokio::test(start_paused = true)]
async fn a_plain_shutdown_releases_a_drain_that_waits_w5() {
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

#[tokio::test(start_paused = true)]
async fn each_key_that_a_shutdown_ends_is_counted_once_w5_w8() {
    let queue = queue(10);
    ["retried", "requeued", "later", "not called", "added again", "delayed again", "done", "both"]
        .iter()
        .for_each(|key| queue.add(key).unwrap());
    let works: Vec<_> = (0..7).map(|_| queue.take().unwrap()).collect();
    for key in ["delayed", "delayed again", "both"] {
        queue.add_after(key, Duration::from_secs(1)).unwrap();
    }
    queue.add("added again").unwrap();
    queue.shut_down();
    assert_eq!(queue.stats().discarded, 1, "`delayed`: of the others it is known at the end of their calls");

    let [retried, requeued, later, not_called, added, delayed, done] = works.try_into().unwrap();
    retried.retry(&failure());
    requeued.requeue();
    later.requeue_after(Duration::from_secs(1));
    not_called.put_back_after(Duration::from_secs(1));
    added.retry(&failure());
    delayed.succeed();
    done.succeed();
    assert_eq!(queue.stats().discarded, 6);

    assert_eq!(drain(&queue), ["both", "added again"], "they waited");
    assert_eq!((queue.stats().discarded, queue.keys()), (6, 0));
    queue.add("after").unwrap();
    assert_eq!(queue.stats().discarded, 7);
    assert!(!queue.add_when_room("known").await.unwrap(), "who adds it knows");
    assert_eq!(queue.stats().discarded, 7);
}

/// Scenario 122 (TestGarbageCollection).
#[tokio::test(start_paused = true)]
async fn a_key_that_is_done_and_forgotten_is_held_by_nobody_w15() {
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
async fn a_queue_that_is_closed_discards_what_waits_and_only_what_is_in_hand_is_ended() {
    let queue = queue(4);
    ["in hand", "twice", "waits"].iter().for_each(|key| queue.add(key).unwrap());
    queue.add_after("delayed", Duration::from_secs(1)).unwrap();
    let (in_hand, twice) = (queue.take().unwrap(), queue.take().unwrap());
    queue.add("twice").unwrap();
    let for_room = tokio::spawn({
        let queue = queue.clone();
        async move { queue.add_when_room("one more").await }
    });
    yield_now().await;

    assert_eq!(queue.close(), 2, "`waits` and `delayed`");
    assert!(!for_room.await.unwrap().unwrap(), "it was not added");
    // A gate that opens at that moment hands out nothing either.
    queue.resume();
    assert!(queue.get().await.is_none());
    assert_eq!((queue.keys(), queue.stats().depth), (2, 0));
    assert_eq!(queue.stats().discarded, 2);
    in_hand.retry(&failure());
    twice.succeed();
    assert_eq!(queue.stats().discarded, 4, "the one would have come again, and the other too");
    assert_eq!((queue.keys(), queue.stats().in_hand), (0, 0));
    assert!(queue.get().await.is_none());
}
