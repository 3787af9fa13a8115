//! A CRD stops serving one of its versions. Its objects still exist, so none of them is deleted (D-12).

use std::time::Duration;

use informer_cache::{ErrorClass, Phase, WatchConfig};
use serde_json::{Value, json};

use crate::{
    server::{Answer, Live, Script},
    world::{World, config, core_v1, eventually, item},
};

const GROUP: &str = "/apis/shop.example.com";
const OLD: &str = "/apis/shop.example.com/v1beta1";
const NEW: &str = "/apis/shop.example.com/v1";
const MOVED: &str = "shop.example.com/v1beta1/pods is not served, but shop.example.com/v1/pods is";
const UNANSWERED: &str =
    "shop.example.com/v1beta1/pods is not served, and a lookup of the other versions of its group fails: ";
const REMEDY: &str =
    "change `gvr` of [[watch]], and `watch` of each subscription to it, to shop.example.com/v1/pods";

/// A watch of the old version.
fn old() -> WatchConfig {
    WatchConfig::new("shop.example.com/v1beta1/pods".parse().unwrap())
}

/// The discovery document of the group with these versions.
fn group(versions: &[&str]) -> Value {
    let version = |version: &&str| json!({"groupVersion": format!("shop.example.com/{version}")});
    let versions: Vec<Value> = versions.iter().map(version).collect();
    json!({"name": "shop.example.com", "versions": versions})
}

/// Serves the pods of the group in these versions only.
fn serve(script: &Script, versions: &[&str]) {
    script.always(OLD, versions.contains(&"v1beta1").then(core_v1));
    script.always(NEW, versions.contains(&"v1").then(core_v1));
    let groups = if versions.is_empty() { Vec::new() } else { vec![group(versions)] };
    script.always("/apis", Some(json!({"groups": groups})));
}

/// An informer of the old version, which has the pod `a`. The server serves both versions.
async fn watching() -> (World, Live) {
    let script = Script::new();
    serve(&script, &["v1", "v1beta1"]);
    World::watching(script, old()).await
}

/// The server ends the watch, and answers 404 to all further lists and to the next watch.
async fn refuse(world: &World, watch: &Live) {
    let not_found = || Answer::error(404, "NotFound", "the server could not find the requested resource");
    for _ in 0..100 {
        world.script.list(not_found());
    }
    world.script.watch(not_found());
    // Long enough that the watch does not count as very short.
    tokio::time::sleep(Duration::from_secs(2)).await;
    watch.end();
}

async fn deletes(world: &World) {
    eventually(
        "a wait for the resource",
        || world.informer.status().phase == Phase::WaitingForResource,
        || world.informer.status().to_string(),
    )
    .await;
    world.receives(&["add shop/a@1 initial", "delete shop/a@1 relist?"]).await;
    assert_eq!((world.cached().len(), world.informer.status().counters.vanished), (0, 1));
}

/// No request of the informer lists into a 404 meanwhile (F-9), and the list after the return is not older than before.
#[tokio::test(start_paused = true)]
async fn objects_that_are_served_in_another_version_are_kept_until_the_old_version_returns() {
    let other = json!({"resources": [{"name": "others", "kind": "Other", "namespaced": true, "verbs": ["list", "watch"]}]});
    // The old version is gone, or has only other resources.
    for left in [None, Some(other)] {
        let (world, watch) = watching().await;
        serve(&world.script, &["v1"]);
        world.script.always(OLD, left.clone());
        refuse(&world, &watch).await;

        assert_eq!(world.fails(ErrorClass::UnknownResource).await, MOVED);
        let (requests, lookups) = (world.script.requests().len(), world.script.asked(OLD));
        tokio::time::sleep(Duration::from_secs(600)).await;

        assert_eq!(world.script.requests().len(), requests, "a 404 loop");
        let lookups = world.script.asked(OLD) - lookups;
        assert!((55..70).contains(&lookups), "{lookups} lookups in ten minutes");
        assert_eq!((world.cached(), world.received().len()), (vec!["shop/a@1".to_owned()], 1));
        let status = world.informer.status();
        assert_eq!((status.phase, status.synced, status.counters.vanished), (Phase::BackingOff, true, 0));
        let troubles = status.troubles();
        assert_eq!(troubles.len(), 1, "{troubles:?}");
        assert_eq!((&*troubles[0].what, troubles[0].remedy.as_deref()), (MOVED, Some(REMEDY)));
        assert!(world.informer.data_age().unwrap() > Duration::from_secs(600));

        world.script.forget_lists();
        world.script.list(Answer::list("30", &[item("a", "31")]));
        serve(&world.script, &["v1", "v1beta1"]);
        world.receives(&["add shop/a@1 initial", "update shop/a@1->31 relist"]).await;
        assert_eq!(world.list_versions().last().map(String::as_str), Some(""));
    }
}

/// The reflectors of all namespaces have one trouble.
#[tokio::test(start_paused = true)]
async fn another_version_is_reported_once_for_all_namespaces() {
    let script = Script::new();
    serve(&script, &["v1", "v1beta1"]);
    for _ in 0..2 {
        script.list(Answer::list("10", &[]));
    }
    let watches = [script.live_watch(), script.live_watch()];
    let namespaces = vec!["shop".to_owned(), "warehouse".to_owned()];
    let world = World::start_with(script, config(), WatchConfig { namespaces, ..old() });
    world.watches(2).await;
    serve(&world.script, &["v1"]);

    for watch in &watches {
        refuse(&world, watch).await;
    }
    world.fails(ErrorClass::UnknownResource).await;

    let troubles = world.informer.status().troubles();
    assert_eq!(troubles.len(), 1, "{troubles:?}");
    assert_eq!(troubles[0].remedy.as_deref(), Some(REMEDY));
}

#[tokio::test(start_paused = true)]
async fn objects_are_deleted_once_no_version_is_served() {
    let (world, watch) = watching().await;
    serve(&world.script, &[]);
    refuse(&world, &watch).await;
    deletes(&world).await;

    // The other version was served for a time.
    let (world, watch) = watching().await;
    serve(&world.script, &["v1"]);
    refuse(&world, &watch).await;
    world.fails(ErrorClass::UnknownResource).await;
    // One answer of a server that lags behind deletes no object.
    world.script.path(NEW, Answer::status(404, "404 page not found"));
    tokio::time::sleep(Duration::from_secs(60)).await;
    assert_eq!(world.cached(), ["shop/a@1"]);

    serve(&world.script, &[]);
    deletes(&world).await;
}

/// The group has another version, but that version does not have the resource.
#[tokio::test(start_paused = true)]
async fn another_version_without_the_resource_does_not_keep_the_objects() {
    let (world, watch) = watching().await;
    serve(&world.script, &["v1"]);
    world.script.always(NEW, Some(json!({"resources": []})));
    refuse(&world, &watch).await;

    deletes(&world).await;
}

async fn shows(world: &World, expected: &str) {
    eventually(
        expected,
        || world.informer.status().to_string().contains(expected),
        || world.informer.status().to_string(),
    )
    .await;
}

/// The aggregated API server of this version does not run.
fn break_off(script: &Script, path: &str) {
    for _ in 0..1_000 {
        script.path(path, Answer::error(503, "ServiceUnavailable", "the service is unavailable"));
    }
}

/// This identity may not read the path.
fn hide(script: &Script, path: &str) {
    for _ in 0..1_000 {
        script.path(path, Answer::error(403, "Forbidden", "User \"jane\" cannot get this path"));
    }
}

#[tokio::test(start_paused = true)]
async fn objects_are_kept_while_the_other_version_cannot_be_looked_up() {
    let (world, watch) = watching().await;
    serve(&world.script, &["v1"]);
    break_off(&world.script, NEW);
    refuse(&world, &watch).await;

    let text = world.fails(ErrorClass::UnknownResource).await;
    assert!(text.starts_with(UNANSWERED) && text.contains("503 Service Unavailable"), "{text}");
    assert!(text.ends_with(&format!("(GET {NEW})")), "{text}");
    tokio::time::sleep(Duration::from_secs(60)).await;
    assert_eq!((world.cached(), world.received().len()), (vec!["shop/a@1".to_owned()], 1));

    serve(&world.script, &["v1"]);
    shows(&world, MOVED).await;
    serve(&world.script, &[]);
    deletes(&world).await;
}

/// The informer has no objects, so the other version only improves the text. A plugin waits for such an informer until the server
/// answers that it does not serve the resource.
#[tokio::test(start_paused = true)]
async fn an_informer_whose_other_version_cannot_be_looked_up_waits_as_for_a_missing_crd() {
    let other = json!({"resources": [{"name": "others", "kind": "Other", "namespaced": true, "verbs": ["list", "watch"]}]});
    for (left, broken) in [(None, NEW), (Some(other.clone()), NEW), (Some(other), "/apis")] {
        let script = Script::new();
        serve(&script, &["v1"]);
        script.always(OLD, left);
        break_off(&script, broken);
        let world = World::start_with(script, config(), old());

        assert!(!world.informer.wait_synced_or_unserved().await);

        let status = world.informer.status();
        assert_eq!((status.phase, status.counters.failures), (Phase::WaitingForResource, 0));
        assert!(status.to_string().contains(UNANSWERED), "{status}");
        serve(&world.script, &["v1"]);
        shows(&world, MOVED).await;
    }
}

/// The server prefers `v2`, and the lookup of `v2` fails.
#[tokio::test(start_paused = true)]
async fn a_version_that_cannot_be_looked_up_does_not_hide_the_served_one() {
    for make_unreadable in [hide, break_off] {
        let (world, watch) = watching().await;
        serve(&world.script, &["v2", "v1"]);
        make_unreadable(&world.script, "/apis/shop.example.com/v2");
        refuse(&world, &watch).await;

        assert_eq!(world.fails(ErrorClass::UnknownResource).await, MOVED);
        assert_eq!(world.cached(), ["shop/a@1"]);
    }
}

/// The role of an identity may hide the list of all groups, and the versions of a group, too.
#[tokio::test(start_paused = true)]
async fn objects_are_kept_if_the_identity_may_not_read_the_versions_of_the_group() {
    let (world, watch) = watching().await;
    serve(&world.script, &["v1"]);
    hide(&world.script, "/apis");
    hide(&world.script, GROUP);
    refuse(&world, &watch).await;

    let text = world.fails(ErrorClass::UnknownResource).await;
    assert_eq!(
        text,
        "shop.example.com/v1beta1/pods is not served, and this identity may not look up whether another version of it is"
    );
    let remedy = world.informer.status().troubles()[0].remedy.clone().unwrap();
    assert_eq!(
        remedy,
        "bind this identity to the ClusterRole system:discovery, install the CRD, or correct the gvr"
    );
    assert_eq!(world.cached(), ["shop/a@1"]);

    world.script.always(GROUP, Some(group(&["v1"])));
    shows(&world, MOVED).await;
    world.script.always(GROUP, None);
    deletes(&world).await;
}

/// The configuration names a version that was removed before the start.
#[tokio::test(start_paused = true)]
async fn an_informer_that_starts_with_a_removed_version_waits_and_names_the_served_one() {
    let script = Script::new();
    serve(&script, &["v1"]);
    let world = World::start_with(script, config(), old());

    assert!(!world.informer.wait_synced_or_unserved().await);

    let line = world.informer.status().to_string();
    let start = format!(
        "shop.example.com/v1beta1/pods: waiting-for-resource, not synced, 0 objects; waiting for the resource to be served: {MOVED}; "
    );
    assert!(line.starts_with(&start) && line.ends_with(&format!("; what helps: {REMEDY}")), "{line}");
    assert_eq!(world.informer.status().counters.failures, 0);
    world.script.list(Answer::list("10", &[item("a", "1")]));
    serve(&world.script, &["v1", "v1beta1"]);
    world.caches(&["shop/a@1"]).await;
}
