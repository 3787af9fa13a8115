//! Discovery, OpenAPI, reviews and addresses.

use serde_json::{Value, json};

use crate::{
    client::{Cluster, empty},
    fixtures::CONFIG_MAPS,
};

fn find<'a>(list: &'a Value, field: &str, value: &str) -> &'a Value {
    list.as_array()
        .unwrap()
        .iter()
        .find(|one| one[field] == value)
        .unwrap_or_else(|| panic!("{value} in {list}"))
}

#[tokio::test]
async fn unaggregated_discovery_lists_groups_versions_and_resources() {
    let cluster = Cluster::start().await;

    assert_eq!(cluster.get("/api").await.body["versions"], json!(["v1"]));
    let groups = cluster.get("/apis").await.body;
    let apps = find(&groups["groups"], "name", "apps");
    assert_eq!(apps["preferredVersion"], json!({"groupVersion": "apps/v1", "version": "v1"}));
    assert_eq!(cluster.get("/apis/apps").await.body["kind"], "APIGroup");

    let core = cluster.get("/api/v1").await.body;
    let pods = find(&core["resources"], "name", "pods");
    assert_eq!(
        (&pods["kind"], &pods["namespaced"], &pods["shortNames"], &pods["categories"], &pods["singularName"]),
        (&json!("Pod"), &json!(true), &json!(["po"]), &json!(["all"]), &json!("pod"))
    );
    for verb in ["create", "delete", "deletecollection", "get", "list", "patch", "update", "watch"] {
        assert!(pods["verbs"].as_array().unwrap().contains(&json!(verb)), "{verb}");
    }
    let scale = cluster.get("/apis/apps/v1").await.body;
    let scale = find(&scale["resources"], "name", "deployments/scale");
    assert_eq!((&scale["group"], &scale["kind"]), (&json!("autoscaling"), &json!("Scale")));
    cluster.get("/apis/teapots.example.com").await.failure(404, "NotFound");
    cluster.get("/apis/apps/v9").await.failure(404, "NotFound");
}

#[tokio::test]
async fn aggregated_discovery_lists_all_resources_in_one_document() {
    let cluster = Cluster::start().await;
    let accept = "application/json;g=apidiscovery.k8s.io;v=v2;as=APIGroupDiscoveryList,application/json";

    let answer = cluster.get_as("/apis", accept).await;

    assert!(answer.head.contains("as=apigroupdiscoverylist"), "{}", answer.head);
    assert_eq!(answer.body["apiVersion"], "apidiscovery.k8s.io/v2");
    let apps = answer.body["items"]
        .as_array()
        .unwrap()
        .iter()
        .find(|one| one["metadata"]["name"] == "apps")
        .unwrap();
    let deployments = find(&apps["versions"][0]["resources"], "resource", "deployments");
    assert_eq!(deployments["responseKind"], json!({"group": "apps", "version": "v1", "kind": "Deployment"}));
    assert_eq!(deployments["scope"], "Namespaced");
    let subresources = &deployments["subresources"];
    assert_eq!(find(subresources, "subresource", "scale")["responseKind"]["kind"], "Scale");
    let core = cluster.get_as("/api", accept).await.body;
    assert_eq!(core["items"][0]["versions"][0]["version"], "v1");
}

#[tokio::test]
async fn every_listed_resource_can_be_listed() {
    let cluster = Cluster::start().await;
    let mut paths = vec!["/api/v1".to_owned()];
    let groups = cluster.get("/apis").await.body;
    for group in groups["groups"].as_array().unwrap() {
        paths.push(format!("/apis/{}", group["preferredVersion"]["groupVersion"].as_str().unwrap()));
    }
    for path in paths {
        let resources = cluster.get(&path).await.body;
        for resource in resources["resources"].as_array().unwrap() {
            let name = resource["name"].as_str().unwrap();
            if resource["verbs"].as_array().unwrap().contains(&json!("list")) {
                assert_eq!(cluster.get(&format!("{path}/{name}")).await.code, 200, "{path}/{name}");
            }
        }
    }
}

#[tokio::test]
async fn openapi_declares_field_validation_for_kubectl() {
    let cluster = Cluster::start().await;
    let index = cluster.get("/openapi/v3").await.body;
    let url = index["paths"]["apis/apps/v1"]["serverRelativeURL"].as_str().unwrap();
    let document = cluster.get(url).await.body;
    let patch = &document["paths"]["/apis/apps/v1/namespaces/{namespace}/deployments/{name}"]["patch"];
    assert_eq!(patch["x-kubernetes-group-version-kind"]["kind"], "Deployment");
    find(&patch["parameters"], "name", "fieldValidation");
    cluster.get("/openapi/v3/apis/nope/v1").await.failure(404, "NotFound");
}

#[tokio::test]
async fn version_and_health_endpoints_answer() {
    let cluster = Cluster::start().await;
    assert_eq!(cluster.get("/version").await.body["major"], "1");
    for path in ["/healthz", "/livez", "/readyz"] {
        assert_eq!(cluster.get(path).await.body, "ok");
    }
}

#[tokio::test]
async fn self_reviews_are_answered() {
    let cluster = Cluster::start().await;
    let path = "/apis/authorization.k8s.io/v1/selfsubjectaccessreviews";
    let review = json!({
        "apiVersion": "authorization.k8s.io/v1", "kind": "SelfSubjectAccessReview",
        "spec": {"resourceAttributes": {"verb": "list", "resource": "pods"}},
    });
    let answer = cluster.create(path, &review).await;
    assert_eq!(answer["status"]["allowed"], true);
    let who = json!({"apiVersion": "authentication.k8s.io/v1", "kind": "SelfSubjectReview"});
    let answer = cluster.create("/apis/authentication.k8s.io/v1/selfsubjectreviews", &who).await;
    assert_eq!(answer["status"]["userInfo"]["username"], "developer");
    cluster.get(path).await.failure(405, "MethodNotAllowed");
}

#[tokio::test]
async fn the_kubeconfig_contains_the_address_of_the_server() {
    let cluster = Cluster::start().await;
    let kubeconfig = cluster.server.kubeconfig();
    assert!(kubeconfig.contains(&format!("server: {}\n", cluster.server.url())), "{kubeconfig}");
    assert!(kubeconfig.contains("current-context: informer-dev\n"));
}

#[tokio::test]
async fn an_address_that_is_not_loopback_must_be_allowed() {
    let mut config =
        informer_devserver::Config { address: "0.0.0.0:0".parse().unwrap(), ..Default::default() };
    let refused = informer_devserver::DevServer::start(config.clone()).await.unwrap_err();
    assert!(refused.to_string().contains("loopback"), "{refused}");
    config.allow_remote = true;
    assert!(informer_devserver::DevServer::start(config).await.is_ok());
}

#[tokio::test]
async fn an_address_in_use_is_an_error() {
    let cluster = Cluster::start().await;
    let config = informer_devserver::Config { address: cluster.server.address(), ..Default::default() };
    let refused = informer_devserver::DevServer::start(config).await.unwrap_err();
    assert!(refused.to_string().starts_with("cannot listen on 127.0.0.1:"), "{refused}");
    assert_eq!(cluster.send("PATCH", CONFIG_MAPS, "application/json", &empty()).await.code, 405);
}

#[tokio::test]
async fn openapi_v2_has_a_media_type_that_go_can_parse() {
    let cluster = Cluster::start().await;
    let media_type = "application/com.github.proto-openapi.spec.v2@v1.0+protobuf";
    let headers = format!("accept: {media_type}\r\n");
    let answer = cluster.raw("GET", "/openapi/v2", &headers, b"").await;
    let answered = "content-type: application/com.github.proto-openapi.spec.v2.v1.0+protobuf";
    assert!(answer.head.contains(answered), "{}", answer.head);
}
