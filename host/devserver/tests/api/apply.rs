//! Server-side apply.

use serde_json::{Value, json};

use crate::{
    client::{APPLY, Cluster, MERGE},
    fixtures::{CONFIG_MAPS, DEFINITIONS, DEPLOYMENTS, WIDGETS, definition, deployment, widget},
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

/// The fields that an endpoint does not write belong to no manager and conflict with none.
#[tokio::test]
async fn an_apply_ignores_the_fields_of_the_other_endpoint() {
    let cluster = Cluster::start().await;
    let path = format!("{DEPLOYMENTS}/web?fieldManager=m");
    cluster.patch(&path, APPLY, &deployment("web")).await;
    let status = |replicas: u32| json!({"readyReplicas": replicas});
    let by_controller = format!("{DEPLOYMENTS}/web/status?fieldManager=controller");
    cluster.patch(&by_controller, MERGE, &json!({"status": status(1)})).await;

    let mut whole = deployment("web");
    whole["status"] = status(5);
    let applied = cluster.patch(&path, APPLY, &whole).await;
    assert_eq!((applied.code, &applied.body["status"]), (200, &status(1)), "{}", applied.body);

    whole["status"] = json!({"updatedReplicas": 5});
    whole["spec"]["template"]["spec"]["containers"][0]["image"] = json!("i:2");
    let of_status = format!("{DEPLOYMENTS}/web/status?fieldManager=s");
    let applied = cluster.patch(&of_status, APPLY, &whole).await;
    assert_eq!(applied.code, 200, "{}", applied.body);
    assert_eq!(applied.body["status"], json!({"readyReplicas": 1, "updatedReplicas": 5}));
    assert_eq!(applied.body["spec"]["template"]["spec"]["containers"][0]["image"], "i:1");
}

#[tokio::test]
async fn a_manager_that_applies_in_another_version_does_not_conflict_with_itself() {
    let cluster = Cluster::start().await;
    cluster.create(DEFINITIONS, &definition()).await;
    let apply = async |version: &str, size: u32| {
        let mut object = widget("w");
        object["apiVersion"] = json!(format!("example.com/{version}"));
        object["spec"]["size"] = json!(size);
        let path = WIDGETS.replace("/v1/", &format!("/{version}/"));
        cluster.patch(&format!("{path}/w?fieldManager=m"), APPLY, &object).await
    };

    assert_eq!(apply("v1beta1", 1).await.code, 201);
    let newer = apply("v1", 2).await;

    assert_eq!((newer.code, &newer.body["spec"]["size"]), (200, &json!(2)), "{}", newer.body);
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
