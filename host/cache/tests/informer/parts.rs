//! The kept part of objects: everything, some fields, or the metadata alone (F-7, F-8, A-10; scenario 112). Unlike in
//! client-go, managed fields are dropped by default.

use informer_cache::{ListQuery, WatchConfig};
use informer_types::{Condition, Judge, LabelSelector, Part};
use serde_json::{Value, json};

use crate::{
    server::{Answer, Script},
    world::{World, bookmark, config, pod, pods, untyped},
};

fn parts(texts: &[&str]) -> Vec<Part> {
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

/// A whole object as an item of a list.
fn item(name: &str, version: &str) -> Value {
    untyped(whole(name, version))
}

/// The form in which a server sends only the metadata.
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
async fn only_the_named_and_the_identifying_fields_of_objects_are_kept() {
    let script = Script::new();
    script.list(Answer::list("10", &[item("a", "1")]));
    let watch = script.live_watch();
    let keep = parts(&["/spec/nodeName", "/status/none"]);
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
    // The header and the indexes are from the same object.
    let labels = "app=web".parse().unwrap();
    let query = ListQuery { namespace: None, labels: &labels, index: Some(("by-node", "n1")) };
    assert_eq!(world.informer.lister().list(&query).unwrap().len(), 2);
}

/// Holds for the objects that a function selects.
struct Selects(fn(&Value) -> bool);

impl Judge for Selects {
    fn text(&self) -> &'static str {
        "a function"
    }

    fn holds(&self, json: &str) -> bool {
        (self.0)(&serde_json::from_str(json).unwrap())
    }
}

#[tokio::test(start_paused = true)]
async fn objects_that_meet_a_condition_are_kept_whole_and_others_as_digests() {
    let script = Script::new();
    let (one, mut other) = (whole("a", "1"), whole("b", "2"));
    other["spec"]["keep"] = true.into();
    script.list(Answer::list("10", &[one, other.clone()]));
    let watch = script.live_watch();
    let is_marked = Selects(|object| object["spec"]["keep"] == true);
    let (keep, whole_if) = (parts(&["sha256:/spec"]), vec![Condition::new(is_marked)]);
    let world = World::start_with(script, config(), WatchConfig { keep, whole_if, ..pods() });
    world.caches(&["shop/a@1", "shop/b@2"]).await;

    let digest = |at: usize| {
        let json = world.objects()[at].json().unwrap();
        Part::texts(&parts(&["sha256:/spec"]), &json).unwrap().remove(0).unwrap().into_owned()
    };
    assert_eq!(body(&world, 0)["spec"].as_object().unwrap().keys().collect::<Vec<_>>(), ["sha256:"]);
    assert_eq!(body(&world, 0)["status"], Value::Null);
    other["metadata"].as_object_mut().unwrap().remove("managedFields");
    assert_eq!(body(&world, 1), other);
    assert_eq!([0, 1].map(|at| world.objects()[at].is_partial()), [true, false]);
    let before = digest(0);

    // Another text has another digest, and an object that comes to meet the condition is kept whole.
    let mut changed = whole("a", "11");
    changed["spec"]["nodeName"] = "n2".into();
    watch.event("MODIFIED", &changed);
    world.caches(&["shop/a@11", "shop/b@2"]).await;
    assert_ne!(digest(0), before);
    let kept_as_digest = digest(0);
    watch.event("MODIFIED", &{
        changed["metadata"]["resourceVersion"] = "12".into();
        changed["spec"]["keep"] = true.into();
        changed
    });
    world.caches(&["shop/a@12", "shop/b@2"]).await;
    assert_eq!(body(&world, 0)["status"], json!({"phase": "Running"}));
    assert_ne!(digest(0), kept_as_digest);
}

/// If the condition did not see the type, a list and a watch would keep the same object in different forms. Each difference would be
/// an update (D-5).
#[tokio::test(start_paused = true)]
async fn a_condition_sees_the_type_that_a_listed_object_leaves_to_its_list() {
    let script = Script::new();
    script.list(Answer::list("10", &[item("a", "1")]));
    let is_no_pod = Selects(|object| object["kind"] != "Pod");
    let (keep, whole_if) = (parts(&["/spec/nodeName"]), vec![Condition::new(is_no_pod)]);
    let world = World::start_with(script, config(), WatchConfig { keep, whole_if, ..pods() });

    world.caches(&["shop/a@1"]).await;

    assert!(world.objects()[0].is_partial());
    assert_eq!(body(&world, 0)["spec"], json!({"nodeName": "n1"}));
}

/// Scenario 112.
#[tokio::test(start_paused = true)]
async fn metadata_alone_is_requested_and_delivered_with_the_type_that_the_server_sends() {
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
    assert_eq!(world.received(), ["add shop/a@1 initial", "add shop/b@11 live"]);
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

/// A server may ignore the request for metadata alone.
#[tokio::test(start_paused = true)]
async fn only_the_metadata_is_kept_if_the_server_sends_whole_objects() {
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

/// A server that sends whole objects leaves the type of listed objects to the list, and sends it with the events of a watch.
/// An object is the same in both (D-5).
#[tokio::test(start_paused = true)]
async fn a_whole_object_has_its_own_type_in_a_list_as_in_a_watch_of_metadata() {
    let script = Script::new();
    script.list(Answer::list("10", &[item("a", "1")]));
    let watch = script.live_watch();
    let world = World::start_with(script, config(), WatchConfig { metadata_only: true, ..pods() });
    watch.event("MODIFIED", &whole("a", "1"));
    watch.frame(&bookmark("20"));
    world.informer.wait_for_version("20", None).await.unwrap();
    world.informer.wait_offered();

    assert_eq!(body(&world, 0)["kind"], "Pod");
    assert_eq!(world.received(), ["add shop/a@1 initial"]);
}

/// The requested part of the objects belongs to the informer's key (F-1).
#[tokio::test(start_paused = true)]
async fn a_watch_of_metadata_alone_is_another_informer() {
    let world = World::listing("10", &[]);
    let metadata = world.factory.informer(WatchConfig { metadata_only: true, ..pods() });
    let drops = world.factory.informer(WatchConfig { drop: Vec::new(), ..pods() });

    assert_ne!(metadata.key(), world.informer.key());
    assert_eq!(drops.key(), world.informer.key());
}

/// Scenario 26: objects of another type are skipped.
#[tokio::test(start_paused = true)]
async fn unrequested_partial_objects_are_skipped_as_another_type() {
    let world = World::listing("10", &[partial("a", "1"), whole("b", "2")]);
    world.informer.wait_synced().await;

    assert_eq!(world.cached(), ["shop/b@2"]);
    assert_eq!(world.informer.status().counters.skipped, 1);
    let all = ListQuery { namespace: None, labels: &LabelSelector::default(), index: None };
    assert_eq!(world.informer.lister().list(&all).unwrap().len(), 1);
}
