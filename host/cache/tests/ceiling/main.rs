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

use fastrand::Rng;
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
    let runtime =
        tokio::runtime::Builder::new_current_thread().enable_all().start_paused(true).build().unwrap();
    runtime.block_on(test);
    drop(runtime);
    assert_eq!(Object::all_bytes(), 0, "every object of the test is gone");
}

fn with_ceiling(bytes: usize) -> FactoryConfig {
    FactoryConfig { cache_bytes: Some(bytes), ..config() }
}

/// A pod of about 1 MiB that compression does not make smaller.
fn large(name: &str, version: &str) -> Value {
    let mut pod = pod(name, version);
    let mut random = Rng::with_seed(name.bytes().map(u64::from).sum());
    let text: String = (0..MIB).map(|_| random.alphanumeric()).collect();
    pod["spec"] = json!({"text": text});
    pod
}

/// A pod of about 1,500 bytes that compression makes much smaller.
fn small(number: usize) -> Value {
    let mut pod = pod(&format!("p{number:04}"), "1");
    pod["spec"] = json!({"text": format!("{number} of many ").repeat(100)});
    pod
}

/// A list of 4,000 small pods at this version.
fn smalls(version: &str) -> Answer {
    let pod = |number| {
        let mut pod = small(number);
        pod["metadata"]["resourceVersion"] = json!(version);
        pod
    };
    Answer::list(version, &(0..4_000).map(pod).collect::<Vec<_>>())
}

/// The bytes that the objects of a list take without compression.
fn raw_bytes(list: Answer) -> usize {
    let raw = Mutex::new(0);
    alone(async {
        let script = Script::new();
        script.list(list);
        let world = World::start_with(script, with_ceiling(1 << 30), pods());
        world.informer.wait_synced().await;
        *raw.lock() = world.informer.status().bytes;
    });
    raw.into_inner()
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
            text.contains(
                "there is no room: the objects of this host take more than 10485760 bytes (LIST v1/pods)"
            ),
            "{text}"
        );
        assert!(world.cached().is_empty() && world.received().is_empty());
        eventually("the smaller list", || world.cached().len() == 3, || world.informer.status().to_string())
            .await;
    });
}

#[test]
fn a_watch_ends_with_the_object_that_exceeds_the_ceiling_and_lists_follow_the_cluster() {
    alone(async {
        let script = Script::new();
        script.list(Answer::list("10", &larges(9, "1")));
        let watch = script.live_watch();
        // One that does not fit, and one that does although the cache is above the ceiling.
        script.list(Answer::list("40", &larges(20, "1")));
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
        assert!(
            line.contains("synced, 11 objects, data as of") && line.contains("[host] cache-memory"),
            "{line}"
        );
        assert_eq!(world.factory.memory().ceiling_bytes, Some(10 * MIB));

        world.lists(2).await;
        eventually(
            "the failed list",
            || world.informer.status().reflectors[0].consecutive_failures == 2,
            || world.informer.status().to_string(),
        )
        .await;
        assert_eq!(world.cached().len(), 11);
        eventually(
            "the list that fits",
            || world.cached().len() == 6,
            || world.informer.status().to_string(),
        )
        .await;
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
        world.caches(&["shop/p20@20", "shop/p21@21"]).await;
        // The listener is done with the deletions.
        world.recorder.acknowledge();
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
    let settled = |ceiling| {
        let bytes = Mutex::new(0);
        alone(async {
            let script = Script::new();
            script.list(Answer::list("10", &(0..2_000).map(small).collect::<Vec<_>>()));
            let watch = script.live_watch();
            let watched = WatchConfig { compression: Compression::Off, ..pods() };
            let world = World::start_with(script, with_ceiling(ceiling), watched);
            world.watches(1).await;
            world.recorder.acknowledge();
            (2_000..2_100).for_each(|number| watch.event("ADDED", &small(number)));
            eventually("all", || world.cached().len() == 2_100, || world.informer.status().to_string()).await;
            *bytes.lock() = world.informer.status().bytes;
        });
        bytes.into_inner()
    };

    let raw = settled(1 << 30);
    let tight = settled(raw);

    assert!(tight < raw / 2, "{tight} of {raw}");
}

/// Memory that was tight once may be tight again.
#[test]
fn objects_that_arrive_after_memory_was_tight_are_compressed_too() {
    let raw = raw_bytes(smalls("10"));

    alone(async {
        let script = Script::new();
        script.list(smalls("10"));
        let watch = script.live_watch();
        // Memory is tight at three quarters of the ceiling, which is nine tenths of the list.
        let world = World::start_with(script, with_ceiling(raw / 5 * 6), pods());
        world.informer.wait_synced().await;
        world.watches(1).await;
        world.recorder.acknowledge();
        let (objects, bytes) = (|| world.informer.status().objects, || world.informer.status().bytes);
        let found = || format!("{} objects, {} bytes; {raw} raw", objects(), bytes());
        watch.event("ADDED", &small(4_000));
        eventually("the compressed list", || bytes() < raw / 2, found).await;

        (4_001..6_000).for_each(|number| watch.event("ADDED", &small(number)));

        eventually("all objects", || objects() == 6_000, found).await;
        eventually("the compressed objects", || bytes() < raw / 2, found).await;
    });
}

/// The cache is compressed while a list arrives. The objects of this list are not in the cache yet.
#[test]
fn objects_of_a_list_that_arrived_before_memory_was_tight_are_compressed_too() {
    let raw = raw_bytes(smalls("10"));

    alone(async {
        let script = Script::new();
        script.list(smalls("10"));
        let watch = script.live_watch();
        script.list(smalls("20"));
        let _reopened = script.live_watch();
        // Memory is tight at three quarters of the ceiling, when four fifths of the second list have arrived.
        let world = World::start_with(script, with_ceiling(raw / 5 * 12), pods());
        world.informer.wait_synced().await;
        world.watches(1).await;
        world.recorder.acknowledge();
        let bytes = || world.informer.status().bytes;
        assert_eq!(bytes(), raw, "memory was not tight yet");

        watch.event("ERROR", &status(410, "Expired", "too old resource version"));
        world.watches(2).await;
        world.recorder.acknowledge();

        let found = || format!("{} bytes; {raw} raw; {}", bytes(), world.informer.status());
        eventually("the compressed list", || bytes() < raw / 2, found).await;
        assert_eq!(world.cached()[0], "shop/p0000@20");
    });
}
