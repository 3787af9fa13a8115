//! Create, read and replace: versions, generations and fields that only the server may write.

use serde_json::json;

use crate::{
    client::{Cluster, JSON, version},
    fixtures::{CONFIG_MAPS, DEPLOYMENTS, PODS, config_map, deployment, pod},
};

#[tokio::test]
async fn a_created_object_gets_the_fields_that_the_server_sets() {
    let cluster = Cluster::start().await;
    let mut object = deployment("web");
    object["metadata"]["uid"] = json!("mine");
    object["status"] = json!({"replicas": 7});

    let created = cluster.create(DEPLOYMENTS, &object).await;

    let metadata = &created["metadata"];
    assert_eq!(metadata["namespace"], "default");
    assert_eq!(metadata["generation"], 1);
    assert_eq!(metadata["uid"].as_str().unwrap().len(), 36);
    assert!(metadata["creationTimestamp"].as_str().unwrap().ends_with('Z'));
    assert!(version(&created) > 1);
    assert_eq!(created["status"], json!({}), "status is written through its subresource");
    assert_eq!(created["spec"]["replicas"], 1);
    assert_eq!(cluster.get(&format!("{DEPLOYMENTS}/web")).await.body, created);
}

/// As in kube-apiserver. Some clients, such as pykube, leave them out.
#[tokio::test]
async fn a_missing_kind_and_version_are_taken_from_the_path() {
    let cluster = Cluster::start().await;

    let created = cluster.create(CONFIG_MAPS, &json!({"kind": "", "metadata": {"name": "a"}})).await;

    assert_eq!((&created["apiVersion"], &created["kind"]), (&json!("v1"), &json!("ConfigMap")));
}

#[tokio::test]
async fn a_generated_name_ends_in_five_random_characters() {
    let cluster = Cluster::start().await;
    let object = json!({"apiVersion": "v1", "kind": "ConfigMap", "metadata": {"generateName": "c-"}});

    let first = cluster.create(CONFIG_MAPS, &object).await;
    let second = cluster.create(CONFIG_MAPS, &object).await;

    let name = first["metadata"]["name"].as_str().unwrap();
    assert!(name.starts_with("c-") && name.len() == 7, "{name}");
    assert_ne!(first["metadata"]["name"], second["metadata"]["name"]);
}

#[tokio::test]
async fn a_missing_object_is_reported_in_the_words_of_kube_apiserver() {
    let cluster = Cluster::start().await;

    let answer = cluster.get(&format!("{DEPLOYMENTS}/web")).await;

    assert_eq!(answer.failure(404, "NotFound"), "deployments.apps \"web\" not found");
    assert_eq!(answer.body["details"], json!({"name": "web", "group": "apps", "kind": "deployments"}));
    let answer = cluster.get(&format!("{PODS}/web")).await;
    assert_eq!(answer.failure(404, "NotFound"), "pods \"web\" not found");
}

#[tokio::test]
async fn a_name_can_be_used_only_once() {
    let cluster = Cluster::start().await;
    cluster.create(CONFIG_MAPS, &config_map("a")).await;
    let answer = cluster.send("POST", CONFIG_MAPS, JSON, &config_map("a")).await;
    assert_eq!(answer.failure(409, "AlreadyExists"), "configmaps \"a\" already exists");
}

#[tokio::test]
async fn a_write_from_an_old_version_is_a_conflict_and_changes_nothing() {
    let cluster = Cluster::start().await;
    let old = cluster.create(CONFIG_MAPS, &config_map("a")).await;
    let path = format!("{CONFIG_MAPS}/a");
    let mut new = old.clone();
    new["data"]["a"] = json!("2");
    let written = cluster.send("PUT", &path, JSON, &new).await;
    assert_eq!(written.code, 200);

    let mut stale = old;
    stale["data"]["a"] = json!("3");
    let answer = cluster.send("PUT", &path, JSON, &stale).await;

    assert!(answer.failure(409, "Conflict").starts_with("Operation cannot be fulfilled on configmaps \"a\""));
    assert_eq!(cluster.get(&path).await.body, written.body);
}

#[tokio::test]
async fn exactly_one_of_several_concurrent_writers_of_one_version_wins() {
    let cluster = Cluster::start().await;
    let old = cluster.create(CONFIG_MAPS, &config_map("a")).await;
    let path = format!("{CONFIG_MAPS}/a");
    let writes = (0..8).map(|n| {
        let mut new = old.clone();
        new["data"]["a"] = json!(format!("by {n}"));
        let (cluster, path) = (&cluster, &path);
        async move { cluster.send("PUT", path, JSON, &new).await.code }
    });

    let mut codes = futures::future::join_all(writes).await;

    codes.sort_unstable();
    assert_eq!(codes, [200, 409, 409, 409, 409, 409, 409, 409]);
}

#[tokio::test]
async fn writing_the_current_state_does_not_change_the_version() {
    let cluster = Cluster::start().await;
    let old = cluster.create(CONFIG_MAPS, &config_map("a")).await;
    let answer = cluster.send("PUT", &format!("{CONFIG_MAPS}/a"), JSON, &old).await;
    assert_eq!(answer.body, old);
}

#[tokio::test]
async fn the_generation_counts_only_changes_of_the_spec() {
    let cluster = Cluster::start().await;
    let path = format!("{DEPLOYMENTS}/web");
    let mut object = cluster.create(DEPLOYMENTS, &deployment("web")).await;

    object["spec"]["replicas"] = json!(2);
    let mut object = cluster.send("PUT", &path, JSON, &object).await.body;
    assert_eq!(object["metadata"]["generation"], 2);

    object["metadata"]["labels"] = json!({"a": "b"});
    let object = cluster.send("PUT", &path, JSON, &object).await.body;
    assert_eq!(object["metadata"]["generation"], 2);
}

#[tokio::test]
async fn spec_and_status_are_written_separately() {
    let cluster = Cluster::start().await;
    let mut object = cluster.create(DEPLOYMENTS, &deployment("web")).await;
    object["spec"]["replicas"] = json!(5);
    object["status"]["replicas"] = json!(5);

    let status = cluster.send("PUT", &format!("{DEPLOYMENTS}/web/status"), JSON, &object).await.body;
    assert_eq!((&status["spec"]["replicas"], &status["status"]["replicas"]), (&json!(1), &json!(5)));

    object["metadata"]["resourceVersion"] = status["metadata"]["resourceVersion"].clone();
    object["status"]["replicas"] = json!(9);
    let main = cluster.send("PUT", &format!("{DEPLOYMENTS}/web"), JSON, &object).await.body;
    assert_eq!((&main["spec"]["replicas"], &main["status"]["replicas"]), (&json!(5), &json!(5)));
}

#[tokio::test]
async fn a_scale_reads_and_writes_the_replicas() {
    let cluster = Cluster::start().await;
    cluster.create(DEPLOYMENTS, &deployment("web")).await;
    let path = format!("{DEPLOYMENTS}/web/scale");

    let mut scale = cluster.get(&path).await.body;
    assert_eq!((&scale["kind"], &scale["spec"]["replicas"]), (&json!("Scale"), &json!(1)));
    assert_eq!(scale["status"]["selector"], "app=web");

    scale["spec"]["replicas"] = json!(4);
    assert_eq!(cluster.send("PUT", &path, JSON, &scale).await.code, 200);
    assert_eq!(cluster.get(&format!("{DEPLOYMENTS}/web")).await.body["spec"]["replicas"], 4);
    cluster.send("PUT", &path, JSON, &scale).await.failure(409, "Conflict");
    scale["metadata"] = json!({"name": "web"});
    scale["spec"]["replicas"] = json!(-1);
    cluster.send("PUT", &path, JSON, &scale).await.failure(422, "Invalid");
}

#[tokio::test]
async fn a_dry_run_answers_without_changing_anything() {
    let cluster = Cluster::start().await;
    let before = cluster.server.resource_version();
    let answer = cluster.send("POST", &format!("{CONFIG_MAPS}?dryRun=All"), JSON, &config_map("a")).await;
    assert_eq!(answer.code, 201);
    assert_eq!(cluster.server.resource_version(), before);
    assert_eq!(cluster.get(&format!("{CONFIG_MAPS}/a")).await.code, 404);
}

#[tokio::test]
async fn objects_need_an_existing_namespace() {
    let cluster = Cluster::start().await;
    let answer = cluster.send("POST", "/api/v1/namespaces/nowhere/configmaps", JSON, &config_map("a")).await;
    assert_eq!(answer.failure(404, "NotFound"), "namespaces \"nowhere\" not found");
}

#[tokio::test]
async fn loaded_objects_keep_status_and_uid_and_create_their_namespace() {
    let cluster = Cluster::start().await;
    let mut object = pod("p", "n1");
    object["metadata"]["namespace"] = json!("shop");
    object["metadata"]["uid"] = json!("00000000-0000-4000-8000-000000000001");
    object["status"] = json!({"phase": "Running"});

    cluster.server.load(vec![object]).unwrap();

    let loaded = cluster.get("/api/v1/namespaces/shop/pods/p").await.body;
    assert_eq!(loaded["status"]["phase"], "Running");
    assert_eq!(loaded["metadata"]["uid"], "00000000-0000-4000-8000-000000000001");
    let error = cluster.server.load(vec![json!({"kind": "Teapot"})]).unwrap_err();
    assert!(error.to_string().contains("is not served"), "{error}");
}

#[tokio::test]
async fn a_secret_stores_string_data_as_base64() {
    let cluster = Cluster::start().await;
    let path = "/api/v1/namespaces/default/secrets";
    let secret =
        json!({"apiVersion": "v1", "kind": "Secret", "metadata": {"name": "s"}, "stringData": {"k": "foo"}});
    let created = cluster.create(path, &secret).await;
    assert_eq!(created["data"], json!({"k": "Zm9v"}));
    assert_eq!(created.get("stringData"), None);
}

/// kube-apiserver has the same rule. Without the version, a client would overwrite the changes of another client.
#[tokio::test]
async fn an_update_of_a_lease_must_name_the_version_that_it_replaces() {
    let cluster = Cluster::start().await;
    let leases = "/apis/coordination.k8s.io/v1/namespaces/default/leases";
    let mut lease =
        json!({"apiVersion": "coordination.k8s.io/v1", "kind": "Lease", "metadata": {"name": "l"}});
    let created = cluster.create(leases, &lease).await;

    let path = format!("{leases}/l");
    let message = cluster.send("PUT", &path, JSON, &lease).await.failure(422, "Invalid");
    assert!(message.contains("must be specified for an update"), "{message}");
    lease["metadata"]["resourceVersion"] = created["metadata"]["resourceVersion"].clone();
    assert_eq!(cluster.send("PUT", &path, JSON, &lease).await.code, 200);
}

#[tokio::test]
async fn an_event_is_one_object_in_both_groups() {
    let cluster = Cluster::start().await;
    let event = json!({
        "apiVersion": "events.k8s.io/v1", "kind": "Event", "metadata": {"name": "e"}, "note": "hello", "type": "Normal",
        "regarding": {"kind": "Pod", "namespace": "default", "name": "p"}, "reason": "Greeted", "action": "Greet",
        "eventTime": "2026-01-01T00:00:00.000000Z", "reportingController": "informer", "reportingInstance": "i",
    });
    let path = "/apis/events.k8s.io/v1/namespaces/default/events";
    let created = cluster.create(path, &event).await;
    assert_eq!((&created["note"], &created["regarding"]["name"]), (&json!("hello"), &json!("p")));

    let core = "/api/v1/namespaces/default/events";
    let read = cluster.get(&format!("{core}/e")).await.body;
    assert_eq!((&read["message"], &read["involvedObject"]["name"]), (&json!("hello"), &json!("p")));
    assert_eq!((&read["reportingComponent"], read.get("note")), (&json!("informer"), None));
    assert_eq!(cluster.get(&format!("{core}?fieldSelector=involvedObject.name%3Dp")).await.names(), ["e"]);
    assert_eq!(cluster.get(&format!("{path}?fieldSelector=regarding.name%3Dp")).await.names(), ["e"]);
    let table = cluster.get_as(path, "application/json;as=Table;v=v1;g=meta.k8s.io").await.body;
    let cells = table["rows"][0]["cells"].as_array().unwrap();
    assert_eq!(cells[3..], [json!("pod/p"), json!("hello")]);
}
