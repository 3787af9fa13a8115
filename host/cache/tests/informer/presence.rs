//! A resource that appears and disappears with its CRD (D-12, F-9).

use std::time::Duration;

use informer_cache::{ErrorClass, Phase, WatchConfig};
use serde_json::json;

use crate::{
    server::{Answer, Live, Script},
    world::{World, config, core_v1, eventually, pod, pods},
};

const DENIED: &str = "the server could not find the requested resource";

/// Removes the resource from the server.
fn uninstall(script: &Script) {
    script.always("/api/v1", None);
    for _ in 0..20 {
        script.list(Answer::error(404, "NotFound", DENIED));
    }
}

/// Serves the resource again, with this object.
fn install(world: &World, version: &str, name: &str) -> Live {
    world.script.forget_lists();
    world.script.list(Answer::list(version, &[pod(name, "1")]));
    let watch = world.script.live_watch();
    world.script.always("/api/v1", Some(core_v1()));
    watch
}

/// A watch of the pods in a namespace.
fn by_namespace() -> WatchConfig {
    WatchConfig { namespaces: vec!["shop".to_owned()], ..pods() }
}

/// Serves a cluster-scoped resource under the name of the pods.
fn serve_cluster_scoped(script: &Script) {
    let mut other = core_v1();
    other["resources"][0]["namespaced"] = json!(false);
    script.always("/api/v1", Some(other));
}

async fn waits(world: &World) {
    eventually(
        "a wait for the resource",
        || world.informer.status().phase == Phase::WaitingForResource,
        || world.informer.status().to_string(),
    )
    .await;
}

/// In client-go, the informer of a removed CRD lists into a 404 forever (F-9).
#[tokio::test(start_paused = true)]
async fn a_resource_that_is_not_served_is_looked_up_rarely_and_never_listed() {
    let script = Script::new();
    script.always("/api/v1", None);
    let world = World::start(script);
    waits(&world).await;

    assert!(!world.informer.wait_synced_or_unserved().await);
    tokio::time::sleep(Duration::from_secs(600)).await;

    assert!(world.script.requests().is_empty());
    let asked = world.script.asked("/api/v1");
    assert!((60..70).contains(&asked), "{asked} lookups in ten minutes");
    let status = world.informer.status();
    assert_eq!((status.phase, status.synced), (Phase::WaitingForResource, false));
    assert_eq!(status.reflectors[0].consecutive_failures, 0);
    assert_eq!(status.reflectors[0].last_error.as_ref().unwrap().class, ErrorClass::UnknownResource);
    assert!(status.reflectors[0].phase_age >= Duration::from_secs(600));
}

/// An informer waits for its CRD (D-12).
#[tokio::test(start_paused = true)]
async fn a_resource_that_appears_is_listed_within_ten_seconds() {
    let script = Script::new();
    script.always("/api/v1", None);
    let world = World::start(script);
    waits(&world).await;
    tokio::time::sleep(Duration::from_secs(300)).await;
    let installed = tokio::time::Instant::now();

    install(&world, "10", "a");

    world.receives(&["add shop/a@1 initial"]).await;
    assert!(installed.elapsed() < Duration::from_secs(11));
    assert!(world.informer.has_synced() && world.informer.wait_synced_or_unserved().await);
}

/// The objects of a removed resource are deleted (D-12). After its return the first list is not older than before
///
#[tokio::test(start_paused = true)]
async fn objects_of_a_removed_resource_are_deleted_and_added_when_it_comes_back() {
    let script = Script::new();
    script.list(Answer::list("10", &[pod("a", "1"), pod("b", "2")]));
    let watch = script.live_watch();
    let world = World::start(script);
    world.watches(1).await;
    watch.event("DELETED", &pod("a", "11"));
    world.caches(&["shop/b@2"]).await;

    uninstall(&world.script);
    world.script.watch(Answer::error(404, "NotFound", DENIED));
    watch.end();
    waits(&world).await;

    let gone =
        ["add shop/a@1 initial", "add shop/b@2 initial", "delete shop/a@11 live", "delete shop/b@2 relist?"];
    world.receives(&gone).await;
    assert!(world.cached().is_empty());
    // The empty cache of a resource that does not exist is complete.
    assert!(world.informer.has_synced());
    let requests = world.script.requests().len();
    tokio::time::sleep(Duration::from_secs(300)).await;
    assert_eq!(world.script.requests().len(), requests, "a 404 loop");

    let watch = install(&world, "30", "b");
    world.receives(&[&gone[..], &["add shop/b@1 relist"]].concat()).await;
    // "0" could return a state from before the removal.
    assert_eq!(world.list_versions().last().map(String::as_str), Some(""));
    watch.event("MODIFIED", &pod("b", "31"));
    world.caches(&["shop/b@31"]).await;

    // It disappears a second time.
    uninstall(&world.script);
    world.script.watch(Answer::error(404, "NotFound", DENIED));
    watch.end();
    waits(&world).await;
    world.caches(&[]).await;
    assert_eq!(world.received().last().unwrap(), "delete shop/b@31 relist?");
    assert_eq!(world.informer.status().counters.vanished, 2);
}

#[tokio::test(start_paused = true)]
async fn a_404_of_a_server_that_lags_behind_deletes_no_object() {
    let (world, watch) = World::watching(Script::new(), pods()).await;
    // The next list fails, and the next two lookups find no such resource.
    world.script.always("/api/v1", Some(core_v1()));
    for _ in 0..2 {
        world.script.path("/api/v1", Answer::status(404, "404 page not found"));
    }
    world.script.watch(Answer::error(404, "NotFound", DENIED));
    world.script.list(Answer::error(404, "NotFound", DENIED));
    world.script.list(Answer::list("20", &[pod("a", "1")]));
    let reopened = world.script.live_watch();
    // Long enough that the watch does not count as very short.
    tokio::time::sleep(Duration::from_secs(2)).await;

    watch.end();
    world.watches(3).await;
    tokio::time::sleep(Duration::from_secs(60)).await;
    reopened.event("MODIFIED", &pod("a", "21"));

    world.caches(&["shop/a@21"]).await;
    assert_eq!(world.received(), ["add shop/a@1 initial", "update shop/a@1->21 live"]);
    assert_eq!(world.informer.status().phase, Phase::Watching);
}

#[tokio::test(start_paused = true)]
async fn a_404_for_a_resource_that_discovery_finds_is_an_ordinary_failure() {
    let script = Script::new();
    script.always("/api/v1", Some(core_v1()));
    script.list(Answer::error(404, "NotFound", DENIED));
    script.list(Answer::list("10", &[pod("a", "1")]));

    let world = World::start(script);

    world.fails(ErrorClass::NotFound).await;
    world.caches(&["shop/a@1"]).await;
}

/// A proxy without its API server may answer every request, and deletions that were delivered cannot be taken back (D-12).
#[tokio::test(start_paused = true)]
async fn answers_of_a_server_that_is_no_api_server_delete_no_object() {
    for answer in [None, Some(json!({"status": "ok"}))] {
        let (world, watch) = World::watching(Script::new(), pods()).await;
        uninstall(&world.script);
        world.script.always("/api/v1", answer.clone());
        for _ in 0..100 {
            world.script.path("/apis", Answer::status(404, "default backend - 404"));
        }

        watch.end();
        world.fails(ErrorClass::NotFound).await;
        tokio::time::sleep(Duration::from_secs(60)).await;

        assert_eq!(world.cached(), ["shop/a@1"], "{answer:?}");
        world.script.forget_lists();
        world.script.list(Answer::list("20", &[pod("a", "21")]));
        world.script.always("/api/v1", Some(core_v1()));
        world.caches(&["shop/a@21"]).await;
        assert_eq!(world.received(), ["add shop/a@1 initial", "update shop/a@1->21 relist"], "{answer:?}");
        assert_eq!(world.informer.status().counters.vanished, 0);
    }
}

/// A CRD was deleted and created again with another scope, so the objects in its namespaces are gone (D-12).
#[tokio::test(start_paused = true)]
async fn objects_of_namespaces_are_deleted_when_a_cluster_scoped_resource_takes_the_name() {
    let (world, watch) = World::watching(Script::new(), by_namespace()).await;
    uninstall(&world.script);
    serve_cluster_scoped(&world.script);

    watch.end();
    waits(&world).await;

    world.receives(&["add shop/a@1 initial", "delete shop/a@1 relist?"]).await;
    tokio::time::sleep(Duration::from_secs(60)).await;
    let status = world.informer.status();
    assert_eq!((status.phase, status.objects), (Phase::WaitingForResource, 0));
    assert!(status.to_string().contains("v1/pods is cluster-scoped: leave out `namespaces`"), "{status}");

    install(&world, "30", "b");
    world.caches(&["shop/b@1"]).await;
}

/// The configuration is wrong, so the informer must not wait as quietly as for a CRD that is not installed yet.
#[tokio::test(start_paused = true)]
async fn a_resource_that_appears_cluster_scoped_is_a_failure_for_an_informer_of_namespaces() {
    let script = Script::new();
    script.always("/api/v1", None);
    let world = World::start_with(script, config(), by_namespace());
    waits(&world).await;
    serve_cluster_scoped(&world.script);

    eventually(
        "a failure",
        || world.informer.status().phase == Phase::BackingOff,
        || world.informer.status().to_string(),
    )
    .await;

    let status = world.informer.status();
    assert!(status.counters.failures > 0, "{status}");
    assert!(status.to_string().contains("v1/pods is cluster-scoped: leave out `namespaces`"), "{status}");
}

/// The data of a CRD that was removed long ago is not old.
#[tokio::test(start_paused = true)]
async fn the_empty_cache_of_a_removed_resource_is_as_old_as_the_last_lookup() {
    let (world, watch) = World::watching(Script::new(), pods()).await;
    uninstall(&world.script);
    watch.end();
    waits(&world).await;
    tokio::time::sleep(Duration::from_secs(600)).await;

    let age = world.informer.data_age().unwrap();
    assert!(age < Duration::from_secs(11), "{age:?}");

    // The server cannot be asked any more.
    for _ in 0..100 {
        world.script.path("/api/v1", Answer::Refused);
    }
    tokio::time::sleep(Duration::from_secs(600)).await;
    let age = world.informer.data_age().unwrap();
    assert!(age > Duration::from_secs(590), "{age:?}");
}

/// The reflectors of all namespaces stop and start together (D-12).
#[tokio::test(start_paused = true)]
async fn all_namespaces_of_an_informer_follow_the_resource_together() {
    let script = Script::new();
    for _ in 0..2 {
        script.list(Answer::list("10", &[]));
    }
    script.always("/api/v1", Some(core_v1()));
    let namespaces = vec!["shop".to_owned(), "warehouse".to_owned()];
    let watches = [script.live_watch(), script.live_watch()];
    let world = World::start_with(script, config(), WatchConfig { namespaces, ..pods() });
    world.watches(2).await;

    uninstall(&world.script);
    for watch in &watches {
        world.script.watch(Answer::error(404, "NotFound", DENIED));
        watch.event("ADDED", &pod("a", "11"));
        watch.end();
    }
    waits(&world).await;
    for _ in 0..2 {
        world.caches(&[]).await;
    }

    world.script.forget_lists();
    for _ in 0..2 {
        world.script.list(Answer::list("20", &[]));
    }
    let again = world.script.live_watch();
    world.script.always("/api/v1", Some(core_v1()));
    world.watches(6).await;
    again.event("ADDED", &pod("c", "21"));
    world.caches(&["shop/c@21"]).await;
}

/// Every wait ends with the informer.
#[tokio::test(start_paused = true)]
async fn a_stop_ends_the_wait_for_a_resource_at_once() {
    let script = Script::new();
    script.always("/api/v1", None);
    let world = World::start(script);
    waits(&world).await;
    let start = tokio::time::Instant::now();

    world.factory.stop(&world.informer).await;

    assert!(start.elapsed() < Duration::from_millis(10));
    assert_eq!(world.informer.status().phase, Phase::Stopped);
}

/// The CRD was deleted and created again so quickly that no request was answered with 404 (D-12).
#[tokio::test(start_paused = true)]
async fn another_resource_with_the_same_name_is_listed_and_watched_with_its_own_type() {
    let whale = |name: &str, version: &str| {
        let mut whale = pod(name, version);
        whale["kind"] = json!("Whale");
        whale
    };
    let script = Script::new();
    script.always("/api/v1", Some(core_v1()));
    let (world, watch) = World::watching(script, pods()).await;
    let mut renamed = core_v1();
    renamed["resources"][0]["kind"] = json!("Whale");
    world.script.always("/api/v1", Some(renamed));
    world.script.list(Answer::list("20", &[whale("b", "2")]));
    let again = world.script.live_watch();

    watch.event("ADDED", &whale("b", "2"));
    world.watches(2).await;
    again.event("MODIFIED", &whale("b", "21"));

    world
        .receives(&[
            "add shop/a@1 initial",
            "delete shop/a@1 relist?",
            "add shop/b@2 relist",
            "update shop/b@2->21 live",
        ])
        .await;
    assert!(watch.is_closed());
}

/// Objects of another type are skipped.
#[tokio::test(start_paused = true)]
async fn a_server_that_keeps_sending_other_types_is_looked_up_rarely_and_watched_on() {
    let script = Script::new();
    script.always("/api/v1", Some(core_v1()));
    script.list(Answer::list("10", &[]));
    let watch = script.live_watch();
    let world = World::start(script);
    world.watches(1).await;

    for version in 0..100 {
        let mut other = pod("other", &version.to_string());
        other["kind"] = json!("Whale");
        watch.event("ADDED", &other);
        tokio::time::sleep(Duration::from_millis(100)).await;
    }
    watch.event("ADDED", &pod("a", "200"));

    world.caches(&["shop/a@200"]).await;
    let asked = world.script.asked("/api/v1");
    assert!((2..10).contains(&asked), "{asked} lookups in ten seconds");
    assert_eq!(world.script.lists().len(), 1);
}
