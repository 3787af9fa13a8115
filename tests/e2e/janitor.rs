//! The ready-made plugin `plugins/janitor` in a whole host.

use std::{
    fs,
    time::{Duration, Instant},
};

use informer::{config::Access, connect::connect};
use informer_devserver::{Config, DevServer};
use informer_guests::ready_made;
use informer_tests::host::{TestHost, configuration};
use k8s_openapi::api::{
    apps::v1::ReplicaSet,
    core::v1::{ConfigMap, PersistentVolume},
    events::v1::Event,
};
use kube::api::{Api, DeleteParams, ListParams, Patch, PatchParams, PostParams};
use serde_json::{Value, json};

/// A shipped file of the plugin with these lines at its end. The component is the one that was built for the tests.
async fn shipped(file: &str, lines: &str) -> String {
    let built = tokio::task::spawn_blocking(|| ready_made("janitor")).await.unwrap();
    let text = fs::read_to_string(format!("../plugins/janitor/{file}")).unwrap();
    let text =
        text.replace("../../target/wasm32-wasip2/plugin/informer_janitor.wasm", built.to_str().unwrap());
    format!("{text}\n{lines}")
}

/// Starts a host with a [`shipped`] file and these lines, and waits until its caches are complete.
async fn start(server: &DevServer, file: &str, lines: &str) -> TestHost {
    let host = TestHost::start(&server.url(), &shipped(file, lines).await).await.unwrap();
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

/// The reasons of all Events in alphabetical order.
async fn reasons(events: &Api<Event>) -> Vec<String> {
    let list = events.list(&ListParams::default()).await.unwrap();
    let mut reasons: Vec<_> = list.items.into_iter().filter_map(|event| event.reason).collect();
    reasons.sort();
    reasons
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
    let host = start(&server, "informer.toml", "").await;
    host.lines.said("janitor", "v1/configmaps default/before was deleted: ", "").await;

    let mut expected = vec!["ExpiryTimeReached", "TimeToLiveExpired"];
    let longer = Patch::Merge(json!({"metadata": {"annotations": {"janitor/ttl": "1h"}}}));
    create(&maps, "extended", json!({"janitor/ttl": "3s"})).await;
    while maps.patch("extended", &PatchParams::default(), &longer).await.is_err() {
        // The machine was so busy that the object expired before the change.
        expected.push("TimeToLiveExpired");
        create(&maps, "extended", json!({"janitor/ttl": "3s"})).await;
    }
    // Without the change, `extended` would expire at least one second before `short`.
    let created = Instant::now();
    create(&maps, "short", json!({"janitor/ttl": "4s"})).await;
    host.lines.said("janitor", "v1/configmaps default/short was deleted: ", "").await;

    // The creation time of an object has no fractions of a second.
    assert!(created.elapsed() >= Duration::from_secs(3), "{:?}", created.elapsed());
    assert_eq!(names(&maps).await, ["extended", "misspelt", "stays"]);
    host.lines
        .said("janitor", "v1/configmaps default/misspelt: janitor/ttl: `1 s` is not a time to live", "")
        .await;
    let events: Api<Event> = Api::namespaced(client, "default");
    assert_eq!(reasons(&events).await, expected);
    host.stop().await;
}

/// A rule about labels applies at once when a label changes, although no annotation does.
#[tokio::test(flavor = "multi_thread")]
async fn a_rule_about_labels_applies_when_a_label_changes() {
    let server = DevServer::start(Config::default()).await.unwrap();
    let client = connect(&Access::Server(server.url().parse().unwrap())).await.unwrap().client;
    let maps: Api<ConfigMap> = Api::namespaced(client, "default");
    create(&maps, "preview", json!({})).await;
    let rule = "[[plugin.config.rules]]\nid = \"preview\"\nresources = [\"configmaps\"]\n\
                jmespath = \"metadata.labels.preview\"\nttl = \"1s\"\n";
    let host = start(&server, "informer.toml", rule).await;
    // The deletion of the second object shows that the janitor has evaluated the first one.
    create(&maps, "expired", json!({"janitor/expires": "2020-01-01"})).await;
    host.lines.said("janitor", "v1/configmaps default/expired was deleted: ", "").await;
    assert_eq!(names(&maps).await, ["preview"]);

    let label = Patch::Merge(json!({"metadata": {"labels": {"preview": "yes"}}}));
    maps.patch("preview", &PatchParams::default(), &label).await.unwrap();

    host.lines.said("janitor", "v1/configmaps default/preview was deleted: rule preview matches", "").await;
    assert_eq!(names(&maps).await, [""; 0]);
    host.stop().await;
}

/// No rule matches the object before the reload, so the plugin has no timer for it. The object itself does not change.
#[tokio::test(flavor = "multi_thread")]
async fn a_rule_of_a_new_configuration_applies_to_objects_that_exist() {
    let server = DevServer::start(Config::default()).await.unwrap();
    let client = connect(&Access::Server(server.url().parse().unwrap())).await.unwrap().client;
    let maps: Api<ConfigMap> = Api::namespaced(client, "default");
    for file in ["informer.toml", "all-kinds.toml"] {
        create(&maps, "preview", json!({"preview": "yes"})).await;
        create(&maps, "stays", json!({})).await;
        let host = start(&server, file, "").await;
        // The deletion of the third object shows that the janitor has evaluated the others.
        create(&maps, "expired", json!({"janitor/expires": "2020-01-01"})).await;
        host.lines.said("janitor", "v1/configmaps default/expired was deleted: ", "").await;
        assert_eq!(names(&maps).await, ["preview", "stays"], "{file}");

        let rule = "[[plugin.config.rules]]\nid = \"preview\"\nresources = [\"configmaps\"]\n\
                    jmespath = \"metadata.annotations.preview\"\nttl = \"1s\"\n";
        host.app().apply(configuration(&shipped(file, rule).await).unwrap()).await.unwrap();

        host.lines
            .said("janitor", "v1/configmaps default/preview was deleted: rule preview matches", "")
            .await;
        assert_eq!(names(&maps).await, ["stays"], "{file}");
        maps.delete("stays", &DeleteParams::default()).await.unwrap();
        host.stop().await;
    }
}

/// With the file for all kinds, an object without a namespace is safe, whatever its annotations say.
#[tokio::test(flavor = "multi_thread")]
async fn a_volume_that_expired_is_deleted_only_with_include_cluster_resources() {
    let server = DevServer::start(Config::default()).await.unwrap();
    let client = connect(&Access::Server(server.url().parse().unwrap())).await.unwrap().client;
    let maps: Api<ConfigMap> = Api::namespaced(client.clone(), "default");
    let volumes: Api<PersistentVolume> = Api::all(client);
    let volume = json!({"metadata": {"name": "disk", "annotations": {"janitor/expires": "2020-01-01"}}});
    volumes.create(&PostParams::default(), &serde_json::from_value(volume).unwrap()).await.unwrap();

    let host = start(&server, "all-kinds.toml", "").await;
    // The deletion of another object shows that the janitor has evaluated the volume.
    create(&maps, "expired", json!({"janitor/expires": "2020-01-01"})).await;
    host.lines.said("janitor", "v1/configmaps default/expired was deleted: ", "").await;
    assert!(volumes.get_opt("disk").await.unwrap().is_some());
    host.stop().await;

    let included = "[plugin.config]\ninclude-cluster-resources = true\n";
    let host = start(&server, "all-kinds.toml", included).await;
    host.lines.said("janitor", "v1/persistentvolumes disk was deleted: ", "").await;
    assert!(volumes.get_opt("disk").await.unwrap().is_none());
    host.stop().await;
}

/// The deployment controller copies `janitor/ttl` of a Deployment to its ReplicaSet, and leaves it there when a person removes it from the
/// Deployment. The deletion of the ReplicaSet would end all pods.
#[tokio::test(flavor = "multi_thread")]
async fn a_replica_set_with_the_annotation_of_its_deployment_stays() {
    let server = DevServer::start(Config::default()).await.unwrap();
    let client = connect(&Access::Server(server.url().parse().unwrap())).await.unwrap().client;
    let maps: Api<ConfigMap> = Api::namespaced(client.clone(), "default");
    let sets: Api<ReplicaSet> = Api::namespaced(client, "default");
    let set = json!({
        "metadata": {"name": "web-1", "annotations": {"janitor/expires": "2020-01-01"}},
        "spec": {
            "selector": {"matchLabels": {"app": "web"}},
            "template": {
                "metadata": {"labels": {"app": "web"}},
                "spec": {"containers": [{"name": "main", "image": "web"}]},
            },
        },
    });
    sets.create(&PostParams::default(), &serde_json::from_value(set).unwrap()).await.unwrap();

    let host = start(&server, "all-kinds.toml", "").await;
    // The deletion of another object shows that the janitor has evaluated what it watches.
    create(&maps, "expired", json!({"janitor/expires": "2020-01-01"})).await;
    host.lines.said("janitor", "v1/configmaps default/expired was deleted: ", "").await;

    assert!(sets.get_opt("web-1").await.unwrap().is_some());
    host.stop().await;
}
