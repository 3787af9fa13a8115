//! Add, get, done (W-2, W-3, W-6).

use std::{
    collections::{BTreeMap, BTreeSet},
    sync::Arc,
};

use informer_types::EventTrace;
use parking_lot::Mutex;
use tokio::task::{JoinSet, yield_now};

use super::*;

/// A ready key is not added twice, and keys come in the order of their first add (W-2, W-3).
///
/// Scenario 120 (TestCollapse).
#[test]
fn a_ready_key_is_not_added_twice_and_keys_come_in_the_order_of_their_first_add() {
    let queue = queue(10);
    for key in ["b", "a", "b", "c", "a"] {
        queue.add(key).unwrap();
    }

    assert_eq!(queue.waiting(), 3);
    assert_eq!(drain(&queue), ["b", "a", "c"]);
    assert_eq!(queue.keys(), 0);
}

/// A key that is added any number of times while it is in flight is handed out once more after its call (W-2, W-3).
///
/// Scenarios 119 (TestAddWhileProcessing) and 120 (TestCollapseWhileProcessing).
#[test]
fn a_key_added_while_in_flight_is_handed_out_once_more_after_its_call() {
    let queue = queue(10);
    queue.add("a").unwrap();
    let work = queue.take().unwrap();
    queue.add("a").unwrap();
    queue.add("a").unwrap();
    queue.add("b").unwrap();

    assert_eq!(queue.waiting(), 1, "a key in flight is not ready (W-6)");
    let other = queue.take().unwrap();
    assert_eq!(&**other.key(), "b");
    assert!(queue.take().is_none(), "no other worker gets a key in flight");
    work.done();
    other.done();

    assert_eq!(drain(&queue), ["a"]);
    assert_eq!(queue.keys(), 0);
}

/// Scenario 120 (TestReinsert).
#[test]
fn a_key_added_after_it_was_done_comes_again() {
    let queue = queue(10);
    queue.add("a").unwrap();
    let work = queue.take().unwrap();
    queue.add("a").unwrap();
    work.done();
    assert_eq!(drain(&queue), ["a"]);

    queue.add("a").unwrap();
    assert_eq!(drain(&queue), ["a"]);
}

#[test]
fn work_that_is_dropped_puts_its_key_back() {
    let queue = queue(10);
    queue.add("a").unwrap();
    queue.add("b").unwrap();
    drop(queue.take());

    assert_eq!(drain(&queue), ["b", "a"]);
    assert_eq!(queue.stats().given_back, 1);
}

#[test]
fn one_key_too_many_is_refused_and_counted_and_known_ones_are_not() {
    let queue = queue(2);
    queue.add("waits").unwrap();
    queue.add_after("delayed", Duration::from_secs(1)).unwrap();

    assert_eq!(queue.add("c"), Err(AddError::Full { capacity: 2 }));
    assert_eq!(queue.add_after("c", Duration::from_secs(1)), Err(AddError::Full { capacity: 2 }));
    assert_eq!(queue.add_rate_limited("c"), Err(AddError::Full { capacity: 2 }));
    assert_eq!(queue.num_requeues("c"), 0, "what is refused is not limited");
    queue.add("delayed").unwrap();
    queue.add_rate_limited("waits").unwrap();

    let first = queue.take().unwrap();
    assert_eq!(queue.add("c"), Err(AddError::Full { capacity: 2 }), "a key in flight counts");
    drop(first);
    assert_eq!(queue.stats().refused, 4);
}

#[test]
fn a_key_may_have_a_kibibyte_and_no_more() {
    let queue = queue(10);
    queue.add(&"x".repeat(MAX_KEY_BYTES)).unwrap();

    let refused = queue.add(&"x".repeat(MAX_KEY_BYTES + 1));
    assert_eq!(refused, Err(AddError::TooLong { bytes: 1025, limit: 1024 }));
    assert_eq!(queue.keys(), 1);
}

#[tokio::test(start_paused = true)]
async fn get_waits_for_a_key_and_a_pause_keeps_keys_in() {
    let queue = queue(10);
    queue.pause();
    let getting = tokio::spawn({
        let queue = queue.clone();
        async move { queue.get().await.map(|work| work.key().to_string()) }
    });
    queue.add("a").unwrap();
    yield_now().await;
    assert!(!getting.is_finished());

    queue.resume();
    assert_eq!(getting.await.unwrap().as_deref(), Some("a"));
}

/// No key is in flight twice with several producers and consumers (W-3).
///
/// Scenario 119 (TestBasic).
#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn no_key_is_in_flight_twice_with_several_producers_and_consumers() {
    const KEYS: usize = 50;
    let queue = queue(KEYS);
    let in_hand = Arc::new(Mutex::new(BTreeSet::new()));
    let seen = Arc::new(Mutex::new(BTreeMap::<String, usize>::new()));
    let mut consumers = JoinSet::new();
    for _ in 0..4 {
        let (queue, in_hand, seen) = (queue.clone(), Arc::clone(&in_hand), Arc::clone(&seen));
        consumers.spawn(async move {
            while let Some(work) = queue.get().await {
                let key = work.key().to_string();
                assert!(in_hand.lock().insert(key.clone()), "{key} is in two hands");
                yield_now().await;
                in_hand.lock().remove(&key);
                *seen.lock().entry(key).or_default() += 1;
                work.done();
            }
        });
    }
    let mut producers = JoinSet::new();
    for producer in 0..4 {
        let queue = queue.clone();
        producers.spawn(async move {
            for number in 0..1000 {
                queue.add(&((number * (producer + 1)) % KEYS).to_string()).unwrap();
                if number % 10 == 0 {
                    yield_now().await;
                }
            }
        });
    }
    while let Some(produced) = producers.join_next().await {
        produced.unwrap();
    }
    queue.shut_down();
    while let Some(consumed) = consumers.join_next().await {
        consumed.unwrap();
    }

    assert_eq!(seen.lock().len(), KEYS, "every key was handed out");
    let stats = queue.stats();
    assert_eq!(seen.lock().values().sum::<usize>() as u64, stats.adds, "as often as it was added anew");
    assert_eq!(stats.keys, 0);
}

#[tokio::test(start_paused = true)]
async fn the_capacity_can_change_and_keys_beyond_it_stay() {
    let queue = queue(1);
    queue.add("a").unwrap();
    queue.set_capacity(NonZeroUsize::new(2).unwrap());
    queue.add("b").unwrap();

    queue.set_capacity(NonZeroUsize::MIN);
    assert_eq!(queue.add("c"), Err(AddError::Full { capacity: 1 }));
    assert_eq!(drain(&queue), ["a", "b"]);
}

#[tokio::test(start_paused = true)]
async fn the_capacity_bounds_the_keys_of_the_guest_and_not_those_of_notifications() {
    let queue = queue(2);
    for key in ["n1", "n2", "n3"] {
        queue.enqueue(key, Lane::Backlog, &EventTrace::default(), None).unwrap();
    }
    queue.add("a").unwrap();
    queue.add_after("n1", Duration::from_secs(1)).unwrap();
    assert_eq!(queue.add("b"), Err(AddError::Full { capacity: 2 }));
    assert_eq!(queue.add("n2"), Err(AddError::Full { capacity: 2 }));
    queue.add("n1").unwrap();
    queue.enqueue("n4", Lane::Live, &EventTrace::default(), None).unwrap();
    assert_eq!((queue.keys(), queue.stats().refused), (5, 2));

    assert_eq!(drain(&queue).len(), 5);
    assert_eq!(queue.add("b"), Ok(()), "the room of a key is free once the key is done");
}

/// Four live keys go before each key of the backlog, as for notifications.
#[tokio::test(start_paused = true)]
async fn live_keys_go_before_the_backlog_four_to_one() {
    let queue = queue(100);
    for key in 0..3 {
        queue.enqueue(&format!("listed-{key}"), Lane::Backlog, &EventTrace::default(), None).unwrap();
    }
    for key in 0..4 {
        queue.enqueue(&format!("live-{key}"), Lane::Live, &EventTrace::default(), None).unwrap();
        queue.add(&format!("own-{key}")).unwrap();
    }

    let order = [
        "live-0", "own-0", "live-1", "own-1", "listed-0", "live-2", "own-2", "live-3", "own-3", "listed-1",
        "listed-2",
    ];
    assert_eq!(drain(&queue), order);
}

#[tokio::test(start_paused = true)]
async fn a_live_change_and_an_add_of_the_guest_move_a_key_to_the_live_lane() {
    let queue = queue(100);
    for key in ["a", "b", "c", "d"] {
        queue.enqueue(key, Lane::Backlog, &EventTrace::default(), None).unwrap();
    }
    queue.enqueue("d", Lane::Live, &EventTrace::default(), None).unwrap();
    queue.add("c").unwrap();
    queue.enqueue("c", Lane::Backlog, &EventTrace::default(), None).unwrap();

    assert_eq!(drain(&queue), ["d", "c", "a", "b"]);
    let stats = queue.stats();
    assert_eq!((stats.adds, stats.depth, stats.ready), (4, 0, 0), "no key was added twice");
}

#[tokio::test(start_paused = true)]
async fn a_key_that_becomes_live_while_it_is_in_flight_comes_back_in_the_live_lane() {
    let queue = queue(100);
    queue.enqueue("a", Lane::Backlog, &EventTrace::default(), None).unwrap();
    let work = queue.take().unwrap();
    queue.enqueue("b", Lane::Backlog, &EventTrace::default(), None).unwrap();
    queue.enqueue("a", Lane::Backlog, &EventTrace::default(), None).unwrap();
    queue.enqueue("a", Lane::Live, &EventTrace::default(), None).unwrap();
    work.succeed();

    assert_eq!(drain(&queue), ["a", "b"]);
}

#[tokio::test(start_paused = true)]
async fn a_failed_key_of_the_backlog_is_retried_in_the_backlog() {
    let queue = queue(100);
    queue.enqueue("a", Lane::Backlog, &EventTrace::default(), None).unwrap();
    queue.take().unwrap().retry(&failure());
    queue.enqueue("b", Lane::Backlog, &EventTrace::default(), None).unwrap();
    after(10).await;
    queue.enqueue("c", Lane::Live, &EventTrace::default(), None).unwrap();

    assert_eq!(drain(&queue), ["c", "b", "a"]);
}

#[test]
fn the_end_of_a_pause_sorts_the_keys_of_lists_if_the_clock_is_stopped() {
    let queue = queue(10);
    queue.stop_clock();
    queue.pause();
    for key in ["shop/b", "shop/a"] {
        queue.enqueue(key, Lane::Backlog, &EventTrace::default(), None).unwrap();
    }
    queue.add("z").unwrap();
    queue.add("y").unwrap();

    queue.resume();

    assert_eq!(drain(&queue), ["z", "y", "shop/a", "shop/b"]);
}
