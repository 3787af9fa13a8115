//! The test mode that compares a streaming list with a plain one: R-50, scenario 45.

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

#[tokio::test(start_paused = true)]
async fn equal_lists_pass_whatever_the_order_and_with_the_type_left_out_r50_scenario_45() {
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

#[tokio::test(start_paused = true)]
async fn a_difference_fails_the_run_and_names_both_sides_r50_scenario_45() {
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
        assert_eq!(asked(&world)[2], "stream@10", "the cache is not trusted");
    }
}

#[tokio::test(start_paused = true)]
async fn a_check_that_fails_is_repeated_each_second_r50() {
    let script = Script::new();
    script.watch(stream());
    script.list(Answer::error(500, "InternalError", "etcd"));
    script.list(Answer::list("10", &[pod("a", "1"), pod("b", "2")]));
    let world = start(script);

    asks(&world, &["stream@", "list@10", "list@10", "watch@10"]).await;

    let lists = world.script.lists();
    assert_eq!(lists[1].at - lists[0].at, Duration::from_secs(1));
}

#[tokio::test(start_paused = true)]
async fn where_it_cannot_be_expressed_nothing_is_checked_r50_scenario_45() {
    let script = Script::new();
    script.watch(stream());
    script.list(Answer::error(410, "Expired", "too old"));
    let world = start(script);
    asks(&world, &["stream@", "list@10", "watch@10"]).await;
    assert_eq!(world.informer.status().counters.consistent_lists, 0);

    let script = Script::new();
    script.watch(Answer::watch(&[event("ADDED", pod("a", "1")), end("0")]));
    let world = start(script);
    asks(&world, &["stream@", "watch@0"]).await;
}

#[tokio::test(start_paused = true)]
async fn what_one_side_cannot_decode_is_left_out_d2() {
    let broken = json!({"kind": "Pod", "apiVersion": "v1",
        "metadata": {"name": "b", "namespace": "shop", "resourceVersion": "2", "labels": [1]}});
    let script = Script::new();
    script.watch(Answer::watch(&[event("ADDED", pod("a", "1")), event("ADDED", broken.clone()), end("10")]));
    script.list(Answer::list("10", &[pod("a", "1"), broken]));
    let world = start(script);

    asks(&world, &["stream@", "list@10", "watch@10"]).await;

    assert_eq!(world.informer.status().counters.consistent_lists, 1);
}

#[tokio::test(start_paused = true)]
async fn without_the_mode_nothing_is_listed_again_r50() {
    let script = Script::new();
    script.watch(stream());
    let world = super::start(script);
    world.watches(2).await;

    assert!(world.script.lists().is_empty());
}
