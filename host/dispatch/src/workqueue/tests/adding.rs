//! Add, get, done (W-2, W-3, W-6).

use std::{
    collections::{BTreeMap, BTreeSet},
    sync::Arc,
};

use parking_lot::Mutex;
use tokio::task::{JoinSet, yield_now};

use super::*;

/// Scenario 120 (TestCollapse).
#[test]
fn a_key_that_waits_is_not_added_twice_and_keys_come_in_the_order_of_their_first_add_w2_w3() {
    let queue = queue(10);
    for key in ["b", "a", "b", "c", "a"] {
        queue.add(key).unwrap();
    }

    assert_eq!(queue.waiting(), 3);
    assert_eq!(drain(&queue), ["b", "a", "c"]);
    assert_eq!(queue.keys(), 0);
}

/// Scenarios 119 (TestAddWhileProcessing) and 120 (TestCollapseWhileProcessing).
#[test]
fn a_key_in_hand_that_is_added_comes_once_more_after_done_however_often_it_was_added_w2_w3() {
    let queue = queue(10);
    queue.add("a").unwrap();
    let work = queue.take().unwrap();
    queue.add("a").unwrap();
    queue.add("a").unwrap();
    queue.add("b").unwrap();

    assert_eq!(queue.waiting(), 1, "a key in hand does not wait (W-6)");
    let other = queue.take().unwrap();
    assert_eq!(&**other.key(), "b");
    assert!(queue.take().is_none(), "nobody else gets what is in hand");
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
    assert_eq!(queue.stats().put_back, 1);
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
    assert_eq!(queue.add("c"), Err(AddError::Full { capacity: 2 }), "a key in hand counts");
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
async fn who_waits_for_room_gets_it_when_a_key_is_done_and_at_the_shutdown() {
    let queue = queue(1);
    queue.add("a").unwrap();
    let waiting = tokio::spawn({
        let queue = queue.clone();
        async move { queue.add_when_room("b").await }
    });
    yield_now().await;
    assert!(!waiting.is_finished());

    queue.take().unwrap().done();
    assert!(waiting.await.unwrap().unwrap());
    assert_eq!(queue.waiting(), 1);
    assert_eq!(queue.stats().refused, 0, "nothing was refused");

    let waiting = tokio::spawn({
        let queue = queue.clone();
        async move { queue.add_when_room("c").await }
    });
    yield_now().await;
    queue.shut_down();
    assert!(!waiting.await.unwrap().unwrap(), "whoever added it knows");
    assert_eq!(queue.waiting(), 1, "after the shutdown it is ignored (W-5)");
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

/// Scenario 119 (TestBasic).
#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn producers_and_consumers_share_it_and_no_key_is_in_two_hands_w3() {
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
async fn the_capacity_can_change_and_who_waits_for_room_learns_of_it() {
    let queue = queue(1);
    queue.add("a").unwrap();
    let for_room = tokio::spawn({
        let queue = queue.clone();
        async move { queue.add_when_room("b").await }
    });
    yield_now().await;
    assert!(!for_room.is_finished());

    queue.set_capacity(NonZeroUsize::new(2).unwrap());
    for_room.await.unwrap().unwrap();

    // What is there beyond the bound stays.
    queue.set_capacity(NonZeroUsize::MIN);
    assert_eq!(queue.add("c"), Err(AddError::Full { capacity: 1 }));
    assert_eq!(drain(&queue), ["a", "b"]);
}
