//! Notifications of a plugin that takes keys.

use std::{
    num::{NonZeroU32, NonZeroUsize},
    sync::Arc,
};

use informer_types::{Body, Change, Header, Object, ObjectKey, Owner, WorkKey, Workqueue};

use super::{keying::UNDECIDED_KEYS, *};
use crate::{
    testing::{add, delete, notification, update},
    workqueue::RateLimiter,
};

/// Version `rv` of `shop/<name>`, with this controller.
fn owned(name: &str, rv: &str, controller: Option<&str>) -> Arc<Object> {
    let owner = |name: &str| Owner { controller: true, name: name.to_owned().into(), ..Owner::default() };
    let header = Header {
        namespace: Arc::from("shop"),
        name: name.into(),
        uid: rv.chars().take(1).collect::<String>().into(),
        resource_version: rv.into(),
        owners: controller.map(owner).into_iter().collect(),
        ..Header::default()
    };
    Arc::new(Object::new(&header, Body::Raw("{}".into())).unwrap())
}

fn workqueue(capacity: usize) -> RateLimitingQueue {
    let limiter = RateLimiter::bucket(1.0, NonZeroU32::MIN);
    RateLimitingQueue::new(NonZeroUsize::new(capacity).unwrap(), limiter)
}

/// The keys of the controllers of all states, each once.
fn controllers(change: &Change) -> Vec<WorkKey> {
    let controlled = change.states().filter_map(|object| Some((object, object.controller()?)));
    let mut keys: Vec<WorkKey> =
        controlled.map(|(object, owner)| ObjectKey::new(object.namespace(), &*owner.name).into()).collect();
    keys.dedup();
    keys
}

/// An undecided queue beside a workqueue.
fn with_keys(
    workqueue: &RateLimitingQueue,
    keys_of: impl Fn(&Source, &Change) -> Vec<WorkKey> + Send + Sync + 'static,
) -> Queue {
    Queue::builder(&QueueConfig::default()).with_keys(workqueue.clone(), keys_of).build()
}

/// An undecided queue whose keys name the controllers, and its workqueue.
fn by_controller() -> (Queue, RateLimitingQueue) {
    let workqueue = workqueue(10);
    (with_keys(&workqueue, |_, change| controllers(change)), workqueue)
}

/// An undecided queue whose keys name the objects, and its workqueue.
fn by_object() -> (Queue, RateLimitingQueue) {
    let workqueue = workqueue(10);
    (with_keys(&workqueue, |_, change| vec![change.object().key().into()]), workqueue)
}

fn keys(workqueue: &RateLimitingQueue) -> Vec<String> {
    std::iter::from_fn(|| {
        let work = workqueue.take()?;
        let key = work.key().to_string();
        work.succeed();
        Some(key)
    })
    .collect()
}

fn offer(queue: &Queue, changes: impl IntoIterator<Item = Change>) {
    offer_all(queue, changes.into_iter().map(|change| notification(change, Cause::Live)));
}

/// Decides for a handler, for a reconciler, or for both.
const HANDLER: (bool, bool) = (true, false);
const RECONCILER: (bool, bool) = (false, true);

fn decide(queue: &Queue, (handles, reconciles): (bool, bool)) {
    queue.decide(handles, reconciles);
}

/// Keys are computed before notifications merge, as client-go enqueues the owner in each notification.
#[tokio::test]
async fn every_former_controller_gets_its_key_whether_or_not_the_mode_was_decided() {
    for decided in [true, false] {
        let (queue, workqueue) = by_controller();
        if decided {
            decide(&queue, RECONCILER);
        }
        let (web, api, orphan) =
            (owned("p", "a1", Some("web")), owned("p", "a2", Some("api")), owned("p", "a3", None));
        let short = owned("q", "a1", Some("short-lived"));
        offer(&queue, [update(&web, &api), update(&api, &orphan), delete(&orphan)]);
        offer(&queue, [add(&short), delete(&short)]);
        decide(&queue, RECONCILER);

        assert_eq!(keys(&workqueue), ["shop/web", "shop/api", "shop/short-lived"]);
        assert!(queue.take().is_none());
        assert_eq!(queue.stats().objects, 0);
        assert_balanced(&queue);
    }
}

#[tokio::test]
async fn a_key_has_the_newest_version_of_its_own_object_whether_or_not_the_mode_was_decided() {
    let version = |workqueue: &RateLimitingQueue| {
        let work = workqueue.take().unwrap();
        let version = work.version().map(|version| version.resource_version.to_string());
        (work, version)
    };
    for decided in [true, false] {
        let (queue, workqueue) = by_object();
        if decided {
            decide(&queue, RECONCILER);
        }
        offer_all(&queue, [added("web", "a1", Cause::Initial), updated("web", "a1", "a2", Cause::Live)]);
        decide(&queue, RECONCILER);

        let (in_flight, newest) = version(&workqueue);
        assert_eq!(newest.as_deref(), Some("a2"));
        drop(in_flight);
        let (in_flight, again) = version(&workqueue);
        assert_eq!(again.as_deref(), Some("a2"), "its call did not end");
        offer_all(&queue, [updated("web", "a2", "a3", Cause::Live)]);
        in_flight.succeed();
        let (in_flight, later) = version(&workqueue);
        assert_eq!(later.as_deref(), Some("a3"));
        in_flight.succeed();
        workqueue.add("shop/web").unwrap();
        assert_eq!(version(&workqueue).1, None, "the plugin added it");

        let (queue, workqueue) = by_controller();
        decide(&queue, RECONCILER);
        offer(&queue, [add(&owned("p", "a1", Some("web"))), add(&owned("api", "a1", Some("api")))]);
        let [of_another_name, of_the_same_name] = [version(&workqueue), version(&workqueue)];
        assert_eq!((of_another_name.1, of_the_same_name.1), (None, None), "the keys are those of owners");
    }
}

#[tokio::test]
async fn a_handler_gets_the_notifications_of_the_undecided_time_and_its_workqueue_stays_empty() {
    let (queue, workqueue) = by_object();
    offer_all(&queue, [added("web", "a1", Cause::Initial), updated("web", "a1", "a2", Cause::Live)]);
    offer_all(&queue, [added("gone", "a1", Cause::Live), deleted("gone", "a1", true)]);
    decide(&queue, HANDLER);

    assert_eq!(deliver_all(&queue), ["web: +a2"], "a handler never sees the deletion of an unseen object");
    assert_eq!((workqueue.keys(), workqueue.stats().adds), (0, 0));
}

/// A component may be missing for days, while objects come and go.
#[tokio::test]
async fn the_keys_of_the_undecided_time_are_bounded_and_pending_objects_have_theirs_in_any_case() {
    let (queue, workqueue) = by_object();
    for number in 0..UNDECIDED_KEYS + 10 {
        let name = format!("gone-{number}");
        offer_all(&queue, [added(&name, "a1", Cause::Live), deleted(&name, "a1", true)]);
    }
    offer_all(&queue, [added("late", "a1", Cause::Live), added("later", "a1", Cause::Live)]);

    decide(&queue, RECONCILER);

    let keys = keys(&workqueue);
    assert_eq!(keys.len(), UNDECIDED_KEYS + 2);
    assert_eq!(keys[UNDECIDED_KEYS..], ["shop/late", "shop/later"]);
    assert_balanced(&queue);
}

#[tokio::test]
async fn pending_notifications_become_keys_when_a_reconciler_replaces_a_handler() {
    let (queue, workqueue) = by_object();
    decide(&queue, HANDLER);
    let held = Held::default();
    let listed = Notification { initial: Some(held.token()), ..added("listed", "a1", Cause::Initial) };
    let waiting = Notification { initial: Some(held.token()), ..added("waiting", "a1", Cause::Live) };
    queue.offer(waiting);
    take(&queue).0.settle(retry(60_000, 60_000));
    queue.offer(listed);
    queue.offer(added("live", "a1", Cause::Live));

    decide(&queue, RECONCILER);

    assert_eq!(held.count(), 0, "a notification that became keys is settled (P-16)");
    assert_eq!(keys(&workqueue), ["shop/waiting", "shop/live", "shop/listed"], "live keys go first");
    let stats = queue.stats();
    assert_eq!((stats.acknowledged, stats.pending, stats.objects), (3, 0, 0));
    assert_balanced(&queue);
}

#[tokio::test]
async fn a_call_in_flight_that_does_not_succeed_becomes_a_key_of_the_reconciler_that_replaced_its_handler() {
    let ends: [fn(Lease); 4] = [
        drop,
        Lease::put_back,
        |lease| assert_eq!(lease.settle(retry(0, 0)), Settled::Enqueued),
        |lease| assert_eq!(lease.settle(spent(0, Fate::DeadLetter)), Settled::Enqueued),
    ];
    for end in ends {
        let (queue, workqueue) = by_object();
        decide(&queue, HANDLER);
        queue.offer(added("web", "a1", Cause::Live));
        let (lease, _) = take(&queue);
        decide(&queue, RECONCILER);
        assert_eq!(workqueue.keys(), 0);

        end(lease);

        assert_eq!(keys(&workqueue), ["shop/web"]);
        assert!(queue.take().is_none() && queue.stats().dead == 0);
        assert_balanced(&queue);
    }
}

/// No notification is handed out as a probe any more, so nothing else could end the quarantine.
#[tokio::test]
async fn the_quarantine_of_a_handler_ends_when_a_reconciler_replaces_it() {
    let (queue, workqueue) = by_object();
    let quarantine = QuarantineConfig { after: NonZeroU32::new(1), ..QuarantineConfig::default() };
    queue.configure(&QueueConfig { quarantine, ..QueueConfig::default() });
    decide(&queue, HANDLER);
    queue.offer(added("web", "a1", Cause::Live));
    let (delay, floor) = (Duration::ZERO, Duration::ZERO);
    let failure = Failure::new(FailureKind::Trap, "no");
    take(&queue).0.settle(Settlement::Retry { delay, floor, failure });
    assert!(queue.stats().quarantine.is_some());

    decide(&queue, RECONCILER);
    queue.new_version();

    assert_eq!(queue.stats().quarantine, None);
    assert_eq!(keys(&workqueue), ["shop/web"]);
    decide(&queue, HANDLER);
    queue.offer(updated("web", "a1", "a2", Cause::Live));
    assert_eq!(deliver_all(&queue), ["web: a1>a2"]);
    assert_eq!(queue.stats().quarantines, 1);
    assert_balanced(&queue);
}

/// No key is handed out as a probe any more, so nothing else could end the quarantine.
#[tokio::test]
async fn the_quarantine_of_a_reconciler_ends_when_a_handler_replaces_it() {
    let (queue, workqueue) = by_object();
    workqueue.set_quarantine(QuarantineConfig { after: NonZeroU32::new(1), ..QuarantineConfig::default() });
    decide(&queue, RECONCILER);
    queue.offer(added("web", "a1", Cause::Live));
    workqueue.take().unwrap().fail(&Failure::new(FailureKind::Trap, "no"), false);
    assert!(workqueue.stats().quarantine.is_some());

    decide(&queue, HANDLER);
    workqueue.new_version();

    assert_eq!((workqueue.stats().quarantine, workqueue.stats().quarantines), (None, 1));
    assert!(workqueue.take().is_none(), "keys are held");
    assert_eq!(workqueue.keys(), 1);
}

#[tokio::test]
async fn keys_are_held_while_no_reconciler_is_in_service() {
    let (queue, workqueue) = by_object();
    decide(&queue, RECONCILER);
    offer_all(&queue, [added("web", "a1", Cause::Live), added("db", "a1", Cause::Live)]);
    let work = workqueue.take().unwrap();

    decide(&queue, HANDLER);
    workqueue.add("own").unwrap();
    drop(work);
    queue.offer(updated("web", "a1", "a2", Cause::Live));
    assert!(workqueue.take().is_none());
    assert_eq!(workqueue.keys(), 3);
    assert_eq!(deliver_all(&queue), ["web: a1>a2"]);

    decide(&queue, RECONCILER);
    assert_eq!(keys(&workqueue), ["shop/db", "own", "shop/web"]);

    decide(&queue, HANDLER);
    workqueue.add("left").unwrap();
    workqueue.shut_down();
    assert!(workqueue.get().await.is_none(), "a shutdown does not wait for a reconciler");
    assert_eq!(workqueue.keys(), 1);
}

#[tokio::test]
async fn a_component_with_both_gets_notifications_and_only_the_keys_that_it_adds() {
    let (queue, workqueue) = by_object();
    queue.decide(true, true);
    queue.offer(added("web", "a1", Cause::Live));
    workqueue.add("own").unwrap();

    assert_eq!(deliver_all(&queue), ["web: +a1"]);
    assert_eq!(keys(&workqueue), ["own"]);
}

/// No offer and no call comes after the decision, so nothing else corrects the status.
#[tokio::test]
async fn a_queue_that_fell_behind_has_caught_up_once_everything_pending_became_keys() {
    let (workqueue, capacity) = (workqueue(10), NonZeroUsize::new(2).unwrap());
    let config = QueueConfig { delivery: DeliveryMode::Every { capacity }, ..QueueConfig::default() };
    let queue = Queue::builder(&config)
        .with_keys(workqueue.clone(), |_, change| vec![change.object().key().into()])
        .build();
    decide(&queue, HANDLER);
    offer_all(&queue, ["a", "b", "c"].map(|name| added(name, "a1", Cause::Live)));
    assert!(queue.stats().behind);

    decide(&queue, RECONCILER);

    assert!(!queue.stats().behind);
    assert_eq!(keys(&workqueue), ["shop/a", "shop/b", "shop/c"]);
    assert_balanced(&queue);
}

#[tokio::test]
async fn a_notification_whose_key_is_too_long_becomes_a_dead_letter() {
    for decided in [true, false] {
        let workqueue = workqueue(10);
        let long = |_: &Source, _: &Change| vec![ObjectKey::new("shop", "p".repeat(2000).as_str()).into()];
        let queue = with_keys(&workqueue, long);
        if decided {
            decide(&queue, RECONCILER);
        }
        queue.offer(added("web", "a1", Cause::Live));
        decide(&queue, RECONCILER);

        let letters = queue.dead_letters().list();
        assert_eq!((letters.len(), &*letters[0].object.key.name), (1, "web"));
        assert_eq!((queue.stats().dead, workqueue.keys()), (1, 0));
        assert_balanced(&queue);
    }
}

/// Another object sets the name of a controller, so a name that is too long must not hide the others.
#[tokio::test]
async fn a_key_that_is_too_long_does_not_keep_the_other_keys_of_its_notification_away() {
    let workqueue = workqueue(10);
    let two = |_: &Source, _: &Change| {
        let long = ObjectKey::new("shop", "p".repeat(2000).as_str());
        vec![long.into(), ObjectKey::new("shop", "api").into()]
    };
    let queue = with_keys(&workqueue, two);
    decide(&queue, RECONCILER);
    queue.offer(updated("web", "a1", "a2", Cause::Live));

    assert_eq!(keys(&workqueue), ["shop/api"]);
    assert_eq!((queue.stats().dead, queue.dead_letters().list().len()), (1, 1));
    assert_balanced(&queue);
}

/// A key that was enqueued counts as delivered, so an earlier dead letter of its object is withdrawn.
#[tokio::test]
async fn a_notification_that_became_a_key_withdraws_the_dead_letter_of_its_object() {
    let (queue, _workqueue) = by_object();
    decide(&queue, HANDLER);
    queue.offer(added("web", "a1", Cause::Live));
    take(&queue).0.settle(permanent());
    assert_eq!(queue.stats().dead_letters, 1);

    decide(&queue, RECONCILER);
    queue.offer(updated("web", "a1", "a2", Cause::Live));
    assert_eq!(queue.stats().dead_letters, 0);
}

#[tokio::test]
async fn a_closed_queue_adds_no_keys() {
    let (queue, workqueue) = by_object();
    decide(&queue, RECONCILER);
    queue.close();
    queue.offer(added("web", "a1", Cause::Live));

    assert_eq!((workqueue.keys(), queue.stats().discarded), (0, 1));
}

/// An undecided queue as `by_controller` makes it, whose objects have to be quiet for 100 ms.
fn settling_by_controller() -> (Queue, RateLimitingQueue) {
    let (queue, workqueue) = by_controller();
    let source = Source::new("v1/pods".parse().unwrap());
    let settle = BTreeMap::from([(source, Duration::from_millis(100))]);
    queue.configure(&QueueConfig { settle, ..QueueConfig::default() });
    (queue, workqueue)
}

#[tokio::test(start_paused = true)]
async fn the_keys_of_all_changes_are_added_once_the_object_is_quiet() {
    let (queue, workqueue) = settling_by_controller();
    decide(&queue, RECONCILER);
    let (web, api, orphan) =
        (owned("p", "a1", Some("web")), owned("p", "a2", Some("api")), owned("p", "a3", None));
    offer(&queue, [update(&web, &api)]);
    time::advance(Duration::from_millis(50)).await;
    offer(&queue, [update(&api, &orphan)]);
    time::advance(Duration::from_millis(99)).await;
    assert!(queue.take().is_none() && workqueue.take().is_none());
    assert_eq!(queue.stats().settling, 1);
    time::advance(Duration::from_millis(1)).await;

    assert!(queue.take().is_none(), "a worker of the queue adds the keys");

    assert_eq!(keys(&workqueue), ["shop/web", "shop/api"]);
    assert_eq!((queue.stats().objects, queue.stats().acknowledged), (0, 1));
    assert_balanced(&queue);
}

/// A subscription is synced once its initial notifications are settled (P-16). One of them waits until its object is quiet: that of an
/// object that begins to match in the first list.
#[tokio::test(start_paused = true)]
async fn the_sync_tokens_of_a_quiet_object_are_released_with_its_keys() {
    let (queue, workqueue) = settling_by_controller();
    decide(&queue, RECONCILER);
    let held = Held::default();
    let entered = notification(add(&owned("p", "a1", Some("web"))), Cause::Relist);
    queue.offer(Notification { initial: Some(held.token()), ..entered });
    time::advance(Duration::from_millis(100)).await;
    assert_eq!(held.count(), 1);

    assert!(queue.take().is_none(), "a worker of the queue adds the keys");

    assert_eq!(held.count(), 0, "no other notification is needed");
    assert_eq!(keys(&workqueue), ["shop/web"]);
}

/// The keys of all states are added, those of a change that came when the object was quiet included.
#[tokio::test(start_paused = true)]
async fn a_change_of_an_object_that_is_quiet_adds_its_keys_at_once() {
    let (queue, workqueue) = settling_by_controller();
    decide(&queue, RECONCILER);
    let (web, api, db) =
        (owned("p", "a1", Some("web")), owned("p", "a2", Some("api")), owned("p", "a3", Some("db")));
    offer(&queue, [update(&web, &api)]);
    time::advance(Duration::from_millis(100)).await;

    offer(&queue, [update(&api, &db)]);

    assert_eq!(keys(&workqueue), ["shop/web", "shop/api", "shop/db"]);
    assert_eq!(queue.stats().objects, 0);
    assert_balanced(&queue);
}

#[tokio::test(start_paused = true)]
async fn a_deletion_adds_the_keys_that_wait_too() {
    let (queue, workqueue) = settling_by_controller();
    decide(&queue, RECONCILER);
    let (web, api) = (owned("p", "a1", Some("web")), owned("p", "a2", Some("api")));

    offer(&queue, [add(&web), update(&web, &api), delete(&api)]);

    assert_eq!(keys(&workqueue), ["shop/web", "shop/api"]);
    assert_eq!(queue.stats().objects, 0);
    assert_balanced(&queue);
}

#[tokio::test(start_paused = true)]
async fn a_worker_that_waits_adds_the_keys_of_quiet_objects() {
    let (queue, workqueue) = settling_by_controller();
    decide(&queue, RECONCILER);
    offer(&queue, [add(&owned("p", "a1", Some("web")))]);
    let start = time::Instant::now();

    tokio::select! {
        _ = queue.next() => panic!("nothing is for the handler"),
        work = workqueue.get() => assert_eq!(&**work.unwrap().key(), "shop/web"),
    }

    assert_eq!(start.elapsed().as_millis(), 100);
}

#[tokio::test(start_paused = true)]
async fn keys_that_wait_are_added_when_the_plugin_ends_or_need_not_wait() {
    for ends in [true, false] {
        let (queue, workqueue) = settling_by_controller();
        decide(&queue, RECONCILER);
        offer(&queue, [add(&owned("p", "a1", Some("web")))]);

        if ends {
            queue.end_settling();
        } else {
            queue.configure(&QueueConfig::default());
        }

        assert_eq!(keys(&workqueue), ["shop/web"]);
        assert_balanced(&queue);
    }
}

#[tokio::test(start_paused = true)]
async fn notifications_that_wait_until_they_are_quiet_follow_a_change_of_the_version() {
    let (queue, workqueue) = settling_by_controller();
    decide(&queue, RECONCILER);
    let (web, api) = (owned("p", "a1", Some("web")), owned("p", "a2", Some("api")));
    offer(&queue, [add(&web)]);

    decide(&queue, HANDLER);
    offer(&queue, [update(&web, &api)]);
    time::advance(Duration::from_millis(100)).await;
    assert_eq!(deliver_all(&queue), ["p: +a2"]);

    offer(&queue, [update(&api, &web)]);
    decide(&queue, RECONCILER);
    assert_eq!(keys(&workqueue), ["shop/api", "shop/web"]);
    assert_eq!(queue.stats().objects, 0);
    assert_balanced(&queue);
}

/// If a version fails while the plugin ends, the earlier version may return to service.
#[tokio::test]
async fn keys_that_are_left_when_the_plugin_ends_do_not_go_to_a_version_without_a_reconciler() {
    let (queue, workqueue) = by_object();
    decide(&queue, RECONCILER);
    offer_all(&queue, [added("a", "a1", Cause::Live)]);
    queue.close();
    workqueue.shut_down();
    let in_flight = workqueue.take().unwrap();

    decide(&queue, HANDLER);
    // No call was made for the key.
    drop(in_flight);

    assert!(workqueue.get().await.is_none(), "the workers end");
    assert_eq!(workqueue.keys(), 1, "the key is left");
}
