//! Deletion: finalizers, preconditions, namespaces, owners.

use informer_devserver::Config;
use serde_json::{Value, json};

use crate::{
    client::{Cluster, JSON, MERGE, event},
    fixtures::{CONFIG_MAPS, DEPLOYMENTS, NAMESPACES, config_map, deployment, labelled, namespace},
};

async fn delete_with(cluster: &Cluster, path: &str, options: &Value) -> crate::client::Answer {
    cluster.send("DELETE", path, JSON, options).await
}

#[tokio::test]
async fn a_deletion_removes_the_object_and_answers_with_its_name() {
    let cluster = Cluster::start().await;
    let created = cluster.create(DEPLOYMENTS, &deployment("web")).await;
    let path = format!("{DEPLOYMENTS}/web");

    let answer = cluster.delete(&path).await;

    assert_eq!((answer.code, &answer.body["status"]), (200, &json!("Success")));
    let details =
        json!({"name": "web", "group": "apps", "kind": "deployments", "uid": created["metadata"]["uid"]});
    assert_eq!(answer.body["details"], details);
    cluster.get(&path).await.failure(404, "NotFound");
    cluster.delete(&path).await.failure(404, "NotFound");
}

#[tokio::test]
async fn an_object_is_removed_with_its_last_finalizer() {
    let cluster = Cluster::start().await;
    let mut object = config_map("a");
    object["metadata"]["finalizers"] = json!(["example.com/one", "example.com/two"]);
    cluster.create(CONFIG_MAPS, &object).await;
    let path = format!("{CONFIG_MAPS}/a");
    let rv = cluster.server.resource_version();
    let mut watch = cluster.watch(&format!("{CONFIG_MAPS}?watch=1&resourceVersion={rv}")).await;

    let marked = cluster.delete(&path).await.body;
    assert!(marked["metadata"]["deletionTimestamp"].is_string());
    let again = cluster.delete(&path).await.body;
    assert_eq!(again, marked, "deleting twice is deleting once");

    let more = json!({"metadata": {"finalizers": ["example.com/one", "example.com/three"]}});
    let refused = cluster.patch(&path, MERGE, &more).await;
    assert!(refused.failure(422, "Invalid").contains("no new finalizers can be added"));

    let one = json!({"metadata": {"finalizers": ["example.com/one"]}});
    assert_eq!(cluster.patch(&path, MERGE, &one).await.code, 200);
    let last = json!({"metadata": {"finalizers": null, "annotations": {"late": "yes"}}});
    assert_eq!(cluster.patch(&path, MERGE, &last).await.code, 200);

    cluster.get(&path).await.failure(404, "NotFound");
    for kind in ["MODIFIED", "MODIFIED"] {
        assert_eq!(watch.event().await, event(kind, "a"));
    }
    let deleted = watch.next().await.unwrap();
    let metadata = &deleted["object"]["metadata"];
    assert_eq!((&deleted["type"], &metadata["finalizers"]), (&json!("DELETED"), &json!(["example.com/one"])));
    assert_eq!(metadata.get("annotations"), None, "the patch that removed the object was not stored");
}

#[tokio::test]
async fn preconditions_protect_another_object_with_the_same_name() {
    let cluster = Cluster::start().await;
    let created = cluster.create(CONFIG_MAPS, &config_map("a")).await;
    let path = format!("{CONFIG_MAPS}/a");

    let wrong = json!({"preconditions": {"uid": "another"}});
    assert!(
        delete_with(&cluster, &path, &wrong).await.failure(409, "Conflict").contains("Precondition failed")
    );
    let wrong = json!({"preconditions": {"resourceVersion": "1"}});
    delete_with(&cluster, &path, &wrong).await.failure(409, "Conflict");

    let right = json!({"preconditions": {"uid": created["metadata"]["uid"]}});
    assert_eq!(delete_with(&cluster, &path, &right).await.code, 200);
}

#[tokio::test]
async fn a_deletion_with_a_selector_deletes_all_matching_objects() {
    let cluster = Cluster::start().await;
    for (name, app) in [("a", "web"), ("b", "db"), ("c", "web")] {
        cluster.create(CONFIG_MAPS, &labelled(name, &json!({"app": app}))).await;
    }
    let answer = cluster.delete(&format!("{CONFIG_MAPS}?labelSelector=app%3Dweb")).await;
    assert_eq!(answer.names(), ["a", "c"]);
    assert_eq!(cluster.get(CONFIG_MAPS).await.names(), ["b"]);
}

#[tokio::test]
async fn a_deleted_namespace_is_removed_with_its_objects() {
    let cluster = Cluster::start().await;
    cluster.create(NAMESPACES, &namespace("shop")).await;
    cluster.create("/api/v1/namespaces/shop/configmaps", &config_map("a")).await;
    cluster.create("/apis/apps/v1/namespaces/shop/deployments", &deployment("web")).await;

    cluster.delete("/api/v1/namespaces/shop").await;

    cluster.get("/api/v1/namespaces/shop").await.failure(404, "NotFound");
    assert!(cluster.get("/api/v1/configmaps").await.names().is_empty());
    assert!(cluster.get("/apis/apps/v1/deployments").await.names().is_empty());
}

#[tokio::test]
async fn a_terminating_namespace_waits_for_finalizers_and_refuses_new_objects() {
    let cluster = Cluster::start().await;
    cluster.create(NAMESPACES, &namespace("shop")).await;
    let config_maps = "/api/v1/namespaces/shop/configmaps";
    let mut object = config_map("held");
    object["metadata"]["finalizers"] = json!(["example.com/hold"]);
    cluster.create(config_maps, &object).await;

    cluster.delete("/api/v1/namespaces/shop").await;
    let waiting = cluster.get("/api/v1/namespaces/shop").await.body;
    assert_eq!(waiting["status"]["phase"], "Terminating");
    let refused = cluster.send("POST", config_maps, JSON, &config_map("new")).await;
    assert!(refused.failure(403, "Forbidden").contains("because it is being terminated"));

    let release = json!({"metadata": {"finalizers": null}});
    cluster.patch(&format!("{config_maps}/held"), MERGE, &release).await;
    cluster.get("/api/v1/namespaces/shop").await.failure(404, "NotFound");
}

#[tokio::test]
async fn objects_of_a_terminating_namespace_can_be_deleted_within_the_grace() {
    let grace = std::time::Duration::from_millis(300);
    let cluster = Cluster::with(Config { namespace_grace: grace, ..Config::default() }).await;
    let config_maps = "/api/v1/namespaces/shop/configmaps";
    cluster.create(NAMESPACES, &namespace("shop")).await;
    cluster.create(config_maps, &config_map("a")).await;
    cluster.create(config_maps, &config_map("b")).await;
    let rv = cluster.server.resource_version();
    let mut watch = cluster.watch(&format!("{NAMESPACES}?watch=1&resourceVersion={rv}")).await;

    assert_eq!(cluster.delete("/api/v1/namespaces/shop").await.code, 200);
    assert_eq!(cluster.delete(&format!("{config_maps}/a")).await.code, 200);

    assert_eq!(watch.event().await, event("MODIFIED", "shop"));
    assert_eq!(watch.event().await, event("DELETED", "shop"));
    assert!(cluster.get(config_maps).await.names().is_empty());
}

fn owned_by(name: &str, owners: &[&Value]) -> Value {
    let reference = |owner: &&Value| {
        json!({
            "apiVersion": owner["apiVersion"], "kind": owner["kind"],
            "name": owner["metadata"]["name"], "uid": owner["metadata"]["uid"],
        })
    };
    let mut object = config_map(name);
    object["metadata"]["ownerReferences"] = owners.iter().map(reference).collect();
    object
}

async fn collecting() -> Cluster {
    Cluster::with(Config { garbage_collection: true, ..Config::default() }).await
}

#[tokio::test]
async fn a_dependent_is_deleted_with_its_last_owner() {
    let cluster = collecting().await;
    let first = cluster.create(CONFIG_MAPS, &config_map("first")).await;
    let second = cluster.create(CONFIG_MAPS, &config_map("second")).await;
    let child = cluster.create(CONFIG_MAPS, &owned_by("child", &[&first, &second])).await;
    cluster.create(CONFIG_MAPS, &owned_by("grandchild", &[&child])).await;

    cluster.delete(&format!("{CONFIG_MAPS}/first")).await;
    assert_eq!(cluster.get(CONFIG_MAPS).await.names(), ["child", "grandchild", "second"]);
    cluster.delete(&format!("{CONFIG_MAPS}/second")).await;
    assert!(cluster.get(CONFIG_MAPS).await.names().is_empty());
}

#[tokio::test]
async fn dependents_are_deleted_in_the_order_of_their_names() {
    let cluster = collecting().await;
    let owner = cluster.create(CONFIG_MAPS, &config_map("owner")).await;
    let names = ["f", "b", "h", "d", "a", "g", "c", "e"];
    for name in names {
        cluster.create(CONFIG_MAPS, &owned_by(name, &[&owner])).await;
    }
    let rv = cluster.server.resource_version();
    let mut watch = cluster.watch(&format!("{CONFIG_MAPS}?watch=1&resourceVersion={rv}")).await;

    cluster.delete(&format!("{CONFIG_MAPS}/owner")).await;

    for name in ["owner", "a", "b", "c", "d", "e", "f", "g", "h"] {
        assert_eq!(watch.event().await, event("DELETED", name));
    }
}

#[tokio::test]
async fn orphaned_dependents_stay_without_an_owner() {
    let cluster = collecting().await;
    let owner = cluster.create(CONFIG_MAPS, &config_map("owner")).await;
    cluster.create(CONFIG_MAPS, &owned_by("child", &[&owner])).await;

    delete_with(&cluster, &format!("{CONFIG_MAPS}/owner"), &json!({"propagationPolicy": "Orphan"})).await;

    assert_eq!(cluster.get(CONFIG_MAPS).await.names(), ["child"]);
    let child = cluster.get(&format!("{CONFIG_MAPS}/child")).await.body;
    assert_eq!(child["metadata"].get("ownerReferences"), None);
}

/// kube-apiserver does the same, which surprises authors of controllers.
#[tokio::test]
async fn a_job_that_is_deleted_without_a_policy_leaves_its_dependents() {
    let cluster = collecting().await;
    let jobs = "/apis/batch/v1/namespaces/default/jobs";
    let pods = json!({"spec": {"restartPolicy": "Never", "containers": [{"name": "c", "image": "i"}]}});
    for (name, options) in [("kept", json!({})), ("gone", json!({"propagationPolicy": "Background"}))] {
        let job = json!({"apiVersion": "batch/v1", "kind": "Job", "metadata": {"name": name}, "spec": {"template": pods}});
        let job = cluster.create(jobs, &job).await;
        cluster.create(CONFIG_MAPS, &owned_by(name, &[&job])).await;

        delete_with(&cluster, &format!("{jobs}/{name}"), &options).await;
    }

    assert!(cluster.get(jobs).await.names().is_empty());
    assert_eq!(cluster.get(CONFIG_MAPS).await.names(), ["kept"]);
}

#[tokio::test]
async fn a_foreground_deletion_removes_the_owner_after_its_dependents() {
    let cluster = collecting().await;
    let owner = cluster.create(CONFIG_MAPS, &config_map("owner")).await;
    let mut held = owned_by("held", &[&owner]);
    held["metadata"]["finalizers"] = json!(["example.com/hold"]);
    cluster.create(CONFIG_MAPS, &held).await;
    cluster.create(CONFIG_MAPS, &owned_by("free", &[&owner])).await;

    delete_with(&cluster, &format!("{CONFIG_MAPS}/owner"), &json!({"propagationPolicy": "Foreground"})).await;
    assert_eq!(cluster.get(CONFIG_MAPS).await.names(), ["held", "owner"]);

    let release = json!({"metadata": {"finalizers": null}});
    cluster.patch(&format!("{CONFIG_MAPS}/held"), MERGE, &release).await;
    assert!(cluster.get(CONFIG_MAPS).await.names().is_empty());
}

#[tokio::test]
async fn long_chains_and_circles_of_owners_are_collected() {
    let cluster = collecting().await;
    let owned = |n: usize| {
        let mut object = config_map(&format!("n{n}"));
        object["metadata"]["namespace"] = json!("default");
        object["metadata"]["uid"] = json!(format!("uid-{n}"));
        object["metadata"]["ownerReferences"] = json!([{"apiVersion": "v1", "kind": "ConfigMap", "name": format!("n{}", n + 1), "uid": format!("uid-{}", n + 1)}]);
        object
    };
    for policy in ["Foreground", "Background"] {
        cluster.server.load((0..3000).map(owned).collect()).unwrap();
        delete_with(&cluster, &format!("{CONFIG_MAPS}/n2999"), &json!({"propagationPolicy": policy})).await;
        assert!(cluster.get(CONFIG_MAPS).await.names().is_empty(), "{policy}");
    }

    let mut last = owned(1);
    last["metadata"]["ownerReferences"][0]["name"] = json!("n0");
    last["metadata"]["ownerReferences"][0]["uid"] = json!("uid-0");
    cluster.server.load(vec![owned(0), last]).unwrap();
    cluster.delete(&format!("{CONFIG_MAPS}/n0")).await;
    assert!(cluster.get(CONFIG_MAPS).await.names().is_empty());
}

#[tokio::test]
async fn without_garbage_collection_dependents_stay() {
    let cluster = Cluster::start().await;
    let owner = cluster.create(CONFIG_MAPS, &config_map("owner")).await;
    cluster.create(CONFIG_MAPS, &owned_by("child", &[&owner])).await;
    cluster.delete(&format!("{CONFIG_MAPS}/owner")).await;
    assert_eq!(cluster.get(CONFIG_MAPS).await.names(), ["child"]);
}

#[tokio::test]
async fn invalid_delete_options_are_refused() {
    let cluster = Cluster::start().await;
    cluster.create(CONFIG_MAPS, &config_map("a")).await;
    let path = format!("{CONFIG_MAPS}/a");
    for options in [
        json!({"propagationPolicy": "Sideways"}),
        json!({"propagationPolicy": "Orphan", "orphanDependents": true}),
        json!([]),
    ] {
        delete_with(&cluster, &path, &options).await.failure(400, "BadRequest");
    }
    assert_eq!(cluster.get(&path).await.code, 200);
}
