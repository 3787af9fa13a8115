//! Compressed bodies, seen from outside: only the memory differs.

use informer_cache::{Compression, ListQuery, WatchConfig};
use informer_types::LabelSelector;
use serde_json::{Value, json};

use crate::{
    server::{Answer, Script},
    world::{World, config, eventually, pod, pods},
};

fn big_pod(number: usize, version: usize) -> Value {
    let mut pod = pod(&format!("p{number:04}"), &version.to_string());
    let container = |name: &str| {
        json!({"name": name, "image": format!("registry.example.com/{name}:{number}"), "imagePullPolicy": "IfNotPresent",
            "terminationMessagePath": "/dev/termination-log", "resources": {"limits": {"cpu": "500m"}}})
    };
    pod["spec"] =
        json!({"nodeName": format!("n{}", number % 3), "containers": [container("web"), container("proxy")]});
    pod
}

/// Returns once they take fewer bytes than `below`.
async fn bytes_of_3000_pods(compression: Compression, below: usize) -> usize {
    let script = Script::new();
    let (list, answer) = Answer::live(200);
    script.list(answer);
    let watch = script.live_watch();
    let indexes = [("by-node".to_owned(), "/spec/nodeName".parse().unwrap())].into();
    let world = World::start_with(script, config(), WatchConfig { compression, indexes, ..pods() });
    let items: Vec<Value> = (0..3_000).map(|number| big_pod(number, 1)).collect();
    let text = json!({"metadata": {"resourceVersion": "10"}, "items": items}).to_string();
    text.as_bytes().chunks(4_096).for_each(|chunk| list.bytes(chunk));
    list.end();
    // Each of them changes, in the order of the list.
    (0..3_000).for_each(|number| watch.event("MODIFIED", &big_pod(number, 20 + number)));
    let cached = || world.objects().last().map(|object| object.resource_version().to_owned());
    eventually("all of them", || cached().as_deref() == Some("3019"), || format!("{:?}", cached())).await;

    // A thread compresses beside the watch.
    let bytes = || world.informer.status().bytes;
    eventually("few bytes", || bytes() < below, || format!("{} of {below}", bytes())).await;
    for (number, object) in world.objects().iter().enumerate() {
        let json: Value = serde_json::from_str(&object.json().unwrap()).unwrap();
        assert_eq!(json, big_pod(number, 20 + number));
    }
    let labels = LabelSelector::default();
    let query = ListQuery { namespace: None, labels: &labels, index: Some(("by-node", "n1")) };
    assert_eq!(world.informer.lister().list(&query).unwrap().len(), 1_000);
    bytes()
}

#[tokio::test(start_paused = true)]
async fn compressed_objects_read_the_same_and_need_less_memory() {
    let raw = bytes_of_3000_pods(Compression::Off, usize::MAX).await;
    let packed = bytes_of_3000_pods(Compression::Zstd, raw * 2 / 3).await;

    assert!(packed < raw * 2 / 3, "{packed} of {raw}");
}
