//! Tests of watches with slow readers.

use serde_json::{Value, json};

use super::*;
use crate::{
    object::Object,
    registry::Registry,
    storage::{Draft, Storage},
};

fn insert(resource: &Resource, collection: &Collection, number: usize) {
    let name = format!("n{number}");
    let document = json!({"metadata": {"name": name, "namespace": "default"}});
    let object = Object::from_value(document).unwrap();
    collection.insert(Draft::new(resource, object)).unwrap();
}

fn open(resource: &Arc<Resource>, collection: &Arc<Collection>, timeout: Duration) -> Watch {
    let options = WatchOptions {
        filter: Filter::default(),
        view: View::Object,
        bookmark_interval: None,
        timeout,
        initial: VecDeque::new(),
        mark_initial_end: false,
        after: 1,
    };
    Watch::open(resource.clone(), collection.clone(), options, CancellationToken::new())
}

fn config_maps() -> (Arc<Resource>, Arc<Collection>) {
    let resource = Registry::builtin().get("", "v1", "configmaps").unwrap();
    let collection = Storage::new(10).collection(&resource.id());
    (resource, collection)
}

async fn next(watch: &mut Watch) -> Option<Value> {
    watch.next().await.map(|frame| serde_json::from_slice(&frame).unwrap())
}

#[tokio::test(start_paused = true)]
async fn a_watch_that_is_too_slow_ends_with_a_410_and_writers_never_wait() {
    let (resource, collection) = config_maps();
    let mut watch = open(&resource, &collection, Duration::from_secs(60));

    for number in 0..5000 {
        insert(&resource, &collection, number);
    }

    let error = next(&mut watch).await.unwrap();
    assert_eq!((&error["type"], &error["object"]["reason"]), (&json!("ERROR"), &json!("Expired")));
    assert_eq!(next(&mut watch).await, None);
}

#[tokio::test(start_paused = true)]
async fn a_slow_watch_within_the_history_misses_nothing() {
    let (resource, collection) = config_maps();
    let mut watch = open(&resource, &collection, Duration::from_secs(60));
    for number in 0..1000 {
        insert(&resource, &collection, number);
    }
    for number in 0..1000 {
        assert_eq!(next(&mut watch).await.unwrap()["object"]["metadata"]["name"], format!("n{number}"));
    }
}

#[tokio::test(start_paused = true)]
async fn watches_share_the_bytes_of_a_frame() {
    let (resource, collection) = config_maps();
    let mut one = open(&resource, &collection, Duration::from_secs(60));
    let mut other = open(&resource, &collection, Duration::from_secs(60));
    insert(&resource, &collection, 0);
    let (one, other) = (one.next().await.unwrap(), other.next().await.unwrap());
    assert_eq!(one.as_ptr(), other.as_ptr());
}

#[tokio::test(start_paused = true)]
async fn a_watch_ends_at_its_timeout_even_if_frames_are_ready() {
    let (resource, collection) = config_maps();
    let mut watch = open(&resource, &collection, Duration::from_secs(5));
    insert(&resource, &collection, 0);
    insert(&resource, &collection, 1);
    assert!(next(&mut watch).await.is_some());
    tokio::time::advance(Duration::from_secs(5)).await;
    assert_eq!(next(&mut watch).await, None);
}
