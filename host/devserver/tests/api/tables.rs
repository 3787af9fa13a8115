//! Tables, which kubectl prints.

use serde_json::{Value, json};

use crate::{
    client::{Cluster, MERGE},
    fixtures::{CONFIG_MAPS, DEFINITIONS, DEPLOYMENTS, WIDGETS, config_map, definition, deployment, widget},
};

const TABLE: &str = "application/json;as=Table;v=v1;g=meta.k8s.io,application/json";

fn headings(table: &Value) -> Vec<&str> {
    table["columnDefinitions"]
        .as_array()
        .unwrap()
        .iter()
        .map(|column| column["name"].as_str().unwrap())
        .collect()
}

#[tokio::test]
async fn a_table_has_the_columns_of_its_resource() {
    let cluster = Cluster::start().await;
    cluster.create(DEPLOYMENTS, &deployment("web")).await;
    let status = json!({"status": {"readyReplicas": 1, "updatedReplicas": 1}});
    cluster.patch(&format!("{DEPLOYMENTS}/web/status"), MERGE, &status).await;

    let table = cluster.get_as(DEPLOYMENTS, TABLE).await.body;

    assert_eq!(table["kind"], "Table");
    assert_eq!(headings(&table), ["Name", "Ready", "Up-to-date", "Available", "Age"]);
    assert_eq!(
        table["rows"][0]["cells"].as_array().unwrap()[..4],
        [json!("web"), json!("1/1"), json!(1), json!(0)]
    );
    assert_eq!(table["rows"][0]["object"]["kind"], "PartialObjectMetadata");
}

#[tokio::test]
async fn a_definition_chooses_the_columns_of_its_resource() {
    let cluster = Cluster::start().await;
    cluster.create(DEFINITIONS, &definition()).await;
    cluster.create(WIDGETS, &widget("w")).await;
    let table = cluster.get_as(WIDGETS, TABLE).await.body;
    assert_eq!(headings(&table), ["Name", "Size"]);
    assert_eq!(table["rows"][0]["cells"], json!(["w", 3]));
}

#[tokio::test]
async fn a_watch_can_send_tables() {
    let cluster = Cluster::start().await;
    let rv = cluster.server.resource_version();
    let mut watch = cluster.watch_as(&format!("{CONFIG_MAPS}?watch=1&resourceVersion={rv}"), TABLE).await;
    cluster.create(CONFIG_MAPS, &config_map("a")).await;
    let event = watch.next().await.unwrap();
    assert_eq!((&event["type"], &event["object"]["kind"]), (&json!("ADDED"), &json!("Table")));
    assert_eq!(event["object"]["rows"][0]["cells"][0], "a");
}
