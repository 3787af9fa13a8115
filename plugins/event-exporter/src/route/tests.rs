use serde_json::{Value, json};

use super::*;

fn record(changes: &Value) -> Record {
    let mut object = json!({
        "metadata": {"namespace": "shop", "name": "web.1"},
        "involvedObject": {
            "apiVersion": "v1", "kind": "Pod", "namespace": "shop", "name": "web",
            "labels": {"app": "web", "version": "dev"}, "annotations": {"owner": "team-a"},
        },
        "reason": "BackOff", "type": "Warning", "message": "Back-off restarting container", "count": 3,
        "source": {"component": "kubelet", "host": "node-1"},
    });
    json_merge(&mut object, changes);
    Record::new(object)
}

fn json_merge(to: &mut Value, from: &Value) {
    match (to, from) {
        (Value::Object(to), Value::Object(from)) => {
            for (key, value) in from {
                json_merge(to.entry(key).or_insert(Value::Null), value);
            }
        }
        (to, from) => *to = from.clone(),
    }
}

fn route(value: Value) -> Route {
    serde_json::from_value(value).unwrap()
}

fn sends(rule: Value) -> bool {
    let mut rule = rule;
    rule["receiver"] = json!("r");
    !route(json!({"match": [rule]})).receivers(&record(&json!({}))).is_empty()
}

#[test]
fn each_field_of_a_rule_is_an_unanchored_expression_and_all_must_hold() {
    for (rule, expected) in [
        (json!({}), true),
        (json!({"message": "restarting"}), true),
        (json!({"message": "^restarting"}), false),
        (json!({"apiVersion": "v1"}), true),
        (json!({"apiVersion": "apps"}), false),
        (json!({"kind": "Deployment|Pod"}), true),
        (json!({"kind": "ReplicaSet"}), false),
        (json!({"namespace": "^sh.p$"}), true),
        (json!({"namespace": "kube"}), false),
        (json!({"reason": "Off"}), true),
        (json!({"reason": "(?i)backoff"}), true),
        (json!({"type": "Warning"}), true),
        (json!({"type": "Normal"}), false),
        (json!({"component": "kube"}), true),
        (json!({"component": "scheduler"}), false),
        (json!({"host": "node-[0-9]"}), true),
        (json!({"host": "node-2"}), false),
        (json!({"minCount": 3}), true),
        (json!({"minCount": 4}), false),
        (json!({"labels": {"app": "w", "version": "dev|test"}}), true),
        (json!({"labels": {"app": "w", "tier": ".*"}}), false),
        (json!({"annotations": {"owner": "^team-"}}), true),
        (json!({"annotations": {"owner": "team-b"}}), false),
        (json!({"kind": "Pod", "type": "Normal"}), false),
        (json!({"kind": "", "labels": null}), true),
    ] {
        assert_eq!(sends(rule.clone()), expected, "{rule}");
    }
}

#[test]
fn a_drop_ends_a_route_before_any_match() {
    let route = route(json!({"routes": [
        {"drop": [{"type": "Normal"}, {"namespace": "test"}], "match": [{"receiver": "alerts"}]},
        {"match": [{"receiver": "dump"}]},
    ]}));

    assert_eq!(route.receivers(&record(&json!({}))), ["alerts", "dump"]);
    assert_eq!(route.receivers(&record(&json!({"type": "Normal"}))), ["dump"]);
    assert_eq!(route.receivers(&record(&json!({"metadata": {"namespace": "test-1"}}))), ["dump"]);
}

#[test]
fn each_rule_of_match_sends_for_itself_and_sub_routes_need_all_of_them() {
    let route = route(json!({
        "match": [{"kind": "Pod", "receiver": "pods"}, {"type": "Warning", "receiver": "warnings"}],
        "routes": [{"match": [{"reason": "BackOff", "receiver": "both"}]}],
    }));

    assert_eq!(route.receivers(&record(&json!({}))), ["pods", "warnings", "both"]);
    assert_eq!(route.receivers(&record(&json!({"type": "Normal"}))), ["pods"]);
    assert_eq!(route.receivers(&record(&json!({"involvedObject": {"kind": "Node"}}))), ["warnings"]);
}

#[test]
fn a_receiver_gets_an_event_once_even_if_several_routes_name_it() {
    let route = route(json!({"routes": [
        {"match": [{"receiver": "a"}, {"receiver": "a"}]},
        {"drop": null, "match": [{"receiver": "a"}, {"receiver": "b"}], "routes": null},
    ]}));

    assert_eq!(route.receivers(&record(&json!({}))), ["a", "b"]);
    assert_eq!(route.named(), ["a", "a", "a", "b"]);
}

#[test]
fn a_rule_with_a_mistake_is_refused_with_the_reason() {
    let refused = |value: Value| serde_json::from_value::<Route>(value).unwrap_err().to_string();

    assert!(refused(json!({"match": [{"knd": "Pod"}]})).contains("unknown field `knd`"));
    let star = refused(json!({"drop": [{"namespace": "*test*"}]}));
    assert!(star.contains("`*test*` is not a regular expression") && star.contains("write `.*`"), "{star}");
}
