//! A resource that comes and goes with its CRD: D-12, F-9.

use std::time::Duration;

use informer_cache::{ErrorClass, Phase, WatchConfig};
use serde_json::json;

use crate::{
    server::{Answer, Live, Script},
    world::{World, config, core_v1, eventually, pod, pods},
};

const DENIED: &str = "the server could not find the requested resource";

/// The resource is not served from now on.
fn uninstall(script: &Script) {
    script.always("/api/v1", None);
    for _ in 0..20 {
        script.list(Answer::error(404, "NotFound", DENIED));
    }
}

/// It is served again, and this is what it has.
fn install(world: &World, version: &str, name: &str) -> Live {
    world.script.forget_lists();
    world.script.list(Answer::list(version, &[pod(name, "1")]));
    let watch = world.script.live_watch();
    world.script.always("/api/v1", Some(core_v1()));
    watch
}

async fn waits(world: &World) {
    eventually(
        "a wait for the resource",
        || world.informer.status().phase == Phase::WaitingForResource,
        || world.informer.status().to_string(),
    )
    .await;
}

#[tokio::test(start_paused = true)]
async fn what_is_not_served_is_asked_for_seldom_and_listed_never_f9() {
    let script = Script::new();
    script.always("/api/v1", None);
    let world = World::start(script);
    waits(&world).await;

    assert!(!world.informer.wait_synced_or_unserved().await);
    tokio::time::sleep(Duration::from_secs(600)).await;

    assert!(world.script.requests().is_empty());
    let asked = world.script.asked("/api/v1");
    assert!((60..70).contains(&asked), "{asked} questions in ten minutes");
    let status = world.informer.status();
    assert_eq!((status.phase, status.synced), (Phase::WaitingForResource, false));
    assert_eq!(status.reflectors[0].consecutive_failures, 0);
    assert_eq!(status.reflectors[0].last_error.as_ref().unwrap().class, ErrorClass::UnknownResource);
    assert!(status.reflectors[0].phase_age >= Duration::from_secs(600));
}

#[tokio::test(start_paused = true)]
async fn what_comes_is_listed_within_ten_seconds_d12() {
    let script = Script::new();
    script.always("/api/v1", None);
    let world = World::start(script);
    waits(&world).await;
    tokio::time::sleep(Duration::from_secs(300)).await;
    let installed = tokio::time::Instant::now();

    install(&world, "10", "a");

    world.tells(&["add shop/a@1 initial"]).await;
    assert!(installed.elapsed() < Duration::from_secs(11));
    assert!(world.informer.has_synced() && world.informer.wait_synced_or_unserved().await);
}

#[tokio::test(start_paused = true)]
async fn what_goes_is_told_as_deleted_and_what_returns_as_added_d12() {
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
    world.tells(&gone).await;
    assert!(world.cached().is_empty());
    // An empty cache of what does not exist is complete.
    assert!(world.informer.has_synced());
    let requests = world.script.requests().len();
    tokio::time::sleep(Duration::from_secs(300)).await;
    assert_eq!(world.script.requests().len(), requests, "a 404 loop");

    let watch = install(&world, "30", "b");
    world.tells(&[&gone[..], &["add shop/b@1 relist"]].concat()).await;
    // "0" could go back behind the removal.
    assert_eq!(world.list_versions().last().map(String::as_str), Some(""));
    watch.event("MODIFIED", &pod("b", "31"));
    world.caches(&["shop/b@31"]).await;

    // And once more.
    uninstall(&world.script);
    world.script.watch(Answer::error(404, "NotFound", DENIED));
    watch.end();
    waits(&world).await;
    world.caches(&[]).await;
    assert_eq!(world.told().last().unwrap(), "delete shop/b@31 relist?");
    assert_eq!(world.informer.status().counters.vanished, 2);
}

#[tokio::test(start_paused = true)]
async fn a_404_of_a_server_that_lags_behind_deletes_nothing() {
    let script = Script::new();
    script.list(Answer::list("10", &[pod("a", "1")]));
    let watch = script.live_watch();
    let world = World::start(script);
    world.watches(1).await;
    // The next list is refused, and the next two questions say that there is no such resource.
    world.script.always("/api/v1", Some(core_v1()));
    for _ in 0..2 {
        world.script.path("/api/v1", Answer::status(404, "404 page not found"));
    }
    world.script.watch(Answer::error(404, "NotFound", DENIED));
    world.script.list(Answer::error(404, "NotFound", DENIED));
    world.script.list(Answer::list("20", &[pod("a", "1")]));
    let reopened = world.script.live_watch();
    // Not a very short watch.
    tokio::time::sleep(Duration::from_secs(2)).await;

    watch.end();
    world.watches(3).await;
    tokio::time::sleep(Duration::from_secs(60)).await;
    reopened.event("MODIFIED", &pod("a", "21"));

    world.caches(&["shop/a@21"]).await;
    assert_eq!(world.told(), ["add shop/a@1 initial", "update shop/a@1->21 live"]);
    assert_eq!(world.informer.status().phase, Phase::Watching);
}

#[tokio::test(start_paused = true)]
async fn a_404_while_discovery_knows_the_resource_is_an_ordinary_failure() {
    let script = Script::new();
    script.always("/api/v1", Some(core_v1()));
    script.list(Answer::error(404, "NotFound", DENIED));
    script.list(Answer::list("10", &[pod("a", "1")]));

    let world = World::start(script);

    world.fails(ErrorClass::NotFound).await;
    world.caches(&["shop/a@1"]).await;
}

#[tokio::test(start_paused = true)]
async fn several_namespaces_come_and_go_together_d12() {
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

#[tokio::test(start_paused = true)]
async fn a_stop_ends_the_wait_for_a_resource_at_once_r37() {
    let script = Script::new();
    script.always("/api/v1", None);
    let world = World::start(script);
    waits(&world).await;
    let start = tokio::time::Instant::now();

    world.factory.stop(&world.informer).await;

    assert!(start.elapsed() < Duration::from_millis(10));
    assert_eq!(world.informer.status().phase, Phase::Stopped);
}

/// The CRD was deleted and created anew, so quickly that no request met a 404.
#[tokio::test(start_paused = true)]
async fn another_resource_that_took_the_name_is_listed_and_watched_as_what_it_is_d12() {
    let whale = |name: &str, version: &str| {
        let mut whale = pod(name, version);
        whale["kind"] = json!("Whale");
        whale
    };
    let script = Script::new();
    script.always("/api/v1", Some(core_v1()));
    script.list(Answer::list("10", &[pod("a", "1")]));
    let watch = script.live_watch();
    let world = World::start(script);
    world.watches(1).await;
    let mut renamed = core_v1();
    renamed["resources"][0]["kind"] = json!("Whale");
    world.script.always("/api/v1", Some(renamed));
    world.script.list(Answer::list("20", &[whale("b", "2")]));
    let again = world.script.live_watch();

    watch.event("ADDED", &whale("b", "2"));
    world.watches(2).await;
    again.event("MODIFIED", &whale("b", "21"));

    world
        .tells(&[
            "add shop/a@1 initial",
            "delete shop/a@1 relist?",
            "add shop/b@2 relist",
            "update shop/b@2->21 live",
        ])
        .await;
    assert!(watch.is_closed());
}

#[tokio::test(start_paused = true)]
async fn a_server_that_sends_other_types_for_ever_is_asked_seldom_and_followed_on_r26() {
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
    assert!((2..10).contains(&asked), "{asked} questions in ten seconds");
    assert_eq!(world.script.lists().len(), 1);
}
