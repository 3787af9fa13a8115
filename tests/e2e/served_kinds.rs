//! Watches of all kinds that the API server serves (D-22), with the embedded server.

use std::fs;

use informer::{config::Access, connect::connect};
use informer_devserver::{Config, DevServer};
use informer_guests::{guest, ready_made};
use informer_tests::{
    host::{TestHost, configuration},
    orders::{self, Orders},
    toml::{plugin, watch},
};
use kube::{
    Client,
    api::{Api, ApiResource, DynamicObject, GroupVersionKind, PostParams},
};
use serde_json::{Value, json};

use crate::configmaps::ConfigMaps;

async fn server() -> (DevServer, Client) {
    let server = DevServer::start(Config::default()).await.unwrap();
    let client = connect(&Access::Server(server.url().parse().unwrap())).await.unwrap().client;
    (server, client)
}

/// The informers of a resource, whatever their namespaces.
fn informers(status: &Value, gvr: &str) -> Vec<Value> {
    let informers = status["informers"].as_array().unwrap();
    let is_of = |informer: &&Value| informer["watch"].as_str().unwrap().split([' ', ',']).next() == Some(gvr);
    informers.iter().filter(is_of).cloned().collect()
}

/// Two plugins: one subscribes to all kinds, and one to ConfigMaps, which have a watch of their own.
fn two(exclude: &str) -> String {
    let all = format!("[[watch]]\ngvr = \"*/*/*\"\nmetadata-only = true\nexclude = [{exclude}]\n");
    let on = "namespaces = [\"default\"]";
    all + &watch("v1/configmaps")
        + &plugin("all", &guest("echo"), "*/*/*", on)
        + &plugin("own", &guest("echo"), "v1/configmaps", on)
}

/// Each kind is watched once; a CRD begins a watch, and its end delivers the deletions before the watch ends. Nothing else is
/// touched (D-22).
#[tokio::test(flavor = "multi_thread")]
async fn a_watch_of_all_kinds_follows_the_crds_of_the_cluster() {
    let (server, client) = server().await;
    let (orders, configmaps) = (Orders::at(client), ConfigMaps::at(&server.url()).await);
    let host = TestHost::start(&server.url(), &two("\"v1/secrets\"")).await.unwrap();
    host.synced().await;
    assert_eq!((host.unready(), host.degraded()), (Vec::new(), Vec::new()));
    let status = host.status();
    for once in ["v1/configmaps", "v1/pods", "apps/v1/deployments", "v1/events"] {
        assert_eq!(informers(&status, once).len(), 1, "{once}");
    }
    // Events are one kind with two names, the subscription has a namespace, and Secrets are excluded.
    for never in ["events.k8s.io/v1/events", "v1/nodes", "v1/secrets", orders::GVR] {
        assert_eq!(informers(&status, never), Vec::<Value>::new(), "{never}");
    }
    configmaps.create("first").await;
    host.lines.said("all", "add default/first ", "").await;
    host.lines.said("own", "add default/first ", "").await;
    let requests = |status: &Value| {
        let counters = informers(status, "v1/configmaps").remove(0)["counters"].clone();
        ["lists", "streaming-lists", "watches"].map(|counter| counters[counter].as_u64().unwrap())
    };
    let before = requests(&host.status());

    for round in 1..=2 {
        orders.install().await.unwrap();
        let name = format!("order-{round}");
        orders.create(&name).await.unwrap();
        host.lines.said("all", &format!("add default/{name} "), "").await;
        orders.uninstall().await.unwrap();
        host.lines.said("all", &format!("delete default/{name} "), "").await;
        host.until("the end of the watch", |status| informers(status, orders::GVR).is_empty()).await;
        assert_eq!((host.unready(), host.degraded()), (Vec::new(), Vec::new()));
    }
    assert_eq!(requests(&host.status()), before, "it is the same watch");
    assert!(host.lines.of("own").iter().all(|line| !line.contains("order-")));
    configmaps.update("first", 1).await;
    host.lines.said("all", "update default/first ", "").await;
    host.lines.said("own", "update default/first ", "").await;
    host.stop().await;
}

/// A reload expands the patterns of the new file, and touches no watch that both have.
#[tokio::test(flavor = "multi_thread")]
async fn another_exclusion_ends_a_watch_without_deletions() {
    let (server, client) = server().await;
    let orders = Orders::at(client);
    orders.install().await.unwrap();
    orders.create("kept").await.unwrap();
    let host = TestHost::start(&server.url(), &two("")).await.unwrap();
    host.synced().await;
    host.lines.said("all", "add default/kept ", "").await;
    assert_eq!(informers(&host.status(), orders::GVR).len(), 1);

    let report = host.app().apply(configuration(&two("\"shop.example.com/*/*\"")).unwrap()).await.unwrap();

    let changes: Vec<String> =
        report.changes.iter().map(|change| format!("{} {}", change.kind, change.name)).collect();
    assert_eq!(changes, [format!("watch {}", orders::GVR), "plugin all".to_owned()]);
    assert!(informers(&host.status(), orders::GVR).is_empty());
    let lines = host.lines.clone();
    // The stop delivers what is pending.
    host.stop().await;
    assert!(lines.of("all").iter().all(|line| !line.starts_with("delete ")), "the object still exists");
}

/// The janitor with the fragment for all kinds deletes an object of a kind that did not exist when the host started.
#[tokio::test(flavor = "multi_thread")]
async fn the_janitor_deletes_objects_of_kinds_that_are_installed_later() {
    let (server, client) = server().await;
    let built = tokio::task::spawn_blocking(|| ready_made("janitor")).await.unwrap();
    let text = fs::read_to_string("../plugins/janitor/all-kinds.toml").unwrap();
    let text =
        text.replace("../../target/wasm32-wasip2/plugin/informer_janitor.wasm", built.to_str().unwrap());
    let host = TestHost::start(&server.url(), &text).await.unwrap();
    host.synced().await;

    Orders::at(client.clone()).install().await.unwrap();
    let kind = GroupVersionKind::gvk("shop.example.com", "v1", "Order");
    let orders: Api<DynamicObject> =
        Api::namespaced_with(client, "default", &ApiResource::from_gvk_with_plural(&kind, "orders"));
    for (name, annotations) in [("expired", json!({"janitor/expires": "2020-01-01"})), ("stays", json!({}))] {
        let order = json!({
            "apiVersion": "shop.example.com/v1", "kind": "Order",
            "metadata": {"name": name, "annotations": annotations}, "spec": {"items": 1},
        });
        orders.create(&PostParams::default(), &serde_json::from_value(order).unwrap()).await.unwrap();
    }
    host.lines.said("janitor", "shop.example.com/v1/orders default/expired was deleted: ", "").await;

    assert!(orders.get_opt("expired").await.unwrap().is_none());
    assert!(orders.get_opt("stays").await.unwrap().is_some());
    host.stop().await;
}
