//! `delivery = "every"`.

use super::*;

fn every(capacity: usize) -> Queue {
    let capacity = std::num::NonZeroUsize::new(capacity).unwrap();
    Queue::new(&QueueConfig { delivery: DeliveryMode::Every { capacity }, ..QueueConfig::default() })
}

fn seen_with_cause(queue: &Queue) -> Vec<String> {
    std::iter::from_fn(|| queue.take())
        .map(|(lease, delivery)| {
            lease.settle(Settlement::Acknowledged);
            format!("{} {}", seen(&delivery), delivery.notification.cause)
        })
        .collect()
}

#[test]
fn each_change_of_an_object_is_delivered_in_order() {
    let queue = every(100);
    offer_all(
        &queue,
        [
            added("web", "a1", Cause::Live),
            updated("web", "a1", "a2", Cause::Live),
            updated("web", "a2", "a3", Cause::Live),
            deleted("web", "a3", true),
            added("web", "b1", Cause::Live),
            deleted("web", "b1", true),
        ],
    );

    assert_eq!(queue.stats().pending, 6);
    assert_eq!(
        deliver_all(&queue),
        ["web: +a1", "web: a1>a2", "web: a2>a3", "web: -a3", "web: +b1", "web: -b1"]
    );
    assert_balanced(&queue);
}

/// A notification without a change still merges into a pending one.
#[test]
fn a_notification_without_a_change_still_merges() {
    let queue = every(100);
    offer_all(
        &queue,
        [
            updated("web", "a1", "a2", Cause::Live),
            updated("web", "a2", "a2", Cause::Resync),
            deleted("web", "a2", false),
            deleted("web", "a2", true),
        ],
    );

    assert_eq!(deliver_all(&queue), ["web: a1>a2", "web: -a2"]);
    assert_eq!(queue.stats().merged.total(), 2);
    assert_balanced(&queue);
}

#[test]
fn deletions_of_two_objects_of_one_name_are_two_deletions() {
    let queue = every(100);
    offer_all(&queue, [deleted("web", "a2", true), deleted("web", "b1", true)]);

    assert_eq!(deliver_all(&queue), ["web: -a2", "web: -b1"]);
}

#[tokio::test(start_paused = true)]
async fn newer_state_neither_replaces_nor_hurries_nor_overtakes_one_that_failed() {
    let queue = every(100);
    queue.offer(updated("web", "a1", "a2", Cause::Live));
    let (lease, _) = take(&queue);
    queue.offer(updated("web", "a2", "a3", Cause::Live));
    lease.settle(retry(1000, 10));
    queue.offer(updated("web", "a3", "a4", Cause::Live));

    time::advance(Duration::from_millis(999)).await;
    assert!(queue.take().is_none());
    time::advance(Duration::from_millis(1)).await;
    assert_eq!(deliver_all(&queue), ["web: a1>a2", "web: a2>a3", "web: a3>a4"]);
    assert_balanced(&queue);
}

#[test]
fn an_exhausted_change_is_given_up_although_a_later_change_is_pending() {
    let queue = every(100);
    queue.offer(updated("web", "a1", "a2", Cause::Live));
    let (lease, _) = take(&queue);
    queue.offer(updated("web", "a2", "a3", Cause::Live));

    lease.settle(spent(0, Fate::DeadLetter));

    assert_eq!(queue.stats().dead, 1);
    assert_eq!(deliver_all(&queue), ["web: a2>a3"]);
    assert_balanced(&queue);
}

#[test]
fn at_the_bound_pending_changes_merge_with_the_cause_replay() {
    let queue = every(4);
    offer_all(
        &queue,
        [
            added("db", "a1", Cause::Live),
            added("web", "a1", Cause::Live),
            updated("web", "a1", "a2", Cause::Live),
            updated("web", "a2", "a3", Cause::Live),
        ],
    );
    assert_eq!((queue.stats().pending, queue.stats().behind), (4, false));

    queue.offer(added("mq", "a1", Cause::Live));

    let stats = queue.stats();
    assert_eq!((stats.pending, stats.behind, stats.overflows, stats.merged.add), (3, true, 1, 2));
    assert_eq!(seen_with_cause(&queue), ["db: +a1 live", "web: +a3 replay", "mq: +a1 live"]);
    assert_balanced(&queue);
}

#[test]
fn a_deletion_is_delivered_after_any_number_of_changes() {
    let queue = every(3);
    queue.offer(updated("web", "a1", "a2", Cause::Live));
    for state in 3..50 {
        queue.offer(updated("web", &format!("a{}", state - 1), &format!("a{state}"), Cause::Live));
    }
    queue.offer(deleted("web", "a49", true));
    queue.offer(added("web", "b1", Cause::Live));

    assert!(queue.stats().pending <= 3, "{:?}", queue.stats());
    let seen = seen_with_cause(&queue);
    assert_eq!(seen, ["web: -a49 live", "web: +b1 live"], "{seen:?}");
    assert_balanced(&queue);
}

#[test]
fn it_keeps_each_change_again_once_half_of_the_bound_is_free() {
    let queue = every(4);
    for name in ["a", "b", "c", "d", "e"] {
        queue.offer(added(name, "a1", Cause::Live));
    }
    assert!(queue.stats().behind);
    for _ in 0..2 {
        take(&queue).0.settle(Settlement::Acknowledged);
    }
    assert!(queue.stats().behind, "three of four are pending");

    take(&queue).0.settle(Settlement::Acknowledged);

    assert!(!queue.stats().behind);
    queue.offer(updated("e", "a1", "a2", Cause::Live));
    assert_eq!(seen_with_cause(&queue), ["d: +a1 live", "e: +a1 live", "e: a1>a2 live"]);
}

#[test]
fn a_queue_is_no_longer_behind_once_enough_objects_are_deleted_before_their_first_call() {
    let queue = every(4);
    offer_all(&queue, ["a", "b", "c", "d", "e"].map(|name| added(name, "a1", Cause::Live)));
    assert!(queue.stats().behind);

    offer_all(&queue, ["a", "b", "c"].map(|name| deleted(name, "a1", true)));

    assert_eq!((queue.stats().pending, queue.stats().behind), (2, false), "no call was made");
    assert_balanced(&queue);
}

/// No offer and no call comes between the last deletion and the end of the call.
#[test]
fn a_failed_change_does_not_merge_once_enough_objects_are_deleted_before_their_first_call() {
    let queue = every(4);
    queue.offer(updated("web", "a1", "a2", Cause::Live));
    let (lease, _) = take(&queue);
    offer_all(&queue, ["a", "b", "c", "d"].map(|name| added(name, "a1", Cause::Live)));
    queue.offer(updated("web", "a2", "a3", Cause::Live));
    offer_all(&queue, ["a", "b", "c"].map(|name| deleted(name, "a1", true)));
    assert_eq!((queue.stats().pending, queue.stats().behind, queue.stats().overflows), (2, false, 1));

    lease.settle(retry(0, 0));

    assert_eq!(
        seen_with_cause(&queue),
        ["d: +a1 live", "web: a1>a2 live", "web: a2>a3 live"],
        "each change is kept"
    );
    assert_balanced(&queue);
}

/// One object that changes during a long call fills the queue, and all its changes merge into one.
#[test]
fn merging_alone_may_make_room_and_then_each_change_is_kept_again() {
    let queue = every(4);
    for state in 1..=7 {
        queue.offer(updated("web", &format!("a{state}"), &format!("a{}", state + 1), Cause::Live));
    }

    let stats = queue.stats();
    assert_eq!((stats.pending, stats.behind, stats.overflows), (3, false, 1));
    assert_eq!(seen_with_cause(&queue), ["web: a1>a6 replay", "web: a6>a7 live", "web: a7>a8 live"]);
    assert_balanced(&queue);
}

#[test]
fn an_unseen_object_that_was_deleted_is_forgotten_at_the_bound_and_its_tokens_are_released() {
    let (queue, held) = (every(3), Held::default());
    let initial = Some(held.token());
    queue.offer(Notification { initial, ..added("web", "a1", Cause::Initial) });
    queue.offer(deleted("web", "a1", true));
    queue.offer(added("db", "a1", Cause::Live));
    assert_eq!(held.count(), 1);

    queue.offer(added("mq", "a1", Cause::Live));

    assert_eq!((held.count(), queue.stats().cancelled, queue.stats().objects), (0, 2, 2));
    assert_eq!(deliver_all(&queue), ["db: +a1", "mq: +a1"]);
    assert_balanced(&queue);
}

#[tokio::test(start_paused = true)]
async fn a_wait_ends_at_the_floor_where_the_bound_merged_newer_state_into_what_failed() {
    let queue = every(3);
    queue.offer(updated("web", "a1", "a2", Cause::Live));
    take(&queue).0.settle(retry(1000, 10));
    queue.offer(updated("web", "a2", "a3", Cause::Live));
    queue.offer(updated("web", "a3", "a4", Cause::Live));
    queue.offer(added("db", "a1", Cause::Live));

    time::advance(Duration::from_millis(10)).await;

    assert_eq!(deliver_all(&queue), ["db: +a1", "web: a1>a4"]);
    assert_balanced(&queue);
}

#[test]
fn a_queue_that_is_configured_to_merge_delivers_what_is_pending_in_order() {
    let queue = every(100);
    queue.offer(updated("web", "a1", "a2", Cause::Live));
    queue.offer(updated("web", "a2", "a3", Cause::Live));

    queue.configure(&QueueConfig::default());
    queue.offer(updated("web", "a3", "a4", Cause::Live));

    assert_eq!(deliver_all(&queue), ["web: a1>a2", "web: a2>a4"]);
    assert_balanced(&queue);
}
