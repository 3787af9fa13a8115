use informer_types::{Gvr, Header};
use proptest::prelude::*;
use serde_json::{Value, json};

use super::*;
use crate::error::Problem;

fn decoder(drop: &[&str]) -> Decoder {
    let drop: Vec<Pointer> = drop.iter().map(|pointer| pointer.parse().unwrap()).collect();
    let gvr = Gvr::new("apps", "v1", "deployments");
    Decoder::new("Deployment", &WatchConfig { drop, ..WatchConfig::new(gvr) }, 1 << 20)
}

fn decode(text: &str) -> Result<Arc<Object>, Undecodable> {
    decoder(&[MANAGED_FIELDS]).object(text.as_bytes())
}

fn parsed(object: &Object) -> Value {
    serde_json::from_str(&object.json().unwrap()).unwrap()
}

#[test]
fn the_header_is_parsed_and_the_rest_is_kept_unchanged() {
    let text = r#" {"apiVersion":"apps/v1","kind":"Deployment","metadata":{"name":"we\u0062","namespace":"shop",
        "uid":"u","resourceVersion":"7","generation":3,"creationTimestamp":"2026-01-01T00:00:00Z",
        "deletionTimestamp":null,"labels":{"a":"b\n"},"ownerReferences":[{"apiVersion":"v1","kind":"Node",
        "name":"n","uid":"o","controller":true,"blockOwnerDeletion":true}],
        "managedFields":[{"a":"}]"}]},"spec":{"x":[1,2.50,"\ud83d\ude00"]}} "#;

    let object = decode(text).unwrap();

    assert_eq!(object.key().to_string(), "shop/web");
    assert_eq!(object.uid(), "u");
    assert_eq!((object.resource_version(), object.generation()), ("7", Some(3)));
    assert_eq!((object.deletion_timestamp(), object.label("a")), (None, Some("b\n")));
    assert_eq!(object.controller().unwrap().name, "n");
    let mut expected: Value = serde_json::from_str(text).unwrap();
    expected["metadata"].as_object_mut().unwrap().remove("managedFields");
    assert_eq!(parsed(&object), expected);
    assert!(object.json().unwrap().contains("2.50"));
}

#[test]
fn the_type_that_a_list_omits_is_added() {
    for (text, kept) in [
        (
            r#"{"metadata":{"name":"a"}}"#,
            json!({"kind":"Deployment","apiVersion":"apps/v1","metadata":{"name":"a"}}),
        ),
        (
            r#"{"kind":"Deployment","metadata":{"name":"a"}}"#,
            json!({"apiVersion":"apps/v1","kind":"Deployment","metadata":{"name":"a"}}),
        ),
    ] {
        assert_eq!(parsed(&decode(text).unwrap()), kept);
    }
}

#[test]
fn any_field_can_be_dropped() {
    let text = r#"{"metadata":{"name":"a","annotations":{"x":"1","y":"2"}},"status":{"a":1},"spec":1}"#;

    let object = decoder(&["/status", "/metadata/annotations/x", "/none"]).object(text.as_bytes()).unwrap();

    let kept = json!({"kind":"Deployment","apiVersion":"apps/v1","metadata":{"name":"a","annotations":{"y":"2"}},"spec":1});
    assert_eq!(parsed(&object), kept);
}

/// Scenario 103.
#[test]
fn the_kind_of_defect_decides_how_an_object_is_handled() {
    assert!(matches!(decode("{"), Err(Undecodable::NotJson(_))));
    assert!(matches!(decode(r#"{"metadata":{"name":"a"}} x"#), Err(Undecodable::NotJson(_))));
    for foreign in [
        r#"{"kind":"Pod","apiVersion":"v1","metadata":{"name":"a"}}"#,
        r#"{"kind":"Deployment","apiVersion":"apps/v1beta1","metadata":{"name":"a"}}"#,
        r#"{"kind":"Deployment","apiVersion":"apps/v1"}"#,
        r#"{"metadata":null}"#,
    ] {
        assert!(matches!(decode(foreign), Err(Undecodable::Foreign(_))), "{foreign}");
    }
    for (broken, key) in [
        (r#"{"metadata":{"name":"a","namespace":"b","labels":{"x":1}}}"#, Some("b/a")),
        (r#"{"metadata":{"name":"a","generation":"x"}}"#, Some("a")),
        // Texts that are JSON, and that no string and no number can hold.
        (r#"{"metadata":{"name":"a","namespace":"b","labels":{"x":"\ud800"}}}"#, Some("b/a")),
        (r#"{"metadata":{"name":"a","generation":1e999}}"#, Some("a")),
        (r#"{"metadata":{"name":"","namespace":"b"}}"#, None),
        (r#"{"metadata":{"name":["a"]}}"#, None),
        (r#"{"metadata":7}"#, None),
    ] {
        match decode(broken) {
            Err(Undecodable::Quarantined { key: found, .. }) => {
                assert_eq!(found.map(|key| key.to_string()).as_deref(), key, "{broken}");
            }
            other => panic!("{broken}: {other:?}"),
        }
    }
}

/// Scenario 29.
#[test]
fn an_object_holds_no_more_memory_than_its_text() {
    let text =
        format!(r#"{{"metadata":{{"name":"a","managedFields":[{}]}},"spec":1}}"#, "1,".repeat(500) + "1");

    let object = decode(&text).unwrap();

    assert!(object.memory_bytes() < 400, "{}", object.memory_bytes());
}

fn any_text() -> impl Strategy<Value = String> {
    prop_oneof!["[a-z]{1,4}", "[\"\\\\ä😀/\n]{0,3}"]
}

fn any_metadata() -> impl Strategy<Value = Value> {
    let labels = prop_oneof![
        3 => prop::collection::btree_map(any_text(), any_text(), 0..4).prop_map(|map| json!(map)),
        1 => Just(Value::Null),
    ];
    let managed = prop_oneof![Just(Value::Null), Just(json!([])), Just(json!([{"f:x": {".": {}}}]))];
    ("[a-z]{1,4}", any_text(), labels, managed, any::<Option<i64>>(), any::<bool>()).prop_map(
        |(name, text, labels, managed, generation, owner)| {
            let owners = if owner { json!([{"name": text, "uid": "u", "controller": null}]) } else { Value::Null };
            json!({"name": name, "uid": text, "resourceVersion": text, "labels": labels, "generation": generation,
                "managedFields": managed, "ownerReferences": owners, "annotations": {"a": text}})
        },
    )
}

fn any_object() -> impl Strategy<Value = Value> {
    (any_metadata(), any_text())
        .prop_map(|(metadata, text)| json!({"metadata": metadata, "spec": {text.clone(): [1, text]}}))
}

fn write(value: &Value, pretty: bool) -> String {
    if pretty { serde_json::to_string_pretty(value).unwrap() } else { value.to_string() }
}

/// Compares the object with the tree that a general parser makes of the same text.
fn agrees(object: &Object, value: &Value) -> bool {
    let metadata = &value["metadata"];
    let text = |field: &str| metadata[field].as_str().unwrap_or_default();
    let labels: Vec<(&str, &str)> = object.labels().collect();
    let expected: Vec<(&str, &str)> = metadata["labels"]
        .as_object()
        .into_iter()
        .flatten()
        .map(|(key, value)| (key.as_str(), value.as_str().unwrap()))
        .collect();
    object.name() == text("name")
        && object.uid() == text("uid")
        && object.resource_version() == text("resourceVersion")
        && object.generation() == metadata["generation"].as_i64()
        && object.owners().count() == metadata["ownerReferences"].as_array().map_or(0, Vec::len)
        && labels.len() == expected.len()
        && expected.iter().all(|pair| labels.contains(pair))
}

proptest! {
    #[test]
    fn decoding_agrees_with_a_parser_of_the_whole_tree(value in any_object(), pretty in any::<bool>()) {
        let object = decode(&write(&value, pretty)).unwrap();

        prop_assert!(agrees(&object, &value));
        let mut kept = parsed(&object);
        prop_assert_eq!(kept.as_object_mut().unwrap().remove("kind"), Some(json!("Deployment")));
        prop_assert_eq!(kept.as_object_mut().unwrap().remove("apiVersion"), Some(json!("apps/v1")));
        let mut expected = value;
        if !expected["metadata"]["managedFields"].is_null() {
            expected["metadata"].as_object_mut().unwrap().remove("managedFields");
        }
        prop_assert_eq!(kept, expected);
    }

    #[test]
    fn mutated_text_never_panics_and_decodes_only_to_its_content(
        value in any_object(),
        at in any::<prop::sample::Index>(),
        byte in any::<u8>(),
        cut in any::<bool>(),
    ) {
        let mut text = value.to_string().into_bytes();
        let at = at.index(text.len());
        if cut { text.truncate(at) } else { text[at] = byte }

        if let Ok(object) = decoder(&[MANAGED_FIELDS, "/spec"]).object(&text) {
            let whole: Value = serde_json::from_slice(&text).unwrap();
            prop_assert!(agrees(&object, &whole));
            prop_assert!(serde_json::from_str::<Value>(&object.json().unwrap()).is_ok());
        }
    }

    #[test]
    fn a_list_decodes_the_same_wherever_its_chunks_are_split(
        objects in prop::collection::vec(any_object(), 0..6),
        pretty in any::<bool>(),
        cuts in prop::collection::vec(1..64_usize, 1..6),
    ) {
        let list = json!({"kind": "DeploymentList", "items": objects, "metadata": {"resourceVersion": "7", "continue": "t"}});
        let text = write(&list, pretty);
        let decoder = decoder(&[MANAGED_FIELDS]);
        let mut pieces = ListDecoder::new(&decoder);
        let mut rest = text.as_bytes();
        for cut in cuts.iter().cycle() {
            let (chunk, tail) = rest.split_at((*cut).min(rest.len()));
            pieces.push(chunk).unwrap();
            rest = tail;
            if rest.is_empty() { break }
        }

        let page = pieces.finish().unwrap();

        prop_assert_eq!((page.resource_version.as_str(), page.continue_token.as_str()), ("7", "t"));
        prop_assert!(page.undecodable.is_empty());
        prop_assert_eq!(page.objects.len(), objects.len());
        prop_assert!(page.objects.iter().zip(&objects).all(|(object, value)| agrees(object, value)));
    }

    #[test]
    fn a_mutated_list_is_accepted_only_if_it_is_json(
        objects in prop::collection::vec(any_object(), 0..3),
        at in any::<prop::sample::Index>(),
        byte in any::<u8>(),
    ) {
        let list = json!({"kind": "DeploymentList", "metadata": {"resourceVersion": "7"}, "items": objects});
        let mut text = list.to_string().into_bytes();
        let at = at.index(text.len());
        text[at] = byte;
        let decoder = decoder(&[]);
        let mut pieces = ListDecoder::new(&decoder);

        if pieces.push(&text).is_ok() && let Ok(page) = pieces.finish() {
            let repaired = String::from_utf8_lossy(&text);
            prop_assert!(serde_json::from_str::<IgnoredAny>(&repaired).is_ok());
            // A tree cannot hold a number such as 1e999, which is JSON.
            if let Ok(whole) = serde_json::from_str::<Value>(&repaired) {
                let items = whole["items"].as_array().map_or(0, Vec::len);
                prop_assert_eq!(page.objects.len() + page.undecodable.len(), items);
            }
        }
    }

    #[test]
    fn a_mutated_frame_never_panics(value in any_object(), at in any::<prop::sample::Index>(), byte in any::<u8>()) {
        let mut text = json!({"type": "ADDED", "object": value}).to_string().into_bytes();
        let at = at.index(text.len());
        text[at] = byte;

        if let Ok(WatchEvent::Added(object)) = decoder(&[MANAGED_FIELDS]).event(&text) {
            let whole: Value = serde_json::from_slice(&text).unwrap();
            prop_assert!(agrees(&object, &whole["object"]));
        }
    }
}

#[test]
fn a_header_too_large_to_keep_is_quarantined_by_its_key() {
    let text = format!(r#"{{"metadata":{{"name":"a","uid":"{}"}}}}"#, "u".repeat(1 << 21));

    match decode(&text) {
        Err(Undecodable::Quarantined { key: Some(key), problem: ObjectProblem::TooLarge(_), .. }) => {
            assert_eq!(key.to_string(), "a");
        }
        other => panic!("{other:?}"),
    }
    assert!(Object::new(&Header::default(), Body::Raw("{}".into())).is_ok());
}

#[test]
fn an_envelope_in_any_layout_gives_the_same_event() {
    let object =
        r#"{"kind":"Deployment","apiVersion":"apps/v1","metadata":{"name":"a","resourceVersion":"1"}}"#;
    for frame in [
        format!(r#"{{"type":"ADDED","object":{object}}}"#),
        format!(r#"{{ "object" : {object} , "type" : "ADDED" }}"#),
        format!(r#"{{"type":"A\u0044DED","object":{object},"more":1}}"#),
        format!(r#"{{"type":"ADDED","object":{object},"more":{{}}}}"#),
    ] {
        let event = decoder(&[]).event(frame.as_bytes()).unwrap();

        assert!(matches!(event, WatchEvent::Added(object) if object.name() == "a"), "{frame}");
    }
    let trailing = format!(r#"{{"type":"ADDED","object":{object},"x":}}"#);
    assert!(matches!(decoder(&[]).event(trailing.as_bytes()), Err(EventError::Frame(Problem::NotJson(_)))));
}

/// From the bytes of a frame to an object with its header.
#[test]
#[ignore = "needs valgrind"]
fn a_frame_is_decoded_within_its_instructions() {
    let containers: Vec<Value> = (0..8)
        .map(|number| {
            let env: Vec<Value> =
                (0..8).map(|name| json!({"name": format!("KEY_{name}"), "value": "a value"})).collect();
            json!({"name": format!("c{number}"), "image": "registry.example.com/team/app:v1", "env": env})
        })
        .collect();
    let managed = json!([{"manager": "kubelet", "fieldsV1": {"f:status": {"f:phase": {}}}}]);
    let frame = json!({"type": "MODIFIED", "object": {"kind": "Deployment", "apiVersion": "apps/v1",
        "metadata": {"name": "web", "namespace": "shop", "uid": "u", "resourceVersion": "7", "labels": {"app": "web"},
            "managedFields": managed}, "spec": {"containers": containers}}})
    .to_string();
    let decoder = decoder(&[MANAGED_FIELDS]);
    const TEST: &str = "decode::tests::a_frame_is_decoded_within_its_instructions";

    for _ in 0..informer_instructions::rounds(TEST, 100, 666_800) {
        assert!(matches!(decoder.event(frame.as_bytes()), Ok(WatchEvent::Modified(_))));
    }
}
