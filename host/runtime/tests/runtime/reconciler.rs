//! Keys instead of notifications, and the plugin's own queue (W-1).

use std::{
    sync::{Arc, atomic::Ordering},
    time::Duration,
};

use informer_types::{EventHandler, EventTrace, FailureKind, Outcome, Reconciled, Reconciler, Request};

use crate::host::{PATIENCE, Running, Setup, added, component, delivery, pod};

fn request(key: &str, attempt: u32) -> Request {
    let (queued, trace) = (Duration::from_millis(7), EventTrace::default());
    Request { key: key.into(), attempt, queued, trace, version: None }
}

async fn reconcile(running: &Running, key: &str, attempt: u32) -> Reconciled {
    running.plugin.reconcile(request(key, attempt)).await.unwrap()
}

/// The kind and the message of a failure that is to be retried.
fn failure(reconciled: Reconciled) -> (FailureKind, String) {
    match reconciled {
        Reconciled::Retry { failure, .. } => (failure.kind, failure.message),
        other => panic!("{other:?}"),
    }
}

#[tokio::test]
async fn a_component_may_export_only_a_reconciler() {
    let running = Setup::new("{}").load("reconciles").await;

    let version = running.plugin.version().unwrap();
    assert!(version.reconciles && !version.handles);
    assert!(running.plugin.reconciles() && !running.plugin.handles());
    assert_eq!(reconcile(&running, "default/web", 3).await, Reconciled::Done);
    assert_eq!(running.log.messages(), ["reconcile default/web attempt 3"]);
    let stats = running.plugin.stats();
    assert_eq!((stats.calls, stats.acknowledged, stats.instances.created), (1, 1, 1));
}

#[tokio::test]
async fn each_answer_of_a_reconciler_has_its_result() {
    let expected = [
        ("requeue", Reconciled::Requeue),
        ("requeue-after", Reconciled::RequeueAfter(Duration::from_millis(1500))),
    ];
    for (how, answer) in expected {
        let config = format!(r#"{{"times": 1, "how": "{how}"}}"#);
        let running = Setup::new(&config).load("reconciles").await;
        assert_eq!(reconcile(&running, "a", 1).await, answer);
    }

    let running = Setup::new(r#"{"times": 1}"#).load("reconciles").await;
    let failed = failure(reconcile(&running, "a", 1).await);
    assert_eq!(failed, (FailureKind::Handler, "failure 1 of a".to_owned()));
    assert_eq!(running.plugin.stats().failures.get(&FailureKind::Handler), Some(&1));

    let running = Setup::new(r#"{"times": 1, "how": "terminal"}"#).load("reconciles").await;
    let Reconciled::Terminal { failure } = reconcile(&running, "a", 1).await else { panic!() };
    assert_eq!(failure.message, "failure 1 of a");
}

#[tokio::test]
async fn a_call_that_traps_or_spins_costs_its_instance_and_is_retried() {
    let running = Setup::new(r#"{"times": 1, "how": "trap"}"#).load("reconciles").await;
    let (kind, message) = failure(reconcile(&running, "default/web", 1).await);
    assert_eq!(kind, FailureKind::Trap);
    assert!(message.starts_with("reconcile of default/web: ") && message.contains("failure 1"), "{message}");
    assert_eq!(reconcile(&running, "default/web", 2).await, Reconciled::Done);
    assert_eq!(running.plugin.stats().instances.retired, 1);

    let spinning = Setup::new(r#"{"times": 1, "how": "spin"}"#).deadline(Duration::from_secs(2));
    let running = spinning.load("reconciles").await;
    assert_eq!(failure(reconcile(&running, "a", 1).await).0, FailureKind::Deadline);
    assert_eq!(reconcile(&running, "a", 2).await, Reconciled::Done);
}

#[tokio::test]
async fn at_most_as_many_keys_are_reconciled_as_there_are_instances() {
    let running = Arc::new(Setup::new(r#"{"millis": 300}"#).instances(2).load("reconciles").await);
    let calls = ["a", "b", "c"].map(|key| {
        let running = Arc::clone(&running);
        tokio::spawn(async move { reconcile(&running, key, 1).await })
    });
    for call in calls {
        let reconciled = tokio::time::timeout(PATIENCE, call).await.unwrap().unwrap();
        assert_eq!(reconciled, Reconciled::Done);
    }

    let said = running.log.messages();
    let mut inside = 0_i32;
    let mut most = 0;
    for line in said {
        inside += i32::from(line.starts_with("begin ")) - i32::from(line.starts_with("end "));
        most = most.max(inside);
    }
    assert_eq!(most, 2);
}

#[tokio::test]
async fn a_notification_or_key_without_an_export_for_it_makes_no_call() {
    let running = Setup::new("{}").load("reconciles").await;
    assert_eq!(running.plugin.handle(added(pod("web", "1"))).await, None);
    assert_eq!((running.plugin.stats().calls, running.plugin.stats().instances.retired), (0, 0));

    let running = Setup::new("{}").load("echo").await;
    assert!(running.plugin.handles() && !running.plugin.reconciles());
    assert_eq!(running.plugin.reconcile(request("a", 1)).await, None);
    assert_eq!(running.plugin.stats().calls, 0);
}

#[tokio::test]
async fn a_call_that_waited_while_a_reload_removed_its_export_is_neither_made_nor_counted() {
    // Compiled before the call starts, so that the swap comes while the call sleeps.
    component("reconciles").await;
    let running = Setup::new(r#"{"millis": 1000}"#).load("slow").await;
    let in_flight = running.spawn_add("web");
    running.log.wait_for("begin default/web", 1).await;

    // The only instance is in use, so this call waits. The next version exports only a reconciler.
    let waiting = added(pod("other", "1"));
    let swap = async { running.load("reconciles").await.unwrap() };
    let (outcome, ()) = tokio::join!(biased; running.plugin.handle(waiting), swap);

    assert_eq!(outcome, None);
    assert_eq!(in_flight.await.unwrap(), Outcome::Acknowledged);
    assert_eq!(running.plugin.stats().calls, 1);
    assert_eq!(reconcile(&running, "a", 1).await, Reconciled::Done);

    let running = Setup::new("{}").load("echo").await;
    assert_eq!(running.plugin.reconcile(request("a", 1)).await, None);
}

#[tokio::test]
async fn handlers_add_keys_and_the_same_instance_reconciles() {
    let running = Setup::new("{}").load("enqueues").await;

    assert_eq!(running.add("web").await, Outcome::Acknowledged);
    assert_eq!(reconcile(&running, "default/web", 1).await, Reconciled::Done);

    assert_eq!(running.keys.asked(), ["add default/web"]);
    assert_eq!(running.log.messages(), ["reconcile default/web attempt 1"]);
    assert_eq!(running.plugin.stats().instances.created, 1);
    let version = running.plugin.version().unwrap();
    assert!(version.reconciles && version.handles);
}

#[tokio::test]
async fn each_function_of_the_workqueue_reaches_it() {
    for (how, asked) in
        [("add-after", "add default/web/0 after 3600s"), ("add-rate-limited", "add default/web/0 limited")]
    {
        let running = Setup::new(&format!(r#"{{"keys": 1, "how": "{how}"}}"#)).load("enqueues").await;
        assert_eq!(running.add("web").await, Outcome::Acknowledged);
        assert_eq!(running.keys.asked(), [asked]);
        assert_eq!(running.log.messages(), ["length 1"]);
    }

    let running = Setup::new("{}").load("enqueues").await;
    let gone = informer_types::Change::Deleted { object: pod("web", "1"), final_state_known: true };
    let told = running.deliver(delivery(gone, informer_types::Cause::Live)).await;
    assert_eq!(told, Outcome::Acknowledged);
    assert_eq!(running.keys.asked(), ["forget default/web"]);
    assert_eq!(running.log.messages(), ["requeues of default/web: 11", "forgotten: 11"]);
}

#[tokio::test]
async fn a_full_queue_and_a_long_key_have_errors_of_their_own() {
    let running = Setup::new(r#"{"keys": 10000000}"#).load("enqueues").await;
    running.keys.capacity.store(3, Ordering::Relaxed);
    assert_eq!(running.deliver(added(pod("web", "1"))).await, Outcome::Acknowledged);
    let said = running.log.messages();
    let expected = "key 3 is refused: Retry(\"limit-exceeded: the workqueue holds 3 keys, which is `capacity` of [plugin.workqueue]\")";
    assert_eq!(said, [expected, "length 3"]);

    let running = Setup::new(r#"{"bytes": 101}"#).load("enqueues").await;
    let failed = running.add_fails("web").await;
    assert_eq!(failed.message, "invalid: a key of 101 bytes; at most 100");
}

#[tokio::test]
async fn calls_for_keys_count_in_a_trial_as_calls_for_notifications_do() {
    let setup = Setup::new("{}");
    let mut config = setup.config.clone();
    let running = setup.load("reconciles").await;
    config.config_json = r#"{"times": 1, "how": "trap"}"#.into();
    running.plugin.configure(config).await.unwrap();

    // Each of the first five calls failed.
    for _ in 0..5 {
        assert_eq!(failure(reconcile(&running, "a", 1).await).0, FailureKind::Trap);
    }

    assert_eq!(running.plugin.stats().went_back, 1);
    assert_eq!(reconcile(&running, "a", 1).await, Reconciled::Done);
}
