//! The output of `kubectl get` and `kubectl describe`.

use crate::stage::Stage;
use serde_json::Value;

#[tokio::test(flavor = "multi_thread")]
#[ignore = "needs kubectl, built with Go: run by cargo xtask test --all"]
async fn get_and_describe_show_a_deployment_in_every_format() {
    let mut stage = Stage::start().await;
    let create = ["create", "deployment", "nginx", "--image=nginx:1.29", "--replicas=2"];
    stage.creates("nginx", &create, "deployment.apps/nginx created\n").await;
    let kubectl = &stage.kubectl;

    let json: Value =
        serde_json::from_str(&kubectl.prints(&["get", "deployment", "nginx", "-o", "json"]).await).unwrap();
    assert_eq!(json["kind"], "Deployment");
    assert_eq!(json["spec"]["replicas"], 2);
    assert_eq!(json["spec"]["template"]["spec"]["containers"][0]["image"], "nginx:1.29");

    let yaml = kubectl.prints(&["get", "deployment", "nginx", "-o", "yaml"]).await;
    assert!(yaml.starts_with("apiVersion: apps/v1\nkind: Deployment\nmetadata:\n"), "{yaml}");
    let version = format!("\n  resourceVersion: {}\n", json["metadata"]["resourceVersion"]);
    assert!(yaml.contains(&version) && yaml.contains("\n      - image: nginx:1.29\n"), "{yaml}");

    let table = kubectl.prints(&["get", "deployments"]).await;
    let rows: Vec<Vec<&str>> = table.lines().map(|row| row.split_whitespace().collect()).collect();
    assert_eq!(rows[0], ["NAME", "READY", "UP-TO-DATE", "AVAILABLE", "AGE"]);
    assert_eq!(rows[1][..4], ["nginx", "0/2", "0", "0"]);
    assert_eq!(rows[2][..4], ["resident", "0/1", "0", "0"]);
    assert_eq!(rows.len(), 3, "{table}");

    let selected = kubectl.prints(&["get", "deploy", "-l", "app=nginx", "-o", "name"]).await;
    assert_eq!(selected, "deployment.apps/nginx\n");
    let everywhere = kubectl.prints(&["get", "deployments.v1.apps", "-A", "--no-headers"]).await;
    assert!(everywhere.lines().all(|row| row.starts_with("default ")), "{everywhere}");
    assert_eq!(everywhere.lines().count(), 2);
    assert_eq!(
        kubectl.prints(&["get", "deployments", "-o", "name", "--chunk-size=1"]).await.lines().count(),
        2
    );

    let described = kubectl.prints(&["describe", "deployment", "nginx"]).await;
    for wanted in ["Name:                   nginx\n", "2 desired", "Image:         nginx:1.29\n", "Events:"] {
        assert!(described.contains(wanted), "no {wanted:?} in {described}");
    }
    stage.leave().await;
}

#[tokio::test(flavor = "multi_thread")]
#[ignore = "needs kubectl, built with Go: run by cargo xtask test --all"]
async fn get_with_watch_prints_a_row_for_each_change() {
    let mut stage = Stage::start().await;
    let mut rows = stage.kubectl.watches(&["get", "deployments", "-w"]);
    let mut events = stage.kubectl.watches(&["get", "deployments", "-w", "--output-watch-events"]);
    rows.shows(&["NAME", "READY"]).await;
    rows.shows(&["resident", "0/1"]).await;
    events.shows(&["EVENT", "NAME", "READY"]).await;
    events.shows(&["ADDED", "resident", "0/1"]).await;

    let create = ["create", "deployment", "nginx", "--image=nginx:1.29"];
    stage.creates("nginx", &create, "deployment.apps/nginx created\n").await;
    rows.shows(&["nginx", "0/1"]).await;
    events.shows(&["ADDED", "nginx", "0/1"]).await;

    let scale = ["scale", "deployment", "nginx", "--replicas=3"];
    stage.changes("nginx", &scale, "deployment.apps/nginx scaled\n").await;
    rows.shows(&["nginx", "0/3"]).await;
    events.shows(&["MODIFIED", "nginx", "0/3"]).await;

    stage.deletes("nginx", &["delete", "deployment", "nginx"]).await;
    rows.shows(&["nginx", "0/3"]).await;
    events.shows(&["DELETED", "nginx", "0/3"]).await;
    stage.leave().await;
}
