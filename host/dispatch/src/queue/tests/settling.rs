//! Changes of objects that have to be quiet first.

use std::num::NonZeroUsize;

use futures::poll;

use super::*;

/// A queue whose objects have to be quiet for 100 ms.
fn settling() -> Queue {
    Queue::new(&config(100))
}

fn config(millis: u64) -> QueueConfig {
    let source = Source::new("v1/pods".parse().unwrap());
    QueueConfig {
        settle: BTreeMap::from([(source, Duration::from_millis(millis))]),
        ..QueueConfig::default()
    }
}

fn change(old: u32, cause: Cause) -> Notification {
    updated("web", &format!("a{old}"), &format!("a{}", old + 1), cause)
}

async fn advance(millis: u64) {
    time::advance(Duration::from_millis(millis)).await;
}

/// Nothing is delivered before this time is over.
async fn nothing_for(queue: &Queue, millis: u64) {
    advance(millis - 1).await;
    assert!(queue.take().is_none());
    advance(1).await;
}

fn gauges(queue: &Queue) -> (usize, usize, usize) {
    let QueueStats { pending, delayed, settling, .. } = queue.stats();
    (pending, delayed, settling)
}

/// A change is delivered once its object has not changed for a time (D-19).
#[tokio::test(start_paused = true)]
async fn changes_are_delivered_as_one_once_the_object_is_quiet() {
    let queue = settling();
    queue.offer(change(1, Cause::Live));
    advance(60).await;
    queue.offer(change(2, Cause::Relist));

    advance(99).await;
    assert!(queue.take().is_none(), "the second change began the time anew");
    assert_eq!(gauges(&queue), (1, 1, 1));
    advance(1).await;

    assert_eq!(deliver_all(&queue), ["web: a1>a3"]);
    assert_eq!(gauges(&queue), (0, 0, 0));
    assert_balanced(&queue);
}

/// Some aggregated API servers send objects without versions.
#[tokio::test(start_paused = true)]
async fn a_change_of_an_object_without_a_version_waits_until_the_object_is_quiet() {
    let queue = settling();
    queue.offer(updated("web", "", "", Cause::Live));

    nothing_for(&queue, 100).await;

    assert_eq!(deliver_all(&queue), ["web: >"]);
    assert_balanced(&queue);
}

/// A change is delivered at the latest ten times that time after the first one (D-19).
#[tokio::test(start_paused = true)]
async fn an_object_that_is_never_quiet_is_delivered_after_ten_times_the_time() {
    let queue = settling();
    for version in 1..=20 {
        queue.offer(change(version, Cause::Live));
        assert!(queue.take().is_none(), "change {version}");
        advance(if version == 20 { 49 } else { 50 }).await;
    }
    assert!(queue.take().is_none());
    advance(1).await;
    queue.offer(change(21, Cause::Live));

    let (lease, seen) = take(&queue);
    assert_eq!(seen, "web: a1>a22", "a change after the last moment begins nothing anew");

    // The next change has a time of its own.
    queue.offer(change(22, Cause::Live));
    lease.settle(Settlement::Acknowledged);
    nothing_for(&queue, 100).await;
    assert_eq!(deliver_all(&queue), ["web: a22>a23"]);
}

#[tokio::test(start_paused = true)]
async fn a_deletion_is_delivered_at_once_and_what_follows_it_waits() {
    let queue = settling();
    offer_all(&queue, [change(1, Cause::Live), deleted("web", "a2", true), added("web", "b1", Cause::Live)]);

    assert_eq!(deliver_all(&queue), ["web: -a2"]);
    assert_eq!(gauges(&queue), (1, 1, 1));
    advance(100).await;
    assert_eq!(deliver_all(&queue), ["web: +b1"]);
    assert_balanced(&queue);
}

#[tokio::test(start_paused = true)]
async fn an_object_that_comes_and_goes_before_it_is_quiet_is_not_delivered() {
    let queue = settling();
    offer_all(&queue, [added("web", "a1", Cause::Live), deleted("web", "a1", true)]);

    advance(200).await;

    assert_eq!((deliver_all(&queue), queue.stats().cancelled, queue.stats().objects), (vec![], 2, 0));
}

#[tokio::test(start_paused = true)]
async fn a_notification_without_a_change_does_not_wait_and_takes_a_pending_change_along() {
    for notification in [
        added("web", "a1", Cause::Initial),
        added("web", "a1", Cause::Replay),
        updated("web", "a1", "a1", Cause::Resync),
        updated("web", "a1", "a1", Cause::Relist),
    ] {
        let (queue, held) = (settling(), Held::default());
        queue.offer(Notification { initial: Some(held.token()), ..notification.clone() });
        assert_eq!(deliver_all(&queue).len(), 1, "{notification:?}");

        queue.offer(Notification { initial: Some(held.token()), ..notification.clone() });
        queue.offer(change(1, Cause::Live));
        assert_eq!(deliver_all(&queue).len(), 1, "{notification:?}");
        assert_eq!((held.count(), queue.stats().objects), (0, 0));
    }
}

#[tokio::test(start_paused = true)]
async fn a_resync_neither_ends_nor_prolongs_the_wait() {
    let queue = settling();
    queue.offer(change(1, Cause::Live));
    advance(50).await;
    queue.offer(updated("web", "a2", "a2", Cause::Resync));

    assert!(queue.take().is_none());
    advance(50).await;

    assert_eq!(deliver_all(&queue), ["web: a1>a2"]);
}

/// A change that merges with a notification that is ready is delivered with it (D-19). So a steady stream of changes delays no
/// object that waits for a worker.
#[tokio::test(start_paused = true)]
async fn an_object_that_is_quiet_stays_ready_while_it_waits_for_a_worker_and_keeps_its_turn() {
    let queue = settling();
    offer_all(&queue, ["first", "web", "last"].map(|name| updated(name, "a1", "a2", Cause::Live)));
    advance(100).await;
    let (busy, seen) = take(&queue);
    assert_eq!(seen, "first: a1>a2");

    queue.offer(change(2, Cause::Live));
    assert_eq!(gauges(&queue), (2, 0, 0));
    advance(99).await;
    queue.offer(change(3, Cause::Live));

    assert_eq!(deliver_all(&queue), ["web: a1>a4", "last: a1>a2"]);
    busy.settle(Settlement::Acknowledged);
    // The next change has a time of its own.
    queue.offer(change(4, Cause::Live));
    nothing_for(&queue, 100).await;
    assert_eq!(deliver_all(&queue), ["web: a4>a5"]);
    assert_balanced(&queue);
}

/// The result does not depend on whether a worker looked while the object was quiet.
#[tokio::test(start_paused = true)]
async fn an_object_that_is_quiet_in_a_pause_or_during_a_call_is_ready_afterwards() {
    let queue = settling();
    queue.offer(change(1, Cause::Live));
    queue.pause();
    advance(100).await;
    queue.offer(change(2, Cause::Live));
    queue.resume();
    let (lease, seen) = take(&queue);
    assert_eq!(seen, "web: a1>a3");

    queue.offer(change(3, Cause::Live));
    advance(100).await;
    queue.offer(change(4, Cause::Live));
    lease.settle(Settlement::Acknowledged);

    assert_eq!(deliver_all(&queue), ["web: a3>a5"]);
    assert_eq!(gauges(&queue), (0, 0, 0));
}

/// The newer state is not forgotten until the retry, which may be a day away.
#[tokio::test(start_paused = true)]
async fn newer_state_behind_a_failed_call_is_delivered_once_quiet_even_if_a_resync_comes_first() {
    for settlement in [retry(60_000, 10), spent(10, Fate::DeadLetter)] {
        let queue = settling();
        queue.offer(change(1, Cause::Live));
        advance(100).await;
        let (lease, _) = take(&queue);
        queue.offer(change(2, Cause::Live));
        lease.settle(settlement);
        queue.pause();
        advance(100).await;

        // No worker has looked since the object is quiet.
        queue.offer(updated("web", "a3", "a3", Cause::Resync));
        queue.resume();

        assert_eq!(deliver_all(&queue), ["web: a1>a3"]);
        assert_balanced(&queue);
    }
}

#[tokio::test(start_paused = true)]
async fn a_failed_call_is_repeated_at_its_time_and_newer_state_before_it_only_once_quiet() {
    let queue = settling();
    queue.offer(change(1, Cause::Live));
    advance(100).await;
    take(&queue).0.settle(retry(1000, 10));
    queue.offer(change(2, Cause::Live));
    assert_eq!(gauges(&queue), (1, 1, 0), "it waits for its retry too");

    advance(99).await;
    assert!(queue.take().is_none(), "the floor is over, but the object is not quiet");
    advance(1).await;
    let (lease, delivery) = queue.take().unwrap();
    assert_eq!((seen(&delivery).as_str(), delivery.attempt), ("web: a1>a3", 2));

    // A retry is not delayed by changes.
    lease.settle(retry(50, 10));
    advance(40).await;
    queue.offer(change(3, Cause::Live));
    advance(10).await;
    queue.offer(change(4, Cause::Live));
    assert_eq!(deliver_all(&queue), ["web: a1>a5"]);
    assert_eq!(gauges(&queue), (0, 0, 0));
    assert_balanced(&queue);
}

#[tokio::test(start_paused = true)]
async fn a_change_during_a_call_waits_whether_or_not_the_call_fails() {
    for (settlement, delivered) in [
        (Settlement::Acknowledged, "web: a2>a3"),
        (retry(5000, 10), "web: a1>a3"),
        (spent(10, Fate::Drop), "web: a1>a3"),
    ] {
        let queue = settling();
        queue.offer(change(1, Cause::Live));
        advance(100).await;
        let (lease, _) = take(&queue);
        queue.offer(change(2, Cause::Live));
        advance(50).await;
        lease.settle(settlement);

        nothing_for(&queue, 50).await;
        assert_eq!(deliver_all(&queue), [delivered]);
        assert_eq!(gauges(&queue), (0, 0, 0));
        assert_balanced(&queue);
    }
}

#[tokio::test(start_paused = true)]
async fn the_failed_call_of_a_deletion_does_not_hurry_what_follows_it() {
    let queue = settling();
    offer_all(&queue, [deleted("web", "a1", true), added("web", "b1", Cause::Live)]);
    take(&queue).0.settle(retry(20, 10));
    advance(20).await;

    assert_eq!(deliver_all(&queue), ["web: -a1"]);
    nothing_for(&queue, 80).await;
    assert_eq!(deliver_all(&queue), ["web: +b1"]);
}

#[tokio::test(start_paused = true)]
async fn objects_are_quiet_one_by_one_and_wake_a_worker() {
    let queue = settling();
    let start = time::Instant::now();
    queue.offer(added("a", "a1", Cause::Live));
    advance(30).await;
    queue.offer(added("b", "a1", Cause::Live));
    advance(30).await;
    queue.offer(updated("a", "a1", "a2", Cause::Live));

    let (first, delivery) = queue.next().await.unwrap();
    assert_eq!((seen(&delivery).as_str(), start.elapsed().as_millis()), ("b: +a1", 130));
    first.settle(Settlement::Acknowledged);
    let (_second, delivery) = queue.next().await.unwrap();
    assert_eq!((seen(&delivery).as_str(), start.elapsed().as_millis()), ("a: +a2", 160));
}

#[tokio::test(start_paused = true)]
async fn a_worker_that_waits_for_ever_wakes_for_an_object_that_has_to_be_quiet() {
    let queue = settling();
    let mut next = pin!(queue.next());
    assert!(poll!(&mut next).is_pending());

    queue.offer(change(1, Cause::Live));

    assert!(next.await.is_some());
}

#[tokio::test(start_paused = true)]
async fn another_time_applies_to_objects_that_are_not_quiet_yet() {
    let queue = settling();
    queue.offer(change(1, Cause::Live));
    queue.configure(&config(300));
    advance(299).await;
    assert!(queue.take().is_none());
    queue.configure(&config(100));
    assert_eq!(deliver_all(&queue), ["web: a1>a2"]);

    queue.offer(change(2, Cause::Live));
    queue.configure(&QueueConfig::default());
    assert_eq!(deliver_all(&queue), ["web: a2>a3"]);
    queue.offer(change(3, Cause::Live));
    assert_eq!(deliver_all(&queue), ["web: a3>a4"]);
}

/// The addition that waits behind the deletion is no newer state of the deleted object.
#[tokio::test(start_paused = true)]
async fn another_time_does_not_hurry_the_retry_of_a_deletion() {
    for other in [config(300), QueueConfig::default()] {
        let queue = settling();
        offer_all(&queue, [deleted("web", "a1", true), added("web", "b1", Cause::Live)]);
        take(&queue).0.settle(retry(1000, 10));

        queue.configure(&other);

        advance(999).await;
        assert!(queue.take().is_none(), "{:?}", other.settle);
        advance(1).await;
        assert_eq!(deliver_all(&queue), ["web: -a1", "web: +b1"]);
        assert_balanced(&queue);
    }
}

#[tokio::test(start_paused = true)]
async fn other_sources_do_not_wait() {
    let queue = settling();
    let source = Source::new("v1/configmaps".parse().unwrap());
    queue.offer(Notification { source, ..change(1, Cause::Live) });

    assert_eq!(deliver_all(&queue), ["web: a1>a2"]);
}

/// No change is lost if each is kept and they wait together.
#[tokio::test(start_paused = true)]
async fn changes_that_do_not_merge_wait_together() {
    let capacity = NonZeroUsize::new(10).unwrap();
    let queue = Queue::new(&QueueConfig { delivery: DeliveryMode::Every { capacity }, ..config(100) });
    queue.offer(change(1, Cause::Live));
    advance(50).await;
    queue.offer(change(2, Cause::Live));
    advance(50).await;
    assert!(queue.take().is_none());
    advance(50).await;

    assert_eq!(deliver_all(&queue), ["web: a1>a2", "web: a2>a3"]);
}

#[tokio::test(start_paused = true)]
async fn closing_discards_what_is_not_quiet_yet() {
    let queue = settling();
    queue.offer(change(1, Cause::Live));

    assert_eq!(queue.close().notifications, 1);
    assert_eq!(gauges(&queue), (0, 0, 0));
    assert_balanced(&queue);
}

#[tokio::test(start_paused = true)]
async fn nothing_waits_any_more_once_the_plugin_ends() {
    let queue = settling();
    queue.offer(change(1, Cause::Live));
    let mut quiet = pin!(queue.quiet(now()));
    assert!(poll!(&mut quiet).is_ready(), "the object is quiet too late");

    queue.end_settling();

    assert!(poll!(pin!(queue.quiet(now()))).is_pending());
    assert_eq!(deliver_all(&queue), ["web: a1>a2"]);
}

#[tokio::test(start_paused = true)]
async fn a_stopped_clock_moves_the_wait() {
    let queue = settling();
    queue.stop_clock();
    queue.offer(change(1, Cause::Live));
    advance(1000).await;
    assert_eq!(queue.next_due(), Some(Duration::from_millis(100)));
    assert!(queue.take().is_none());

    queue.advance(Duration::from_millis(100));

    assert_eq!(queue.next_due(), Some(Duration::ZERO));
    assert_eq!(deliver_all(&queue), ["web: a1>a2"]);
}

#[tokio::test(start_paused = true)]
async fn the_place_of_an_object_says_when_it_is_quiet() {
    let queue = settling();
    queue.offer(change(1, Cause::Live));
    advance(40).await;

    let object =
        ObjectRef { source: Source::new("v1/pods".parse().unwrap()), key: "shop/web".parse().unwrap() };
    let standing = queue.standing(&object).unwrap();

    let left = Duration::from_millis(60);
    assert_eq!((standing.stands, standing.quiet_in), (Stands::Delayed { retry_in: left }, Some(left)));
    advance(60).await;
    let (_lease, _) = take(&queue);
    assert_eq!(queue.standing(&object).unwrap().quiet_in, None);
}
