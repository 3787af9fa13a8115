//! Rules of kube-apiserver that a plugin may break. The embedded server refuses the same objects as kube-apiserver.

use serde_json::{Value, json};

use crate::{
    client::{Answer, Cluster, JSON, MERGE},
    fixtures::{CONFIG_MAPS, DEFINITIONS, WIDGETS, config_map, definition, widget},
};

const SECRETS: &str = "/api/v1/namespaces/default/secrets";

/// Expects a 422. Returns the fields of its causes.
fn causes(answer: &Answer) -> Vec<&str> {
    answer.failure(422, "Invalid");
    let causes = answer.body["details"]["causes"].as_array().unwrap().iter();
    causes.map(|cause| cause["field"].as_str().unwrap_or_default()).collect()
}

async fn post(cluster: &Cluster, path: &str, object: &Value) -> Answer {
    cluster.send("POST", path, JSON, object).await
}

#[tokio::test]
async fn a_finalizer_of_a_built_in_object_needs_a_prefix() {
    let cluster = Cluster::start().await;
    cluster.create(DEFINITIONS, &definition()).await;
    let with = |mut object: Value, finalizer: &str| {
        object["metadata"]["finalizers"] = json!([finalizer]);
        object
    };

    let refused = post(&cluster, CONFIG_MAPS, &with(config_map("a"), "cleanup")).await;
    assert_eq!(causes(&refused), ["metadata.finalizers"]);
    assert!(refused.failure(422, "Invalid").contains("nor is it fully qualified"), "{}", refused.body);
    let odd = post(&cluster, CONFIG_MAPS, &with(config_map("a"), "example.com/not good")).await;
    assert_eq!(causes(&odd), ["metadata.finalizers"]);

    for finalizer in ["example.com/cleanup", "orphan"] {
        let name = finalizer.rsplit('/').next().unwrap();
        cluster.create(CONFIG_MAPS, &with(config_map(name), finalizer)).await;
    }
    cluster.create(WIDGETS, &with(widget("a"), "cleanup")).await;
    // kube-apiserver validates the metadata of a Lease by the rules of a custom resource.
    let lease = json!({"apiVersion": "coordination.k8s.io/v1", "kind": "Lease", "metadata": {"name": "a"}});
    let leases = "/apis/coordination.k8s.io/v1/namespaces/default/leases";
    cluster.create(leases, &with(lease, "cleanup")).await;
}

#[tokio::test]
async fn an_object_has_at_most_one_controller_and_256_kib_of_annotations() {
    let cluster = Cluster::start().await;
    let owner = |name: &str, controller: bool| json!({"apiVersion": "v1", "kind": "ConfigMap", "name": name, "uid": name, "controller": controller});
    let mut object = config_map("a");
    object["metadata"]["ownerReferences"] = json!([owner("x", true), owner("y", true)]);
    assert_eq!(causes(&post(&cluster, CONFIG_MAPS, &object).await), ["metadata.ownerReferences"]);
    object["metadata"]["ownerReferences"] = json!([owner("x", true), owner("y", false)]);
    cluster.create(CONFIG_MAPS, &object).await;

    let path = format!("{CONFIG_MAPS}/a");
    let annotated = |bytes: usize| json!({"metadata": {"annotations": {"key": "x".repeat(bytes - 3)}}});
    let refused = cluster.patch(&path, MERGE, &annotated(256 * 1024 + 1)).await;
    assert_eq!(causes(&refused), ["metadata.annotations"]);
    assert_eq!(cluster.patch(&path, MERGE, &annotated(256 * 1024)).await.code, 200);
}

#[tokio::test]
async fn the_data_of_a_config_map_has_simple_keys_and_at_most_a_mebibyte() {
    let cluster = Cluster::start().await;
    let with = |key: &str, bytes: usize| {
        let mut object = config_map("a");
        object["data"] = json!({key: "x".repeat(bytes)});
        object
    };

    assert_eq!(causes(&post(&cluster, CONFIG_MAPS, &with("shop/web", 1)).await), ["data[shop/web]"]);
    assert_eq!(causes(&post(&cluster, CONFIG_MAPS, &with("..", 1)).await), ["data[..]"]);
    assert_eq!(causes(&post(&cluster, CONFIG_MAPS, &with("k", (1 << 20) + 1)).await), ["data"]);
    cluster.create(CONFIG_MAPS, &with("shop.web_1-A", 1 << 20)).await;
}

#[tokio::test]
async fn the_data_of_a_secret_must_be_base64() {
    let cluster = Cluster::start().await;
    let with = |text: &str| json!({"apiVersion": "v1", "kind": "Secret", "metadata": {"name": "s"}, "data": {"k": text}});

    for text in ["plain text", "cGxhaW4"] {
        let message = post(&cluster, SECRETS, &with(text)).await.failure(400, "BadRequest");
        assert!(message.contains("into field data.k of type base64"), "{message}");
    }
    cluster.create(SECRETS, &with("cGxh\naW4=")).await;

    let mut full = with(&("AAAA\n".repeat(349_525) + "AA=="));
    full["metadata"]["name"] = json!("full");
    cluster.create(SECRETS, &full).await;
    full["data"]["more"] = json!("AA==");
    assert_eq!(causes(&cluster.send("PUT", &format!("{SECRETS}/full"), JSON, &full).await), ["data"]);
}

#[tokio::test]
async fn fields_that_only_a_creation_may_set_stay() {
    let cluster = Cluster::start().await;
    let bindings = "/apis/rbac.authorization.k8s.io/v1/namespaces/default/rolebindings";
    let role = |name: &str| json!({"apiGroup": "rbac.authorization.k8s.io", "kind": "Role", "name": name});
    let binding = json!({
        "apiVersion": "rbac.authorization.k8s.io/v1", "kind": "RoleBinding", "metadata": {"name": "b"},
        "roleRef": role("reader"),
    });
    let secret = json!({"apiVersion": "v1", "kind": "Secret", "metadata": {"name": "s"}});
    let mut locked = config_map("locked");
    locked["immutable"] = json!(true);
    cluster.create(bindings, &binding).await;
    cluster.create(SECRETS, &secret).await;
    cluster.create(CONFIG_MAPS, &locked).await;

    for (path, patch, field) in [
        (format!("{bindings}/b"), json!({"roleRef": role("writer")}), "roleRef"),
        (format!("{SECRETS}/s"), json!({"type": "example.com/other"}), "type"),
        (format!("{CONFIG_MAPS}/locked"), json!({"immutable": false}), "immutable"),
        (format!("{CONFIG_MAPS}/locked"), json!({"data": {"a": "2"}}), "data"),
    ] {
        assert_eq!(causes(&cluster.patch(&path, MERGE, &patch).await), [field], "{path}");
    }
    let labels = json!({"metadata": {"labels": {"a": "b"}}});
    assert_eq!(cluster.patch(&format!("{CONFIG_MAPS}/locked"), MERGE, &labels).await.code, 200);

    // These objects have the same values in another form.
    let mut same_role = binding;
    same_role["roleRef"] = json!({"kind": "Role", "name": "reader"});
    locked["binaryData"] = Value::Null;
    for (path, same) in [(format!("{bindings}/b"), same_role), (format!("{CONFIG_MAPS}/locked"), locked)] {
        assert_eq!(cluster.send("PUT", &path, JSON, &same).await.code, 200, "{path}");
    }
}

#[tokio::test]
async fn an_event_names_its_reporter_and_lies_in_the_namespace_of_its_object() {
    let cluster = Cluster::start().await;
    let path = "/apis/events.k8s.io/v1/namespaces/default/events";
    let event = json!({
        "apiVersion": "events.k8s.io/v1", "kind": "Event", "metadata": {"name": "e"}, "type": "Normal",
        "eventTime": "2026-01-01T00:00:00.000000Z", "reason": "Seen", "action": "Look", "note": "hello",
        "reportingController": "example.com/eye", "reportingInstance": "eye-1",
        "deprecatedCount": 0, "deprecatedSource": {"component": ""},
        "regarding": {"kind": "Pod", "namespace": "default", "name": "p"},
    });
    for (field, value) in [
        ("eventTime", Value::Null),
        ("type", json!("Odd")),
        ("reason", json!("")),
        ("action", json!("")),
        ("note", json!("x".repeat(1025))),
        ("reportingController", json!("not a name")),
        ("reportingInstance", json!("x".repeat(129))),
        ("deprecatedCount", json!(2)),
    ] {
        let mut odd = event.clone();
        odd[field] = value;
        assert_eq!(causes(&post(&cluster, path, &odd).await), [field]);
    }
    cluster.create(path, &event).await;

    let mut older = json!({
        "apiVersion": "v1", "kind": "Event", "metadata": {"name": "older"}, "reason": "Seen", "count": 2,
        "involvedObject": {"kind": "Pod", "namespace": "shop", "name": "p"},
    });
    let core = "/api/v1/namespaces/default/events";
    assert_eq!(causes(&post(&cluster, core, &older).await), ["involvedObject.namespace"]);
    older["involvedObject"]["namespace"] = json!("default");
    older["metadata"]["name"] = json!("system:node.1");
    cluster.create(core, &older).await;
}

#[tokio::test]
async fn a_budget_has_one_of_its_two_limits() {
    let cluster = Cluster::start().await;
    let budgets = "/apis/policy/v1/namespaces/default/poddisruptionbudgets";
    let budget = json!({
        "apiVersion": "policy/v1", "kind": "PodDisruptionBudget", "metadata": {"name": "b"},
        "spec": {"maxUnavailable": 1, "selector": {"matchLabels": {"app": "web"}}},
    });
    cluster.create(budgets, &budget).await;

    let path = format!("{budgets}/b");
    let both = cluster.patch(&path, MERGE, &json!({"spec": {"minAvailable": 1}})).await;
    assert_eq!(causes(&both), ["spec"]);
    let other = json!({"spec": {"minAvailable": 1, "maxUnavailable": null}});
    assert_eq!(cluster.patch(&path, MERGE, &other).await.code, 200);
}
