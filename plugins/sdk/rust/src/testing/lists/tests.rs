use serde_json::{Value, json};

use crate::client::{self as requests, ApiCode, ListOptions};
use crate::lister::{self as reads, Selector};
use crate::testing::TestHost;
use crate::{ErrorCode, ObjectKey};

const PODS: &str = "v1/pods";

fn pod(name: &str, labels: &Value, volumes: &[&str]) -> Value {
    let volumes: Vec<Value> = volumes.iter().map(|map| json!({"configMap": {"name": map}})).collect();
    json!({
        "metadata": {"namespace": "default", "name": name, "labels": labels},
        "spec": {"volumes": volumes, "nodeName": "n1"},
    })
}

/// `a` and `b` have the label `app`, `c` has none.
fn three_pods() -> TestHost {
    let host = TestHost::new();
    host.store(PODS, pod("a", &json!({"app": "web", "tier": "front"}), &["x", "y"]));
    host.store(PODS, pod("b", &json!({"app": "db"}), &["y"]));
    host.store(PODS, pod("c", &json!({}), &[]));
    host
}

fn cached(selector: &Selector) -> Vec<String> {
    reads::list_meta(PODS, selector).map(|meta| meta.unwrap().name).collect()
}

fn live(options: &ListOptions) -> Vec<String> {
    let name = |object: Value| object["metadata"]["name"].as_str().unwrap().to_owned();
    requests::list::<Value>(PODS, options).map(|object| name(object.unwrap())).collect()
}

#[test]
fn the_cache_and_the_server_select_by_labels() {
    let _host = three_pods();
    for (labels, selected) in [
        ("app=web", &["a"][..]),
        ("app==web", &["a"]),
        ("app!=web", &["b", "c"]),
        ("app in (web, db)", &["a", "b"]),
        ("app notin (web)", &["b", "c"]),
        ("app", &["a", "b"]),
        ("!app", &["c"]),
        ("app in (web,db),!tier", &["b"]),
        (" ", &["a", "b", "c"]),
    ] {
        assert_eq!(cached(&Selector::all().labels(labels)), selected, "{labels}");
        assert_eq!(live(&ListOptions::all().labels(labels)), selected, "{labels}");
    }
}

#[test]
fn the_server_selects_by_the_fields_that_every_resource_has() {
    let host = three_pods();
    host.store("v1/nodes", json!({"metadata": {"name": "a"}}));
    for (fields, selected) in [
        ("metadata.name=a", &["a"][..]),
        ("metadata.name!=a", &["b", "c"]),
        ("metadata.name!=a,metadata.name!=b", &["c"]),
        ("metadata.namespace=default", &["a", "b", "c"]),
        ("metadata.namespace=", &[]),
    ] {
        assert_eq!(live(&ListOptions::all().fields(fields)), selected, "{fields}");
    }
    assert_eq!(
        live(&ListOptions::all().fields("metadata.name=b").labels("app=db").namespace("default")),
        ["b"]
    );
    assert_eq!(live(&ListOptions::all().namespace("other")), Vec::<String>::new());
}

#[test]
fn a_selector_that_the_host_or_the_server_refuses_is_invalid() {
    let _host = three_pods();
    let cached = |labels: &str| {
        reads::list_meta(PODS, &Selector::all().labels(labels)).next().unwrap().unwrap_err().code()
    };
    let live = |options: ListOptions| {
        requests::list::<Value>(PODS, &options).next().unwrap().unwrap_err().api_code()
    };

    for labels in ["app in web", "app=web,,", "a b"] {
        assert_eq!(cached(labels), Some(ErrorCode::Invalid), "{labels}");
        assert_eq!(live(ListOptions::all().labels(labels)), Some(ApiCode::Invalid), "{labels}");
    }
    for fields in ["metadata.name", "spec.nodeName=n1"] {
        assert_eq!(live(ListOptions::all().fields(fields)), Some(ApiCode::Invalid), "{fields}");
    }
}

#[test]
fn an_index_has_the_values_at_all_of_its_pointers() {
    let host = three_pods();
    host.index(PODS, "by-map", &["/spec/volumes/*/configMap/name", "/metadata/labels/tier"]);
    let by_map = |value: &str| cached(&Selector::all().index("by-map", value));

    assert_eq!(by_map("x"), ["a"]);
    assert_eq!(by_map("y"), ["a", "b"]);
    assert_eq!(by_map("front"), ["a"]);
    assert_eq!(by_map("none"), Vec::<String>::new());
    assert_eq!(cached(&Selector::all().index("by-map", "y").labels("app=db").namespace("default")), ["b"]);
    let values = |index, namespace| -> Vec<(String, u32)> {
        reads::index_values(PODS, index, namespace).map(Result::unwrap).collect()
    };
    let counted = [("front".to_owned(), 1), ("x".to_owned(), 1), ("y".to_owned(), 2)];
    assert_eq!(values("by-map", None), counted);
    assert_eq!(values("by-map", Some("other")), []);
    assert_eq!(values("namespace", None), [("default".to_owned(), 3)]);
    assert_eq!(cached(&Selector::all().index("namespace", "default")), ["a", "b", "c"]);

    host.store(PODS, pod("b", &json!({}), &["x"]));
    assert_eq!(by_map("x"), ["a", "b"]);
}

#[test]
fn an_index_that_the_test_does_not_declare_is_invalid() {
    let _host = three_pods();

    let listed = reads::list_meta(PODS, &Selector::all().index("by-map", "x")).next().unwrap();
    assert_eq!(listed.unwrap_err().code(), Some(ErrorCode::Invalid));
    let values = reads::index_values(PODS, "by-map", None).next().unwrap();
    assert_eq!(values.unwrap_err().code(), Some(ErrorCode::Invalid));
}

#[test]
#[should_panic(expected = "the index `by-map`: `spec` is not a JSON pointer")]
fn a_pointer_of_an_index_begins_with_a_slash() {
    TestHost::new().index(PODS, "by-map", &["spec"]);
}

/// A plugin that deletes what it lists sees each object once.
#[test]
fn all_pages_of_a_list_come_from_one_snapshot() {
    let host = three_pods();
    let options = ListOptions::all().page_size(1);
    let mut seen = Vec::new();
    for object in requests::list::<Value>(PODS, &options) {
        let name = object.unwrap()["metadata"]["name"].as_str().unwrap().to_owned();
        host.remove(PODS, &ObjectKey::new("default", &name));
        seen.push(name);
    }
    assert_eq!(seen, ["a", "b", "c"]);
}

#[test]
fn a_list_of_the_cache_ends_with_its_call() {
    let host = three_pods();
    let selector = Selector::all().page_size(1);
    let mut list = reads::list_meta(PODS, &selector);
    assert_eq!(list.next().unwrap().unwrap().name, "a");

    host.end_call();

    assert_eq!(list.next().unwrap().unwrap_err().code(), Some(ErrorCode::StalePage));
}

/// An index may have more values than one answer.
#[test]
fn the_values_of_an_index_have_pages() {
    let host = TestHost::new();
    host.index(PODS, "by-map", &["/spec/volumes/*/configMap/name"]);
    let names: Vec<String> = (0..1_201).map(|n| format!("{n:04}")).collect();
    let names: Vec<&str> = names.iter().map(String::as_str).collect();
    host.store(PODS, pod("a", &json!({}), &names));

    let values: Vec<(String, u32)> = reads::index_values(PODS, "by-map", None).map(Result::unwrap).collect();

    assert_eq!(values, names.iter().map(|name| ((*name).to_owned(), 1)).collect::<Vec<_>>());
}
