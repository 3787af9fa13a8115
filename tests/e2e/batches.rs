//! Components that take several notifications in one call.

use informer_devserver::DevServer;
use informer_guests::guest;
use informer_tests::{
    host::TestHost,
    toml::{plugin, watch},
};
use serde_json::json;

use crate::configmaps::ConfigMaps;

const NAME: &str = "batches";

async fn start(server: &DevServer, lines: &str) -> TestHost {
    let component = tokio::task::spawn_blocking(|| guest("batches")).await.unwrap();
    let toml = watch("v1/configmaps") + &plugin(NAME, &component, "v1/configmaps", lines);
    TestHost::start(&server.url(), &toml).await.unwrap()
}

/// The calls, each with the notifications that it had.
fn calls(host: &TestHost) -> Vec<Vec<String>> {
    let lines = host.lines.of(NAME);
    lines.iter().map(|line| line.split(", ").map(str::to_owned).collect()).collect()
}

#[tokio::test(flavor = "multi_thread")]
async fn a_call_has_what_is_pending_and_each_notification_comes_once() {
    let server = DevServer::start(informer_devserver::Config::default()).await.unwrap();
    let objects = ConfigMaps::at(&server.url()).await;
    let names: Vec<String> = (0..40).map(|number| format!("m{number}")).collect();
    for name in &names {
        objects.create(name).await;
    }
    let host = start(&server, "[plugin.queue]\nbatch = 8\n[plugin.config]\ntakes = 20\n").await;
    host.synced().await;
    host.until("all are delivered", |_| calls(&host).iter().flatten().count() >= names.len()).await;

    let calls = calls(&host);
    let mut added: Vec<_> = calls.iter().flatten().cloned().collect();
    let mut expected: Vec<_> = names.iter().map(|name| format!("add {name} ")).collect();
    added.sort();
    expected.sort();
    assert_eq!(added, expected);
    assert!(calls.iter().all(|call| call.len() <= 8) && calls.len() < names.len(), "{calls:?}");
    assert_eq!(host.plugin(NAME)["exports"], json!(["batch-handler"]));
    host.stop().await;
    server.shutdown().await;
}

#[tokio::test(flavor = "multi_thread")]
async fn an_object_that_breaks_the_handler_holds_up_no_other_and_becomes_a_dead_letter() {
    let server = DevServer::start(informer_devserver::Config::default()).await.unwrap();
    let objects = ConfigMaps::at(&server.url()).await;
    let names = ["a", "b", "bad", "c", "once", "twice"];
    for name in names {
        objects.create(name).await;
    }
    let config = "[plugin.retry]\nattempts = 2\nmin = \"1ms\"\n[plugin.config.outcomes]\n\
                  bad = \"trap\"\nonce = \"fail-once\"\ntwice = \"again\"\n";
    let host = start(&server, config).await;
    host.synced().await;

    host.until("the dead letter", |_| host.plugin(NAME)["queue"]["dead-letters"] == 1).await;
    host.lines.said(NAME, "update twice ", "").await;
    host.until("the rest is delivered", |_| host.plugin(NAME)["queue"]["acknowledged"] == 6).await;
    let queue = host.plugin(NAME)["queue"].clone();
    assert_eq!(queue["objects"], 0, "{queue:#}");
    host.stop().await;
    server.shutdown().await;
}
