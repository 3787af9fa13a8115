//! Namespaces, custom resources and discovery.

use std::collections::BTreeSet;

use crate::{manifest, stage::Stage};

#[tokio::test(flavor = "multi_thread")]
#[ignore = "needs kubectl, built with Go: run by cargo xtask test --all"]
async fn a_custom_resource_is_served_as_soon_as_it_is_defined() {
    let stage = Stage::start().await;
    let kubectl = &stage.kubectl;
    let (definition, widget) = (manifest("widgets.yaml"), manifest("widget.yaml"));
    let early = kubectl.fails(&["create", "-f", &widget]).await;
    assert!(early.contains("no matches for kind \"Widget\" in version \"example.com/v1\""), "{early}");

    let created = kubectl.prints(&["create", "-f", &definition]).await;
    assert_eq!(created, "customresourcedefinition.apiextensions.k8s.io/widgets.example.com created\n");
    let wait = ["wait", "--for=condition=Established", "crd/widgets.example.com", "--timeout=60s"];
    let met = kubectl.prints(&wait).await;
    assert_eq!(met, "customresourcedefinition.apiextensions.k8s.io/widgets.example.com condition met\n");

    assert_eq!(kubectl.prints(&["create", "-f", &widget]).await, "widget.example.com/one created\n");
    let table = kubectl.prints(&["get", "widgets"]).await;
    assert_eq!(table.split_whitespace().collect::<Vec<_>>(), ["NAME", "SIZE", "one", "3"]);
    assert_eq!(kubectl.prints(&["get", "wg", "one", "-o=jsonpath={.spec.size}"]).await, "3");
    let patch = ["patch", "widget", "one", "--type=merge", "-p", r#"{"spec":{"size":4}}"#];
    assert_eq!(kubectl.prints(&patch).await, "widget.example.com/one patched\n");
    assert_eq!(kubectl.prints(&["get", "wg", "one", "-o=jsonpath={.spec.size}"]).await, "4");

    kubectl.prints(&["delete", "-f", &definition]).await;
    let late = kubectl.fails(&["get", "--raw", "/apis/example.com/v1/widgets"]).await;
    assert!(late.contains("NotFound"), "{late}");
    stage.leave().await;
}

#[tokio::test(flavor = "multi_thread")]
#[ignore = "needs kubectl, built with Go: run by cargo xtask test --all"]
async fn a_deleted_namespace_deletes_its_objects() {
    let stage = Stage::start().await;
    let kubectl = &stage.kubectl;
    let create = ["-n", "team", "create", "configmap", "settings", "--from-literal=a=b"];
    let early = kubectl.fails(&create).await;
    assert!(early.contains("namespaces \"team\" not found"), "{early}");

    assert_eq!(kubectl.prints(&["create", "namespace", "team"]).await, "namespace/team created\n");
    assert_eq!(kubectl.prints(&create).await, "configmap/settings created\n");
    assert_eq!(kubectl.prints(&["-n", "team", "get", "cm", "settings", "-o=jsonpath={.data.a}"]).await, "b");
    assert_eq!(kubectl.prints(&["delete", "namespace", "team"]).await, "namespace \"team\" deleted\n");
    let gone = kubectl.fails(&["-n", "team", "get", "configmap", "settings"]).await;
    assert!(gone.contains("(NotFound)"), "{gone}");
    stage.leave().await;
}

#[tokio::test(flavor = "multi_thread")]
#[ignore = "needs kubectl, built with Go: run by cargo xtask test --all"]
async fn kubectl_discovers_the_resources_and_versions() {
    let stage = Stage::start().await;
    let table = stage.kubectl.prints(&["api-resources", "--no-headers"]).await;
    let rows: BTreeSet<Vec<&str>> = table.lines().map(|row| row.split_whitespace().collect()).collect();
    for wanted in [
        ["deployments", "deploy", "apps/v1", "true", "Deployment"],
        ["namespaces", "ns", "v1", "false", "Namespace"],
        ["pods", "po", "v1", "true", "Pod"],
    ] {
        assert!(rows.contains(wanted.as_slice()), "no {wanted:?} in {table}");
    }
    let versions = stage.kubectl.prints(&["api-versions"]).await;
    assert!(versions.lines().any(|line| line == "apps/v1"), "{versions}");
    let version = stage.kubectl.prints(&["version"]).await;
    assert!(version.contains("Server Version: v1.36"), "{version}");
    stage.leave().await;
}
