//! Streaming lists, and scenarios 1, 33 to 45 and 111.

mod consistency;
mod errors;
mod fallback;
mod marks;

use informer_cache::{FactoryConfig, WatchListMode};
use serde_json::{Value, json};

use crate::{
    server::Script,
    world::{World, config, pods},
};

/// Starts an informer that tries streaming lists.
fn start(script: Script) -> World {
    start_in(WatchListMode::Auto, script)
}

fn start_in(watch_list: WatchListMode, script: Script) -> World {
    World::start_with(script, FactoryConfig { watch_list, ..config() }, pods())
}

/// A bookmark with the annotation that ends a streaming list, if its value is "true".
fn mark(version: &str, value: &str) -> Value {
    json!({"type": "BOOKMARK", "object": {"kind": "Pod", "apiVersion": "v1", "metadata": {
        "resourceVersion": version, "creationTimestamp": null,
        "annotations": {"k8s.io/initial-events-end": value}}}})
}

/// The end mark.
fn end(version: &str) -> Value {
    mark(version, "true")
}

/// Every request so far, as `stream@`, `watch@7` or `list@0`.
fn asked(world: &World) -> Vec<String> {
    let mut asked = Vec::new();
    for request in world.script.requests() {
        let kind = match (request.get("sendInitialEvents"), request.is_watch()) {
            ("true", _) => "stream",
            (_, true) => "watch",
            (_, false) => "list",
        };
        asked.push(format!("{kind}@{}", request.get("resourceVersion")));
    }
    asked
}

/// Waits until exactly these requests were sent.
async fn asks(world: &World, expected: &[&str]) {
    crate::world::eventually(
        &format!("requests = {expected:?}"),
        || asked(world) == expected,
        || format!("{:?}; {}", asked(world), world.informer.status()),
    )
    .await;
}
