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
fn an_addition_and_a_deletion_nobody_saw_leave_nothing_behind() {
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
fn what_a_worker_has_in_hand_does_not_merge_and_its_object_is_given_to_nobody_else() {
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
fn the_deletion_of_an_addition_in_hand_is_told() {
    let queue = queue();
    queue.offer(added("web", "a1", Cause::Live));
    let (lease, _) = take(&queue);
    queue.offer(deleted("web", "a1", true));
    lease.settle(Settlement::Acknowledged);

    assert_eq!(deliver_all(&queue), ["web: -a1"]);
}

#[test]
fn the_deletion_of_an_addition_that_failed_is_told_because_the_handler_may_have_seen_it() {
    let queue = queue();
    queue.offer(added("web", "a1", Cause::Live));
    take(&queue).0.settle(retry(0, 0));
    queue.offer(deleted("web", "a1", true));

    assert_eq!(deliver_all(&queue), ["web: -a1"]);
    assert_eq!(queue.stats().merged.delete, 1);
    assert_balanced(&queue);
}

#[test]
fn the_deletion_of_an_addition_told_again_while_the_first_is_in_hand_is_told() {
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
fn the_deletion_of_a_replayed_object_is_told() {
    let queue = queue();
    offer_all(&queue, [added("web", "a1", Cause::Replay), deleted("web", "a1", true)]);

    assert_eq!(deliver_all(&queue), ["web: -a1"]);
}

#[test]
fn an_object_created_and_deleted_while_the_old_ones_deletion_is_in_hand_is_never_told() {
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

#[test]
fn sync_tokens_are_released_when_settled_cancelled_or_given_up_p_16_d_8() {
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
        assert_eq!(queue.stats().oldest, Some(Duration::from_secs(6)), "in hand is not settled");
        drop(lease);
    });
}

/// Version `rv` of `shop/web`, controlled by this one.
fn owned(rv: &str, controller: Option<&str>) -> Arc<Object> {
    let owner = |name: &str| Owner { controller: true, name: name.to_owned().into(), ..Owner::default() };
    let header = Header {
        namespace: Arc::from("shop"),
        name: "web".into(),
        uid: rv.chars().take(1).collect::<String>().into(),
        resource_version: rv.into(),
        owners: controller.map(owner).into_iter().collect(),
        ..Header::default()
    };
    Arc::new(Object::new(&header, Body::Raw("{}".into())).unwrap())
}

fn keeping_controllers() -> Queue {
    Queue::new(&QueueConfig { controllers: true, ..QueueConfig::default() })
}

/// What is delivered, each with the controllers that it concerns.
fn delivered(queue: &Queue) -> Vec<(String, Vec<String>)> {
    let mut all = Vec::new();
    while let Some((lease, delivery)) = queue.take() {
        let controllers = delivery.controllers.iter().map(|key| key.name.to_string()).collect();
        all.push((text(&delivery.notification.change), controllers));
        lease.settle(Settlement::Acknowledged);
    }
    all
}

/// client-go enqueues the owner at each notification, merged or not.
#[tokio::test]
async fn no_controller_is_merged_away_where_they_are_kept() {
    let tell = |queue: &Queue, change| queue.offer(crate::testing::notification(change, Cause::Live));
    let (orphan, web, api) = (owned("a3", None), owned("a1", Some("web")), owned("a2", Some("api")));
    let update =
        |old: &Arc<Object>, new: &Arc<Object>| Change::Updated { old: Arc::clone(old), new: Arc::clone(new) };
    let add = |object: &Arc<Object>| Change::Added { object: Arc::clone(object) };
    let delete =
        |object: &Arc<Object>| Change::Deleted { object: Arc::clone(object), final_state_known: true };
    let of = |text: &str, controllers: &[&str]| {
        (text.to_owned(), controllers.iter().map(|&name| name.to_owned()).collect::<Vec<_>>())
    };

    let queue = keeping_controllers();
    for change in [update(&web, &api), update(&api, &orphan), delete(&orphan)] {
        tell(&queue, change);
    }
    assert_eq!(delivered(&queue), [of("-a3", &["web", "api"])]);

    for change in [add(&web), delete(&web)] {
        tell(&queue, change);
    }
    assert_eq!(delivered(&queue), [of("-a1", &["web"])], "it came and went unseen");
    for change in [add(&orphan), delete(&orphan)] {
        tell(&queue, change);
    }
    assert_eq!(delivered(&queue), [], "it concerned nobody");

    // However often the name is taken again: two entries at most.
    tell(&queue, delete(&orphan));
    for life in ["b", "c", "d"] {
        let other = owned(&format!("{life}1"), Some(life));
        tell(&queue, add(&other));
        assert_eq!(queue.stats().pending, 2);
        tell(&queue, delete(&other));
        assert_eq!(queue.stats().pending, 1);
    }
    assert_eq!(delivered(&queue), [of("-a3", &["b", "c", "d"])]);
    let QueueStats { offered, acknowledged, merged, cancelled, .. } = queue.stats();
    assert_eq!(offered, acknowledged + merged.total() + cancelled);
}

#[tokio::test]
async fn a_controller_that_only_the_deletion_knows_hears_of_it() {
    let queue = keeping_controllers();
    for change in [
        Change::Added { object: owned("a1", None) },
        // The update that brought the controller is left out by `events`.
        Change::Deleted { object: owned("a3", Some("web")), final_state_known: true },
    ] {
        queue.offer(crate::testing::notification(change, Cause::Live));
    }

    assert_eq!(delivered(&queue), [("-a3".to_owned(), vec!["web".to_owned()])]);
}

/// A reload turns it on while notifications wait.
#[tokio::test]
async fn controllers_are_kept_from_the_state_that_was_pending_before_they_were_asked_for() {
    let (web, api) = (owned("a1", Some("web")), owned("a2", Some("api")));
    let added = || Change::Added { object: Arc::clone(&web) };
    let updated = Change::Updated { old: Arc::clone(&web), new: Arc::clone(&api) };
    let deleted = || Change::Deleted { object: Arc::clone(&web), final_state_known: true };
    for (before, after, expected) in [
        (added(), updated, ("+a2", &["web", "api"][..])),
        (added(), deleted(), ("-a1", &["web"])),
        (deleted(), deleted(), ("-a1", &["web"])),
    ] {
        let queue = queue();
        queue.offer(crate::testing::notification(before, Cause::Live));
        queue.configure(&QueueConfig { controllers: true, ..QueueConfig::default() });
        queue.offer(crate::testing::notification(after, Cause::Live));

        let (text, controllers) = expected;
        let controllers = controllers.iter().map(|&name| name.to_owned()).collect();
        assert_eq!(delivered(&queue), [(text.to_owned(), controllers)]);
    }
}

/// Point 4 of the contract: what came and went unseen is nothing to a handler.
#[tokio::test]
async fn a_deletion_that_is_for_the_controllers_alone_says_so() {
    let queue = keeping_controllers();
    let web = owned("a1", Some("web"));
    let deleted = || Change::Deleted { object: Arc::clone(&web), final_state_known: true };
    let tell = |change| queue.offer(crate::testing::notification(change, Cause::Live));
    tell(deleted());
    let (lease, delivery) = queue.take().unwrap();
    assert!(!delivery.unseen, "D-11: nobody knows whether it was told before");
    lease.settle(Settlement::Acknowledged);

    tell(Change::Added { object: Arc::clone(&web) });
    tell(deleted());
    let (lease, delivery) = queue.take().unwrap();
    assert!(delivery.unseen);
    lease.settle(Settlement::Acknowledged);

    tell(Change::Added { object: Arc::clone(&web) });
    let (lease, _) = queue.take().unwrap();
    drop(lease);
    tell(deleted());
    let (_lease, delivery) = queue.take().unwrap();
    assert!(!delivery.unseen, "an attempt was made");
}

/// Another version may be in service at the next attempt, one with handlers.
#[tokio::test]
async fn a_deletion_that_is_for_the_controllers_alone_stays_so_whatever_becomes_of_its_attempts() {
    let queue = keeping_controllers();
    let web = owned("a1", Some("web"));
    queue.offer(crate::testing::notification(Change::Added { object: Arc::clone(&web) }, Cause::Live));
    let deleted = Change::Deleted { object: web, final_state_known: true };
    queue.offer(crate::testing::notification(deleted, Cause::Live));
    let ends: [fn(Lease); 3] =
        [drop, |lease| drop(lease.settle(Settlement::NotCalled)), |lease| drop(lease.settle(retry(0, 0)))];
    for end in ends {
        let (lease, delivery) = queue.take().unwrap();
        assert!(delivery.unseen);
        end(lease);
    }
    assert!(queue.take().unwrap().1.unseen);
}

#[tokio::test]
async fn controllers_that_there_is_no_room_for_are_counted() {
    let queue = keeping_controllers();
    let state = |n: usize| owned(&format!("a{n}"), Some(&format!("owner-{n}")));
    queue.offer(crate::testing::notification(Change::Added { object: state(0) }, Cause::Live));
    for n in 1..=1000 {
        let change = Change::Updated { old: state(n - 1), new: state(n) };
        queue.offer(crate::testing::notification(change, Cause::Live));
    }

    let all = delivered(&queue);

    assert_eq!((all.len(), all[0].1.len()), (1, 1000));
    assert_eq!(queue.stats().controllers_given_up, 1);
    assert_eq!(delivered(&queue), []);
}
