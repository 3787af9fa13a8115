//! The status line that an operator reads: what is wrong, for how long, how often, when it is tried again, and what
//! helps. In client-go, none of this can be read from an informer.

use std::time::Duration;

use informer_cache::{ErrorClass, InformerStatus, Phase, WatchConfig};
use serde_json::json;

use crate::{
    server::{Answer, Script},
    world::{World, config, core_v1, event, pod, pods, status},
};

/// The informer's status line after this number of failures in a row.
async fn failed(world: &World, times: u32) -> String {
    let status = || world.informer.status();
    crate::world::eventually(
        &format!("{times} failures"),
        || status().reflectors[0].consecutive_failures == times && status().phase == Phase::BackingOff,
        || status().to_string(),
    )
    .await;
    status().to_string()
}

fn only_trouble(status: &InformerStatus) -> String {
    let troubles = status.troubles();
    assert_eq!(troubles.len(), 1, "{troubles:?}");
    troubles[0].to_string()
}

#[tokio::test(start_paused = true)]
async fn the_status_of_an_informer_whose_server_is_down() {
    let script = Script::new();
    for _ in 0..3 {
        script.path("/api/v1", Answer::Refused);
    }
    let world = World::start(script);

    assert_eq!(
        failed(&world, 3).await,
        "v1/pods: backing-off, not synced, 0 objects; cannot look up v1/pods: the API server at \
         http://scripted cannot be reached: connection refused (GET /api/v1); is it running?; failed 3 times in \
         3 s; it is tried again in 4 s; what helps: start the API server, or correct its address"
    );
    let status = world.informer.status();
    let because = status.unsynced_because().unwrap();
    assert!(because.starts_with("cannot look up v1/pods"), "{because}");
    let trouble = &status.troubles()[0];
    assert_eq!((trouble.class, trouble.failures), (Some(ErrorClass::Refused), 3));
}

#[tokio::test(start_paused = true)]
async fn the_status_of_a_synced_informer_whose_server_goes_down() {
    let (world, watch) = World::watching(Script::new(), pods()).await;
    tokio::time::sleep(Duration::from_secs(2)).await;
    for _ in 0..9 {
        world.script.watch(Answer::Refused);
    }
    watch.reset();

    assert_eq!(
        failed(&world, 2).await,
        "v1/pods: backing-off, synced, 1 object, data as of 3 s ago; cannot watch v1/pods: the API server at \
         http://scripted cannot be reached: connection refused (WATCH v1/pods); is it running?; failed 2 times in \
         1 s; it is tried again in 2 s; what helps: start the API server, or correct its address"
    );
    assert_eq!(world.informer.status().unsynced_because(), None);
}

/// A request that is not answered in time fails, and the informer goes on with a backoff.
#[tokio::test(start_paused = true)]
async fn the_status_of_an_informer_whose_server_is_slow() {
    let script = Script::new();
    let (_list, answer) = Answer::live(200);
    script.list(answer);
    let world = World::start(script);
    tokio::time::sleep(Duration::from_secs(4)).await;
    assert!(world.informer.status().troubles().is_empty());
    assert_eq!(
        world.informer.status().to_string(),
        "v1/pods: listing, not synced, 0 objects; unsynced because the first list of v1/pods is not complete yet"
    );

    tokio::time::sleep(Duration::from_secs(41)).await;
    assert_eq!(
        only_trouble(&world.informer.status()),
        "the API server is slow: the first list of v1/pods is not complete yet; for 45 s"
    );

    // The request times out.
    tokio::time::sleep(Duration::from_millis(45_200)).await;
    assert_eq!(
        only_trouble(&world.informer.status()),
        "cannot list v1/pods: the API server at http://scripted sent nothing for 90 s (LIST v1/pods); failed once, \
         1 s ago; it is tried again in 1 s; what helps: the API server or a proxy in front of it is overloaded or \
         delays answers"
    );
}

/// A list precedes each watch of a server without versions.
#[tokio::test(start_paused = true)]
async fn the_status_of_an_informer_without_versions_whose_later_list_is_slow() {
    let script = Script::new();
    script.list(Answer::list("", &[pod("a", "")]));
    script.watch(Answer::watch(&[event("ADDED", pod("a", ""))]));
    let (_list, answer) = Answer::live(200);
    script.list(answer);
    let world = World::start(script);
    world.watches(1).await;

    tokio::time::sleep(Duration::from_secs(46)).await;

    let trouble = only_trouble(&world.informer.status());
    assert!(trouble.starts_with("the API server is slow: a list of v1/pods"), "{trouble}");
}

/// The status takes the place of client-go's watch-error handler.
#[tokio::test(start_paused = true)]
async fn the_status_of_an_informer_without_permission_names_the_missing_rule() {
    let script = Script::new();
    let words = "pods is forbidden: User \"jane\" cannot list resource \"pods\"";
    script.list(Answer::error(403, "Forbidden", words));
    let world =
        World::start_with(script, config(), WatchConfig { namespaces: vec!["shop".to_owned()], ..pods() });

    assert_eq!(
        failed(&world, 1).await,
        format!(
            "v1/pods in shop: backing-off, not synced, 0 objects; cannot list v1/pods in namespace shop: the API \
             server at http://scripted answered 403 Forbidden: {words} (LIST v1/pods in namespace shop); grant \
             get, list and watch on it to this identity; failed once, 1 s ago; it is tried again in 1 s; what \
             helps: bind this identity to a Role in namespace shop with the rule {{apiGroups: [\"\"], resources: \
             [\"pods\"], verbs: [\"list\", \"watch\"]}}"
        )
    );
}

#[tokio::test(start_paused = true)]
async fn the_status_after_the_server_compacted_its_history() {
    let (world, watch) = World::watching(Script::new(), pods()).await;

    watch.frame(&event("ERROR", status(410, "Expired", "too old resource version: 10 (99)")));

    assert_eq!(
        failed(&world, 1).await,
        "v1/pods: backing-off, synced, 1 object, data as of 1 s ago; cannot watch v1/pods: the API server at \
         http://scripted answered 410 Gone: too old resource version: 10 (99) (WATCH v1/pods); failed once, 1 s ago; it is tried again in \
         1 s; what helps: the informer relists by itself, because the API server no longer has this resource \
         version: it has restarted, or its history was compacted; only intermediate states are missed"
    );
}

#[tokio::test(start_paused = true)]
async fn the_status_of_an_informer_whose_server_does_not_send_json() {
    let script = Script::new();
    script.list(Answer::ok("OK, but no JSON"));
    let world = World::start(script);

    let line = failed(&world, 1).await;

    assert!(
        line.contains("answered with a text that is not JSON: expected value at line 1 column 1"),
        "{line}"
    );
    assert!(
        line.ends_with(
            "what helps: check that the address is that of an API server and that no proxy changes its answers"
        ),
        "{line}"
    );
}

#[tokio::test(start_paused = true)]
async fn the_status_of_an_informer_whose_resource_is_not_served() {
    let script = Script::new();
    let world =
        World::start_with(script, config(), WatchConfig::new("shop.example.com/v1/orders".parse().unwrap()));
    world.fails(ErrorClass::UnknownResource).await;
    tokio::time::sleep(Duration::from_secs(130)).await;

    let line = world.informer.status().to_string();

    let (before, after) = line.split_once("; it is tried again in ").unwrap();
    assert_eq!(
        before,
        "shop.example.com/v1/orders: waiting-for-resource, not synced, 0 objects; waiting for the resource to be \
         served: http://scripted has no API shop.example.com/v1; for 2 min 11 s"
    );
    assert!(
        after.ends_with(
            "; what helps: install the CRD orders.shop.example.com that serves v1, or correct the gvr"
        ),
        "{after}"
    );
}

#[tokio::test(start_paused = true)]
async fn the_status_of_an_informer_with_an_undecodable_object() {
    let mut bad = pod("bad", "2");
    bad["metadata"]["labels"] = json!(7);
    let world = World::listing("10", &[pod("a", "1"), bad]);
    world.informer.wait_synced().await;

    let line = only_trouble(&world.informer.status());

    assert!(line.starts_with("shop/bad cannot be decoded: its metadata cannot be read: "), "{line}");
    assert!(
        line.ends_with(
            "; what helps: repair the object; the cache keeps its last good state and reads its next event"
        ),
        "{line}"
    );
}

#[tokio::test(start_paused = true)]
async fn an_informer_has_recovered_after_a_second_of_watching() {
    let script = Script::new();
    script.always("/api/v1", Some(core_v1()));
    script.list(Answer::error(500, "InternalError", "etcd is busy"));
    script.list(Answer::list("10", &[pod("a", "1")]));
    let world = World::start(script);
    failed(&world, 1).await;
    world.watches(1).await;
    tokio::time::sleep(Duration::from_secs(1)).await;

    let status = world.informer.status();

    assert_eq!(status.to_string(), "v1/pods: watching, synced, 1 object");
    assert!(status.troubles().is_empty());
    let reflector = &status.reflectors[0];
    assert_eq!((reflector.consecutive_failures, reflector.failing_for, reflector.retry_in), (0, None, None));
    // The last error is kept.
    assert_eq!(reflector.last_error.as_ref().unwrap().class, ErrorClass::Server);
    assert_eq!(status.last_synced_version.as_deref(), Some("10"));
    assert_eq!(reflector.lag, Duration::ZERO);
}

#[tokio::test(start_paused = true)]
async fn an_api_server_that_fills_its_watch_cache_is_not_reported_as_overloaded() {
    let script = Script::new();
    script.list(Answer::error(429, "TooManyRequests", "storage is (re)initializing"));
    let world = World::start(script);

    let line = failed(&world, 1).await;

    assert!(
        line.ends_with(
            "what helps: wait: the API server has just started, or has lost etcd, and still fills its watch cache"
        ),
        "{line}"
    );
}

#[tokio::test(start_paused = true)]
async fn the_status_says_how_old_the_data_is_while_the_server_does_not_answer() {
    let script = Script::new();
    script.list(Answer::list("10", &[pod("a", "1")]));
    let watch = script.live_watch();
    for _ in 0..30 {
        script.list(Answer::error(500, "InternalError", "etcd is away"));
    }
    let world = World::start(script);
    world.watches(1).await;
    assert_eq!(world.informer.status().age_in_words(), None);

    watch.frame(&event("ERROR", status(410, "Expired", "too old")));
    tokio::time::sleep(Duration::from_secs(185)).await;

    let line = world.informer.status().to_string();
    assert!(line.starts_with("v1/pods: backing-off, synced, 1 object, data as of 3 min "), "{line}");
}

#[tokio::test(start_paused = true)]
async fn a_watch_that_is_open_and_sends_nothing_is_visible_in_the_status() {
    let (world, watch) = World::watching(Script::new(), pods()).await;

    tokio::time::sleep(Duration::from_secs(100)).await;
    let silent = world.informer.status().age_in_words().unwrap();
    assert!(
        silent.starts_with("the API server accepted the watch and has sent nothing for 1 min 4"),
        "{silent}"
    );

    watch.frame(&event("BOOKMARK", pod("", "11")));
    tokio::time::sleep(Duration::from_secs(1)).await;
    assert_eq!(world.informer.status().age_in_words(), None);
}

#[tokio::test(start_paused = true)]
async fn a_watch_that_is_open_again_is_not_reported_as_failing() {
    let script = Script::new();
    script.list(Answer::error(500, "InternalError", "etcd is away"));
    script.list(Answer::list("10", &[pod("a", "1")]));
    let _watch = script.live_watch();
    let world = World::start(script);
    world.watches(1).await;

    let line = world.informer.status().to_string();
    assert!(
        line.contains("watching, synced, 1 object; watching again; before that: cannot list v1/pods"),
        "{line}"
    );
    assert!(!line.contains("what helps"), "{line}");

    tokio::time::sleep(Duration::from_secs(1)).await;
    assert_eq!(world.informer.status().to_string(), "v1/pods: watching, synced, 1 object");
}
