//! An API server denies a resource for a moment, while the watch of the resource changes.

use std::fs;

use http::StatusCode;
use informer::{config::Access, connect::connect};
use informer_devserver::DevServer;
use informer_tests::{
    gateway::{Fault, Gateway},
    host::TestHost,
};
use serde_json::Value;

use super::configuration::{file, plugin};
use crate::configmaps::ConfigMaps;

/// The request that looks up the resources of the core group.
const LOOKUP: &str = "/api/v1";

/// One of several API servers may be behind. Its answer must not delete what the others serve.
#[tokio::test(flavor = "multi_thread")]
async fn a_denial_while_a_watch_changes_deletes_nothing_and_the_previous_informer_serves_on() {
    let server = DevServer::start(informer_devserver::Config::default()).await.unwrap();
    let objects = ConfigMaps::at(&server.url()).await;
    objects.create("one").await;
    let client = connect(&Access::Server(server.url().parse().unwrap())).await.unwrap().client;
    let gateway = Gateway::start(client).await.unwrap();
    let directory = tempfile::tempdir().unwrap();
    let path = directory.path().join("informer.toml");
    let plugins = [plugin("a", "echo", "")];
    fs::write(&path, file("", &plugins)).unwrap();
    let host = TestHost::start_file(&gateway.url(), &path).await.unwrap();
    host.synced().await;
    host.lines.said("a", "add default/one ", "").await;

    gateway.fail(|passed| (passed.path == LOOKUP).then_some(Fault::Refused(StatusCode::NOT_FOUND)));
    super::replace(&path, file("drop = []", &plugins).as_bytes());
    host.app().reload(None).await.unwrap();
    host.until("the new informer waits for the resource", |status| {
        let informers = status["informers"].as_array().unwrap();
        informers.iter().any(|one| one["phase"] == "waiting-for-resource")
    })
    .await;
    objects.create("two").await;
    host.lines.said("a", "add default/two ", "").await;
    assert_eq!(host.cached("v1/configmaps").len(), 2);

    gateway.heal();
    let serves = |status: &Value| {
        let informers = status["informers"].as_array().unwrap();
        informers.len() == 1 && informers[0]["synced"] == true && informers[0]["superseded"] != true
    };
    host.until("the new informer serves", serves).await;
    objects.create("three").await;
    host.lines.said("a", "add default/three ", "").await;

    let lines = host.lines.of("a");
    assert!(!lines.iter().any(|line| line.starts_with("delete ")), "{lines:?}");
    host.stop().await;
    server.shutdown().await;
}
