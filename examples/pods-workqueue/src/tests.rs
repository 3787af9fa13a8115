use informer_sdk::testing::TestHost;
use serde_json::{Value, json};

use super::*;

fn pod(name: &str, phase: Option<&str>) -> Value {
    json!({"metadata": {"namespace": "default", "name": name}, "status": {"phase": phase}})
}

fn broken(name: &str) -> Value {
    json!({"metadata": {"namespace": "default", "name": name, "annotations": {"example.com/broken": "no route"}}})
}

fn started() -> Pods {
    Pods::start(Config::from_json("{}")).unwrap()
}

/// Reconciles keys until the queue is empty.
fn work(host: &TestHost, pods: &mut Pods) -> Vec<String> {
    while let Some(key) = host.take_key() {
        pods.reconcile(&key).unwrap();
    }
    host.log().into_iter().map(|line| line.message).collect()
}

#[test]
fn changes_while_a_key_is_pending_cause_one_call_that_reads_the_current_state() {
    let host = TestHost::new();
    let mut pods = started();

    pods.on_add(host.event(PODS, pod("web", None)), Cause::Live).unwrap();
    let running = pod("web", Some("Running"));
    pods.on_update(host.update(PODS, pod("web", None), running.clone()), Cause::Live).unwrap();
    host.store(PODS, running);

    assert_eq!(workqueue::len(), 1);
    assert_eq!(work(&host, &mut pods), ["sync of pod default/web: Running"]);
}

#[test]
fn a_deleted_pod_is_reported_as_missing() {
    let host = TestHost::new();
    host.set_synced(PODS, true);
    let mut pods = started();

    pods.on_delete(host.event(PODS, pod("web", Some("Running"))), true).unwrap();

    assert_eq!(work(&host, &mut pods), ["pod default/web does not exist any more"]);
}

#[test]
fn a_pod_that_cannot_be_synced_is_retried() {
    let host = TestHost::new();
    host.store(PODS, broken("web"));

    let failed = started().reconcile("default/web");

    assert_eq!(failed, Err(ReconcileError::retry("no route")));
    assert_eq!(host.log()[0].to_string(), "warn error syncing pod default/web, retried 0 times: no route");
}

#[test]
fn a_text_that_is_not_a_key_is_retried_like_any_error() {
    let _host = TestHost::new();

    assert!(matches!(started().reconcile("a/b/c"), Err(ReconcileError::Retry(why)) if why.contains("a/b/c")));
}
