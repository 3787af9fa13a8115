//! The informer over real connections, where frames are split anywhere and sockets break.

use std::time::Duration;

use informer_cache::{BackoffConfig, ErrorClass, FactoryConfig};
use tokio::task::JoinSet;

use crate::{
    server::{Answer, Script},
    world::{World, config, event, pod, pods},
};

fn quick() -> FactoryConfig {
    let mut backoff = BackoffConfig::default();
    backoff.backoff.min = Duration::from_millis(20);
    FactoryConfig { backoff, ..config() }
}

fn client(server: &str) -> kube::Client {
    let mut config = kube::Config::new(server.parse().unwrap());
    config.default_retry = false;
    kube::Client::try_from(config).unwrap()
}

async fn start(script: Script) -> (World, JoinSet<()>) {
    let (address, tasks) = script.serve().await;
    (World::start_on(client(&format!("http://{address}")), script, quick(), pods()), tasks)
}

/// Scenario 114.
#[tokio::test]
async fn frames_may_be_split_at_any_byte() {
    let script = Script::new();
    let (list, answer) = Answer::live(200);
    script.list(answer);
    let watch = script.live_watch();
    let (world, _server) = start(script).await;
    let text = format!(
        r#" {{"kind":"PodList", "items":[{} , {}],"metadata":{{"resourceVersion":"10"}}}}"#,
        pod("ä", "1"),
        pod("b", "2")
    );
    text.as_bytes().chunks(3).for_each(|chunk| list.bytes(chunk));
    list.end();
    world.caches(&["shop/b@2", "shop/ä@1"]).await;

    let frames = format!("{}\n\n{}\n", event("MODIFIED", pod("ä", "11")), event("DELETED", pod("b", "12")));
    frames.as_bytes().chunks(5).for_each(|chunk| watch.bytes(chunk));

    world.caches(&["shop/ä@11"]).await;
}

/// A broken connection is a normal end of a watch (A-11).
#[tokio::test]
async fn a_watch_is_resumed_after_a_connection_reset() {
    let script = Script::new();
    script.list(Answer::list("10", &[]));
    let first = script.live_watch();
    let second = script.live_watch();
    let (world, _server) = start(script).await;

    first.event("ADDED", &pod("a", "11"));
    world.caches(&["shop/a@11"]).await;
    first.reset();
    second.event("ADDED", &pod("b", "12"));
    world.caches(&["shop/a@11", "shop/b@12"]).await;

    assert_eq!(world.watch_versions(), ["10", "11"]);
    assert_eq!(world.list_versions().len(), 1);
}

#[tokio::test]
async fn a_list_that_breaks_off_is_reported_and_retried() {
    let script = Script::new();
    let (list, answer) = Answer::live(200);
    list.bytes(r#"{"kind":"PodList","items":["#);
    list.reset();
    script.list(answer);
    script.list(Answer::list("10", &[pod("a", "1")]));
    let (world, _server) = start(script).await;

    assert!(
        world
            .fails(ErrorClass::Malformed)
            .await
            .contains("closed the connection in the middle of its answer")
    );
    world.caches(&["shop/a@1"]).await;
}

#[tokio::test]
async fn a_closed_port_is_reported_as_refused() {
    let script = Script::new();
    let (address, server) = script.serve().await;
    drop(server);
    let world = World::start_on(client(&format!("http://{address}")), script, quick(), pods());

    let text = world.fails(ErrorClass::Refused).await;

    assert!(text.contains("Connection refused") && text.contains("is it running?"), "{text}");
}

/// Scenario 16.
#[tokio::test]
async fn a_stop_closes_the_connections() {
    let script = Script::new();
    script.list(Answer::list("10", &[]));
    let watch = script.live_watch();
    let (world, _server) = start(script).await;
    world.watches(1).await;

    world.factory.shutdown().await;

    assert_eq!(world.informer.status().queued_deltas, 0);
    // The server notices it when it writes next.
    crate::world::eventually(
        "a closed watch",
        || {
            watch.frame(&crate::world::bookmark("11"));
            watch.is_closed()
        },
        || "an open one".to_owned(),
    )
    .await;
}

#[tokio::test]
async fn a_list_of_many_objects_is_applied_outside_the_executor() {
    let script = Script::new();
    let items: Vec<_> = (0..3_000).map(|number| pod(&format!("p{number}"), &number.to_string())).collect();
    script.list(Answer::list("10", &items));
    let watch = script.live_watch();
    let (world, _server) = start(script).await;
    watch.event("DELETED", &pod("p7", "11"));

    assert!(world.informer.wait_synced().await);
    crate::world::eventually("2999", || world.cached().len() == 2_999, || world.cached().len().to_string())
        .await;

    assert_eq!(world.received().len(), 3_001);
    assert_eq!(world.received()[3_000], "delete shop/p7@11 live");
}
