//! Informers that a bug ended: they start again and lose nothing.

use std::{
    sync::{
        Arc,
        atomic::{AtomicBool, Ordering},
    },
    time::Duration,
};

use informer_cache::{ErrorClass, FactoryConfig, Phase};
use informer_types::{Cause, Step, TraceSink, Traced, Tracer};
use serde_json::Value;

use crate::{
    server::{Answer, Script},
    world::{World, config, core_v1, event, pod, pod_of, pods, status},
};

/// Panics once, when an object is stored or removed: after the store was written, and before a listener was notified.
struct Trap {
    object: &'static str,
    is_at: fn(&Step) -> bool,
    sprung: AtomicBool,
}

impl TraceSink for Trap {
    fn record(&self, traced: Traced) {
        let here = &*traced.key.name == self.object && (self.is_at)(&traced.step);
        assert!(!here || self.sprung.swap(true, Ordering::Relaxed), "a trap");
    }
}

fn trapped(object: &'static str, is_at: fn(&Step) -> bool) -> FactoryConfig {
    let trap = Trap { object, is_at, sprung: AtomicBool::new(false) };
    FactoryConfig { tracer: Tracer::new(Arc::new(trap)), ..config() }
}

/// A server that answers each lookup of pods.
fn served() -> Script {
    let script = Script::new();
    script.always("/api/v1", Some(core_v1()));
    script
}

/// The controller panics at a step of `b`, after the first list, while it applies this change of a watch. The second list is that
/// after the restart.
async fn a_panic_at_b_loses_nothing(
    is_at: fn(&Step) -> bool,
    lists: [&[Value]; 2],
    change: &Value,
    received: &[&str],
) {
    let script = served();
    script.list(Answer::list("10", lists[0]));
    script.list(Answer::list("12", lists[1]));
    let watch = script.live_watch();
    let world = World::start_with(script, trapped("b", is_at), pods());
    world.watches(1).await;

    watch.frame(change);

    world.receives(received).await;
    world.watches(2).await;
    assert_eq!(world.informer.status().counters.restarts, 1);
}

/// Scenario 73. The list after a panic delivers what changed meanwhile (C-14), and is at the most recent version.
#[tokio::test(start_paused = true)]
async fn an_informer_that_a_panic_ended_starts_again_with_its_listeners_and_its_cache() {
    let script = served();
    script.list(Answer::list("10", &[pod("a", "1"), pod("b", "2")]));
    let watch = script.live_watch();
    let world = World::start(script);
    world.watches(1).await;
    let first = ["add shop/a@1 initial", "add shop/b@2 initial"];
    world.receives(&first).await;

    watch.panic();
    let text = world.fails(ErrorClass::Bug).await;
    assert_eq!(text, "a task of the informer panicked: a bug of ours");
    let status = world.informer.status();
    assert_eq!((status.phase, status.synced), (Phase::BackingOff, true));
    assert!(status.to_string().ends_with("report the bug with the log of this host"), "{status}");
    assert_eq!(world.cached(), ["shop/a@1", "shop/b@2"]);

    world.script.list(Answer::list("20", &[pod("a", "15"), pod("c", "16")]));
    let difference = ["delete shop/b@2 relist?", "update shop/a@1->15 relist", "add shop/c@16 relist"];
    world.receives(&[&first[..], &difference].concat()).await;
    world.watches(2).await;
    assert_eq!(world.list_versions(), ["0", ""]);
    let status = world.informer.status();
    assert_eq!((status.counters.restarts, status.keeps_ending), (1, false));
    // The factory still has this informer.
    assert!(world.factory.informer(pods()).is(&world.informer));
    world.factory.stop(&world.informer).await;
    assert_eq!(world.informer.status().phase, Phase::Stopped);
}

#[tokio::test(start_paused = true)]
async fn an_informer_that_panics_again_and_again_waits_longer_each_time_and_is_reported() {
    let script = served();
    for _ in 0..6 {
        script.list(Answer::list("10", &[pod("a", "1")]));
    }
    let panicking: Vec<_> = (0..5).map(|_| script.live_watch()).collect();
    let world = World::start(script);

    for (before, watch) in panicking.iter().enumerate() {
        world.watches(before + 1).await;
        assert!(!world.informer.status().keeps_ending, "after {before}");
        watch.panic();
    }

    world.watches(6).await;
    let status = world.informer.status();
    assert_eq!((status.counters.restarts, status.keeps_ending), (5, true));
    let listed: Vec<_> = world.script.lists().iter().map(|list| list.at).collect();
    let waits: Vec<u128> = listed.windows(2).map(|pair| (pair[1] - pair[0]).as_millis() / 800).collect();
    assert_eq!(waits, [1, 2, 4, 8, 16], "each wait is twice the previous one");
    assert_eq!(world.received(), ["add shop/a@1 initial"]);
    tokio::time::advance(Duration::from_secs(601)).await;
    assert!(!world.informer.status().keeps_ending, "it has run for ten minutes");
}

#[tokio::test(start_paused = true)]
async fn a_stop_does_not_wait_for_the_restart() {
    let (world, watch) = World::watching(served(), pods()).await;
    watch.panic();
    world.fails(ErrorClass::Bug).await;
    let before = tokio::time::Instant::now();

    world.factory.shutdown().await;

    assert!(before.elapsed() < Duration::from_millis(800), "{:?}", before.elapsed());
    assert!(world.informer.has_ended());
    assert_eq!(world.script.lists().len(), 1);
}

/// The cache is ahead of the listeners (C-5), so a list finds nothing to deliver.
#[tokio::test(start_paused = true)]
async fn a_change_that_a_panic_kept_from_the_listeners_is_delivered_after_the_restart() {
    let is_stored = |step: &Step| matches!(step, Step::Stored { cause: Cause::Live, .. });
    let is_removed = |step: &Step| matches!(step, Step::Removed { .. });
    for (is_at, change, after, delivered) in [
        (
            is_stored as fn(&Step) -> bool,
            event("MODIFIED", pod("b", "12")),
            vec![pod("a", "1"), pod("b", "12")],
            "add shop/b@12 replay",
        ),
        (is_removed, event("DELETED", pod("b", "12")), vec![pod("a", "1")], "delete shop/b@12 replay?"),
    ] {
        let received = ["add shop/a@1 initial", "add shop/b@2 initial", delivered];
        a_panic_at_b_loses_nothing(is_at, [&[pod("a", "1"), pod("b", "2")], &after], &change, &received)
            .await;
    }
}

/// A caller that replaces an informer stops it, and takes its cache for what the listeners have received (C-10).
#[tokio::test(start_paused = true)]
async fn a_change_that_a_panic_kept_from_the_listeners_is_delivered_before_a_stop() {
    let script = served();
    script.list(Answer::list("10", &[pod("a", "1"), pod("b", "2")]));
    let watch = script.live_watch();
    let is_stored = |step: &Step| matches!(step, Step::Stored { cause: Cause::Live, .. });
    let world = World::start_with(script, trapped("b", is_stored), pods());
    world.watches(1).await;
    watch.event("MODIFIED", &pod("b", "12"));
    world.fails(ErrorClass::Bug).await;
    let first = ["add shop/a@1 initial", "add shop/b@2 initial"];
    assert_eq!(world.received(), first, "the informer waits for its restart");

    world.factory.stop(&world.informer).await;

    assert_eq!(world.cached(), ["shop/a@1", "shop/b@12"]);
    assert_eq!(world.received(), [&first[..], &["add shop/b@12 replay"]].concat());
    assert_eq!(world.script.lists().len(), 1);
}

/// No list finds the objects of a resource that is not served any more (D-12).
#[tokio::test(start_paused = true)]
async fn the_deletions_of_a_removed_resource_that_a_panic_kept_back_are_delivered_after_the_restart() {
    let script = served();
    script.list(Answer::list("10", &[pod("b", "2")]));
    let watch = script.live_watch();
    let is_removed = |step: &Step| matches!(step, Step::Removed { .. });
    let world = World::start_with(script, trapped("b", is_removed), pods());
    world.watches(1).await;

    world.script.always("/api/v1", None);
    for _ in 0..20 {
        world.script.list(Answer::error(404, "NotFound", "the server could not find the requested resource"));
    }
    world.script.watch(Answer::error(404, "NotFound", "the server could not find the requested resource"));
    watch.end();

    world.receives(&["add shop/b@2 initial", "delete shop/b@2 replay?"]).await;
    assert!(world.cached().is_empty());
    assert_eq!(world.informer.status().counters.restarts, 1);
}

/// The informer does not watch the resource meanwhile, so no watch and no list shows the removal (D-12).
#[tokio::test(start_paused = true)]
async fn the_objects_of_a_resource_that_was_removed_before_the_restart_are_deleted() {
    let (world, watch) = World::watching(served(), pods()).await;
    watch.panic();
    world.fails(ErrorClass::Bug).await;

    world.script.always("/api/v1", None);

    world.receives(&["add shop/a@1 initial", "delete shop/a@1 relist?"]).await;
    assert!(world.cached().is_empty());
}

#[tokio::test(start_paused = true)]
async fn the_rest_of_a_list_that_a_panic_kept_from_the_listeners_is_delivered_after_the_restart() {
    let script = served();
    script.list(Answer::list("10", &[pod("a", "1"), pod("b", "2"), pod("c", "3")]));
    let watch = script.live_watch();
    // The relist removes a, and the panic comes before b and d are distributed.
    let after = [pod("b", "12"), pod("c", "3"), pod("d", "13")];
    script.list(Answer::list("20", &after));
    script.list(Answer::list("20", &after));
    let is_stored = |step: &Step| matches!(step, Step::Stored { cause: Cause::Relist, .. });
    let world = World::start_with(script, trapped("b", is_stored), pods());
    world.watches(1).await;

    watch.event("ERROR", &status(410, "Expired", "too old resource version"));

    let first = ["add shop/a@1 initial", "add shop/b@2 initial", "add shop/c@3 initial"];
    let once = ["delete shop/a@1 relist?"];
    world.lists(3).await;
    let mut received = world.received();
    assert_eq!(received[..4], [&first[..], &once].concat());
    // There is no order among different objects.
    received[4..].sort();
    assert_eq!(received[4..], ["add shop/b@12 replay", "add shop/d@13 replay", "delete shop/a@1 replay?"]);
    assert_eq!(world.cached(), ["shop/b@12", "shop/c@3", "shop/d@13"]);
    assert_eq!(world.informer.status().counters.restarts, 1);
}

/// Another UID under the same name is another object, whose predecessor is deleted (D-6).
#[tokio::test(start_paused = true)]
async fn the_deletion_of_a_predecessor_that_a_panic_kept_back_is_delivered_after_the_restart() {
    let is_stored = |step: &Step| matches!(step, Step::Stored { cause: Cause::Live, .. });
    let is_removed = |step: &Step| matches!(step, Step::Removed { .. });
    let successor = || pod_of("b", "12", "another-uid");
    for (is_at, change, after, delivered) in [
        (
            is_stored as fn(&Step) -> bool,
            event("ADDED", successor()),
            vec![successor()],
            ["delete shop/b@2 replay?", "add shop/b@12 replay"],
        ),
        (
            is_removed,
            event("DELETED", successor()),
            Vec::new(),
            ["delete shop/b@2 replay?", "delete shop/b@12 replay?"],
        ),
    ] {
        let received = [&["add shop/b@2 initial"][..], &delivered].concat();
        a_panic_at_b_loses_nothing(is_at, [&[pod("b", "2")], &after], &change, &received).await;
    }
}

/// The same for a list, which shows the successor under the name of the predecessor (D-6).
#[tokio::test(start_paused = true)]
async fn the_deletion_of_a_predecessor_that_a_list_replaced_is_delivered_after_a_panic_too() {
    let script = served();
    script.list(Answer::list("10", &[pod("a", "1"), pod("b", "2")]));
    let watch = script.live_watch();
    let after = [pod("a", "1"), pod_of("b", "12", "another-uid")];
    script.list(Answer::list("20", &after));
    script.list(Answer::list("20", &after));
    let is_stored = |step: &Step| matches!(step, Step::Stored { cause: Cause::Relist, .. });
    let world = World::start_with(script, trapped("b", is_stored), pods());
    world.watches(1).await;

    watch.event("ERROR", &status(410, "Expired", "too old resource version"));

    let first = ["add shop/a@1 initial", "add shop/b@2 initial"];
    let replayed = ["delete shop/b@2 replay?", "add shop/b@12 replay"];
    world.receives(&[first, replayed].concat()).await;
    world.lists(3).await;
    assert_eq!(world.received().len(), 4);
    assert_eq!(world.informer.status().counters.restarts, 1);
}
