use proptest::prelude::*;
use serde_json::{Value, json};

use super::*;
use crate::decode::NamespaceNames;

/// The result of a parser as text. Returns `None` if it refused the text.
fn outline(parsed: Option<ObjectText<'_>>, text: &str) -> Option<String> {
    let parsed = parsed?;
    let header = parsed.metadata.as_ref().map(|metadata| metadata.header(&NamespaceNames::default(), false));
    let managed = parsed.managed_fields(text).map(|range| &text[range]);
    Some(format!("{} {} {header:?} {managed:?}", parsed.kind(), parsed.api_version()))
}

fn short(text: &str) -> Option<String> {
    outline(usual(text, false).ok(), text)
}

fn long(text: &str) -> Option<String> {
    outline(serde_json::from_str(text).ok(), text)
}

fn pod() -> Value {
    json!({
        "kind": "Pod",
        "apiVersion": "v1",
        "metadata": {
            "name": "web-0", "namespace": "shop", "uid": "u-1", "resourceVersion": "42", "generation": 3,
            "creationTimestamp": "2026-11-21T00:00:00Z", "deletionTimestamp": "2026-11-21T00:01:00Z",
            "labels": {"app": "web", "größe": ""}, "annotations": {"text": "a\nb \"c\""},
            "ownerReferences": [
                {"apiVersion": "apps/v1", "kind": "ReplicaSet", "name": "web", "uid": "r", "controller": true,
                 "blockOwnerDeletion": true},
                {"kind": "Node", "name": "n"},
            ],
            "managedFields": [{"manager": "kubectl", "fieldsV1": {"f:spec": {}}}],
        },
        "spec": {"containers": [{"name": "a", "args": [1, -2.5e3, null, true]}]},
    })
}

#[test]
fn the_fast_parser_reads_usual_texts_with_the_same_result() {
    for text in [pod().to_string(), serde_json::to_string_pretty(&pod()).unwrap()] {
        assert!(short(&text).is_some());
        assert_eq!(short(&text), long(&text));
    }
}

#[test]
fn unusual_texts_are_left_to_the_general_parser() {
    for text in [
        r#"{"metadata":{"name":"a\u0062"}}"#,
        r#"{"metadata":{"name":"a","name":"b"}}"#,
        r#"{"metadata":{"n\u0061me":"a"}}"#,
        r#"{"met\u0061data":{"name":"a"}}"#,
        r#"{"metadata":{"name":7}}"#,
        r#"{"metadata":{"name":null}}"#,
        r#"{"metadata":{"name":"a","labels":{"a\n":"b"}}}"#,
        r#"{"metadata":{"name":"a","generation":1.5}}"#,
        r#"{"metadata":{"name":"a","managedFields":null}}"#,
        r#"{"metadata":null}"#,
        r#"{"kind":"Pod"}"#,
        r#"{"metadata":{"name":"a"}} x"#,
        r#"{"metadata":{"name":"a"},"spec":tru}"#,
        r#"[]"#,
        "",
    ] {
        assert_eq!(short(text), None, "{text}");
    }
}

#[test]
fn managed_fields_are_validated_if_they_are_kept() {
    let text = r#"{"metadata":{"name":"a","managedFields":[{"f:spec":tru}]}}"#;

    assert!(usual(text, false).is_err());
    assert_eq!(usual(text, true).ok().and_then(|parsed| parsed.managed_fields(text)), Some(40..56));
}

/// A pod in which one value is replaced by another.
fn changed() -> impl Strategy<Value = Value> {
    let paths = prop::sample::select(vec![
        "/kind",
        "/apiVersion",
        "/metadata",
        "/metadata/name",
        "/metadata/namespace",
        "/metadata/uid",
        "/metadata/resourceVersion",
        "/metadata/generation",
        "/metadata/deletionTimestamp",
        "/metadata/labels",
        "/metadata/labels/app",
        "/metadata/ownerReferences",
        "/metadata/ownerReferences/0",
        "/metadata/ownerReferences/0/controller",
        "/metadata/ownerReferences/1/uid",
        "/metadata/managedFields",
        "/spec",
    ]);
    let values = prop_oneof![
        Just(Value::Null),
        Just(json!({})),
        Just(json!([])),
        Just(json!([{}])),
        Just(json!({"a": "b"})),
        any::<bool>().prop_map(Value::from),
        any::<i64>().prop_map(Value::from),
        any::<u64>().prop_map(Value::from),
        any::<f64>().prop_map(Value::from),
        ".{0,9}".prop_map(Value::from),
    ];
    (paths, values).prop_map(|(path, value)| {
        let mut pod = pod();
        if let Some(place) = pod.pointer_mut(path) {
            *place = value;
        }
        pod
    })
}

proptest! {
    #[test]
    fn the_fast_parser_agrees_with_the_general_parser(pod in changed(), cut: prop::sample::Index) {
        let text = pod.to_string();
        assert_eq!(short(&text), outline(usual(&text, true).ok(), &text));
        if let Some(outline) = short(&text) {
            prop_assert_eq!(Some(outline), long(&text));
        }
        let cut = cut.index(text.len());
        if text.is_char_boundary(cut) {
            prop_assert_eq!(short(&text[..cut]), None);
        }
    }
}
