//! The ceiling over the memory of all objects (D-16). It counts the objects of the process, so these tests have a
//! process of their own and run one after the other.
#![allow(
    clippy::unwrap_used,
    clippy::panic,
    clippy::indexing_slicing,
    clippy::needless_pass_by_value,
    dead_code,
    reason = "the helpers of tests are tests too, and are shared with another suite"
)]

#[path = "../informer/notification.rs"]
mod notification;
#[path = "../server/server.rs"]
mod server;
#[path = "../informer/world.rs"]
mod world;

use std::time::Duration;

use informer_cache::{Compression, ErrorClass, FactoryConfig, WatchConfig};
use informer_types::Object;
use parking_lot::Mutex;
use serde_json::{Value, json};

use server::{Answer, Script};
use world::{World, config, event, eventually, pod, pods, status};

const MIB: usize = 1 << 20;

/// The tests share the memory of the process.
static ALONE: Mutex<()> = Mutex::new(());

/// Runs a test under a paused clock while no other test of this process runs. All of its objects are gone afterwards.
fn alone(test: impl Future<Output = ()>) {
    let _alone = ALONE.lock();
    let runtime = tokio::runtime::Builder::new_current_thread().enable_all().start_paused(true).build().unwrap();
    runtime.block_on(test);
    drop(runtime);
    assert_eq!(Object::all_bytes(), 0, "every object of the test is gone");
}

fn with_ceiling(bytes: usize) -> FactoryConfig {
    FactoryConfig { cache_bytes: Some(bytes), ..config() }
}

/// A pod of about 1 MiB.
fn large(name: &str, version: &str) -> Value {
    let mut pod = pod(name, version);
    pod["spec"] = json!({"text": "x".repeat(MIB)});
    pod
}

fn larges(count: usize, version: &str) -> Vec<Value> {
    (0..count).map(|number| large(&format!("p{number:02}"), version)).collect()
}

#[test]
fn a_list_beyond_the_ceiling_fails_and_is_accepted_once_there_is_room() {
    alone(async {
        let script = Script::new();
        script.list(Answer::list("10", &larges(12, "1")));
        script.list(Answer::list("20", &larges(3, "1")));
        let world = World::start_with(script, with_ceiling(10 * MIB), pods());

        let text = world.fails(ErrorClass::CacheFull).await;

        assert!(
            text.contains("there is no room: the caches of this host have reached 10485760 bytes (LIST v1/pods)"),
            "{text}"
        );
        assert!(world.cached().is_empty() && world.received().is_empty());
        eventually("the smaller list", || world.cached().len() == 3, || world.informer.status().to_string()).await;
    });
}

#[test]
fn a_watch_ends_with_the_object_that_exceeds_the_ceiling_and_the_cache_stays_as_it_was() {
    alone(async {
        let script = Script::new();
        script.list(Answer::list("10", &larges(9, "1")));
        let watch = script.live_watch();
        // A list at the ceiling fails, too.
        script.list(Answer::list("40", &larges(14, "1")));
        script.list(Answer::list("50", &larges(6, "1")));
        let world = World::start_with(script, with_ceiling(10 * MIB), pods());
        world.watches(1).await;
        // The listener holds no object: only the cache does.
        world.recorder.acknowledge();

        for number in 20..30 {
            watch.event("ADDED", &large(&format!("p{number}"), &number.to_string()));
        }

        let text = world.fails(ErrorClass::CacheFull).await;
        assert!(text.contains("cannot watch v1/pods") && text.contains("(WATCH v1/pods)"), "{text}");
        assert_eq!(world.cached().len(), 11, "{:?}: an eighth above the ceiling", world.cached());
        let line = world.informer.status().to_string();
        assert!(line.contains("synced, 11 objects, data as of") && line.contains("[host] cache-memory"), "{line}");
        assert_eq!(world.factory.memory().ceiling_bytes, Some(10 * MIB));

        world.recorder.acknowledge();
        eventually("the list that fits", || world.cached().len() == 6, || world.informer.status().to_string()).await;
    });
}

#[test]
fn deletions_pass_at_the_ceiling() {
    alone(async {
        let script = Script::new();
        script.list(Answer::list("10", &larges(9, "1")));
        let watch = script.live_watch();
        let world = World::start_with(script, with_ceiling(10 * MIB), pods());
        world.watches(1).await;
        world.recorder.acknowledge();
        watch.event("ADDED", &large("p20", "20"));
        watch.event("ADDED", &large("p21", "21"));
        eventually("eleven", || world.cached().len() == 11, || world.informer.status().to_string()).await;

        for number in 0..9 {
            watch.event("DELETED", &large(&format!("p{number:02}"), &(30 + number).to_string()));
        }
        watch.event("ADDED", &large("p22", "40"));

        world.caches(&["shop/p20@20", "shop/p21@21", "shop/p22@40"]).await;
        assert_eq!(world.informer.status().counters.failures, 0);
    });
}

#[test]
fn a_relist_needs_memory_only_for_what_has_changed() {
    alone(async {
        let script = Script::new();
        script.list(Answer::list("10", &larges(8, "1")));
        let watch = script.live_watch();
        let mut changed = larges(8, "1");
        changed[7] = large("p07", "15");
        script.list(Answer::list("20", &changed));
        let world = World::start_with(script, with_ceiling(10 * MIB), pods());
        world.watches(1).await;

        watch.frame(&event("ERROR", status(410, "Expired", "too old")));

        eventually(
            "the relist",
            || world.informer.status().counters.relists == 1,
            || world.informer.status().to_string(),
        )
        .await;
        assert_eq!(world.cached()[7], "shop/p07@15");
        let classes = world.informer.status().reflectors[0].last_error.clone().map(|error| error.class);
        assert_eq!(classes, Some(ErrorClass::Expired));
    });
}

#[test]
fn near_the_ceiling_objects_are_compressed_even_if_their_watch_does_not_ask_for_it() {
    alone(async {
        let cached = |ceiling| async move {
            let script = Script::new();
            let (list, answer) = Answer::live(200);
            script.list(answer);
            let watch = WatchConfig { compression: Compression::Off, ..pods() };
            let world = World::start_with(script, with_ceiling(ceiling), watch);
            let items: Vec<Value> = (0..3_000)
                .map(|number| {
                    let mut pod = pod(&format!("p{number:04}"), "1");
                    pod["spec"] = json!({"text": format!("{number} of many ").repeat(100)});
                    pod
                })
                .collect();
            let text = json!({"metadata": {"resourceVersion": "10"}, "items": items}).to_string();
            text.as_bytes().chunks(4_096).for_each(|chunk| list.bytes(chunk));
            list.end();
            let all = || world.cached().len() == 3_000;
            eventually("all of them", all, || world.informer.status().to_string()).await;
            world.informer.status().bytes
        };

        let raw = cached(1 << 30).await;
        let tight = cached(raw).await;

        assert!(tight < raw * 2 / 3, "{tight} of {raw}");
        // The tasks of the informers end with the runtime.
        tokio::time::sleep(Duration::from_millis(1)).await;
    });
}
