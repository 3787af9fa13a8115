//! The retry budget.

use super::*;

fn with_budget(share: Option<f64>) -> Queue {
    Queue::new(&QueueConfig { retry_budget: share, ..QueueConfig::default() })
}

/// Calls made within a time by a worker whose calls all fail and are due again at once, for objects that are there.
async fn failing_calls(queue: &Queue, objects: usize, within: Duration) -> u64 {
    for object in 0..objects {
        queue.offer(added(&object.to_string(), "a1", Cause::Live));
    }
    let end = time::Instant::now() + within;
    while let Ok(Some((lease, _))) = time::timeout_at(end, queue.next()).await {
        lease.settle(retry(1, 1));
    }
    queue.stats().delivered
}

#[tokio::test(start_paused = true)]
async fn a_broken_downstream_gets_no_more_retries_than_the_budget() {
    let queue = with_budget(Some(0.2));

    // 200 first attempts, which fill a bucket that is full already, then a hundred at once and ten a second.
    let calls = failing_calls(&queue, 200, Duration::from_secs(60)).await;

    assert!((200 + 100 + 590..=200 + 100 + 610).contains(&calls), "{calls} calls");
    assert!(queue.stats().over_budget > 0);
    assert_balanced(&queue);
}

#[tokio::test(start_paused = true)]
async fn without_a_budget_the_load_is_a_multiple_of_that() {
    let calls = failing_calls(&with_budget(None), 200, Duration::from_millis(100)).await;

    assert!(calls > 10_000, "{calls} calls");
}

#[tokio::test(start_paused = true)]
async fn first_attempts_never_wait_for_the_budget_and_earn_retries() {
    let queue = with_budget(Some(0.5));
    failing_calls(&queue, 200, Duration::from_millis(500)).await;
    let before = queue.stats();
    assert_eq!(before.delayed, 200, "the budget is spent");

    for object in 0..100 {
        queue.offer(added(&format!("new-{object}"), "a1", Cause::Live));
    }
    let mut earned = 0;
    while let Some((lease, delivery)) = queue.take() {
        if delivery.attempt == 1 {
            lease.settle(Settlement::Acknowledged);
        } else {
            lease.settle(retry(1, 1));
            earned += 1;
        }
    }

    assert!((49..=51).contains(&earned), "{earned} retries for 100 first attempts");
}

/// Neither a failed call for several objects nor a call that was not made is an attempt.
#[tokio::test(start_paused = true)]
async fn a_first_attempt_that_is_taken_back_earns_no_second_time() {
    for take_back in [Lease::split as fn(Lease), Lease::put_back] {
        let queue = with_budget(Some(0.5));
        failing_calls(&queue, 200, Duration::from_millis(500)).await;
        assert_eq!(queue.stats().delayed, 200, "the budget is spent");

        for object in 0..100 {
            queue.offer(added(&format!("new-{object}"), "a1", Cause::Live));
        }
        let (mut earned, mut taken_back) = (0, 0);
        while let Some((lease, delivery)) = queue.take() {
            if delivery.attempt > 1 {
                lease.settle(retry(1, 1));
                earned += 1;
            } else if taken_back < 100 {
                take_back(lease);
                taken_back += 1;
            } else {
                lease.settle(Settlement::Acknowledged);
            }
        }

        assert!((49..=51).contains(&earned), "{earned} retries for 100 first attempts");
        assert_eq!(queue.stats().acknowledged, 100);
        assert_balanced(&queue);
    }
}

#[tokio::test(start_paused = true)]
async fn a_recovered_downstream_is_caught_up_with_at_full_speed() {
    let queue = with_budget(Some(0.2));
    failing_calls(&queue, 500, Duration::from_secs(30)).await;

    let start = time::Instant::now();
    while queue.stats().objects > 0 {
        let (lease, _) = queue.next().await.unwrap();
        lease.settle(Settlement::Acknowledged);
    }

    // At ten a second it would take 50 s.
    assert!(start.elapsed() < Duration::from_secs(1), "{:?}", start.elapsed());
    assert_eq!(queue.stats().acknowledged, 500);
}
