//! Point 13: objects that have to be quiet before their changes are delivered (D-19).

use std::fs;

use informer_guests::guest;
use informer_tests::{
    host::{PATIENCE, TestHost},
    toml::{plugin, watch},
};

use super::{
    Stage,
    witness::{WITNESS, calls, story, wait_for_calls},
};
use crate::reload::replace;

#[tokio::test(flavor = "multi_thread")]
async fn changes_are_delivered_as_one_call_once_the_object_is_quiet() {
    let stage = Stage::new().await;
    let objects = &stage.objects;
    objects.create("old").await;
    let before = objects.versions().await;
    let host = stage.host(WITNESS, "settle = \"10s\"", "").await;
    host.synced().await;

    objects.create("new").await;
    for round in 1..=3 {
        objects.update("old", round).await;
        objects.update("new", round).await;
    }
    host.until("both to wait", |_| {
        let queue = &host.plugin(WITNESS)["queue"];
        queue["delayed"] == 2 && queue["settling"] == 2
    })
    .await;
    wait_for_calls(&host, 3).await;

    let mut told = story(&host, "");
    told.sort();
    assert_eq!(told, ["add new live", "add old initial", "update old live"]);
    let after = objects.versions().await;
    for call in &calls(&host.lines.of(WITNESS))[1..] {
        assert_eq!((call.round.as_str(), call.version), ("3", after[&format!("default/{}", call.name)]));
        assert!(call.verb == "add" || call.old == before["default/old"].to_string(), "{call:?}");
    }
    host.stop().await;
}

#[tokio::test(flavor = "multi_thread")]
async fn deletions_and_the_end_of_the_host_wait_for_no_object() {
    let stage = Stage::new().await;
    let objects = &stage.objects;
    objects.create("gone").await;
    objects.create("changed").await;
    let host = stage.host(WITNESS, "settle = \"1m\"", "").await;
    host.synced().await;

    objects.update("gone", 1).await;
    objects.update("changed", 1).await;
    host.until("both to wait", |_| host.plugin(WITNESS)["queue"]["settling"] == 2).await;
    objects.delete("gone").await;
    host.lines.said(WITNESS, "delete default/gone ", "").await;
    assert_eq!(host.plugin(WITNESS)["queue"]["settling"], 1);
    let metrics = host.metrics();
    assert!(metrics.contains("informer_queue_delayed{plugin=\"witness\"} 1.0\n"), "{metrics}");

    let lines = host.lines.clone();
    host.stop().await;

    let last = calls(&lines.of(WITNESS)).pop().unwrap();
    assert_eq!((last.verb.as_str(), last.name.as_str(), last.round.as_str()), ("update", "changed", "1"));
}

#[tokio::test(flavor = "multi_thread")]
async fn a_component_without_handlers_gets_the_keys_of_quiet_objects_and_a_reload_ends_the_wait() {
    let stage = Stage::new().await;
    let source = tokio::task::spawn_blocking(|| guest("reconciles")).await.unwrap();
    let text = |settle: &str| {
        let lines = format!("settle = \"{settle}\"");
        "[host]\nadmin = \"off\"\nstate-dir = \"off\"\n".to_owned()
            + &watch("v1/configmaps")
            + &plugin("controller", &source, "v1/configmaps", &lines)
    };
    let directory = tempfile::tempdir().unwrap();
    let path = directory.path().join("informer.toml");
    fs::write(&path, text("1m")).unwrap();
    stage.objects.create("old").await;
    let host = TestHost::start_file(&stage.server.url(), &path).await.unwrap();
    host.synced().await;
    host.lines.said("controller", "reconcile default/old ", "").await;

    stage.objects.create("new").await;
    stage.objects.update("new", 1).await;
    host.until("the object to wait", |_| host.plugin("controller")["queue"]["settling"] == 1).await;
    replace(&path, text("0s").as_bytes());
    let reload = tokio::time::timeout(PATIENCE, host.app().reload(None));
    reload.await.unwrap().unwrap();

    host.lines.said("controller", "reconcile default/new ", "").await;
    let new =
        |lines: &[String]| lines.iter().filter(|line| line.starts_with("reconcile default/new ")).count();
    assert_eq!(new(&host.lines.of("controller")), 1);
    host.stop().await;
}
