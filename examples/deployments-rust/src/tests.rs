use informer_sdk::testing::TestHost;
use informer_sdk::{Config, Failure};
use serde_json::{Value, json};

use super::*;

fn deployment(namespace: &str, name: &str, rv: u32) -> Value {
    json!({"metadata": {"namespace": namespace, "name": name, "resourceVersion": rv.to_string()}})
}

fn started() -> Deployments {
    Deployments::start(Config::from_json("{}")).unwrap()
}

fn printed(host: &TestHost) -> Vec<String> {
    host.log().into_iter().map(|line| line.message).collect()
}

#[test]
fn the_list_is_printed_once_in_the_first_call_after_the_cache_has_synced() {
    let host = TestHost::new();
    host.set_synced(DEPLOYMENTS, false);
    let mut plugin = started();

    plugin.on_add(host.event(DEPLOYMENTS, deployment("default", "web", 13)), Cause::Initial).unwrap();
    for (namespace, name) in [("default", "web"), ("default", "nginx"), ("other", "x")] {
        host.store(DEPLOYMENTS, deployment(namespace, name, 13));
    }
    host.set_synced(DEPLOYMENTS, true);
    plugin.on_add(host.event(DEPLOYMENTS, deployment("default", "nginx", 12)), Cause::Initial).unwrap();
    plugin.on_add(host.event(DEPLOYMENTS, deployment("other", "x", 13)), Cause::Live).unwrap();

    assert_eq!(
        printed(&host),
        [
            "added default/web (rv 13, initial)",
            "added default/nginx (rv 12, initial)",
            "deployments in default: 2",
            "1 -> nginx",
            "2 -> web",
            "added other/x (rv 13, live)",
        ]
    );
}

#[test]
fn changes_and_deletions_are_printed() {
    let host = TestHost::new();
    host.set_synced(DEPLOYMENTS, false);
    let mut plugin = started();
    let change =
        |old, new| host.update(DEPLOYMENTS, deployment("default", "a", old), deployment("default", "a", new));

    plugin.on_update(change(12, 15), Cause::Live).unwrap();
    plugin.on_update(change(15, 15), Cause::Resync).unwrap();
    plugin.on_delete(host.event(DEPLOYMENTS, deployment("default", "a", 20)), true).unwrap();

    assert_eq!(
        printed(&host),
        [
            "updated default/a (rv 12 -> 15, live)",
            "updated default/a (rv 15 -> 15, resync)",
            "deleted default/a (rv 20)"
        ]
    );
}

#[test]
fn a_refused_read_asks_for_a_retry_and_the_retry_prints_the_list() {
    let host = TestHost::new();
    let mut plugin = started();
    let event = host.event(DEPLOYMENTS, deployment("default", "a", 12));

    let refused = plugin.on_add(event.clone(), Cause::Initial);
    assert!(matches!(refused, Err(Failure::Retry(why)) if why.starts_with("unknown-resource")));

    host.set_synced(DEPLOYMENTS, true);
    plugin.on_add(event, Cause::Initial).unwrap();
    assert_eq!(printed(&host).last().map(String::as_str), Some("deployments in default: 0"));
}
