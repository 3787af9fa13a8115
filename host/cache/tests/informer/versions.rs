//! The resource version of the cache (A-1, I-11). In client-go, the version comes from the reflector, ahead of the
//! cache.

use std::time::Duration;

use futures::FutureExt;
use informer_cache::{VersionError, WatchConfig};

use crate::{
    server::{Answer, Script},
    world::{World, bookmark, config, pod, pods},
};

async fn settle() {
    tokio::time::sleep(Duration::from_millis(10)).await;
}

#[tokio::test(start_paused = true)]
async fn a_writer_reads_its_own_write_once_the_cache_has_its_version() {
    let script = Script::new();
    script.list(Answer::list("9", &[pod("a", "1")]));
    let watch = script.live_watch();
    let world = World::start(script);
    assert_eq!(world.informer.last_synced_version(), Ok(None));
    world.informer.wait_for_version("9", None).await.unwrap();
    assert_eq!(world.informer.last_synced_version(), Ok(Some("9".to_owned())));

    // Versions are compared as numbers; as text, "10" would be older than "9".
    let mut written = Box::pin(world.informer.wait_for_version("10", None));
    settle().await;
    assert!((&mut written).now_or_never().is_none());
    watch.event("MODIFIED", &pod("a", "10"));
    written.await.unwrap();

    assert_eq!(world.cached(), ["shop/a@10"]);
    world.informer.wait_for_version("2", None).await.unwrap();
}

/// The version of the cache follows bookmarks too (I-11).
#[tokio::test(start_paused = true)]
async fn a_bookmark_moves_the_version_of_the_cache() {
    let script = Script::new();
    script.list(Answer::list("9", &[]));
    let watch = script.live_watch();
    let world = World::start(script);
    world.informer.wait_synced().await;

    watch.frame(&bookmark("500"));
    world.informer.wait_for_version("499", None).await.unwrap();

    assert_eq!(world.informer.last_synced_version(), Ok(Some("500".to_owned())));
}

#[tokio::test(start_paused = true)]
async fn the_version_of_several_namespaces_is_the_oldest_unless_one_is_named() {
    let script = Script::new();
    for version in ["10", "10"] {
        script.list(Answer::list(version, &[]));
    }
    let watch = script.live_watch();
    let namespaces = vec!["shop".to_owned(), "warehouse".to_owned()];
    let world = World::start_with(script, config(), WatchConfig { namespaces, ..pods() });
    world.watches(2).await;
    let moved = world.script.watches()[0].path.contains("shop");
    let (moved, other) = if moved { ("shop", "warehouse") } else { ("warehouse", "shop") };

    watch.frame(&bookmark("20"));

    world.informer.wait_for_version("20", Some(moved)).await.unwrap();
    assert!(world.informer.wait_for_version("20", Some(other)).now_or_never().is_none());
    assert!(world.informer.wait_for_version("20", None).now_or_never().is_none());
    assert_eq!(world.informer.last_synced_version(), Ok(Some("10".to_owned())));
    assert_eq!(
        world.informer.newest_applied_version(),
        Ok(Some("20".to_owned())),
        "the listeners may have been notified of that version"
    );
}

/// A lister finds no object in such a namespace.
#[tokio::test(start_paused = true)]
async fn a_namespace_that_is_not_watched_never_has_a_version() {
    for watched in [&["shop"][..], &["shop", "warehouse"]] {
        let script = Script::new();
        for _ in watched {
            script.list(Answer::list("10", &[]));
        }
        let namespaces = watched.iter().map(|namespace| (*namespace).to_owned()).collect();
        let world = World::start_with(script, config(), WatchConfig { namespaces, ..pods() });
        world.informer.wait_for_version("10", None).await.unwrap();
        world.informer.wait_for_version("10", Some("shop")).await.unwrap();

        for absent in ["bank", ""] {
            let never = world.informer.wait_for_version("10", Some(absent));
            let waited = tokio::time::timeout(Duration::from_secs(1), never).await;
            assert!(waited.is_err(), "{absent:?} of {watched:?}: {waited:?}");
        }
        let informer = world.informer.clone();
        let waiting = tokio::spawn(async move { informer.wait_for_version("10", Some("bank")).await });
        world.factory.stop(&world.informer).await;
        assert!(matches!(waiting.await.unwrap(), Err(VersionError::Stopped(_))));
    }
}

#[tokio::test(start_paused = true)]
async fn an_informer_of_all_namespaces_has_the_version_of_each() {
    let world = World::listing("10", &[]);

    for namespace in ["shop", ""] {
        world.informer.wait_for_version("10", Some(namespace)).await.unwrap();
    }
}

/// Only decimal integers have an order.
#[tokio::test(start_paused = true)]
async fn waiting_for_a_version_without_an_order_is_an_error() {
    let world = World::listing("v2-abc", &[]);
    world.informer.wait_synced().await;

    let error = world.informer.wait_for_version("7", None).await.unwrap_err();
    assert!(error.to_string().contains("`v2-abc`") && error.to_string().contains("1.35"), "{error}");
    let error = world.informer.wait_for_version("0", None).await.unwrap_err();
    assert!(matches!(error, VersionError::Incomparable(_)), "{error}");
    assert_eq!(world.informer.last_synced_version(), Ok(Some("v2-abc".to_owned())));
}

/// Every wait ends with the informer.
#[tokio::test(start_paused = true)]
async fn a_stop_ends_the_wait_for_a_version() {
    let world = World::listing("10", &[]);
    world.informer.wait_synced().await;
    let informer = world.informer.clone();
    let waiting = tokio::spawn(async move { informer.wait_for_version("11", None).await });

    world.factory.stop(&world.informer).await;

    let error = waiting.await.unwrap().unwrap_err();
    assert_eq!(
        error.to_string(),
        "the informer of v1/pods stopped before its cache had the resource version"
    );
}

/// Another thread reads in a loop. Reading the index values of a large object takes time.
#[tokio::test(flavor = "multi_thread", worker_threads = 4)]
async fn the_cache_has_the_objects_of_a_version_before_it_reports_the_version() {
    let script = Script::new();
    script.list(Answer::list("10", &[]));
    let watch = script.live_watch();
    let indexes = [("by-node".to_owned(), "/spec/nodeName".parse().unwrap())].into();
    let world = World::start_with(script, config(), WatchConfig { indexes, ..pods() });
    let lister = world.informer.lister();
    let key: informer_types::ObjectKey = "shop/a".parse().unwrap();
    let mut large = pod("a", "");
    large["spec"] = serde_json::json!({"padding": "x".repeat(500_000)});

    for version in 11..61 {
        let version = version.to_string();
        large["metadata"]["resourceVersion"] = version.as_str().into();
        watch.event("MODIFIED", &large);
        let (informer, lister, key) = (world.informer.clone(), lister.clone(), key.clone());
        let looking = tokio::task::spawn_blocking(move || {
            while informer.last_synced_version().unwrap().as_deref() != Some(&version) {
                std::hint::spin_loop();
            }
            assert_eq!(lister.get(&key).map(|object| object.resource_version().to_owned()), Some(version));
        });
        tokio::time::timeout(Duration::from_secs(60), looking).await.unwrap().unwrap();
    }
}
