//! What is kept of the objects: all, a part, or their metadata alone (F-7, F-8, A-10; scenario 112, weakness 15).

use informer_cache::{ListQuery, WatchConfig};
use informer_types::{LabelSelector, Pointer};
use serde_json::{Value, json};

use crate::{
    server::{Answer, Script},
    world::{World, bookmark, config, pod, pods},
};

fn pointers(texts: &[&str]) -> Vec<Pointer> {
    texts.iter().map(|text| text.parse().unwrap()).collect()
}

fn whole(name: &str, version: &str) -> Value {
    let mut pod = pod(name, version);
    pod["metadata"]["managedFields"] = json!([{"manager": "kubectl"}]);
    pod["metadata"]["annotations"] = json!({"note": "x"});
    pod["metadata"]["labels"] = json!({"app": "web"});
    pod["spec"] = json!({"nodeName": "n1", "containers": [{"name": "c", "image": "i"}]});
    pod["status"] = json!({"phase": "Running"});
    pod
}

/// As a server writes it of which only the metadata was asked for.
fn partial(name: &str, version: &str) -> Value {
    let metadata = whole(name, version)["metadata"].clone();
    json!({"kind": "PartialObjectMetadata", "apiVersion": "meta.k8s.io/v1", "metadata": metadata})
}

fn body(world: &World, at: usize) -> Value {
    serde_json::from_str(&world.objects()[at].json().unwrap()).unwrap()
}

fn identity(name: &str, version: &str) -> Value {
    json!({"name": name, "namespace": "shop", "uid": format!("uid-{name}"), "resourceVersion": version,
        "labels": {"app": "web"}})
}

/// Scenario 74.
#[tokio::test(start_paused = true)]
async fn only_what_is_named_and_what_identifies_is_kept_of_lists_and_events() {
    let script = Script::new();
    let mut listed = whole("a", "1");
    // A list leaves them to its head.
    listed.as_object_mut().unwrap().retain(|key, _| key != "kind" && key != "apiVersion");
    script.list(Answer::list("10", &[listed]));
    let watch = script.live_watch();
    let keep = pointers(&["/spec/nodeName", "/status/none"]);
    let indexes = [("by-node".to_owned(), "/spec/nodeName".parse().unwrap())].into();
    let world = World::start_with(script, config(), WatchConfig { keep, indexes, ..pods() });
    watch.event("ADDED", &whole("b", "11"));
    world.caches(&["shop/a@1", "shop/b@11"]).await;

    let kept = |name, version| {
        json!({"kind": "Pod", "apiVersion": "v1", "metadata": identity(name, version),
            "spec": {"nodeName": "n1"}, "status": {}})
    };
    assert_eq!(body(&world, 0), kept("a", "1"));
    assert_eq!(body(&world, 1), kept("b", "11"));
    // The header and the indexes are of the same object.
    let labels = "app=web".parse().unwrap();
    let query = ListQuery { namespace: None, labels: &labels, index: Some(("by-node", "n1")) };
    assert_eq!(world.informer.lister().list(&query).unwrap().len(), 2);
}

#[tokio::test(start_paused = true)]
async fn metadata_alone_is_asked_for_and_delivered_as_the_server_types_it_scenario_112() {
    let script = Script::new();
    script.list(Answer::json(&json!({
        "kind": "PartialObjectMetadataList", "apiVersion": "meta.k8s.io/v1",
        "metadata": {"resourceVersion": "10"}, "items": [partial("a", "1")],
    })));
    let watch = script.live_watch();
    let world = World::start_with(script, config(), WatchConfig { metadata_only: true, ..pods() });
    watch.event("ADDED", &partial("b", "11"));
    watch.frame(&json!({"type": "BOOKMARK", "object": {"kind": "PartialObjectMetadata",
        "apiVersion": "meta.k8s.io/v1", "metadata": {"resourceVersion": "20"}}}));
    world.informer.wait_for_version("20", None).await.unwrap();

    for (at, (name, version)) in [("a", "1"), ("b", "11")].into_iter().enumerate() {
        let mut metadata = identity(name, version);
        metadata["annotations"] = json!({"note": "x"});
        let expected =
            json!({"kind": "PartialObjectMetadata", "apiVersion": "meta.k8s.io/v1", "metadata": metadata});
        assert_eq!(body(&world, at), expected);
    }
    assert_eq!(world.told(), ["add shop/a@1 initial", "add shop/b@11 live"]);
    assert_eq!(world.informer.status().counters.skipped, 0);
    let accepts: Vec<String> = world.script.requests().into_iter().map(|request| request.accept).collect();
    assert_eq!(
        accepts,
        [
            "application/json;as=PartialObjectMetadataList;g=meta.k8s.io;v=v1,application/json",
            "application/json;as=PartialObjectMetadata;g=meta.k8s.io;v=v1,application/json"
        ]
    );
    assert_eq!(world.informer.key().to_string(), "v1/pods, metadata only");
}

#[tokio::test(start_paused = true)]
async fn a_server_that_sends_whole_objects_nevertheless_is_taken_at_their_metadata_a10() {
    let script = Script::new();
    script.list(Answer::list("10", &[whole("a", "1")]));
    let watch = script.live_watch();
    let world = World::start_with(script, config(), WatchConfig { metadata_only: true, ..pods() });
    watch.event("MODIFIED", &whole("a", "11"));
    watch.frame(&bookmark("20"));
    world.informer.wait_for_version("20", None).await.unwrap();

    let kept = body(&world, 0);

    let keys: Vec<&String> = kept.as_object().unwrap().keys().collect();
    assert_eq!(keys, ["apiVersion", "kind", "metadata"]);
    assert_eq!(kept["metadata"]["annotations"], json!({"note": "x"}));
    assert_eq!(kept["metadata"]["managedFields"], Value::Null);
}

#[tokio::test(start_paused = true)]
async fn the_whole_and_its_metadata_are_two_informers_f1() {
    let world = World::listing("10", &[]);
    let metadata = world.factory.informer(WatchConfig { metadata_only: true, ..pods() });
    let drops = world.factory.informer(WatchConfig { drop: Vec::new(), ..pods() });

    assert_ne!(metadata.key(), world.informer.key());
    assert_eq!(drops.key(), world.informer.key());
}

/// Scenario 26.
#[tokio::test(start_paused = true)]
async fn partial_objects_that_nobody_asked_for_are_of_another_type_r26() {
    let world = World::listing("10", &[partial("a", "1"), whole("b", "2")]);
    world.informer.wait_synced().await;

    assert_eq!(world.cached(), ["shop/b@2"]);
    assert_eq!(world.informer.status().counters.skipped, 1);
    let all = ListQuery { namespace: None, labels: &LabelSelector::default(), index: None };
    assert_eq!(world.informer.lister().list(&all).unwrap().len(), 1);
}
