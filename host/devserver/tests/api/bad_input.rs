//! Bad input: the answer is always a `Status`, and the server continues.

use serde_json::json;

use crate::{
    client::{Cluster, JSON, MERGE},
    fixtures::{CONFIG_MAPS, DEFINITIONS, DEPLOYMENTS, WIDGETS, config_map, definition, widget},
};

#[tokio::test]
async fn unknown_paths_are_404() {
    let cluster = Cluster::start().await;
    for path in [
        "/",
        "/nope",
        "/api/v1/teapots",
        "/api/v2/pods",
        "/apis/apps/v1/pods",
        "/api/v1/namespaces/default/nodes",
        "/api/v1/pods/without-namespace",
        "/api/v1/namespaces/default/pods/p/status/more",
        "/api/v1/namespaces/default/configmaps/a/status",
        "/api/v1/namespaces/default/configmaps/a/scale",
        "/api/v1//pods",
        "/api/v1/namespaces/%ff/pods",
        "/openapi/v9",
    ] {
        cluster.get(path).await.failure(404, "NotFound");
    }
}

#[tokio::test]
async fn unsupported_methods_are_405() {
    let cluster = Cluster::start().await;
    for (method, path) in [
        ("PUT", CONFIG_MAPS),
        ("PATCH", CONFIG_MAPS),
        ("POST", "/api/v1/namespaces/default/configmaps/a"),
        ("POST", "/api/v1/configmaps"),
        ("DELETE", "/api/v1/configmaps"),
        ("DELETE", "/api/v1/namespaces/default/pods/p/status"),
        ("POST", "/apis"),
        ("BREW", CONFIG_MAPS),
    ] {
        cluster.send(method, path, JSON, &json!({})).await.failure(405, "MethodNotAllowed");
    }
}

#[tokio::test]
async fn bodies_without_an_object_of_the_kind_are_400() {
    let cluster = Cluster::start().await;
    for body in [
        &b""[..],
        b"{",
        b"nonsense",
        b"[]",
        b"null",
        b"{\"kind\":7,\"metadata\":{\"name\":\"a\"}}",
        b"{\"apiVersion\":\"v1\",\"kind\":\"Pod\",\"metadata\":{\"name\":\"a\"}}",
        b"{\"apiVersion\":\"v2\",\"kind\":\"ConfigMap\",\"metadata\":{\"name\":\"a\"}}",
        b"{\"apiVersion\":\"v1\",\"kind\":\"ConfigMap\",\"metadata\":7}",
        b"{\"apiVersion\":\"v1\",\"kind\":\"ConfigMap\",\"metadata\":{\"name\":\"a\",\"namespace\":\"other\"}}",
        b"{\"apiVersion\":\"v1\",\"kind\":\"ConfigMap\",\"metadata\":{\"name\":\"a\",\"resourceVersion\":\"5\"}}",
        b"\xff\xfe",
    ] {
        let answer = cluster.raw("POST", CONFIG_MAPS, "Content-Type: application/json\r\n", body).await;
        answer.failure(400, "BadRequest");
    }
}

#[tokio::test]
async fn objects_that_break_rules_are_422_with_a_cause_for_each_rule() {
    let cluster = Cluster::start().await;
    let object = json!({
        "apiVersion": "v1", "kind": "ConfigMap",
        "metadata": {
            "name": "Not_A_Name",
            "labels": {"-bad-": "x", "good": "not good!"},
            "annotations": {"not a key": "x"},
            "ownerReferences": [{"kind": "Pod"}],
        },
    });

    let answer = cluster.send("POST", CONFIG_MAPS, JSON, &object).await;

    assert!(answer.failure(422, "Invalid").starts_with("ConfigMap \"Not_A_Name\" is invalid: ["));
    let causes = answer.body["details"]["causes"].as_array().unwrap();
    let fields: Vec<&str> = causes.iter().filter_map(|cause| cause["field"].as_str()).collect();
    for field in
        ["metadata.name", "metadata.labels", "metadata.annotations", "metadata.ownerReferences[0].uid"]
    {
        assert!(fields.contains(&field), "{field} in {fields:?}");
    }
    let nameless = json!({"apiVersion": "v1", "kind": "ConfigMap"});
    cluster.send("POST", CONFIG_MAPS, JSON, &nameless).await.failure(422, "Invalid");
}

#[tokio::test]
async fn unknown_fields_are_dropped_reported_or_refused() {
    let cluster = Cluster::start().await;
    let mut object = config_map("a");
    object["dat"] = json!({"typo": "x"});

    let warned = cluster.send("POST", CONFIG_MAPS, JSON, &object).await;
    assert_eq!((warned.code, warned.body.get("dat")), (201, None));
    assert!(warned.head.contains(r#"warning: 299 - "unknown field \"dat\"""#), "{}", warned.head);
    let path = format!("{CONFIG_MAPS}/a?fieldValidation=Ignore");
    let ignored = cluster.patch(&path, MERGE, &json!({"dat": 1})).await;
    assert!(ignored.code == 200 && !ignored.head.contains("warning"), "{}", ignored.head);

    let strict = cluster.send("POST", &format!("{CONFIG_MAPS}?fieldValidation=Strict"), JSON, &object).await;
    assert!(strict.failure(400, "BadRequest").ends_with("strict decoding error: unknown field \"dat\""));
    let odd = format!("{CONFIG_MAPS}?fieldValidation=Perhaps");
    cluster.send("POST", &odd, JSON, &object).await.failure(422, "Invalid");
}

#[tokio::test]
async fn values_of_the_wrong_type_are_400_and_change_nothing() {
    let cluster = Cluster::start().await;
    let created = cluster.create(CONFIG_MAPS, &config_map("a")).await;
    for patch in
        [json!({"data": {"n": 7}}), json!({"metadata": {"labels": "x"}}), json!({"immutable": "yes"})]
    {
        let answer = cluster.patch(&format!("{CONFIG_MAPS}/a"), MERGE, &patch).await;
        assert!(answer.failure(400, "BadRequest").contains("cannot unmarshal"), "{}", answer.body);
    }
    assert_eq!(cluster.get(&format!("{CONFIG_MAPS}/a")).await.body, created);
}

#[tokio::test]
async fn a_body_is_413_only_beyond_the_limit() {
    let cluster = Cluster::start().await;
    cluster.create(DEFINITIONS, &definition()).await;
    let mut object = widget("big");
    object["spec"]["color"] = json!("x".repeat(2 * 1024 * 1024));
    assert_eq!(cluster.send("POST", WIDGETS, JSON, &object).await.code, 201);
    object["spec"]["color"] = json!("x".repeat(3 * 1024 * 1024));
    let answer = cluster.send("POST", WIDGETS, JSON, &object).await;
    answer.failure(413, "RequestEntityTooLarge");
}

#[tokio::test]
async fn unsupported_media_types_of_bodies_and_answers_are_refused() {
    let cluster = Cluster::start().await;
    let answer = cluster.send("POST", CONFIG_MAPS, "application/yaml", &config_map("a")).await;
    answer.failure(415, "UnsupportedMediaType");
    let answer = cluster
        .raw("POST", CONFIG_MAPS, "Content-Type: application/vnd.kubernetes.protobuf\r\n", b"junk")
        .await;
    answer.failure(400, "BadRequest");
    for accept in
        ["application/vnd.kubernetes.protobuf", "text/html", "application/json;as=Table;v=v7;g=meta.k8s.io"]
    {
        cluster.get_as(DEPLOYMENTS, accept).await.failure(406, "NotAcceptable");
    }
}

#[tokio::test]
async fn a_put_must_have_the_name_and_namespace_of_its_path() {
    let cluster = Cluster::start().await;
    cluster.create(CONFIG_MAPS, &config_map("a")).await;
    let path = format!("{CONFIG_MAPS}/a");
    let message = cluster.send("PUT", &path, JSON, &config_map("b")).await.failure(400, "BadRequest");
    assert_eq!(message, "the name of the object (b) does not match the name on the URL (a)");
    let elsewhere = cluster.send("PUT", &format!("{CONFIG_MAPS}/b"), JSON, &config_map("b")).await;
    elsewhere.failure(404, "NotFound");
}

#[tokio::test]
async fn a_connection_without_http_does_not_disturb_the_server() {
    use tokio::io::{AsyncReadExt, AsyncWriteExt};
    let cluster = Cluster::start().await;
    let mut stream = tokio::net::TcpStream::connect(cluster.server.address()).await.unwrap();
    stream.write_all(b"\x16\x03\x01 this is TLS, or nonsense\r\n\r\n").await.unwrap();
    let mut answer = Vec::new();
    let _ = stream.read_to_end(&mut answer).await;
    assert_eq!(cluster.get(CONFIG_MAPS).await.code, 200);
}

#[tokio::test]
async fn patches_cannot_build_objects_larger_than_a_body() {
    let cluster = Cluster::start().await;
    cluster.create(DEFINITIONS, &definition()).await;
    cluster.create(WIDGETS, &widget("a")).await;
    let path = format!("{WIDGETS}/a");
    let half = "x".repeat(1800 * 1024);
    assert_eq!(cluster.patch(&path, MERGE, &json!({"spec": {"one": half}})).await.code, 200);
    let answer = cluster.patch(&path, MERGE, &json!({"spec": {"two": half}})).await;
    answer.failure(413, "RequestEntityTooLarge");
    assert_eq!(cluster.get(&path).await.body["spec"].get("two"), None);
}

#[tokio::test]
async fn deeply_nested_json_is_refused() {
    let cluster = Cluster::start().await;
    let deep = format!("{}{}", "[".repeat(100_000), "]".repeat(100_000));
    let answer = cluster.raw("POST", CONFIG_MAPS, "", deep.as_bytes()).await;
    answer.failure(400, "BadRequest");
}
