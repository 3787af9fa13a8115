//! Patches of each content type.

use serde_json::json;

use crate::{
    client::{Cluster, JSON, JSON_PATCH, MERGE, STRATEGIC},
    fixtures::{CONFIG_MAPS, DEFINITIONS, DEPLOYMENTS, WIDGETS, config_map, definition, deployment, widget},
};

#[tokio::test]
async fn each_kind_of_patch_is_applied_by_its_own_rules() {
    let cluster = Cluster::start().await;
    cluster.create(DEPLOYMENTS, &deployment("web")).await;
    let path = format!("{DEPLOYMENTS}/web");
    let containers = |object: &serde_json::Value| object["spec"]["template"]["spec"]["containers"].clone();

    let sidecar = json!({"spec": {"template": {"spec": {"containers": [{"name": "side", "image": "s"}]}}}});
    let strategic = cluster.patch(&path, STRATEGIC, &sidecar).await.body;
    assert_eq!(
        containers(&strategic),
        json!([{"name": "c", "image": "i:1"}, {"name": "side", "image": "s"}])
    );

    let merge = cluster.patch(&path, MERGE, &sidecar).await.body;
    assert_eq!(containers(&merge), json!([{"name": "side", "image": "s"}]));

    let operations = json!([{"op": "replace", "path": "/spec/replicas", "value": 4}]);
    let json = cluster.patch(&path, JSON_PATCH, &operations).await.body;
    assert_eq!(json["spec"]["replicas"], 4);
    assert_eq!(json["metadata"]["generation"], 4);
}

#[tokio::test]
async fn custom_resources_refuse_strategic_patches() {
    let cluster = Cluster::start().await;
    cluster.create(DEFINITIONS, &definition()).await;
    cluster.create(WIDGETS, &widget("w")).await;
    let answer = cluster.patch(&format!("{WIDGETS}/w"), STRATEGIC, &json!({"spec": {"size": 4}})).await;
    let message = answer.failure(415, "UnsupportedMediaType");
    assert!(message.contains("application/merge-patch+json"), "{message}");
    assert_eq!(cluster.patch(&format!("{WIDGETS}/w"), MERGE, &json!({"spec": {"size": 4}})).await.code, 200);
}

#[tokio::test]
async fn metadata_collections_that_a_patch_empties_are_removed() {
    let cluster = Cluster::start().await;
    cluster.create(CONFIG_MAPS, &config_map("a")).await;
    let path = format!("{CONFIG_MAPS}/a");
    let noted = json!({"metadata": {"annotations": {"note": "hello"}, "labels": {"a": "b"}}});
    assert_eq!(cluster.patch(&path, MERGE, &noted).await.body["metadata"]["annotations"]["note"], "hello");
    let emptied = json!({"metadata": {"annotations": {"note": null}, "labels": {"a": null}}});
    let metadata = cluster.patch(&path, MERGE, &emptied).await.body["metadata"].clone();
    assert_eq!((metadata.get("annotations"), metadata.get("labels")), (None, None), "{metadata}");
}

#[tokio::test]
async fn a_patch_with_an_old_resource_version_is_a_conflict() {
    let cluster = Cluster::start().await;
    cluster.create(CONFIG_MAPS, &config_map("a")).await;
    let patch = json!({"metadata": {"resourceVersion": "1"}, "data": {"a": "2"}});
    cluster.patch(&format!("{CONFIG_MAPS}/a"), MERGE, &patch).await.failure(409, "Conflict");
}

#[tokio::test]
async fn concurrent_patches_all_take_effect() {
    let cluster = Cluster::start().await;
    cluster.create(CONFIG_MAPS, &config_map("a")).await;
    let path = format!("{CONFIG_MAPS}/a");
    let patches = (0..16).map(|n| {
        let (cluster, path) = (&cluster, &path);
        async move { cluster.patch(path, MERGE, &json!({"data": {format!("k{n}"): "v"}})).await.code }
    });

    let codes = futures::future::join_all(patches).await;

    assert!(codes.iter().all(|code| *code == 200), "{codes:?}");
    assert_eq!(cluster.get(&path).await.body["data"].as_object().unwrap().len(), 17);
}

#[tokio::test]
async fn a_patch_that_cannot_be_applied_changes_nothing() {
    let cluster = Cluster::start().await;
    let created = cluster.create(CONFIG_MAPS, &config_map("a")).await;
    let path = format!("{CONFIG_MAPS}/a");

    let missing = json!([{"op": "remove", "path": "/data/zzz"}]);
    cluster.patch(&path, JSON_PATCH, &missing).await.failure(422, "Invalid");
    cluster.patch(&path, JSON_PATCH, &json!({"op": "add"})).await.failure(400, "BadRequest");
    cluster.patch(&path, MERGE, &json!([1])).await.failure(400, "BadRequest");
    cluster.patch(&path, JSON, &json!({})).await.failure(415, "UnsupportedMediaType");
    cluster
        .patch(&path, JSON_PATCH, &json!([{"op": "remove", "path": "/kind"}]))
        .await
        .failure(400, "BadRequest");
    let rename = json!({"metadata": {"name": "b"}});
    cluster.patch(&path, MERGE, &rename).await.failure(400, "BadRequest");
    let another = json!({"metadata": {"uid": "another"}});
    cluster.patch(&path, MERGE, &another).await.failure(422, "Invalid");
    let mut replacement = created.clone();
    replacement["metadata"]["uid"] = json!("another");
    cluster.send("PUT", &path, JSON, &replacement).await.failure(409, "Conflict");
    cluster.patch(&format!("{CONFIG_MAPS}/b"), MERGE, &json!({})).await.failure(404, "NotFound");

    assert_eq!(cluster.get(&path).await.body, created);
}
