//! Tests of strategic merge with each kind of list and each directive.

use proptest::prelude::*;
use serde_json::json;

use super::*;

fn pod(containers: &Value) -> Value {
    json!({"spec": {"containers": containers}})
}

fn merge(target: &Value, patch: &Value) -> Value {
    strategic_merge(target, patch).unwrap()
}

#[test]
fn containers_and_their_lists_merge_by_their_keys() {
    let target = pod(&json!([
        {"name":"a","image":"a:1","env":[{"name":"X","value":"1"}],"args":["1"]},
        {"name":"b","image":"b:1"},
    ]));

    let patch = pod(&json!([
        {"name":"a","image":"a:2","env":[{"name":"Y","value":"2"}],"args":["2"],
         "ports":[{"containerPort":80,"name":null}]},
    ]));

    let merged = merge(&target, &patch);
    assert_eq!(
        merged,
        pod(&json!([
            {"name":"a","image":"a:2","env":[{"name":"X","value":"1"},{"name":"Y","value":"2"}],"args":["2"],
             "ports":[{"containerPort":80}]},
            {"name":"b","image":"b:1"},
        ]))
    );
}

#[test]
fn service_ports_merge_by_port_and_policy_ports_do_not_merge() {
    let service = json!({"spec":{"ports":[{"port":80,"targetPort":8080}]}});
    let patch = json!({"spec":{"ports":[{"port":443}]}});
    assert_eq!(merge(&service, &patch)["spec"]["ports"].as_array().unwrap().len(), 2);

    let policy = json!({"spec":{"ingress":[{"ports":[{"port":80}]}]}});
    let patch = json!({"spec":{"ingress":[{"ports":[{"port":443}]}]}});
    assert_eq!(merge(&policy, &patch), patch);
}

#[test]
fn items_and_objects_are_deleted_and_replaced_by_directive() {
    let target = pod(&json!([{"name":"a","image":"1"},{"name":"b","image":"1"}]));
    let delete = pod(&json!([{"name":"a","$patch":"delete"}]));
    assert_eq!(merge(&target, &delete), pod(&json!([{"name":"b","image":"1"}])));

    let replace = pod(&json!([{"$patch":"replace"},{"name":"c","image":"3"}]));
    assert_eq!(merge(&target, &replace), pod(&json!([{"name":"c","image":"3"}])));

    let target = json!({"data":{"a":"1","b":"2"}});
    let replace = json!({"data":{"$patch":"replace","c":"3"}});
    assert_eq!(merge(&target, &replace), json!({"data":{"c":"3"}}));
    assert_eq!(merge(&target, &json!({"data":{"$patch":"delete"}})), json!({}));
}

#[test]
fn retain_keys_removes_all_other_fields() {
    let target = json!({"spec":{"strategy":{"type":"RollingUpdate","rollingUpdate":{"maxSurge":1}}}});
    let patch = json!({"spec":{"strategy":{"$retainKeys":["type"],"type":"Recreate"}}});
    assert_eq!(merge(&target, &patch), json!({"spec":{"strategy":{"type":"Recreate"}}}));
}

#[test]
fn finalizers_are_a_set() {
    let target = json!({"metadata":{"finalizers":["a","b"]}});
    let patch = json!({"metadata":{"finalizers":["c","a"],"$deleteFromPrimitiveList/finalizers":["b"]}});
    assert_eq!(merge(&target, &patch), json!({"metadata":{"finalizers":["a","c"]}}));
}

#[test]
fn set_element_order_sorts_named_items_and_keeps_others_in_place() {
    let target = pod(&json!([{"name":"sidecar"},{"name":"a"},{"name":"b"}]));
    let patch = json!({"spec":{"$setElementOrder/containers":[{"name":"b"},{"name":"a"}]}});
    let merged = merge(&target, &patch);
    let names: Vec<&str> =
        merged["spec"]["containers"].as_array().unwrap().iter().filter_map(|c| c["name"].as_str()).collect();
    assert_eq!(names, ["sidecar", "b", "a"]);
}

#[test]
fn tolerations_are_replaced_as_a_whole() {
    let target = json!({"spec":{"tolerations":[{"key":"a"}]}});
    let patch = json!({"spec":{"tolerations":[{"key":"b"}]}});
    assert_eq!(merge(&target, &patch), patch);
}

#[test]
fn invalid_directives_are_refused() {
    let target = pod(&json!([{"name":"a"}]));
    for patch in [
        pod(&json!([{"image":"x"}])),
        pod(&json!(["a"])),
        json!({"spec":{"$patch":"explode"}}),
        json!({"spec":{"$patch":7}}),
        json!([]),
    ] {
        assert!(strategic_merge(&target, &patch).is_err(), "{patch}");
    }
}

proptest! {
    #[test]
    fn merging_twice_is_merging_once(old in names(), new in names()) {
        let target = pod(&containers(&old));
        let once = merge(&target, &pod(&containers(&new)));
        prop_assert_eq!(&merge(&once, &pod(&containers(&new))), &once);

        let count = once["spec"]["containers"].as_array().unwrap().len();
        let union: std::collections::BTreeSet<_> = old.iter().chain(&new).collect();
        prop_assert_eq!(count, union.len());
    }
}

fn names() -> impl Strategy<Value = std::collections::BTreeSet<String>> {
    prop::collection::btree_set("[a-d]", 0..4)
}

fn containers(names: &std::collections::BTreeSet<String>) -> Value {
    names.iter().map(|name| json!({"name": name, "image": format!("{name}:1")})).collect()
}
