//! Tests of JSON patches and merge patches.

use proptest::prelude::*;
use serde_json::json;

use super::*;

fn apply(target: &Value, patch: Value) -> Result<Value, PatchError> {
    JsonPatch::parse(patch)?.apply(target)
}

#[test]
fn every_operation_follows_rfc_6902() {
    for (target, operation, result) in [
        (json!({"a":1}), json!({"op":"add","path":"/b","value":2}), json!({"a":1,"b":2})),
        (json!({"a":[1,3]}), json!({"op":"add","path":"/a/1","value":2}), json!({"a":[1,2,3]})),
        (json!({"a":[1]}), json!({"op":"add","path":"/a/-","value":2}), json!({"a":[1,2]})),
        (json!({"a":1,"b":2}), json!({"op":"remove","path":"/a"}), json!({"b":2})),
        (json!({"a":1}), json!({"op":"replace","path":"/a","value":2}), json!({"a":2})),
        (json!({"a":1}), json!({"op":"move","from":"/a","path":"/b"}), json!({"b":1})),
        (json!({"a":1}), json!({"op":"copy","from":"/a","path":"/b"}), json!({"a":1,"b":1})),
        (json!({"a/b":1}), json!({"op":"replace","path":"/a~1b","value":2}), json!({"a/b":2})),
        (json!({"a":1}), json!({"op":"add","path":"","value":[1]}), json!([1])),
        (json!({"a":1}), json!({"op":"test","path":"/a","value":1}), json!({"a":1})),
    ] {
        assert_eq!(apply(&target, json!([operation])), Ok(result));
    }
}

#[test]
fn copies_of_copies_are_bounded_in_size_and_depth() {
    let wide = json!({"op": "copy", "from": "/a", "path": "/a/-"});
    let error = apply(&json!({"a": ["x".repeat(1000)]}), Value::Array(vec![wide; 40])).unwrap_err();
    assert!(matches!(error, PatchError::Unfit(_)), "{error}");

    let mut path = String::new();
    let deeper = std::iter::repeat_with(|| {
        path.push_str("/a");
        json!({"op": "add", "path": path, "value": {}})
    });
    let error = apply(&json!({}), deeper.take(200).collect()).unwrap_err();
    assert!(error.to_string().contains("nests deeper"), "{error}");
}

#[test]
fn operations_that_cannot_be_applied_are_refused() {
    for operation in [
        json!({"op":"remove","path":"/x"}),
        json!({"op":"replace","path":"/x/y","value":1}),
        json!({"op":"add","path":"/x/y","value":1}),
        json!({"op":"add","path":"/list/9","value":1}),
        json!({"op":"add","path":"/list/01","value":1}),
        json!({"op":"remove","path":"/list/-"}),
        json!({"op":"test","path":"/a","value":2}),
        json!({"op":"move","from":"/a","path":"/a/b"}),
        json!({"op":"remove","path":""}),
    ] {
        let target = json!({"a":1,"list":[0]});
        assert!(matches!(apply(&target, json!([operation])), Err(PatchError::Unfit(_))), "{operation}");
    }
    for document in [json!({}), json!([{"op":"explode","path":"/"}]), json!([{"op":"add"}]), json!("x")] {
        assert!(matches!(JsonPatch::parse(document), Err(PatchError::Malformed(_))));
    }
}

#[test]
fn the_examples_of_rfc_7386_hold() {
    for (target, patch, result) in [
        (json!({"a":"b"}), json!({"a":"c"}), json!({"a":"c"})),
        (json!({"a":"b"}), json!({"b":"c"}), json!({"a":"b","b":"c"})),
        (json!({"a":"b"}), json!({"a":null}), json!({})),
        (json!({"a":["b"]}), json!({"a":"c"}), json!({"a":"c"})),
        (json!({"a":{"b":"c"}}), json!({"a":{"b":"d","c":null}}), json!({"a":{"b":"d"}})),
        (json!({"a":[{"b":"c"}]}), json!({"a":[1]}), json!({"a":[1]})),
        (json!(["a", "b"]), json!(["c", "d"]), json!(["c", "d"])),
        (json!({"e":null}), json!({"a":1}), json!({"e":null,"a":1})),
        (json!([1, 2]), json!({"a":"b","c":null}), json!({"a":"b"})),
        (json!({}), json!({"a":{"bb":{"ccc":null}}}), json!({"a":{"bb":{}}})),
    ] {
        let mut value = target.clone();
        merge(&mut value, &patch);
        assert_eq!(value, result, "{target} with {patch}");
    }
}

fn any_json() -> impl Strategy<Value = Value> {
    let leaf =
        prop_oneof![Just(Value::Null), any::<bool>().prop_map(Value::from), (0..9i64).prop_map(Value::from)];
    leaf.prop_recursive(3, 20, 4, |inner| {
        prop_oneof![
            prop::collection::vec(inner.clone(), 0..3).prop_map(Value::from),
            prop::collection::btree_map("[abc]", inner, 0..4)
                .prop_map(|fields| Value::Object(fields.into_iter().collect())),
        ]
    })
}

proptest! {
    #[test]
    fn merging_twice_is_merging_once(target in any_json(), patch in any_json()) {
        let mut once = target;
        merge(&mut once, &patch);
        let mut twice = once.clone();
        merge(&mut twice, &patch);
        prop_assert_eq!(once, twice);
    }
}
