//! The ready-made plugin `plugins/janitor` in a whole host.

use std::{
    fs,
    time::{Duration, Instant},
};

use informer::{config::Access, connect::connect};
use informer_devserver::{Config, DevServer};
use informer_guests::ready_made;
use informer_tests::host::TestHost;
use k8s_openapi::api::{core::v1::ConfigMap, events::v1::Event};
use kube::api::{Api, ListParams, Patch, PatchParams, PostParams};
use serde_json::{Value, json};

/// The fragment of the plugin as it is shipped, with the component that was built for the tests.
async fn start(server: &DevServer) -> TestHost {
    let built = tokio::task::spawn_blocking(|| ready_made("janitor")).await.unwrap();
    let text = fs::read_to_string("../plugins/janitor/informer.toml").unwrap();
    let text =
        text.replace("../../target/wasm32-wasip2/plugin/informer_janitor.wasm", built.to_str().unwrap());
    let host = TestHost::start(&server.url(), &text).await.unwrap();
    host.synced().await;
    host
}

async fn create(maps: &Api<ConfigMap>, name: &str, annotations: Value) {
    let map = json!({"metadata": {"name": name, "annotations": annotations}, "data": {"large": "text"}});
    maps.create(&PostParams::default(), &serde_json::from_value(map).unwrap()).await.unwrap();
}

async fn names(maps: &Api<ConfigMap>) -> Vec<String> {
    let list = maps.list(&ListParams::default()).await.unwrap();
    list.items.into_iter().filter_map(|map| map.metadata.name).collect()
}

async fn reasons(events: &Api<Event>) -> Vec<String> {
    let list = events.list(&ListParams::default()).await.unwrap();
    list.items.into_iter().filter_map(|event| event.reason).collect()
}

/// The objects expire at their times, not at an interval. What was annotated before the host started counts as well.
#[tokio::test(flavor = "multi_thread")]
async fn the_janitor_deletes_what_expired_at_its_time_and_nothing_else() {
    let server = DevServer::start(Config::default()).await.unwrap();
    let client = connect(&Access::Server(server.url().parse().unwrap())).await.unwrap().client;
    let maps: Api<ConfigMap> = Api::namespaced(client.clone(), "default");
    create(&maps, "before", json!({"janitor/expires": "2020-01-01"})).await;
    create(&maps, "stays", json!({"other": "1s"})).await;
    create(&maps, "misspelt", json!({"janitor/ttl": "1 s"})).await;
    let host = start(&server).await;
    host.lines.said("janitor", "v1/configmaps default/before was deleted: ", "").await;

    create(&maps, "short", json!({"janitor/ttl": "3s"})).await;
    create(&maps, "extended", json!({"janitor/ttl": "3s"})).await;
    let created = Instant::now();
    let longer = Patch::Merge(json!({"metadata": {"annotations": {"janitor/ttl": "1h"}}}));
    maps.patch("extended", &PatchParams::default(), &longer).await.unwrap();
    host.lines.said("janitor", "v1/configmaps default/short was deleted: ", "").await;

    // The creation time of an object has no fractions of a second.
    assert!(created.elapsed() >= Duration::from_secs(2), "{:?}", created.elapsed());
    assert_eq!(names(&maps).await, ["extended", "misspelt", "stays"]);
    host.lines
        .said("janitor", "v1/configmaps default/misspelt: janitor/ttl: `1 s` is not a time to live", "")
        .await;
    let events: Api<Event> = Api::namespaced(client, "default");
    assert_eq!(reasons(&events).await, ["ExpiryTimeReached", "TimeToLiveExpired"]);
    host.stop().await;
}
