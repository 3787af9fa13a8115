use informer_sdk::testing::TestHost;
use serde_json::json;

use super::*;

fn record(kind: &str, uid: &str) -> Record {
    Record::new(json!({
        "metadata": {"namespace": "shop", "name": "web.1"},
        "involvedObject": {
            "apiVersion": "v1", "kind": kind, "namespace": "shop", "name": "web", "uid": uid, "resourceVersion": "5",
        },
    }))
}

fn pods() -> TestHost {
    let host = TestHost::new();
    let owners = json!([{"kind": "ReplicaSet", "name": "web-1"}]);
    host.store(
        "v1/pods",
        json!({"metadata": {
            "namespace": "shop", "name": "web", "uid": "u", "labels": {"app": "web"},
            "annotations": {"a": "b"}, "ownerReferences": owners,
        }}),
    );
    host
}

fn enriched(kind: &str, uid: &str) -> Value {
    let mut record = record(kind, uid);
    enrich(&mut record, true).unwrap();
    record.document()["involvedObject"].clone()
}

#[test]
fn an_event_gets_the_labels_annotations_and_owners_of_its_object() {
    let _host = pods();

    let involved = enriched("Pod", "u");

    assert_eq!(involved["labels"], json!({"app": "web"}));
    assert_eq!(involved["annotations"], json!({"a": "b"}));
    assert_eq!(involved["ownerReferences"][0]["name"], "web-1");
    assert_eq!(involved["deleted"], false);
}

#[test]
fn an_object_that_is_gone_or_was_replaced_is_deleted() {
    let host = pods();
    assert_eq!(enriched("Pod", "another")["deleted"], true);
    assert_eq!(enriched("Pod", "another").get("labels"), None);

    host.remove("v1/pods", &ObjectKey::new("shop", "web"));
    assert_eq!(enriched("Pod", "u")["deleted"], true);
}

#[test]
fn an_object_that_is_being_deleted_is_deleted_and_has_its_labels() {
    let host = pods();
    host.store(
        "v1/pods",
        json!({"metadata": {
            "namespace": "shop", "name": "web", "uid": "u", "labels": {"app": "web"},
            "deletionTimestamp": "2026-05-01T12:00:00Z",
        }}),
    );

    let involved = enriched("Pod", "u");

    assert_eq!((&involved["deleted"], &involved["labels"]), (&json!(true), &json!({"app": "web"})));
}

#[test]
fn an_object_that_is_not_watched_adds_nothing() {
    let _host = pods();

    let involved = enriched("Secret", "u");

    assert_eq!((&involved["deleted"], involved.get("labels")), (&json!(false), None));
}

/// The host answers `invalid` for a text that is no resource, such as `a/b/c/odd kinds`. The test host knows only resources.
#[test]
fn an_object_that_no_resource_can_have_adds_nothing_and_is_no_failure() {
    let _host = pods();
    for involved in [
        json!(null),
        json!({}),
        json!({"kind": "", "name": ""}),
        json!({"kind": "Pod"}),
        json!({"name": "web"}),
        json!({"kind": "Odd Kind", "name": "web", "apiVersion": "a/b/c"}),
        json!({"kind": "Pod", "name": "web", "apiVersion": "/"}),
    ] {
        let mut record = Record::new(json!({"metadata": {}, "involvedObject": involved}));
        enrich(&mut record, true).unwrap();
        let deleted = record.document()["involvedObject"].get("deleted");
        assert_eq!(deleted, involved.is_object().then_some(&json!(false)), "{involved}");
        assert_eq!(record.of_involved("labels", "app"), None, "{involved}");
    }

    let out_of_reach =
        |code, gvr: &str| is_out_of_reach(&Error::Host { code, message: "no".to_owned() }, gvr);
    for code in [ErrorCode::Invalid, ErrorCode::UnknownResource, ErrorCode::NotGranted] {
        assert!(out_of_reach(code, "a/b/c/odd kinds"), "{code}");
    }
    assert!(!out_of_reach(ErrorCode::Invalid, "v1/pods"), "`reads` lacks a field");
    assert!(!out_of_reach(ErrorCode::Internal, "v1/pods"), "another attempt may succeed");
}

#[test]
fn a_kind_leads_to_its_resource() {
    for (kind, expected) in [
        ("pod", "pods"),
        ("endpoints", "endpoints"),
        ("ingress", "ingresses"),
        ("networkpolicy", "networkpolicies"),
        ("gateway", "gateways"),
        ("storageclass", "storageclasses"),
    ] {
        assert_eq!(plural(kind), expected);
    }
}
