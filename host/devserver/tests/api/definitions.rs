//! CustomResourceDefinitions.

use serde_json::json;

use crate::{
    client::{Cluster, JSON, MERGE, event, version},
    fixtures::{DEFINITIONS, WIDGETS, definition, widget},
};

async fn with_widgets() -> Cluster {
    let cluster = Cluster::start().await;
    cluster.create(DEFINITIONS, &definition()).await;
    cluster
}

#[tokio::test]
async fn a_definition_is_served_and_established_at_once() {
    let cluster = with_widgets().await;

    let established = cluster.get(&format!("{DEFINITIONS}/widgets.example.com")).await.body;
    let conditions = established["status"]["conditions"].as_array().unwrap();
    assert!(conditions.iter().any(|one| one["type"] == "Established" && one["status"] == "True"));
    assert_eq!(established["status"]["storedVersions"], json!(["v1"]));
    assert_eq!(established["spec"]["names"]["listKind"], "WidgetList");

    let created = cluster.create(WIDGETS, &widget("w")).await;
    assert_eq!(created["metadata"]["generation"], 1);
    let list = cluster.get(WIDGETS).await;
    assert_eq!((&list.body["kind"], list.names()), (&json!("WidgetList"), vec!["w".to_owned()]));
    assert_eq!(list.body["items"][0]["kind"], "Widget", "custom items name their type");
    let resources = cluster.get("/apis/example.com/v1").await.body;
    assert_eq!(resources["resources"][0]["shortNames"], json!(["wd"]));
}

#[tokio::test]
async fn a_custom_object_has_to_name_its_kind_and_version() {
    let cluster = with_widgets().await;
    let nameless = json!({"metadata": {"name": "w"}, "spec": {"size": 3}});
    cluster.send("POST", WIDGETS, JSON, &nameless).await.failure(400, "BadRequest");
}

#[tokio::test]
async fn versions_share_their_objects() {
    let cluster = with_widgets().await;
    cluster.create(WIDGETS, &widget("w")).await;
    let beta = "/apis/example.com/v1beta1/namespaces/default/widgets";

    let read = cluster.get(&format!("{beta}/w")).await.body;
    assert_eq!((&read["apiVersion"], &read["spec"]["size"]), (&json!("example.com/v1beta1"), &json!(3)));

    let rv = version(&read);
    let mut stable = cluster.watch(&format!("{WIDGETS}?watch=1&resourceVersion={rv}")).await;
    let mut old = cluster.watch(&format!("{beta}?watch=1&resourceVersion={rv}")).await;
    cluster.patch(&format!("{beta}/w"), MERGE, &json!({"spec": {"size": 4}})).await;
    assert_eq!(stable.next().await.unwrap()["object"]["apiVersion"], "example.com/v1");
    assert_eq!(old.next().await.unwrap()["object"]["apiVersion"], "example.com/v1beta1");
}

#[tokio::test]
async fn custom_objects_have_generation_status_and_selectable_fields() {
    let cluster = with_widgets().await;
    cluster.create(WIDGETS, &widget("w")).await;
    let path = format!("{WIDGETS}/w");

    let status = cluster
        .patch(&format!("{path}/status"), MERGE, &json!({"status": {"ok": true}, "spec": {"size": 9}}))
        .await;
    assert_eq!((&status.body["status"]["ok"], &status.body["spec"]["size"]), (&json!(true), &json!(3)));
    assert_eq!(status.body["metadata"]["generation"], 1);
    let spec = cluster.patch(&path, MERGE, &json!({"spec": {"size": 9}, "status": {"ok": false}})).await;
    assert_eq!((&spec.body["status"]["ok"], &spec.body["metadata"]["generation"]), (&json!(true), &json!(2)));

    assert_eq!(cluster.get(&format!("{WIDGETS}?fieldSelector=spec.color%3Dred")).await.names(), ["w"]);
    assert!(cluster.get(&format!("{WIDGETS}?fieldSelector=spec.color%3Dblue")).await.names().is_empty());
    cluster.get(&format!("{WIDGETS}?fieldSelector=spec.size%3D3")).await.failure(400, "BadRequest");

    let mut unversioned = widget("w");
    unversioned["spec"]["size"] = json!(1);
    let answer = cluster.send("PUT", &path, JSON, &unversioned).await;
    assert!(answer.failure(422, "Invalid").contains("must be specified for an update"));
}

#[tokio::test]
async fn a_deleted_definition_deletes_its_objects_and_ends_their_watches() {
    let cluster = with_widgets().await;
    let rv = version(&cluster.create(WIDGETS, &widget("w")).await);
    let mut watch = cluster.watch(&format!("{WIDGETS}?watch=1&resourceVersion={rv}")).await;

    cluster.delete(&format!("{DEFINITIONS}/widgets.example.com")).await;

    cluster.get(WIDGETS).await.failure(404, "NotFound");
    cluster.get("/apis/example.com/v1").await.failure(404, "NotFound");
    cluster.get(&format!("{DEFINITIONS}/widgets.example.com")).await.failure(404, "NotFound");
    assert_eq!(watch.event().await, event("DELETED", "w"));
    assert_eq!(watch.next().await, None);

    cluster.create(DEFINITIONS, &definition()).await;
    assert!(cluster.get(WIDGETS).await.names().is_empty());
}

#[tokio::test]
async fn a_terminating_definition_waits_for_finalizers_and_refuses_new_objects() {
    let cluster = with_widgets().await;
    let mut held = widget("w");
    held["metadata"]["finalizers"] = json!(["example.com/hold"]);
    cluster.create(WIDGETS, &held).await;

    cluster.delete(&format!("{DEFINITIONS}/widgets.example.com")).await;
    assert_eq!(cluster.get(WIDGETS).await.names(), ["w"]);
    cluster.send("POST", WIDGETS, JSON, &widget("v")).await.failure(405, "MethodNotAllowed");

    cluster.patch(&format!("{WIDGETS}/w"), MERGE, &json!({"metadata": {"finalizers": null}})).await;
    cluster.get(WIDGETS).await.failure(404, "NotFound");
}

#[tokio::test]
async fn an_invalid_definition_is_refused() {
    let cluster = Cluster::start().await;
    let broken = json!({
        "apiVersion": "apiextensions.k8s.io/v1", "kind": "CustomResourceDefinition",
        "metadata": {"name": "widgets.other.com"},
        "spec": {"group": "example.com", "scope": "Galaxy", "names": {"plural": "widgets"}, "versions": [{"name": "1"}]},
    });
    let answer = cluster.send("POST", DEFINITIONS, JSON, &broken).await;
    answer.failure(422, "Invalid");
    let causes = answer.body["details"]["causes"].as_array().unwrap();
    let fields: Vec<&str> = causes.iter().filter_map(|cause| cause["field"].as_str()).collect();
    for field in ["metadata.name", "spec.scope", "spec.names.kind", "spec.versions", "spec.versions[0].name"]
    {
        assert!(fields.contains(&field), "{field} in {fields:?}");
    }
}
