use informer_sdk::testing::TestHost;
use serde_json::{Value, json};

use super::*;

fn deployment(uid: &str, replicas: u32) -> Value {
    json!({
        "apiVersion": "apps/v1",
        "kind": "Deployment",
        "metadata": {"namespace": "shop", "name": "web", "uid": uid},
        "spec": {"replicas": replicas, "selector": {"matchLabels": {"app": "web"}}},
    })
}

/// The budget of the Deployment with this UID.
fn budget(uid: &str) -> Value {
    json!({
        "apiVersion": "policy/v1",
        "kind": "PodDisruptionBudget",
        "metadata": {
            "namespace": "shop",
            "name": "web",
            "ownerReferences": [
                {"apiVersion": "apps/v1", "kind": "Deployment", "name": "web", "uid": uid, "controller": true},
            ],
        },
        "spec": {"maxUnavailable": 1, "selector": {"matchLabels": {"app": "web"}}},
    })
}

/// A host with these objects in its caches.
fn host(deployment: Option<Value>, budget: Option<Value>) -> TestHost {
    let host = TestHost::new();
    for (gvr, object) in [(DEPLOYMENTS, deployment), (BUDGETS, budget)] {
        host.set_synced(gvr, true);
        if let Some(object) = object {
            host.store(gvr, object);
        }
    }
    host
}

fn reconcile() -> ReconcileResult {
    Budgets::start(Config::from_json("{}")).unwrap().reconcile("shop/web")
}

/// Reconciles the key, and returns the requests and the lines of the log.
fn reconciled(host: &TestHost) -> (Vec<(&'static str, Value)>, Vec<String>) {
    assert_eq!(reconcile(), Ok(Reconciled::Done));
    let requests = host.requests().into_iter().inspect(|request| assert_eq!(request.gvr, BUDGETS));
    let requests = requests.map(|request| (request.verb, request.body)).collect();
    (requests, host.log().iter().map(ToString::to_string).collect())
}

fn created() -> (Vec<(&'static str, Value)>, Vec<String>) {
    (vec![("create", budget("u1"))], vec!["info created the budget shop/web".to_owned()])
}

fn applied() -> (Vec<(&'static str, Value)>, Vec<String>) {
    (vec![("patch", budget("u1"))], vec!["info applied the budget shop/web".to_owned()])
}

fn deleted() -> (Vec<(&'static str, Value)>, Vec<String>) {
    (vec![("delete", Value::Null)], vec!["info deleted the budget shop/web".to_owned()])
}

#[test]
fn a_deployment_with_several_replicas_gets_a_budget_once() {
    let host = host(Some(deployment("u1", 2)), None);

    assert_eq!(reconciled(&host), created());
    assert_eq!(reconciled(&host), created(), "the second call writes nothing");
}

/// An installer may create a Deployment and a foreign budget at the same time, and the watch of Deployments may be faster.
#[test]
fn a_foreign_budget_that_the_cache_does_not_have_yet_is_not_changed() {
    let host = host(Some(deployment("u1", 2)), None);
    host.fail_write(ApiCode::AlreadyExists, "there is one");

    assert!(matches!(reconcile(), Err(ReconcileError::Retry(why)) if why.contains("there is one")));
    let verbs: Vec<_> = host.requests().iter().map(|request| request.verb).collect();
    assert_eq!(verbs, ["create"]);
}

#[test]
fn the_budget_of_an_earlier_deployment_of_the_same_name_is_deleted_and_then_created() {
    let host = host(Some(deployment("u1", 3)), Some(budget("u0")));

    assert_eq!(reconciled(&host), deleted());
    let (requests, _) = reconciled(&host);
    assert_eq!(requests.last(), Some(&("create", budget("u1"))));
}

#[test]
fn a_deployment_with_one_replica_needs_no_budget() {
    for replicas in [0, 1] {
        let nothing = host(Some(deployment("u1", replicas)), None);
        assert_eq!(reconciled(&nothing), (vec![], vec![]));

        let scaled_down = host(Some(deployment("u1", replicas)), Some(budget("u1")));
        assert_eq!(reconciled(&scaled_down), deleted());
    }
}

#[test]
fn the_budget_of_a_deployment_that_is_gone_or_being_deleted_is_deleted() {
    let gone = host(None, Some(budget("u1")));
    assert_eq!(reconciled(&gone), deleted());

    let mut ending = deployment("u1", 3);
    ending["metadata"]["deletionTimestamp"] = json!("2025-01-01T00:00:00Z");
    let ending = host(Some(ending), Some(budget("u1")));
    assert_eq!(reconciled(&ending), deleted());
}

#[test]
fn a_changed_budget_is_repaired_and_further_fields_stay() {
    let changes = [("/spec/maxUnavailable", json!(3)), ("/spec/selector/matchLabels/app", json!("other"))];
    for (pointer, value) in changes {
        let mut changed = budget("u1");
        *changed.pointer_mut(pointer).unwrap() = value;
        let host = host(Some(deployment("u1", 3)), Some(changed));
        assert_eq!(reconciled(&host), applied(), "{pointer}");
    }

    let mut further = budget("u1");
    further["metadata"]["labels"] = json!({"team": "blue"});
    further["spec"]["unhealthyPodEvictionPolicy"] = json!("AlwaysAllow");
    let host = host(Some(deployment("u1", 3)), Some(further));
    assert_eq!(reconciled(&host), (vec![], vec![]));
}

#[test]
fn a_foreign_budget_is_neither_changed_nor_deleted() {
    let mut of_a_person = budget("u1");
    of_a_person["metadata"]["ownerReferences"] = json!([]);
    let mut of_another_kind = budget("u1");
    of_another_kind["metadata"]["ownerReferences"][0]["kind"] = json!("StatefulSet");
    let mut of_another_deployment = budget("u2");
    of_another_deployment["metadata"]["ownerReferences"][0]["name"] = json!("other");
    for foreign in [of_a_person, of_another_kind, of_another_deployment] {
        let warned = "warn the budget shop/web is not ours: delete it to get ours".to_owned();
        let needs_one = host(Some(deployment("u1", 3)), Some(foreign.clone()));
        assert_eq!(reconciled(&needs_one), (vec![], vec![warned]), "{foreign}");

        for deployment in [Some(deployment("u1", 1)), None] {
            let needs_none = host(deployment, Some(foreign.clone()));
            assert_eq!(reconciled(&needs_none), (vec![], vec![]), "{foreign}");
        }
    }
}

#[test]
fn a_budget_that_is_gone_already_is_no_failure_and_other_refusals_are_retried() {
    let gone = host(None, Some(budget("u1")));
    gone.fail_write(ApiCode::NotFound, "gone");
    assert_eq!(reconcile(), Ok(Reconciled::Done));
    assert!(gone.log().is_empty());

    let newer = host(None, Some(budget("u1")));
    newer.fail_write(ApiCode::Conflict, "another UID");
    assert!(matches!(reconcile(), Err(ReconcileError::Retry(why)) if why.contains("another UID")));
}
