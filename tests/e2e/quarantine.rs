//! A plugin that does not work is left alone, and hears afterwards what changed since.

use std::fs;

use informer_devserver::DevServer;
use informer_guests::guest;
use informer_tests::host::TestHost;
use serde_json::Value;

use crate::{
    configmaps::ConfigMaps,
    echo::{assert_each_object_in_order_and_once, calls, last_versions},
    reload::replace,
};

/// No probe comes by itself within the test, so only the mended file can end it.
fn configuration(bad: &std::path::Path) -> String {
    format!(
        r#"
        [[watch]]
        gvr = "v1/configmaps"
        [[plugin]]
        name = "good"
        source = {good:?}
          [[plugin.on]]
          watch = "v1/configmaps"
        [[plugin]]
        name = "bad"
        source = {bad:?}
          [[plugin.on]]
          watch = "v1/configmaps"
          [plugin.quarantine]
          after = 3
          min = "1h"
          max = "2h"
        "#,
        good = guest("echo"),
    )
}

#[tokio::test(flavor = "multi_thread")]
async fn a_plugin_that_traps_is_left_alone_until_its_file_is_mended_and_then_hears_what_changed_since() {
    let server = DevServer::start(informer_devserver::Config::default()).await.unwrap();
    let objects = ConfigMaps::at(&server.url()).await;
    for name in ["a", "b", "c"] {
        objects.create(name).await;
    }
    let directory = tempfile::tempdir().unwrap();
    let path = directory.path().join("bad.wasm");
    fs::copy(guest("trap"), &path).unwrap();
    let host = TestHost::start(&server.url(), &configuration(&path)).await.unwrap();

    host.until("a quarantine", |_| host.plugin("bad")["queue"]["quarantine"].is_object()).await;
    let made = host.plugin("bad")["calls"]["made"].clone();
    assert_eq!(made, 3);
    assert_eq!(host.unready(), Vec::<String>::new(), "the others are served");
    let status = host.status();
    let degraded = status["degraded"][0].as_str().unwrap();
    assert!(degraded.starts_with("plugin bad: in quarantine for "), "{degraded}");
    assert!(degraded.contains("; what happens meanwhile waits: trap: "), "{degraded}");

    objects.update("a", 1).await;
    objects.update("a", 2).await;
    objects.create("d").await;
    objects.create("e").await;
    // A creation and a deletion that meet in its queue would be nothing to hear of (point 5).
    host.lines.until("good", "e", |lines| lines.iter().any(|line| line.starts_with("add default/e "))).await;
    objects.delete("e").await;
    let expected = objects.versions().await;
    host.lines
        .until("good", "all of it", |lines| {
            last_versions(&calls(lines)) == expected && calls(lines).iter().any(|call| call.verb == "delete")
        })
        .await;
    host.until("everything merged", |_| host.plugin("bad")["queue"]["offered"] == 8).await;
    assert_eq!(host.plugin("bad")["calls"]["made"], made, "it is left alone");

    fs::copy(guest("echo"), path.with_extension("new")).unwrap();
    fs::rename(path.with_extension("new"), &path).unwrap();

    host.lines.until("bad", "what changed since", |lines| last_versions(&calls(lines)) == expected).await;
    let told = calls(&host.lines.of("bad"));
    assert_each_object_in_order_and_once(&told);
    assert_eq!(told.len(), 4, "the newest of a, b, c and d, and nothing of e: {told:?}");
    host.until("the end of it", |status| status["degraded"].as_array().unwrap().is_empty()).await;
    let queue = host.plugin("bad")["queue"].clone();
    assert_eq!((&queue["quarantine"], &queue["dead"], &queue["pending"]), (&().into(), &0.into(), &0.into()));
    assert_eq!(queue["quarantines"], 1);

    // The neighbour: each call once, none failed.
    let heard = calls(&host.lines.of("good"));
    assert_each_object_in_order_and_once(&heard);
    assert!(heard.iter().all(|call| call.attempt == 1), "{heard:?}");
    host.stop().await;
}

/// The fifth failure in a row leads to a quarantine, and takes the new version out of service.
#[tokio::test(flavor = "multi_thread")]
async fn the_version_that_comes_back_is_called_at_once_whatever_the_one_that_failed_did() {
    let server = DevServer::start(informer_devserver::Config::default()).await.unwrap();
    let objects = ConfigMaps::at(&server.url()).await;
    let directory = tempfile::tempdir().unwrap();
    let path = directory.path().join("bad.wasm");
    fs::copy(guest("echo"), &path).unwrap();
    let configuration = configuration(&path).replace("after = 3", "after = 5");
    let host = TestHost::start(&server.url(), &configuration).await.unwrap();
    host.synced().await;
    replace(&path, &fs::read(guest("trap")).unwrap());
    host.until("the bad version", |_| host.plugin("bad")["calls"]["swaps"] == 2).await;

    for name in ["a", "b", "c", "d", "e"] {
        objects.create(name).await;
    }
    let expected = objects.versions().await;

    host.lines.until("bad", "all of it", |lines| last_versions(&calls(lines)) == expected).await;
    let plugin = host.plugin("bad");
    assert_eq!((&plugin["calls"]["went-back"], &plugin["queue"]["quarantines"]), (&1.into(), &0.into()));
    host.stop().await;
}

#[tokio::test(flavor = "multi_thread")]
async fn every_change_is_delivered_where_that_was_asked_for() {
    let server = DevServer::start(informer_devserver::Config::default()).await.unwrap();
    let objects = ConfigMaps::at(&server.url()).await;
    let plugin = |name: &str, queue: &str| {
        format!(
            "[[plugin]]\nname = \"{name}\"\nsource = {:?}\nqueue = {{ {queue} }}\n\
             config = {{ hold = \"web\", until = \"default/open\" }}\nlimits = {{ deadline = \"10m\" }}\n\
             grant = {{ read = [\"v1/configmaps\"] }}\n\
             on = [{{ watch = \"v1/configmaps\", labels = \"!unheard\" }}]\n",
            guest("witness"),
        )
    };
    let configuration = format!(
        "[[watch]]\ngvr = \"v1/configmaps\"\n{}{}",
        plugin("every", "delivery = \"every\""),
        plugin("latest", ""),
    );
    let host = TestHost::start(&server.url(), &configuration).await.unwrap();
    host.synced().await;

    // The call about the addition ends once the rest waits behind it.
    objects.create("web").await;
    for round in 0..30 {
        objects.update("web", round).await;
    }
    let both = |condition: &dyn Fn(&Value) -> bool| {
        ["every", "latest"].iter().all(|name| condition(&host.plugin(name)["queue"]))
    };
    host.until("everything in both queues", |_| both(&|queue| queue["offered"] == 31)).await;
    objects.create_labelled("open", "unheard").await;

    host.until("both queues to run empty", |_| {
        both(&|queue| queue["pending"] == 0 && queue["in-flight"] == 0)
    })
    .await;
    assert_eq!(host.plugin("every")["queue"]["acknowledged"], 31);
    let merged = &host.plugin("latest")["queue"];
    assert!(merged["acknowledged"].as_u64().unwrap() < 31, "{merged:#}");
    host.stop().await;
}
