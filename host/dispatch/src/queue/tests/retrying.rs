use futures::poll;

use super::*;

async fn advance(millis: u64) {
    time::advance(Duration::from_millis(millis)).await;
}

#[tokio::test(start_paused = true)]
async fn a_retry_waits_and_delays_no_other_object() {
    let queue = queue();
    queue.offer(added("web", "a1", Cause::Live));
    let settled = take(&queue).0.settle(retry(100, 10));
    queue.offer(added("db", "a1", Cause::Live));

    assert_eq!(settled, Settled::Retrying { delay: Duration::from_millis(100), superseded: false });
    assert_eq!(deliver_all(&queue), ["db: +a1"]);
    advance(99).await;
    assert!(queue.take().is_none());
    advance(1).await;
    let (lease, delivery) = queue.take().unwrap();
    assert_eq!((seen(&delivery).as_str(), delivery.attempt), ("web: +a1", 2));
    lease.settle(Settlement::Acknowledged);
    assert_balanced(&queue);
}

/// Scenario 123.
#[tokio::test(start_paused = true)]
async fn retries_come_back_in_the_order_of_their_time() {
    let queue = queue();
    for (name, delay) in [("a", 300), ("b", 100), ("c", 200)] {
        queue.offer(added(name, "a1", Cause::Live));
        take(&queue).0.settle(retry(delay, 0));
    }
    let stats = queue.stats();
    let next = stats.next_retry.unwrap();
    assert_eq!((stats.delayed, next.attempts, next.retry_in), (3, 1, Duration::from_millis(100)));
    assert!(next.key.ends_with("b"), "{}", next.key);
    queue.pause();
    assert_eq!(queue.stats().next_retry, None, "a pause holds the retries back");
    queue.resume();

    advance(300).await;

    assert_eq!(deliver_all(&queue), ["b: +a1", "c: +a1", "a: +a1"]);
}

/// Scenario 123.
#[tokio::test(start_paused = true)]
async fn newer_state_ends_the_wait_of_the_older_at_the_floor() {
    let queue = queue();
    queue.offer(updated("web", "a1", "a2", Cause::Live));
    take(&queue).0.settle(retry(1000, 10));

    queue.offer(updated("web", "a2", "a3", Cause::Live));

    advance(9).await;
    assert!(queue.take().is_none(), "a hot object must not spin");
    advance(1).await;
    let (lease, delivery) = queue.take().unwrap();
    assert_eq!((seen(&delivery).as_str(), delivery.attempt), ("web: a1>a3", 2));
    lease.settle(Settlement::Acknowledged);
    assert_eq!(queue.stats().merged.update, 1);
    assert_balanced(&queue);
}

#[tokio::test(start_paused = true)]
async fn newer_state_that_comes_after_the_floor_is_tried_at_once() {
    let queue = queue();
    queue.offer(added("web", "a1", Cause::Live));
    take(&queue).0.settle(retry(1000, 10));
    advance(500).await;

    queue.offer(deleted("web", "a1", true));

    let (lease, delivery) = queue.take().unwrap();
    assert_eq!((seen(&delivery).as_str(), delivery.attempt), ("web: -a1", 1));
    lease.settle(Settlement::Acknowledged);
}

#[tokio::test(start_paused = true)]
async fn newer_state_that_arrives_while_the_older_is_in_flight_waits_for_the_floor_only() {
    let queue = queue();
    queue.offer(updated("web", "a1", "a2", Cause::Live));
    let (lease, _) = take(&queue);
    queue.offer(updated("web", "a2", "a3", Cause::Live));

    let settled = lease.settle(retry(1000, 10));

    assert_eq!(settled, Settled::Retrying { delay: Duration::from_millis(10), superseded: true });
    advance(10).await;
    assert_eq!(deliver_all(&queue), ["web: a1>a3"]);
    assert_balanced(&queue);
}

/// Scenario 123.
#[tokio::test(start_paused = true)]
async fn a_repetition_of_the_same_state_does_not_shorten_the_wait() {
    for again in [updated("web", "a2", "a2", Cause::Resync), added("web", "a2", Cause::Replay)] {
        let queue = queue();
        queue.offer(updated("web", "a1", "a2", Cause::Live));
        take(&queue).0.settle(retry(1000, 10));
        queue.offer(again.clone());

        advance(999).await;
        assert!(queue.take().is_none(), "{again:?}");
        advance(1).await;
        assert_eq!(deliver_all(&queue).len(), 1, "{again:?}");
    }
}

#[tokio::test(start_paused = true)]
async fn a_new_object_waits_behind_the_retry_of_the_old_ones_deletion() {
    let queue = queue();
    queue.offer(deleted("web", "a1", true));
    let (lease, _) = take(&queue);
    queue.offer(added("web", "b1", Cause::Live));
    lease.settle(retry(1000, 10));
    queue.offer(updated("web", "b1", "b2", Cause::Live));

    advance(999).await;
    assert!(queue.take().is_none());
    advance(1).await;
    assert_eq!(deliver_all(&queue), ["web: -a1", "web: +b2"]);
}

#[tokio::test(start_paused = true)]
async fn an_object_waiting_for_its_retry_that_cancels_out_leaves_nothing_behind() {
    let queue = queue();
    queue.offer(deleted("web", "a1", true));
    take(&queue).0.settle(retry(1000, 10));
    offer_all(&queue, [added("web", "b1", Cause::Live), deleted("web", "b1", true)]);

    assert_eq!((queue.stats().pending, queue.stats().delayed), (1, 1));
    advance(1000).await;
    assert_eq!(deliver_all(&queue), ["web: -a1"]);
    assert_eq!(queue.stats().objects, 0);
    assert_balanced(&queue);
}

#[tokio::test(start_paused = true)]
async fn an_enormous_delay_is_a_day() {
    let queue = queue();
    queue.offer(added("web", "a1", Cause::Live));
    let (delay, floor) = (Duration::MAX, Duration::MAX);
    take(&queue).0.settle(Settlement::Retry { delay, floor, failure: failure() });

    time::advance(Duration::from_secs(86_400)).await;

    assert_eq!(deliver_all(&queue), ["web: +a1"]);
}

#[tokio::test(start_paused = true)]
async fn a_spent_notification_is_a_dead_letter_and_releases_its_object() {
    let queue = queue();
    queue.offer(updated("web", "a1", "a2", Cause::Live));
    take(&queue).0.settle(retry(0, 0));
    let settled = take(&queue).0.settle(spent(10, Fate::DeadLetter));

    let Settled::GaveUp { fate: Fate::DeadLetter, letter } = settled else { panic!("{settled:?}") };
    assert_eq!((letter.verb, &*letter.resource_version, letter.attempts), ("update", "a2", 2));
    assert_eq!(queue.dead_letters().list(), [letter]);
    assert_eq!(queue.stats().objects, 0);
    assert_balanced(&queue);
}

#[tokio::test(start_paused = true)]
async fn a_spent_notification_with_newer_state_behind_it_is_tried_once_more_as_part_of_it() {
    let queue = queue();
    queue.offer(updated("web", "a1", "a2", Cause::Live));
    let (lease, _) = take(&queue);
    queue.offer(updated("web", "a2", "a3", Cause::Live));
    lease.settle(spent(10, Fate::DeadLetter));

    advance(10).await;
    let (lease, delivery) = queue.take().unwrap();
    assert_eq!((seen(&delivery).as_str(), delivery.attempt), ("web: a1>a3", 2));
    lease.settle(spent(10, Fate::DeadLetter));

    assert_eq!(&*queue.dead_letters().list()[0].resource_version, "a3");
    assert_balanced(&queue);
}

#[tokio::test(start_paused = true)]
async fn a_resync_is_no_newer_state_and_does_not_save_a_spent_notification() {
    let queue = queue();
    queue.offer(updated("web", "a1", "a2", Cause::Live));
    let (lease, _) = take(&queue);
    queue.offer(updated("web", "a2", "a2", Cause::Resync));
    lease.settle(spent(10, Fate::DeadLetter));

    assert_eq!(queue.stats().dead, 1);
    assert_eq!(deliver_all(&queue), ["web: a2>a2"]);
    assert_eq!(queue.dead_letters().list(), [], "the state was delivered after all");
    assert_balanced(&queue);
}

#[test]
fn a_spent_notification_may_be_dropped_which_is_counted() {
    let queue = queue();
    queue.offer(added("web", "a1", Cause::Live));
    take(&queue).0.settle(spent(0, Fate::Drop));

    assert_eq!((queue.stats().dropped, queue.stats().dead), (1, 0));
    assert_eq!(queue.dead_letters().list(), []);
    assert_balanced(&queue);
}

#[test]
fn a_permanent_failure_is_a_dead_letter_at_once_and_newer_state_is_delivered() {
    let queue = queue();
    queue.offer(updated("web", "a1", "a2", Cause::Live));
    let (lease, _) = take(&queue);
    queue.offer(updated("web", "a2", "a3", Cause::Live));
    lease.settle(permanent());

    assert_eq!(&*queue.dead_letters().list()[0].resource_version, "a2");
    assert_eq!(deliver_all(&queue), ["web: a2>a3"]);
    assert_eq!(queue.dead_letters().list(), []);
    assert_balanced(&queue);
}

#[test]
fn a_dropped_lease_puts_its_notification_back_before_newer_ones() {
    let queue = queue();
    queue.offer(deleted("web", "a1", true));
    let (lease, _) = take(&queue);
    queue.offer(added("web", "b1", Cause::Live));

    drop(lease);

    assert_eq!(queue.stats().given_back, 1);
    let (lease, delivery) = queue.take().unwrap();
    assert_eq!((seen(&delivery).as_str(), delivery.attempt), ("web: -a1", 2));
    lease.settle(Settlement::Acknowledged);
    assert_eq!(deliver_all(&queue), ["web: +b1"]);
    assert_balanced(&queue);
}

#[test]
fn a_notification_for_which_no_call_was_made_comes_back_and_the_attempt_does_not_count() {
    let queue = queue();
    queue.offer(added("web", "a1", Cause::Live));
    let (lease, delivery) = queue.take().unwrap();
    assert_eq!(delivery.attempt, 1);

    lease.put_back();

    let (lease, delivery) = queue.take().unwrap();
    assert_eq!((seen(&delivery).as_str(), delivery.attempt), ("web: +a1", 1));
    assert_eq!((queue.stats().given_back, queue.stats().retried), (1, 0));
    queue.close();
    lease.put_back();
    assert_eq!(queue.stats().discarded, 1);
    assert_balanced(&queue);
}

#[tokio::test(start_paused = true)]
async fn with_a_stopped_clock_the_end_of_a_plugin_does_not_wait_for_a_retry() {
    let queue = queue();
    queue.stop_clock();
    queue.offer(added("web", "a1", Cause::Live));
    take(&queue).0.settle(retry(10, 10));
    time::advance(Duration::from_secs(1)).await;

    assert!(poll!(pin!(queue.quiet(now() + Duration::from_secs(60)))).is_ready());
}
