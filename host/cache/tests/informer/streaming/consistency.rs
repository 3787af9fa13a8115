//! The test mode that compares a streaming list with a plain list (R-50, scenario 45).

use std::time::Duration;

use informer_cache::{ErrorClass, FactoryConfig, WatchListMode};
use serde_json::json;

use super::{asked, asks, end};
use crate::{
    server::{Answer, Script},
    world::{World, config, event, pod, pods},
};

fn start(script: Script) -> World {
    let config = FactoryConfig { watch_list: WatchListMode::Auto, check_consistency: true, ..config() };
    World::start_with(script, config, pods())
}

/// A streaming list of `a` and `b` that ends at 10.
fn stream() -> Answer {
    Answer::watch(&[event("ADDED", pod("a", "1")), event("ADDED", pod("b", "2")), end("10")])
}

/// Scenario 45: both lists have the same content.
#[tokio::test(start_paused = true)]
async fn equal_lists_pass_in_any_order_and_without_the_type_of_items() {
    let script = Script::new();
    script.watch(stream());
    let bare = json!({"metadata": pod("b", "2")["metadata"]});
    script.list(Answer::list("10", &[bare, pod("a", "1")]));
    let world = start(script);

    asks(&world, &["stream@", "list@10", "watch@10"]).await;

    let list = &world.script.lists()[0];
    assert_eq!((list.get("resourceVersionMatch"), list.get("limit")), ("Exact", ""));
    let counters = world.informer.status().counters;
    assert_eq!((counters.consistent_lists, counters.failures), (1, 0));
}

/// Scenario 45: lists that differ fail the run.
#[tokio::test(start_paused = true)]
async fn a_difference_fails_the_run_and_names_both_sides() {
    let mut changed = pod("a", "1");
    changed["spec"] = json!({"replicas": 2});
    for (listed, expected) in [
        (vec![pod("a", "1")], "differ: only streamed: shop/b@2"),
        (vec![pod("a", "1"), pod("b", "2"), pod("c", "3")], "differ: only listed: shop/c@3"),
        (vec![pod("a", "1"), pod("b", "5")], "differ: unlike: shop/b (streamed @2, listed @5)"),
        (vec![changed, pod("b", "2")], "differ: unlike: shop/a (streamed @1, listed @1)"),
        (vec![pod("b", "2"), pod("c", "3")], "only streamed: shop/a@1; only listed: shop/c@3"),
    ] {
        let script = Script::new();
        script.watch(stream());
        script.list(Answer::list("10", &listed));
        let world = start(script);

        let text = world.fails(ErrorClass::Inconsistent).await;

        assert!(text.contains(expected) && text.contains("v1/pods") && text.contains("at 10"), "{text}");
        world.watches(2).await;
        assert_eq!(asked(&world)[2], "stream@10", "the cache is fetched again");
    }
}

/// The plain list of the check is retried.
#[tokio::test(start_paused = true)]
async fn a_check_that_fails_is_repeated_each_second() {
    let script = Script::new();
    script.watch(stream());
    script.list(Answer::error(500, "InternalError", "etcd"));
    script.list(Answer::list("10", &[pod("a", "1"), pod("b", "2")]));
    let world = start(script);

    asks(&world, &["stream@", "list@10", "list@10", "watch@10"]).await;

    let lists = world.script.lists();
    assert_eq!(lists[1].at - lists[0].at, Duration::from_secs(1));
}

/// Scenario 45: an expired version and version "0" cannot be listed exactly.
#[tokio::test(start_paused = true)]
async fn a_version_that_cannot_be_listed_is_not_checked() {
    let script = Script::new();
    script.watch(stream());
    script.list(Answer::error(410, "Expired", "too old"));
    let world = start(script);
    asks(&world, &["stream@", "list@10", "watch@10"]).await;
    assert_eq!(world.informer.status().counters.consistent_lists, 0);

    let script = Script::new();
    script.watch(Answer::watch(&[event("ADDED", pod("a", "1")), end("0")]));
    let world = start(script);
    // A watch from "0" would not show what was deleted meanwhile.
    asks(&world, &["stream@", "stream@"]).await;
}

/// Undecodable objects are quarantined instead (D-2).
#[tokio::test(start_paused = true)]
async fn undecodable_objects_are_left_out_of_the_comparison() {
    let broken = json!({"kind": "Pod", "apiVersion": "v1",
        "metadata": {"name": "b", "namespace": "shop", "resourceVersion": "2", "labels": [1]}});
    let script = Script::new();
    script.watch(Answer::watch(&[event("ADDED", pod("a", "1")), event("ADDED", broken.clone()), end("10")]));
    script.list(Answer::list("10", &[pod("a", "1"), broken]));
    let world = start(script);

    asks(&world, &["stream@", "list@10", "watch@10"]).await;

    assert_eq!(world.informer.status().counters.consistent_lists, 1);
}

/// The check is a test mode.
#[tokio::test(start_paused = true)]
async fn without_the_mode_there_is_no_second_list() {
    let script = Script::new();
    script.watch(stream());
    let world = super::start(script);
    world.watches(2).await;

    assert!(world.script.lists().is_empty());
}
