//! Grants that change while the plugin runs.

use informer::app::Verdict;
use informer_tests::proxy::Mode;

use super::configuration::{Stage, file, plugin, verdicts};
use crate::controllers::Pods;

#[tokio::test(flavor = "multi_thread")]
async fn a_plugin_that_needs_a_revoked_grant_stops_and_starts_again_with_the_grant() {
    let with = |write: &str| {
        file(
            "",
            &[plugin("a", "writer", &format!("grant = {{ read = []{write} }}")), plugin("b", "echo", "")],
        )
    };
    let granted = with(", write = [\"patch v1/configmaps\"]");
    let stage = Stage::new(&granted).await;

    let report = stage.reload(&with("")).await;
    assert_eq!(verdicts(&report), [("a", Verdict::Changed), ("a", Verdict::Refused)], "{report:?}");
    let unready = stage.host.unready();
    assert!(unready[0].starts_with("plugin a: no version in service: "), "{unready:?}");
    stage.receives("b", "three").await;

    // The component is loaded although its file did not change.
    stage.reload(&granted).await;
    stage.host.until("a version again", |_| stage.host.unready().is_empty()).await;
    stage
        .host
        .until("what came meanwhile", |_| {
            let queue = &stage.host.plugin("a")["queue"];
            queue["acknowledged"] == 3 && queue["pending"] == 0 && queue["dead"] == 0
        })
        .await;
    stage.end().await;
}

#[tokio::test(flavor = "multi_thread")]
async fn a_plugin_with_a_wider_grant_is_called_only_when_the_cache_is_complete() {
    let reads = |grant: &str| {
        let text = plugin(
            "a",
            "reader",
            &format!("grant = {{ {grant} }}\nconfig = {{ gvr = \"v1/configmaps\", what = \"list-meta\" }}"),
        );
        file("", &[format!("{text}fields = \"metadata.name=one\"\n")])
    };
    let (stage, wire) = Stage::through(&reads("read = []")).await;
    assert_eq!(stage.host.status()["informers"][0]["objects"], 1, "only the selected object must be cached");
    stage.objects.delete("one").await;
    stage.host.until("the deletion", |status| status["informers"][0]["objects"] == 0).await;
    let received = stage.host.lines.of("a").len();

    // The objects that the plugin may now read do not arrive yet.
    wire.set(Mode::Stall).await.unwrap();
    stage.reload(&reads("read = [\"v1/configmaps\"]")).await;
    assert_eq!(stage.host.plugin("a")["queue"]["paused"], true, "{:#}", stage.host.plugin("a"));
    stage.objects.create("one").await;
    wire.set(Mode::Pass).await.unwrap();

    stage.host.lines.until("a", "what it reads", |lines| lines.len() > received).await;
    stage.host.lines.until("a", "both", |lines| lines.len() >= received + 2).await;
    let mut read = stage.host.lines.of("a").split_off(received);
    read.sort();
    assert_eq!(read, ["default/one", "default/two"]);
    stage.end().await;
}

/// A plugin that subscribes to pods, and lists the ConfigMaps in each call.
fn reader(grant: &str) -> String {
    let more = format!("grant = {{ {grant} }}\nconfig = {{ gvr = \"v1/configmaps\", what = \"list-meta\" }}");
    plugin("a", "reader", &more).replace("watch = \"v1/configmaps\"", "watch = \"v1/pods\"")
}

/// A plugin whose subscription selects a single ConfigMap.
fn narrow() -> String {
    format!("{}fields = \"metadata.name=one\"\n", plugin("b", "echo", ""))
}

async fn a_new_grant_waits_for_the_cache(others: &[String]) {
    let pods = "[[watch]]\ngvr = \"v1/pods\"";
    let stage = Stage::new(&file(pods, &[reader("read = []"), narrow()])).await;
    assert!(stage.host.lines.of("a").is_empty());

    let plugins = [&[reader("read = [\"v1/configmaps\"]")], others].concat();
    stage.reload(&file(pods, &plugins)).await;
    Pods::at(&stage.url()).await.create("web").await;

    stage.host.lines.until("a", "both", |lines| lines.len() >= 2).await;
    let mut read = stage.host.lines.of("a");
    read.sort();
    assert_eq!(read, ["default/one", "default/two"]);
    stage.end().await;
}

#[tokio::test(flavor = "multi_thread")]
async fn a_grant_to_read_the_watch_of_another_plugin_takes_effect_when_its_cache_is_complete() {
    let others = tokio::task::block_in_place(|| [narrow()]);
    a_new_grant_waits_for_the_cache(&others).await;
}

#[tokio::test(flavor = "multi_thread")]
async fn a_grant_to_read_a_watch_without_subscribers_takes_effect_when_its_cache_is_complete() {
    a_new_grant_waits_for_the_cache(&[]).await;
}
