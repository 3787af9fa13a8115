//! Quarantine: a failing plugin is not called, and later receives what changed meanwhile.

use std::fs;

use informer_devserver::DevServer;
use informer_guests::guest;
use informer_tests::{
    host::TestHost,
    toml::{plugin, watch},
};
use serde_json::Value;

use crate::{
    configmaps::ConfigMaps,
    echo::{assert_each_object_in_order_and_once, calls, last_versions},
    reload::replace,
};

/// No probe is due within the test, so only the repaired file ends the quarantine.
fn configuration(bad: &std::path::Path) -> String {
    let quarantine = "[plugin.quarantine]\nafter = 3\nmin = \"1h\"\nmax = \"2h\"";
    watch("v1/configmaps")
        + &plugin("good", &guest("echo"), "v1/configmaps", "")
        + &plugin("bad", bad, "v1/configmaps", quarantine)
}

#[tokio::test(flavor = "multi_thread")]
async fn a_trapping_plugin_is_quarantined_and_receives_what_changed_when_its_file_is_repaired() {
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
    // The component of the other plugin may be compiled later.
    host.until("a host that is ready for the other plugins", |_| host.unready().is_empty()).await;
    let status = host.status();
    let degraded = status["degraded"][0].as_str().unwrap();
    assert!(degraded.starts_with("plugin bad: in quarantine for "), "{degraded}");
    assert!(degraded.contains("; deliveries wait: trap: "), "{degraded}");

    objects.update("a", 1).await;
    objects.update("a", 2).await;
    objects.create("d").await;
    objects.create("e").await;
    // A creation and a deletion that are both pending would merge into nothing (point 4 of the contract).
    host.lines.until("good", "e", |lines| lines.iter().any(|line| line.starts_with("add default/e "))).await;
    objects.delete("e").await;
    let expected = objects.versions().await;
    host.lines
        .until("good", "all of it", |lines| {
            last_versions(&calls(lines)) == expected && calls(lines).iter().any(|call| call.verb == "delete")
        })
        .await;
    host.until("everything merged", |_| host.plugin("bad")["queue"]["offered"] == 8).await;
    assert_eq!(host.plugin("bad")["calls"]["made"], made, "the plugin must not be called");

    fs::copy(guest("echo"), path.with_extension("new")).unwrap();
    fs::rename(path.with_extension("new"), &path).unwrap();

    host.lines.until("bad", "what changed since", |lines| last_versions(&calls(lines)) == expected).await;
    let delivered = calls(&host.lines.of("bad"));
    assert_each_object_in_order_and_once(&delivered);
    assert_eq!(
        delivered.len(),
        4,
        "expected the newest state of a, b, c and d, and nothing for e: {delivered:?}"
    );
    host.until("the end of it", |status| status["degraded"].as_array().unwrap().is_empty()).await;
    let queue = host.plugin("bad")["queue"].clone();
    assert_eq!((&queue["quarantine"], &queue["dead"], &queue["pending"]), (&().into(), &0.into(), &0.into()));
    assert_eq!(queue["quarantines"], 1);

    // The neighbour gets each call once, and none fails.
    let received = calls(&host.lines.of("good"));
    assert_each_object_in_order_and_once(&received);
    assert!(received.iter().all(|call| call.attempt == 1), "{received:?}");
    host.stop().await;
}

/// The fifth failure in a row starts a quarantine and removes the new version from service.
#[tokio::test(flavor = "multi_thread")]
async fn the_restored_version_is_called_at_once() {
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
async fn every_change_is_delivered_with_delivery_every() {
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

    // The call for the addition ends when the other changes are pending.
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
