//! Replays lists and watches that were recorded from a real API server (`tests/recordings` of the workspace).

use std::{collections::BTreeMap, path::Path};

use informer_cache::{FactoryConfig, WatchConfig, WatchListMode};
use informer_types::Gvr;
use serde_json::{Value, json};

use crate::{
    server::{Answer, Script},
    world::{World, config, eventually},
};

const RESOURCES: [&str; 10] = [
    "configmaps",
    "deployments",
    "endpointslices",
    "events",
    "jobs",
    "leases",
    "namespaces",
    "pods",
    "replicasets",
    "secrets",
];

fn recording(file: &str) -> String {
    let path = Path::new(env!("CARGO_MANIFEST_DIR")).join("../../tests/recordings").join(file);
    let packed = std::fs::read(&path).unwrap_or_else(|error| panic!("{}: {error}", path.display()));
    String::from_utf8(zstd::decode_all(&*packed).unwrap()).unwrap()
}

fn key(object: &Value) -> String {
    let metadata = &object["metadata"];
    let name = metadata["name"].as_str().unwrap();
    metadata["namespace"].as_str().map_or_else(|| name.to_owned(), |namespace| format!("{namespace}/{name}"))
}

fn without_managed_fields(mut object: Value) -> Value {
    object["metadata"].as_object_mut().unwrap().remove("managedFields");
    object
}

/// The final state of the recording, computed with a parser of whole trees.
fn expected(list: &Value, frames: &[Value]) -> BTreeMap<String, Value> {
    let kind = list["kind"].as_str().unwrap().strip_suffix("List").unwrap();
    let mut objects = BTreeMap::new();
    for item in list["items"].as_array().into_iter().flatten() {
        let mut object = without_managed_fields(item.clone());
        object["kind"] = json!(kind);
        object["apiVersion"] = list["apiVersion"].clone();
        objects.insert(key(&object), object);
    }
    for frame in frames {
        let object = &frame["object"];
        match frame["type"].as_str().unwrap() {
            "BOOKMARK" => {}
            "DELETED" => {
                objects.remove(&key(object));
            }
            _ => {
                objects.insert(key(object), without_managed_fields(object.clone()));
            }
        }
    }
    objects
}

/// The list in the form of a streaming list: its objects as ADDED, then the end mark, then the watch.
fn streamed(list: &Value, watch: &str) -> String {
    let kind = list["kind"].as_str().unwrap().strip_suffix("List").unwrap();
    let mut text = String::new();
    for item in list["items"].as_array().into_iter().flatten() {
        let mut object = item.clone();
        object["kind"] = json!(kind);
        object["apiVersion"] = list["apiVersion"].clone();
        text.push_str(&format!("{}\n", json!({"type": "ADDED", "object": object})));
    }
    let mark = json!({"type": "BOOKMARK", "object": {"kind": kind, "apiVersion": list["apiVersion"],
        "metadata": {"resourceVersion": list["metadata"]["resourceVersion"],
            "annotations": {"k8s.io/initial-events-end": "true"}}}});
    text + &format!("{mark}\n{watch}")
}

async fn replay(resource: &str, watch_list: WatchListMode) {
    let list = recording(&format!("{resource}.list.json.zst"));
    let watch = recording(&format!("{resource}.watch.jsonl.zst"));
    let parsed: Value = serde_json::from_str(&list).unwrap();
    let frames: Vec<Value> = watch.lines().map(|line| serde_json::from_str(line).unwrap()).collect();
    let last = frames.last().unwrap()["object"]["metadata"]["resourceVersion"].as_str().unwrap();
    let api_version = parsed["apiVersion"].as_str().unwrap();
    let gvr: Gvr = format!("{api_version}/{resource}").parse().unwrap();
    let script = Script::new();
    let kind = parsed["kind"].as_str().unwrap().strip_suffix("List").unwrap();
    let api = json!({"resources": [{"name": resource, "kind": kind, "namespaced": true, "verbs": ["list", "watch"]}]});
    script.path(&gvr.api_root(), Answer::json(&api));
    script.list(Answer::ok(list));
    let live = script.live_watch();
    let streams = watch_list == WatchListMode::On;
    let text = if streams { streamed(&parsed, &watch) } else { watch };
    text.as_bytes().chunks(7_001).for_each(|chunk| live.bytes(chunk));
    // The consistency check compares the streamed list with the plain one.
    let config = FactoryConfig { watch_list, check_consistency: true, ..config() };
    let world = World::start_with(script, config, WatchConfig::new(gvr));

    let applied = || world.informer.status().reflectors[0].applied_version.clone();
    eventually(&format!("{resource} at {last}"), || applied() == last, applied).await;

    let cached: BTreeMap<String, Value> = world
        .objects()
        .iter()
        .map(|object| (object.key().to_string(), serde_json::from_str(&object.json().unwrap()).unwrap()))
        .collect();
    assert_eq!(cached, expected(&parsed, &frames));
    let counters = world.informer.status().counters;
    let bookmarks = frames.iter().filter(|frame| frame["type"] == "BOOKMARK").count() as u64;
    assert_eq!((counters.skipped, counters.quarantined, counters.failures), (0, 0, 0));
    assert_eq!(
        (counters.streaming_lists, counters.consistent_lists),
        (u64::from(streams), u64::from(streams))
    );
    assert_eq!((counters.bookmarks, counters.events), (bookmarks, frames.len() as u64 - bookmarks));
}

#[tokio::test(start_paused = true)]
async fn every_recording_ends_in_its_final_state() {
    for resource in RESOURCES {
        replay(resource, WatchListMode::Off).await;
    }
}

/// A streaming list is applied at its end mark and equals the plain list of its version.
#[tokio::test(start_paused = true)]
async fn every_recording_as_a_streaming_list_ends_in_the_same_state_and_is_consistent() {
    for resource in RESOURCES {
        replay(resource, WatchListMode::On).await;
    }
}
