//! Tests of field ownership after different writes.

use proptest::prelude::*;
use serde_json::json;

use super::*;

const LAYOUT: Layout = Layout::BuiltIn;

fn writer(manager: &str) -> Writer<'_> {
    Writer { manager, api_version: "apps/v1", subresource: "", layout: LAYOUT }
}

fn object(fields: &Value) -> Object {
    let mut document = json!({"apiVersion": "apps/v1", "kind": "Deployment", "metadata": {"name": "a"}});
    crate::patch::merge(&mut document, fields);
    Object::from_value(document).unwrap()
}

fn apply_as(live: &Object, manager: &str, fields: &Value) -> Object {
    apply(live, &object(fields), writer(manager), false).unwrap()
}

#[test]
fn a_field_that_is_left_out_of_the_next_apply_is_removed() {
    let live = apply_new(
        &object(&json!({"metadata":{"labels":{"a":"1","b":"2"}},"spec":{"replicas":2}})),
        writer("m"),
    );

    let live = apply_as(&live, "m", &json!({"metadata":{"labels":{"a":"1"}}}));

    assert_eq!(live.metadata["labels"], json!({"a":"1"}));
    assert_eq!(live.at(&["spec"]), None);
}

#[test]
fn a_field_with_another_owner_stays() {
    let live = apply_new(&object(&json!({"spec":{"replicas":2,"paused":true}})), writer("one"));
    let live = apply_as(&live, "two", &json!({"spec":{"replicas":2}}));

    let live = apply_as(&live, "one", &json!({"spec":{"paused":true}}));

    assert_eq!(live.at(&["spec", "replicas"]), Some(&json!(2)));
}

#[test]
fn changing_a_field_of_another_manager_is_a_conflict_that_force_resolves() {
    let live = apply_new(&object(&json!({"spec":{"replicas":2}})), writer("one"));

    let config = object(&json!({"spec":{"replicas":3}}));
    let refused = apply(&live, &config, writer("two"), false).unwrap_err().to_error();
    let message = refused.document()["message"].as_str().unwrap().to_owned();
    assert_eq!(message, "Apply failed with 1 conflict: conflict with \"one\" using apps/v1: .spec.replicas");

    let forced = apply(&live, &config, writer("two"), true).unwrap();
    assert_eq!(forced.at(&["spec", "replicas"]), Some(&json!(3)));
    let owners = forced.metadata["managedFields"].as_array().unwrap().len();
    assert_eq!(owners, 1, "the first manager owns no field");
}

#[test]
fn a_list_item_is_removed_with_its_only_owner() {
    let containers = |names: &[&str]| -> Value {
        let items: Vec<Value> = names.iter().map(|name| json!({"name": name, "image": "i"})).collect();
        json!({"spec":{"template":{"spec":{"containers": items}}}})
    };
    let live = apply_new(&object(&containers(&["a", "b"])), writer("m"));

    let live = apply_as(&live, "m", &containers(&["b"]));

    assert_eq!(live.into_value()["spec"], containers(&["b"])["spec"]);
}

#[test]
fn an_empty_applied_object_may_be_filled_later() {
    let live = apply_new(&object(&json!({"data":{}})), writer("m"));
    let live = apply_as(&live, "m", &json!({"data":{"a":"1"}}));
    assert_eq!(live.at(&["data"]), Some(&json!({"a":"1"})));
}

#[test]
fn fields_that_an_update_changed_belong_to_its_manager() {
    let old = apply_new(&object(&json!({"spec":{"replicas":2}})), writer("applier"));
    let mut new = old.clone();
    new.set_at(&["spec", "replicas"], json!(5));
    track(&old, &mut new, writer("scaler"));

    let config = object(&json!({"spec":{"replicas":2}}));
    let refused = apply(&new, &config, writer("applier"), false).unwrap_err();
    assert!(refused.to_error().document()["message"].as_str().unwrap().contains("scaler"));
}

#[test]
fn fields_from_before_the_first_apply_have_an_owner() {
    let live = object(&json!({"spec":{"replicas":2}}));
    assert!(apply(&live, &object(&json!({"spec":{"replicas":2}})), writer("m"), false).is_ok());
    assert!(apply(&live, &object(&json!({"spec":{"replicas":3}})), writer("m"), false).is_err());
}

#[test]
fn applying_the_same_configuration_again_changes_nothing() {
    let config = json!({"spec":{"replicas":2,"template":{"spec":{"containers":[{"name":"a","ports":[{"containerPort":1}]}]}}}});
    let live = apply_new(&object(&config), writer("m"));
    assert_eq!(apply_as(&live, "m", &config), live);
}

#[test]
fn lists_of_custom_resources_are_replaced() {
    let custom = Writer { layout: Layout::Custom, ..writer("m") };
    let live = apply_new(&object(&json!({"spec":{"containers":[{"name":"a"}]}})), custom);
    let next = object(&json!({"spec":{"containers":[{"name":"b"}]}}));
    let live = apply(&live, &next, custom, false).unwrap();
    assert_eq!(live.at(&["spec", "containers"]), Some(&json!([{"name":"b"}])));
}

proptest! {
    #[test]
    fn a_field_set_survives_the_json_round_trip(fields in prop::collection::btree_map("[a-c]", prop::collection::btree_map("[a-c]", 0..3i64, 0..3), 0..4)) {
        let set = set::of(&json!(fields), LAYOUT);
        prop_assert_eq!(&set::from_json(&set::to_json(&set)), &set);
        prop_assert!((&set - &set).is_empty());
        prop_assert_eq!(&(&set | &set), &set);
        prop_assert_eq!(set.iter().cloned().collect::<FieldSet>(), set);
    }

    #[test]
    fn the_last_apply_of_the_only_manager_equals_the_object(
        first in prop::collection::btree_map("[a-d]", "[a-z]", 0..4),
        second in prop::collection::btree_map("[a-d]", "[a-z]", 1..4),
    ) {
        let live = apply_new(&object(&json!({"data": first})), writer("m"));
        let live = apply_as(&live, "m", &json!({"data": second}));
        let expected = json!(second);
        prop_assert_eq!(live.at(&["data"]), Some(&expected));
    }
}
