//! Keys that are scheduled: the newest setting wins.

use super::*;

/// A thing that is scheduled again waits for the new time, whether the old one is over or not.
#[tokio::test(start_paused = true)]
async fn the_newest_setting_wins_over_an_earlier_time_a_later_one_and_a_turn() {
    let queue = queue(10);
    for (first, second) in [(50, 70), (70, 50), (0, 50)] {
        queue.schedule("a", Duration::from_millis(first)).unwrap();
        queue.schedule("a", Duration::from_millis(second)).unwrap();
        after(second - 1).await;
        assert_eq!((queue.waiting(), queue.stats().depth), (0, 0), "{first}, {second}");
        after(1).await;
        assert_eq!(drain(&queue), ["a"]);
        after(100).await;
        assert_eq!((queue.waiting(), queue.keys()), (0, 0), "the earlier setting is gone");
    }
}

#[tokio::test(start_paused = true)]
async fn a_key_that_is_cancelled_is_not_handed_out_and_gives_its_place_back() {
    let queue = queue(1);
    queue.schedule_own("ready", Duration::ZERO).unwrap();
    assert!(matches!(queue.schedule_own("other", Duration::ZERO), Err(AddError::Full { capacity: 1 })));
    queue.cancel("ready");
    queue.schedule_own("later", Duration::from_millis(10)).unwrap();
    queue.cancel("later");
    queue.cancel("never there");
    queue.schedule("of the host", Duration::from_millis(5)).unwrap();
    queue.schedule_own("other", Duration::from_millis(10)).unwrap();

    after(20).await;

    assert_eq!(drain(&queue), ["of the host", "other"]);
    assert_eq!((queue.keys(), queue.stats().depth), (0, 0));
}

#[tokio::test(start_paused = true)]
async fn a_key_that_is_scheduled_in_flight_is_handed_out_again_even_if_its_call_is_given_up() {
    let queue = queue(10);
    queue.raise("tick").unwrap();
    for _ in 0..3 {
        let work = queue.take().unwrap();
        assert_eq!(work.attempt(), 1);
        queue.schedule("tick", Duration::from_millis(30)).unwrap();
        work.give_up(failure());
        after(29).await;
        assert_eq!(queue.waiting(), 0);
        after(1).await;
    }
    assert_eq!(queue.stats().dropped, 3);
}

/// The retry comes before the next time, which is set again by each attempt.
#[tokio::test(start_paused = true)]
async fn a_failed_call_is_repeated_after_the_delay_that_it_requests_or_after_its_backoff() {
    let queue = queue(10);
    queue.raise("tick").unwrap();

    let failed = queue.take().unwrap().fail_after(&failure(), Some(Duration::from_millis(200)), false);
    assert_eq!(failed, Failed::Retrying { delay: Some(Duration::from_millis(200)) });
    after(199).await;
    assert_eq!(queue.waiting(), 0);
    after(1).await;
    let again = queue.take().unwrap();
    assert_eq!(again.attempt(), 2);

    // The failure before counts in the backoff.
    again.fail_after(&failure(), None, false);
    after(19).await;
    assert_eq!(queue.waiting(), 0);
    after(1).await;
    assert_eq!(drain(&queue), ["tick"]);
}

/// Schedules `tick` for 100 ms later while a call for `tick` is in flight, which then fails. Returns when the retry is due, after 10 ms.
async fn fail_while_scheduled(queue: &RateLimitingQueue) {
    queue.raise("tick").unwrap();
    let work = queue.take().unwrap();
    queue.schedule("tick", Duration::from_millis(100)).unwrap();
    work.fail(&failure(), false);
    after(10).await;
}

/// A handler may set a timer while a call for this timer runs and fails. The retry must not replace the new time.
#[tokio::test(start_paused = true)]
async fn a_key_that_is_scheduled_in_flight_is_due_at_its_time_although_a_retry_of_the_call_came_earlier() {
    let queue = queue(10);
    fail_while_scheduled(&queue).await;
    let again = queue.take().unwrap();
    assert_eq!(queue.stats().next_retry, None, "the retry is in flight");
    again.fail(&failure(), false);
    after(20).await;
    queue.take().unwrap().succeed();
    after(69).await;
    assert_eq!(queue.waiting(), 0);
    after(1).await;
    assert_eq!(drain(&queue), ["tick"], "100 ms have passed since it was scheduled");
    after(10_000).await;
    assert_eq!((queue.waiting(), queue.keys()), (0, 0));
}

/// The retry of the failed call is the only further call.
#[tokio::test(start_paused = true)]
async fn a_time_that_is_cancelled_in_flight_does_not_come_after_a_retry() {
    let queue = queue(10);
    for cancelled_in_retry in [false, true] {
        queue.raise("tick").unwrap();
        let work = queue.take().unwrap();
        queue.schedule("tick", Duration::from_millis(100)).unwrap();
        if !cancelled_in_retry {
            queue.cancel("tick");
        }
        work.fail(&failure(), false);
        after(10).await;
        let again = queue.take().unwrap();
        if cancelled_in_retry {
            queue.cancel("tick");
        }
        again.succeed();

        after(10_000).await;
        assert_eq!((queue.waiting(), queue.keys()), (0, 0), "{cancelled_in_retry}");
    }
}

#[tokio::test(start_paused = true)]
async fn a_key_that_is_ready_and_waits_for_its_time_is_handed_out_once_at_the_shutdown() {
    for closes in [false, true] {
        let queue = queue(10);
        fail_while_scheduled(&queue).await;
        assert_eq!((queue.waiting(), queue.stats().delayed, queue.keys()), (1, 1, 1));

        let left = if closes { queue.close() } else { 0 };
        queue.shut_down();

        assert_eq!(left, usize::from(closes));
        assert_eq!(drain(&queue).len(), usize::from(!closes));
        after(10_000).await;
        let stats = queue.stats();
        assert_eq!((queue.waiting(), queue.keys(), stats.depth), (0, 0, 0));
        assert_eq!(stats.discarded, u64::from(closes));
    }
}

#[tokio::test(start_paused = true)]
async fn scheduling_a_key_that_waits_for_a_retry_forgets_its_failures() {
    let queue = queue(10);
    queue.raise("tick").unwrap();
    queue.take().unwrap().fail(&failure(), false);

    queue.schedule("tick", Duration::from_secs(1)).unwrap();

    after(999).await;
    assert_eq!(queue.waiting(), 0);
    after(1).await;
    assert_eq!(queue.take().unwrap().attempt(), 1);
}
