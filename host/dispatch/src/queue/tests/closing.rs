use super::*;

#[test]
fn during_a_pause_notifications_are_accepted_and_merged_but_not_delivered() {
    let queue = queue();
    queue.pause();
    offer_all(&queue, [added("web", "a1", Cause::Live), updated("web", "a1", "a2", Cause::Live)]);
    assert!(queue.take().is_none());

    queue.resume();

    assert_eq!(deliver_all(&queue), ["web: +a2"]);
}

/// Closing discards pending and later notifications and names their objects (D-10).
///
/// Scenario 121.
#[test]
fn closing_discards_pending_and_later_notifications_and_names_their_objects() {
    let (queue, held) = (queue(), Held::default());
    let initial =
        |name: &str| Notification { initial: Some(held.token()), ..added(name, "a1", Cause::Initial) };
    offer_all(&queue, [initial("a"), initial("b"), deleted("c", "a1", true), added("c", "b1", Cause::Live)]);

    let mut backlog = queue.close();
    queue.offer(initial("late"));

    backlog.objects.sort();
    let names: Vec<String> = backlog.objects.iter().map(ToString::to_string).collect();
    assert_eq!(names, ["v1/pods shop/a", "v1/pods shop/b", "v1/pods shop/c"]);
    assert_eq!((backlog.notifications, held.count()), (4, 0));
    assert_eq!((queue.stats().discarded, queue.stats().objects), (5, 0));
    assert!(queue.take().is_none());
    assert_eq!(queue.close(), Backlog::default());
    assert_balanced(&queue);
}

#[test]
fn a_backlog_names_a_hundred_objects_and_counts_all() {
    let queue = queue();
    for name in 0..250 {
        queue.offer(added(&name.to_string(), "a1", Cause::Live));
    }

    let backlog = queue.close();

    assert_eq!((backlog.notifications, backlog.objects.len()), (250, 100));
}

#[test]
fn a_notification_in_flight_at_closing_is_settled_but_not_retried() {
    for (settlement, acknowledged, dead, discarded) in [
        (Settlement::Acknowledged, 1, 0, 1),
        (permanent(), 0, 1, 1),
        (spent(0, Fate::DeadLetter), 0, 1, 1),
        (retry(100, 100), 0, 0, 2),
    ] {
        let queue = queue();
        queue.offer(updated("web", "a1", "a2", Cause::Live));
        let (lease, _) = take(&queue);
        queue.offer(updated("web", "a2", "a3", Cause::Live));
        queue.close();

        lease.settle(settlement.clone());

        let stats = queue.stats();
        assert_eq!(
            (stats.acknowledged, stats.dead, stats.discarded, stats.objects),
            (acknowledged, dead, discarded, 0),
            "{settlement:?}"
        );
        assert_balanced(&queue);
    }
}

#[test]
fn a_lease_dropped_after_closing_is_discarded() {
    let (queue, held) = (queue(), Held::default());
    queue.offer(Notification { initial: Some(held.token()), ..added("web", "a1", Cause::Initial) });
    let (lease, _) = take(&queue);
    queue.close();

    drop(lease);

    assert_eq!((queue.stats().discarded, queue.stats().in_flight, held.count()), (1, 0, 0));
    assert_balanced(&queue);
}

/// The memory of many objects is released when they are done (W-15).
///
/// Scenario 122.
#[test]
fn the_memory_of_many_objects_is_released_when_they_are_done() {
    let queue = queue();
    for name in 0..5000 {
        queue.offer(added(&name.to_string(), "a1", Cause::Initial));
    }
    assert_eq!(deliver_all(&queue).len(), 5000);

    assert!(queue.0.with(|queue, _| queue.keyed.slot_capacity()) <= 1024);
}
