//! The life and the number of instances, and the outcomes of calls.

use std::{
    num::{NonZeroU64, NonZeroUsize},
    sync::atomic::Ordering,
    time::Duration,
};

use informer_runtime::InstancePolicy;
use informer_types::{Cause, Change, Failure, FailureKind, Outcome};
use tokio::task::JoinHandle;
use tokio_util::sync::CancellationToken;

use crate::host::{Running, Setup, added, delivery, pod};

fn warm(max_calls: u64, idle_timeout: Duration) -> InstancePolicy {
    InstancePolicy::Warm { max_calls: NonZeroU64::new(max_calls), idle_timeout }
}

/// Stops idle instances until the token is cancelled.
fn expire(running: &Running) -> (CancellationToken, JoinHandle<()>) {
    let stop = CancellationToken::new();
    let (plugin, stopped) = (running.plugin.clone(), stop.clone());
    (stop, tokio::spawn(async move { plugin.expire_idle(stopped).await }))
}

#[tokio::test]
async fn every_kind_of_notification_reaches_its_handler() {
    let running = Setup::new("{}").load("echo").await;
    let (old, new) = (pod("web", "1"), pod("web", "2"));

    for (change, cause, attempt) in [
        (Change::Added { object: old.clone() }, Cause::Initial, 1),
        (Change::Added { object: old.clone() }, Cause::Replay, 2),
        (Change::Updated { old: old.clone(), new: new.clone() }, Cause::Live, 3),
        (Change::Updated { old: new.clone(), new: new.clone() }, Cause::Resync, 1),
        (Change::Updated { old, new: new.clone() }, Cause::Relist, 1),
        (Change::Deleted { object: new.clone(), final_state_known: true }, Cause::Live, 1),
        (Change::Deleted { object: new, final_state_known: false }, Cause::Relist, 1),
    ] {
        let mut delivery = delivery(change, cause);
        delivery.attempt = attempt;
        assert_eq!(running.deliver(delivery).await, Outcome::Acknowledged);
    }

    let lines = [
        "start {}",
        "add default/web 1 initial 1 1",
        "add default/web 1 replay 2 2",
        "update default/web 2 live 3 3",
        "update default/web 2 resync 1 4",
        "update default/web 2 relist 1 5",
        "delete default/web 2 known 1 6",
        "delete default/web 2 unknown 1 7",
    ];
    assert_eq!(running.log.messages(), lines);
}

#[tokio::test]
async fn a_warm_instance_keeps_its_state_from_call_to_call() {
    let running = Setup::new("{}").load("echo").await;

    for _ in 0..3 {
        running.add("web").await;
    }

    assert_eq!(running.log.messages().last().unwrap(), "add default/web 1 live 1 3");
    let stats = running.plugin.stats();
    assert_eq!((stats.instances.created, stats.instances.retired, stats.instances.idle), (1, 0, 1));
}

#[tokio::test]
async fn an_instance_is_stopped_after_its_last_call() {
    let running = Setup::new("{}").policy(warm(2, Duration::MAX)).load("echo").await;

    for _ in 0..3 {
        running.add("web").await;
    }

    let lines = ["start {}", "add default/web 1 live 1 1", "add default/web 1 live 1 2", "stop"];
    assert_eq!(running.log.messages()[..4], lines);
    assert_eq!(running.log.messages()[4..], ["start {}", "add default/web 1 live 1 1"]);
    assert_eq!(running.plugin.stats().instances.retired, 0, "it was healthy");
}

#[tokio::test]
async fn a_fresh_instance_serves_one_call() {
    let running = Setup::new("{}").policy(InstancePolicy::Fresh).load("echo").await;

    for _ in 0..2 {
        running.add("web").await;
    }

    let one_life = ["start {}", "add default/web 1 live 1 1", "stop"];
    assert_eq!(running.log.messages(), [one_life, one_life].concat());
    assert_eq!(running.plugin.stats().instances.idle, 0);
}

#[tokio::test]
async fn an_idle_instance_is_stopped_and_the_next_call_makes_another() {
    let running = Setup::new("{}").policy(warm(0, Duration::from_millis(30))).load("echo").await;
    let (stop, expiring) = expire(&running);

    running.log.wait_for("stop", 1).await;
    assert_eq!(running.plugin.stats().instances.idle, 0);
    assert_eq!(running.add("web").await, Outcome::Acknowledged);

    assert_eq!(running.log.count("start {}"), 2);
    stop.cancel();
    expiring.await.unwrap();
}

/// If this instance stayed, it would keep its memory, and its first call would see configuration files from the time of the load.
#[tokio::test]
async fn a_fresh_instance_that_had_no_call_yet_is_stopped_too() {
    let running = Setup::new("{}").policy(InstancePolicy::Fresh).load("echo").await;
    let (stop, expiring) = expire(&running);
    // The task begins its first pause.
    tokio::task::yield_now().await;

    tokio::time::pause();
    tokio::time::advance(Duration::from_secs(60)).await;
    tokio::time::resume();

    // The instance may wait for a turn: other tests use the same engine.
    running.log.wait_for("stop", 1).await;
    assert_eq!(running.plugin.stats().instances.idle, 0);
    stop.cancel();
    expiring.await.unwrap();
}

#[tokio::test]
async fn at_most_as_many_calls_run_as_there_may_be_instances() {
    let running = Setup::new(r#"{"millis": 300}"#).instances(2).load("slow").await;

    let calls: Vec<_> = (0..6).map(|call| running.spawn_add(&format!("pod-{call}"))).collect();
    for call in futures::future::join_all(calls).await {
        assert_eq!(call.unwrap(), Outcome::Acknowledged);
    }

    let (mut open, mut most) = (0_usize, 0);
    for message in running.log.messages() {
        open = if message.starts_with("begin") { open + 1 } else { open - 1 };
        most = most.max(open);
    }
    assert_eq!(most, 2);
    assert_eq!(running.plugin.stats().instances.created, 2);
}

/// An operator lowers `instances` to free the memory of instances.
#[tokio::test]
async fn idle_instances_beyond_a_lower_number_of_instances_are_stopped_at_once() {
    let setup = Setup::new(r#"{"millis": 300}"#).instances(2);
    let mut config = setup.config.clone();
    let running = setup.load("slow").await;
    let calls = [running.spawn_add("web-1"), running.spawn_add("web-2")];
    for call in futures::future::join_all(calls).await {
        assert_eq!(call.unwrap(), Outcome::Acknowledged);
    }
    assert_eq!(running.plugin.stats().instances.idle, 2);
    config.instances = NonZeroUsize::MIN;

    assert_eq!(running.plugin.configure(config).await.unwrap(), None, "no instance is started anew");

    assert_eq!(running.plugin.stats().instances.idle, 1);
    assert_eq!(running.add("web-3").await, Outcome::Acknowledged);
    assert_eq!(running.plugin.stats().instances.created, 2);
}

#[tokio::test]
async fn without_a_version_a_delivery_fails_with_the_kind_start() {
    let running = Setup::new("{}").idle();

    let failure = running.add_fails("web").await;

    assert_eq!(failure.kind, FailureKind::Start);
    assert_eq!(failure.message, "no version of the plugin is loaded");
    assert_eq!(running.plugin.version(), None);
}

#[tokio::test]
async fn calls_fail_with_the_kind_start_until_an_instance_starts() {
    let config = r#"{"gvr": "v1/pods", "what": "has-synced", "need-synced": true}"#;
    let setup = Setup::new(config).read(&["v1/pods"]).cache("v1/pods", Vec::new());
    let running = setup.policy(InstancePolicy::Fresh).load("reader").await;
    assert_eq!(running.add("web").await, Outcome::Acknowledged);

    running.cache.unsynced.store(true, Ordering::Relaxed);
    let failure = running.add_fails("web").await;
    assert_eq!((failure.kind, failure.message.as_str()), (FailureKind::Start, "v1/pods is not synced"));

    running.cache.unsynced.store(false, Ordering::Relaxed);
    assert_eq!(running.add("web").await, Outcome::Acknowledged);
}

#[tokio::test]
async fn the_answer_of_the_handler_decides_the_outcome() {
    let retry = Setup::new(r#"{"times": 1}"#).load("flaky").await;
    let failure = retry.add_fails("web").await;
    assert_eq!((failure.kind, failure.message.as_str()), (FailureKind::Handler, "failure 1 for default/web"));
    assert_eq!(retry.add("web").await, Outcome::Acknowledged);
    assert_eq!(
        retry.plugin.stats().instances.created,
        1,
        "an error that the handler returns costs no instance"
    );

    let later = Setup::new(r#"{"times": 1, "how": "retry-after"}"#).load("flaky").await;
    let outcome = later.add("web").await;
    assert!(
        matches!(outcome, Outcome::Retry { after: Some(after), .. } if after == Duration::from_millis(250))
    );

    let permanent = Setup::new(r#"{"times": 1, "how": "permanent"}"#).load("flaky").await;
    assert!(matches!(permanent.add("web").await, Outcome::Permanent { failure } if failure == Failure::new(
        FailureKind::Handler,
        "failure 1 for default/web",
    )));
}

#[tokio::test]
async fn thousands_of_calls_leave_one_instance_and_no_objects_behind() {
    let running = Setup::new(r#"{"times": 0}"#).load("flaky").await;
    let object = pod("web", "1");

    for _ in 0..5_000 {
        assert_eq!(running.deliver(added(object.clone())).await, Outcome::Acknowledged);
    }

    assert_eq!(std::sync::Arc::strong_count(&object), 1, "the plugin holds no reference to the object");
    let stats = running.plugin.stats();
    assert_eq!((stats.acknowledged, stats.instances.created, stats.instances.idle), (5_000, 1, 1));
}
