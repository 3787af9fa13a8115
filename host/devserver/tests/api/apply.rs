//! Server-side apply.

use serde_json::{Value, json};

use crate::{
    client::{APPLY, Cluster, MERGE},
    fixtures::{CONFIG_MAPS, DEPLOYMENTS, deployment},
};

fn config(data: &Value) -> Value {
    json!({"apiVersion": "v1", "kind": "ConfigMap", "metadata": {"name": "a"}, "data": data})
}

fn path(manager: &str) -> String {
    format!("{CONFIG_MAPS}/a?fieldManager={manager}")
}

#[tokio::test]
async fn applying_creates_updates_and_removes_fields_that_are_left_out() {
    let cluster = Cluster::start().await;

    let created = cluster.patch(&path("m"), APPLY, &config(&json!({"x": "1", "y": "2"}))).await;
    assert_eq!(created.code, 201);
    let same = cluster.patch(&path("m"), APPLY, &config(&json!({"x": "1", "y": "2"}))).await;
    assert_eq!((same.code, same.version()), (200, created.version()), "the same again is no change");

    let less = cluster.patch(&path("m"), APPLY, &config(&json!({"x": "1"}))).await;
    assert_eq!(less.body["data"], json!({"x": "1"}));
}

#[tokio::test]
async fn changing_a_field_of_another_manager_is_a_conflict_unless_forced() {
    let cluster = Cluster::start().await;
    cluster.patch(&path("one"), APPLY, &config(&json!({"x": "1"}))).await;

    let refused = cluster.patch(&path("two"), APPLY, &config(&json!({"x": "2"}))).await;

    assert!(refused.failure(409, "Conflict").contains("conflict with \"one\" using v1: .data.x"));
    let cause = &refused.body["details"]["causes"][0];
    assert_eq!((&cause["reason"], &cause["field"]), (&json!("FieldManagerConflict"), &json!(".data.x")));
    let forced =
        cluster.patch(&format!("{}&force=true", path("two")), APPLY, &config(&json!({"x": "2"}))).await;
    assert_eq!(forced.body["data"]["x"], "2");
}

#[tokio::test]
async fn fields_that_a_patch_changed_belong_to_its_manager() {
    let cluster = Cluster::start().await;
    cluster.patch(&path("one"), APPLY, &config(&json!({"x": "1"}))).await;
    cluster.patch(&path("editor"), MERGE, &json!({"data": {"x": "2"}})).await;
    let refused = cluster.patch(&path("one"), APPLY, &config(&json!({"x": "1"}))).await;
    assert!(refused.failure(409, "Conflict").contains("editor"));
}

#[tokio::test]
async fn applying_over_defaults_and_status_is_stable() {
    let cluster = Cluster::start().await;
    let path = format!("{DEPLOYMENTS}/web?fieldManager=m");
    let first = cluster.patch(&path, APPLY, &deployment("web")).await;
    assert_eq!(first.body["spec"]["replicas"], 1, "defaults are written");
    let status = json!({"status": {"readyReplicas": 1}});
    cluster.patch(&format!("{DEPLOYMENTS}/web/status"), MERGE, &status).await;

    let second = cluster.patch(&path, APPLY, &deployment("web")).await;

    assert_eq!(second.body["status"]["readyReplicas"], 1);
    assert_eq!(second.body["metadata"]["generation"], 1);
}

#[tokio::test]
async fn an_apply_with_missing_or_forbidden_parts_is_refused() {
    let cluster = Cluster::start().await;
    let object = config(&json!({"x": "1"}));
    cluster.patch(&format!("{CONFIG_MAPS}/a"), APPLY, &object).await.failure(422, "Invalid");
    cluster
        .patch(&format!("{CONFIG_MAPS}/b?fieldManager=m"), APPLY, &object)
        .await
        .failure(400, "BadRequest");
    let mut owned = object;
    owned["metadata"]["managedFields"] = json!([]);
    cluster.patch(&path("m"), APPLY, &owned).await.failure(400, "BadRequest");
    let yaml = cluster.raw("PATCH", &path("m"), &format!("Content-Type: {APPLY}\r\n"), b"a: b").await;
    yaml.failure(400, "BadRequest");
}

#[tokio::test]
async fn an_apply_with_the_uid_of_another_object_is_refused() {
    let cluster = Cluster::start().await;
    let mut another = config(&json!({"x": "1"}));
    another["metadata"]["uid"] = json!("another");

    let missing = cluster.patch(&path("m"), APPLY, &another).await;
    assert!(missing.failure(409, "Conflict").contains("no existing object was found"));
    cluster.patch(&path("m"), APPLY, &config(&json!({"x": "1"}))).await;
    cluster.patch(&path("m"), APPLY, &another).await.failure(422, "Invalid");
}
