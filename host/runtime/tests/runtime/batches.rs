//! Calls for several notifications.

use std::time::Duration;

use informer_types::{Cause, Change, Delivery, EventHandler, Failure, FailureKind, Gvr, Outcome};

use crate::host::{Running, Setup, added, delivery, delivery_of, object};

fn config_map(name: &str, key: &str) -> std::sync::Arc<informer_types::Object> {
    object("default", name, key, &format!(r#"{{"data":{{"key":"{key}"}}}}"#))
}

fn add(name: &str) -> Delivery {
    added(config_map(name, "1"))
}

async fn batch(running: &Running, deliveries: Vec<Delivery>) -> Result<Vec<Outcome>, Failure> {
    running.plugin.handle_batch(deliveries).await.unwrap()
}

#[tokio::test]
async fn one_call_has_all_notifications_with_the_objects_of_each_resource() {
    let running = Setup::new("{}").load("batches").await;
    let version = running.plugin.version().unwrap();
    assert!(version.handles && version.handles_batches && running.plugin.takes_batches());
    let (old, new) = (config_map("b", "1"), config_map("b", "2"));
    let gone = Change::Deleted { object: config_map("c", "3"), final_state_known: false };
    let updated = delivery_of(Gvr::new("", "v1", "configmaps"), Change::Updated { old, new }, Cause::Resync);

    let outcomes = batch(&running, vec![add("a"), updated, delivery(gone, Cause::Relist)]).await.unwrap();

    assert_eq!(outcomes, vec![Outcome::Acknowledged; 3]);
    assert_eq!(running.log.messages(), ["add a 1, update b 1->2, delete c false"]);
    let stats = running.plugin.stats();
    assert_eq!((stats.calls, stats.acknowledged, stats.instances.created), (1, 1, 1));
}

#[tokio::test]
async fn each_notification_has_an_outcome_of_its_own() {
    let config = r#"{"outcomes": {"a": "fail-once", "b": "refuse", "c": "again"}}"#;
    let running = Setup::new(config).load("batches").await;

    let outcomes = batch(&running, ["a", "b", "c", "d"].map(add).into()).await.unwrap();

    let failed = |message: &str| Failure::new(FailureKind::Handler, message);
    let expected = [
        Outcome::Retry { after: None, failure: failed("a fails once") },
        Outcome::Permanent { failure: failed("b is refused") },
        Outcome::Again(Duration::from_millis(10)),
        Outcome::Acknowledged,
    ];
    assert_eq!(outcomes, expected);
    assert_eq!(running.add("b").await, expected[1], "a single notification is a batch of one");
    assert_eq!(running.add("c").await, expected[2], "which cannot use `delivery.call-again` either");
}

#[tokio::test]
async fn a_call_that_does_not_return_its_outcomes_fails_as_a_whole() {
    let config = r#"{"outcomes": {"trap": "trap", "lost": "forget"}}"#;
    let running = Setup::new(config).load("batches").await;

    let failure = batch(&running, ["a", "trap"].map(add).into()).await.unwrap_err();
    assert_eq!(failure.kind, FailureKind::Trap);
    let beginning = "2 notifications, the first the add of v1/pods default/a: ";
    assert!(
        failure.message.starts_with(beginning) && failure.message.contains("trap makes me panic"),
        "{failure}"
    );

    let failure = batch(&running, ["a", "lost"].map(add).into()).await.unwrap_err();
    let why = "`on-batch` returned 1 outcomes for 2 notifications; return one for each, in their order";
    assert_eq!((failure.kind, failure.message.as_str()), (FailureKind::Handler, why));
    assert_eq!(running.add_fails("lost").await.kind, FailureKind::Handler);
    assert_eq!(running.plugin.stats().instances.created, 2, "only the trap costs an instance");
}

#[tokio::test]
async fn a_component_without_the_export_gets_no_batch() {
    let running = Setup::new("{}").load("echo").await;

    assert!(!running.plugin.takes_batches());
    assert_eq!(running.plugin.handle_batch(vec![add("a"), add("b")]).await, None);
}
