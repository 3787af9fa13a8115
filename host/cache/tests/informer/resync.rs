//! Each listener receives all cached objects again in its own period (P-8 to P-10, R-55, R-56, C-7).

use std::{sync::Arc, time::Duration};

use informer_cache::{FactoryConfig, ListenerConfig, WatchConfig};
use serde_json::json;

use crate::{
    server::{Answer, Script},
    world::{Recorder, World, config, core_v1, listener, pod, pods},
};

fn resyncing(seconds: u64) -> ListenerConfig {
    ListenerConfig { resync: Some(Duration::from_secs(seconds)), ..listener("resyncing") }
}

fn resyncs(recorder: &Recorder) -> usize {
    recorder.received().iter().filter(|received| received.ends_with("resync")).count()
}

/// Scenarios 17, 51, 78 and 79: a resync delivers all objects (P-8) to the listeners whose period has elapsed (P-10).
#[tokio::test(start_paused = true)]
async fn each_listener_receives_all_objects_in_its_own_period() {
    let world = World::listing("10", &[pod("a", "1"), pod("b", "2")]);
    world.informer.wait_synced().await;
    let (two, three) = (Arc::new(Recorder::default()), Arc::new(Recorder::default()));
    world.informer.add_listener(resyncing(2), Arc::clone(&two) as _).unwrap();
    world.informer.add_listener(resyncing(3), Arc::clone(&three) as _).unwrap();

    let mut seen = Vec::new();
    for _ in 0..6 {
        tokio::time::sleep(Duration::from_millis(1_010)).await;
        seen.push((resyncs(&two), resyncs(&three)));
    }

    assert_eq!(seen, [(0, 0), (2, 0), (2, 2), (4, 2), (4, 2), (6, 4)]);
    assert!(two.received().contains(&"update shop/a@1->1 resync".to_owned()));
    assert_eq!(resyncs(&world.recorder), 0);
    assert_eq!(world.script.lists().len(), 1);
}

/// Each listener may set its own period (P-9).
#[tokio::test(start_paused = true)]
async fn a_listener_without_a_period_uses_the_informers_and_zero_means_never() {
    let script = Script::new();
    script.list(Answer::list("10", &[pod("a", "1")]));
    let watch = WatchConfig { resync: Some(Duration::from_secs(5)), ..pods() };
    let world = World::start_with(script, config(), watch);
    world.informer.wait_synced().await;
    let never = Arc::new(Recorder::default());
    world.informer.add_listener(resyncing(0), Arc::clone(&never) as _).unwrap();

    tokio::time::sleep(Duration::from_secs(11)).await;

    assert_eq!((resyncs(&world.recorder), resyncs(&never)), (2, 0));
}

/// The factory has a default resync period (F-7).
#[tokio::test(start_paused = true)]
async fn an_informers_own_period_replaces_that_of_the_factory() {
    for (own, expected) in [(None, 1), (Some(Duration::from_secs(2)), 5), (Some(Duration::ZERO), 0)] {
        let script = Script::new();
        script.list(Answer::list("10", &[pod("a", "1")]));
        let factory = FactoryConfig { resync: Some(Duration::from_secs(10)), ..config() };
        let world = World::start_with(script, factory, WatchConfig { resync: own, ..pods() });
        world.informer.wait_synced().await;

        tokio::time::sleep(Duration::from_secs(11)).await;

        assert_eq!(resyncs(&world.recorder), expected, "{own:?}");
    }
}

/// Scenario 80: periods are independent (P-9) and kept exactly (P-10).
#[tokio::test(start_paused = true)]
async fn the_period_of_a_listener_does_not_change_that_of_others() {
    let script = Script::new();
    script.list(Answer::list("10", &[pod("a", "1")]));
    let watch = WatchConfig { resync: Some(Duration::from_secs(12 * 60 * 60)), ..pods() };
    let world = World::start_with(script, config(), watch);
    world.informer.wait_synced().await;
    let asking = [0, 60, 55, 5].map(|seconds| {
        let recorder = Arc::new(Recorder::default());
        world.informer.add_listener(resyncing(seconds), Arc::clone(&recorder) as _).unwrap();
        recorder
    });

    tokio::time::sleep(Duration::from_secs(62)).await;
    assert_eq!(asking.each_ref().map(|recorder| resyncs(recorder)), [0, 1, 1, 12]);
    assert_eq!(resyncs(&world.recorder), 0);

    tokio::time::sleep(Duration::from_secs(12 * 60 * 60)).await;
    assert_eq!((resyncs(&asking[0]), resyncs(&world.recorder)), (0, 1));
}

/// A listener that has just received every object does not receive all of them again.
#[tokio::test(start_paused = true)]
async fn the_first_period_begins_when_the_first_list_is_in_the_cache() {
    let script = Script::new();
    let (list, answer) = Answer::live(200);
    script.list(answer);
    let watch = WatchConfig { resync: Some(Duration::from_secs(10)), ..pods() };
    let world = World::start_with(script, config(), watch);
    tokio::time::sleep(Duration::from_secs(25)).await;
    list.bytes(json!({"metadata": {"resourceVersion": "10"}, "items": [pod("a", "1")]}).to_string());
    list.end();
    world.informer.wait_synced().await;

    tokio::time::sleep(Duration::from_secs(9)).await;
    assert_eq!(world.received(), ["add shop/a@1 initial"]);
    tokio::time::sleep(Duration::from_secs(2)).await;
    assert_eq!(world.received(), ["add shop/a@1 initial", "update shop/a@1->1 resync"]);
}

/// The timer starts with the end of the first list. A resync that never comes is not due: a caller would wait for it in vain.
#[tokio::test(start_paused = true)]
async fn no_resync_is_due_while_the_resource_is_not_served() {
    let script = Script::new();
    script.always("/api/v1", None);
    let watch = WatchConfig { resync: Some(Duration::from_secs(10)), ..pods() };
    let world = World::start_with(script, config(), watch);
    tokio::time::sleep(Duration::from_secs(60)).await;
    assert_eq!(world.informer.next_resync(), None);

    world.script.list(Answer::list("10", &[pod("a", "1")]));
    world.script.always("/api/v1", Some(core_v1()));
    world.informer.wait_synced().await;

    let next = world.informer.next_resync().unwrap();
    assert!(next > Duration::from_secs(9), "{next:?}");
}

/// Scenario 18: the shortest period is a second (P-9).
#[tokio::test(start_paused = true)]
async fn a_period_below_a_second_becomes_a_second() {
    let world = World::listing("10", &[pod("a", "1")]);
    world.informer.wait_synced().await;
    let hasty = Arc::new(Recorder::default());
    let config = ListenerConfig { resync: Some(Duration::from_millis(1)), ..listener("hasty") };
    world.informer.add_listener(config, Arc::clone(&hasty) as _).unwrap();

    tokio::time::sleep(Duration::from_millis(2_500)).await;

    assert_eq!(resyncs(&hasty), 2);
}

/// Scenarios 54 and 66: a resync is an entry of the delta queue.
#[tokio::test(start_paused = true)]
async fn a_resync_never_delivers_an_older_state_than_before() {
    let script = Script::new();
    script.list(Answer::list("10", &[pod("a", "1")]));
    let watch = script.live_watch();
    let world = World::start(script);
    world.informer.wait_synced().await;
    let sink = Arc::new(Recorder::default());
    world.informer.add_listener(resyncing(1), Arc::clone(&sink) as _).unwrap();

    for version in 11..40 {
        watch.event("MODIFIED", &pod("a", &version.to_string()));
        tokio::time::sleep(Duration::from_millis(130)).await;
    }

    let versions: Vec<u32> = sink
        .received()
        .iter()
        .map(|received| {
            received.rsplit(['@', '>']).next().unwrap().split(' ').next().unwrap().parse().unwrap()
        })
        .collect();
    assert!(versions.is_sorted(), "{versions:?}");
    assert_eq!(resyncs(&sink), 3);
}

/// Scenario 51: a resync delivers the objects in the cache (P-8).
#[tokio::test(start_paused = true)]
async fn a_resync_of_an_empty_cache_delivers_nothing() {
    let script = Script::new();
    script.list(Answer::list("10", &[]));
    let watch = script.live_watch();
    let world = World::start(script);
    world.informer.wait_synced().await;
    let sink = Arc::new(Recorder::default());
    world.informer.add_listener(resyncing(1), Arc::clone(&sink) as _).unwrap();

    tokio::time::sleep(Duration::from_millis(3_500)).await;
    assert_eq!(sink.received().len(), 0);

    watch.event("ADDED", &pod("a", "11"));
    tokio::time::sleep(Duration::from_secs(1)).await;
    assert_eq!(sink.received(), ["add shop/a@11 live", "update shop/a@11->11 resync"]);
}
