//! AddAfter and AddRateLimited (W-7 to W-10).

use futures::poll;

use super::*;

/// A delayed key is neither ready nor counted as ready before its time (W-6, W-7).
///
/// Scenario 123 (TestSimpleQueue).
#[tokio::test(start_paused = true)]
async fn a_delayed_key_is_not_ready_before_its_time() {
    let queue = queue(10);
    queue.add_after("a", Duration::from_millis(50)).unwrap();
    queue.add_after("now", Duration::ZERO).unwrap();

    assert_eq!(queue.waiting(), 1);
    assert_eq!(drain(&queue), ["now"]);
    after(49).await;
    assert_eq!((queue.waiting(), queue.stats().delayed), (0, 1));
    after(1).await;
    assert_eq!((queue.waiting(), queue.stats().delayed), (1, 0));
    assert_eq!(drain(&queue), ["a"]);
    after(10_000).await;
    assert_eq!(drain(&queue), Vec::<String>::new());
    assert_eq!(queue.keys(), 0);
}

/// The earlier of two deadlines of a key wins, in either order (W-7).
///
/// Scenario 123 (TestDeduping).
#[tokio::test(start_paused = true)]
async fn the_earlier_of_two_deadlines_wins_in_either_order() {
    let queue = queue(10);
    for (first, second) in [(50, 70), (50, 30)] {
        queue.add_after("a", Duration::from_millis(first)).unwrap();
        queue.add_after("a", Duration::from_millis(second)).unwrap();
        let earlier = first.min(second);
        after(earlier - 1).await;
        assert_eq!(queue.waiting(), 0);
        after(1).await;
        assert_eq!(drain(&queue), ["a"]);
        after(100).await;
        assert_eq!(queue.waiting(), 0, "the later time is gone");
    }
}

/// Scenario 123 (TestAddTwoFireEarly).
#[tokio::test(start_paused = true)]
async fn keys_come_in_the_order_of_their_time_and_one_that_comes_due_later_is_woken_for() {
    let queue = queue(10);
    queue.add_after("late", Duration::from_secs(1)).unwrap();
    let start = time::Instant::now();
    let got = tokio::spawn({
        let queue = queue.clone();
        async move {
            let mut came = Vec::new();
            while came.len() < 3 {
                let work = queue.get().await.unwrap();
                came.push((work.key().to_string(), start.elapsed().as_millis()));
                work.succeed();
            }
            came
        }
    });
    after(100).await;
    // Earlier than what the worker sleeps for.
    queue.add_after("soon", Duration::from_millis(50)).unwrap();
    queue.add_after("sooner", Duration::from_millis(20)).unwrap();

    let came = got.await.unwrap();

    let expected = [("sooner", 120), ("soon", 150), ("late", 1_000)];
    assert_eq!(came, expected.map(|(key, millis)| (key.to_owned(), millis)));
}

/// Scenario 123 (TestCopyShifting).
#[tokio::test(start_paused = true)]
async fn keys_that_are_due_together_come_in_the_order_of_their_deadlines() {
    let queue = queue(10);
    for (key, millis) in [("first", 1_000), ("second", 500), ("third", 250)] {
        queue.add_after(key, Duration::from_millis(millis)).unwrap();
    }
    after(2_000).await;
    queue.add("now").unwrap();

    assert_eq!(drain(&queue), ["third", "second", "first", "now"]);
}

#[tokio::test(start_paused = true)]
async fn two_workers_that_sleep_get_two_keys_that_come_due_at_once() {
    let queue = queue(10);
    queue.add_after("late", Duration::from_secs(3600)).unwrap();
    let get = || {
        let queue = queue.clone();
        tokio::spawn(async move {
            let work = queue.get().await.unwrap();
            let at = time::Instant::now();
            // Both keys are in flight at a time.
            time::sleep(Duration::from_secs(1)).await;
            work.done();
            at
        })
    };
    let (one, other) = (get(), get());
    after(0).await;
    let start = time::Instant::now();
    queue.add_after("a", Duration::from_millis(10)).unwrap();
    queue.add_after("b", Duration::from_millis(10)).unwrap();

    let (one, other) = (one.await.unwrap(), other.await.unwrap());
    assert!(one - start < Duration::from_millis(500) && other - start < Duration::from_millis(500));
}

#[tokio::test(start_paused = true)]
async fn whichever_worker_stays_is_woken_for_a_delayed_key() {
    for stays in 0..3 {
        let queue = queue(10);
        let mut workers = [(); 3].map(|()| Box::pin(queue.get()));
        for worker in &mut workers {
            assert!(poll!(worker).is_pending());
        }
        queue.add_after("a", Duration::from_secs(600)).unwrap();
        // One of them sleeps until then, the others until they are woken.
        for worker in &mut workers {
            assert!(poll!(worker).is_pending());
        }

        let stays = workers.into_iter().nth(stays).unwrap();

        let work =
            time::timeout(Duration::from_secs(700), stays).await.expect("the worker was not woken").unwrap();
        assert_eq!(&**work.key(), "a");
    }
}

/// Each rate limited add doubles the wait until the key is forgotten (W-9, W-10, W-12).
#[tokio::test(start_paused = true)]
async fn each_rate_limited_add_doubles_the_wait_until_the_key_is_forgotten() {
    let queue = queue(10);
    for millis in [10, 20, 40] {
        queue.add_rate_limited("a").unwrap();
        after(millis - 1).await;
        assert_eq!(queue.waiting(), 0);
        after(1).await;
        assert_eq!(drain(&queue), ["a"], "after {millis} ms");
    }
    assert_eq!((queue.num_requeues("a"), queue.num_requeues("b")), (3, 0));

    // Forgetting changes nothing about where a key is.
    queue.add("a").unwrap();
    queue.forget("a");
    assert_eq!((queue.num_requeues("a"), queue.waiting()), (0, 1));
    drain(&queue);
    queue.add_rate_limited("a").unwrap();
    after(10).await;
    assert_eq!(drain(&queue), ["a"]);
}

#[tokio::test(start_paused = true)]
async fn a_delay_longer_than_any_clock_can_tell_is_no_overflow() {
    let queue = queue(10);
    queue.add_after("a", Duration::MAX).unwrap();

    assert_eq!((queue.waiting(), queue.keys()), (0, 1));
}

#[tokio::test(start_paused = true)]
async fn a_new_limiter_keeps_the_failures_and_the_delays_under_way() {
    let queue = queue(10);
    queue.add_rate_limited("a").unwrap();
    let burst = std::num::NonZeroU32::new(100).unwrap();
    let (min, max) = (Duration::from_millis(100), Duration::from_secs(10));
    queue.set_limiter(RateLimiter::default_controller(min, max, 1000.0, burst));

    assert_eq!(queue.num_requeues("a"), 1);
    after(10).await;
    assert_eq!(drain(&queue), ["a"], "as it was to");
    queue.add_rate_limited("a").unwrap();
    after(199).await;
    assert!(drain(&queue).is_empty(), "its second failure: twice the new 100 ms");
    after(1).await;
    assert_eq!(drain(&queue), ["a"]);
    queue.forget("a");
    assert_eq!(queue.num_requeues("a"), 0);
}

#[tokio::test(start_paused = true)]
async fn a_stopped_clock_ends_no_delay_until_it_is_moved_and_wakes_a_worker_then() {
    let queue = queue(10);
    queue.stop_clock();
    queue.add_after("a", Duration::from_secs(60)).unwrap();
    assert_eq!(queue.next_due(), Some(Duration::from_secs(60)));
    let worker = tokio::spawn({
        let queue = queue.clone();
        async move { queue.get().await.map(|work| work.key().to_string()) }
    });

    after(120_000).await;
    tokio::task::yield_now().await;
    assert!(!worker.is_finished(), "the time of the runtime does not count");
    queue.advance(Duration::from_secs(59));
    tokio::task::yield_now().await;
    assert_eq!((worker.is_finished(), queue.next_due()), (false, Some(Duration::from_secs(1))));
    queue.advance(Duration::from_secs(1));

    assert_eq!(worker.await.unwrap().as_deref(), Some("a"));
}

#[tokio::test(start_paused = true)]
async fn a_clock_that_runs_cannot_be_moved() {
    let queue = queue(10);
    queue.add_after("a", Duration::from_secs(60)).unwrap();

    queue.advance(Duration::from_secs(60));

    assert_eq!((queue.waiting(), queue.next_due()), (0, Some(Duration::from_secs(60))));
}
