use super::*;

/// Scenarios 56 and 120.
#[test]
fn objects_come_in_the_order_of_their_first_pending_change() {
    let queue = queue();
    offer_all(
        &queue,
        [
            added("a", "a1", Cause::Live),
            added("b", "a1", Cause::Live),
            updated("a", "a1", "a2", Cause::Live),
            deleted("c", "a1", true),
        ],
    );

    assert_eq!(deliver_all(&queue), ["a: +a2", "b: +a1", "c: -a1"]);
    assert_balanced(&queue);
}

/// Scenario 48.
#[test]
fn an_unseen_addition_and_its_deletion_cancel_each_other() {
    let queue = queue();
    for _ in 0..3 {
        offer_all(&queue, [added("web", "a1", Cause::Live), deleted("web", "a1", true)]);
    }

    assert!(queue.take().is_none());
    let stats = queue.stats();
    assert_eq!((stats.cancelled, stats.objects, stats.oldest), (6, 0, None));
    assert_balanced(&queue);
}

#[test]
fn a_deletion_stays_when_the_new_object_behind_it_goes_unseen() {
    let queue = queue();
    offer_all(
        &queue,
        [
            updated("web", "a1", "a2", Cause::Live),
            deleted("web", "a2", true),
            added("web", "b1", Cause::Live),
            updated("web", "b1", "b2", Cause::Live),
            deleted("web", "b2", true),
        ],
    );

    assert_eq!(deliver_all(&queue), ["web: -a2"]);
    assert_balanced(&queue);
}

#[test]
fn a_deletion_and_the_new_object_are_two_calls_in_this_order() {
    let queue = queue();
    offer_all(
        &queue,
        [
            deleted("web", "a1", true),
            added("web", "b1", Cause::Live),
            updated("web", "b1", "b2", Cause::Live),
        ],
    );

    assert_eq!(queue.stats().pending, 2);
    assert_eq!(deliver_all(&queue), ["web: -a1", "web: +b2"]);
}

/// Scenario 119.
#[test]
fn a_notification_in_flight_does_not_merge_and_its_object_is_not_handed_out() {
    let queue = queue();
    queue.offer(updated("web", "a1", "a2", Cause::Live));
    let (lease, first) = take(&queue);
    offer_all(&queue, [updated("web", "a2", "a3", Cause::Live), updated("web", "a3", "a4", Cause::Live)]);

    assert!(queue.take().is_none());
    lease.settle(Settlement::Acknowledged);

    assert_eq!(first, "web: a1>a2");
    assert_eq!(deliver_all(&queue), ["web: a2>a4"]);
    assert_balanced(&queue);
}

#[test]
fn the_deletion_of_an_object_whose_addition_is_in_flight_is_delivered() {
    let queue = queue();
    queue.offer(added("web", "a1", Cause::Live));
    let (lease, _) = take(&queue);
    queue.offer(deleted("web", "a1", true));
    lease.settle(Settlement::Acknowledged);

    assert_eq!(deliver_all(&queue), ["web: -a1"]);
}

#[test]
fn the_deletion_of_an_object_whose_addition_failed_is_delivered() {
    let queue = queue();
    queue.offer(added("web", "a1", Cause::Live));
    take(&queue).0.settle(retry(0, 0));
    queue.offer(deleted("web", "a1", true));

    assert_eq!(deliver_all(&queue), ["web: -a1"]);
    assert_eq!(queue.stats().merged.delete, 1);
    assert_balanced(&queue);
}

#[test]
fn the_deletion_after_a_repeated_addition_is_delivered_while_the_first_is_in_flight() {
    for cause in [Cause::Replay, Cause::Initial] {
        let queue = queue();
        queue.offer(added("web", "a1", Cause::Live));
        let (lease, _) = take(&queue);
        offer_all(&queue, [added("web", "a1", cause), deleted("web", "a1", true)]);
        lease.settle(Settlement::Acknowledged);

        assert_eq!(deliver_all(&queue), ["web: -a1"], "{cause}");
    }
}

#[test]
fn the_deletion_of_a_replayed_object_is_delivered() {
    let queue = queue();
    offer_all(&queue, [added("web", "a1", Cause::Replay), deleted("web", "a1", true)]);

    assert_eq!(deliver_all(&queue), ["web: -a1"]);
}

#[test]
fn an_object_created_and_deleted_during_the_deletion_of_its_predecessor_is_never_delivered() {
    for cause in [Cause::Live, Cause::Replay] {
        let queue = queue();
        queue.offer(deleted("web", "a1", true));
        let (lease, _) = take(&queue);
        offer_all(&queue, [added("web", "b1", cause), deleted("web", "b1", true)]);
        lease.settle(Settlement::Acknowledged);

        assert_eq!(deliver_all(&queue), Vec::<String>::new(), "{cause}");
        assert_balanced(&queue);
    }
}

#[test]
fn objects_of_the_same_name_in_two_resources_do_not_merge() {
    let queue = queue();
    let other = Source::new("v1/services".parse().unwrap());
    queue.offer(added("web", "a1", Cause::Live));
    queue.offer(Notification { source: other, ..deleted("web", "a1", true) });

    assert_eq!(deliver_all(&queue), ["web: +a1", "web: -a1"]);
}

/// Sync tokens are released when their notifications are settled, cancelled or given up (P-16, D-8).
#[test]
fn sync_tokens_are_released_when_notifications_are_settled_cancelled_or_given_up() {
    let (queue, held) = (queue(), Held::default());
    let initial =
        |name: &str| Notification { initial: Some(held.token()), ..added(name, "a1", Cause::Initial) };

    queue.offer(initial("acknowledged"));
    let (lease, delivery) = queue.take().unwrap();
    assert!(delivery.notification.initial.is_none(), "the token is not the handler's to hold");
    lease.settle(retry(0, 0));
    assert_eq!(held.count(), 1);
    take(&queue).0.settle(Settlement::Acknowledged);
    assert_eq!(held.count(), 0);

    offer_all(&queue, [initial("cancelled"), deleted("cancelled", "a1", true)]);
    assert_eq!(held.count(), 0);

    queue.offer(initial("dead"));
    take(&queue).0.settle(permanent());
    assert_eq!(held.count(), 0);

    queue.offer(initial("dropped"));
    take(&queue).0.settle(spent(0, Fate::Drop));
    assert_eq!(held.count(), 0);
}

/// Scenario 125.
#[test]
fn the_time_in_the_queue_is_that_of_the_oldest_change() {
    let runtime = tokio::runtime::Builder::new_current_thread().enable_time().start_paused(true).build();
    runtime.unwrap().block_on(async {
        let queue = queue();
        queue.offer(updated("web", "a1", "a2", Cause::Live));
        time::advance(Duration::from_secs(2)).await;
        queue.offer(updated("web", "a2", "a3", Cause::Live));
        time::advance(Duration::from_secs(3)).await;

        assert_eq!(queue.stats().oldest, Some(Duration::from_secs(5)));
        let (lease, delivery) = queue.take().unwrap();
        assert_eq!((delivery.queued, delivery.attempt), (Duration::from_secs(5), 1));
        time::advance(Duration::from_secs(1)).await;
        assert_eq!(
            queue.stats().oldest,
            Some(Duration::from_secs(6)),
            "a notification in flight is not settled"
        );
        drop(lease);
    });
}
