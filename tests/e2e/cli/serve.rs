//! The commands that run until they are told to stop.

use std::{fs, time::Duration};

use informer_devserver::DevServer;
use informer_guests::guest;
use serde_json::Value;

use super::binary::Running;
use crate::configmaps::ConfigMaps;

/// Kubernetes waits 30 s before it kills; a host with nothing to do needs much less.
const SOON: Duration = Duration::from_secs(10);

#[tokio::test]
async fn run_serves_until_sigterm_and_then_ends_well() {
    let server = DevServer::start(informer_devserver::Config::default()).await.unwrap();
    ConfigMaps::at(&server.url()).await.create("something").await;
    let directory = tempfile::tempdir().unwrap();
    let path = directory.path().join("informer.toml");
    let configuration = format!(
        "[cluster]\nserver = \"{}\"\n[host]\nadmin = \"127.0.0.1:0\"\n[[watch]]\ngvr = \"v1/configmaps\"\n\
         [[plugin]]\nname = \"echo\"\nsource = {:?}\n[[plugin.on]]\nwatch = \"v1/configmaps\"\n",
        server.url(),
        guest("echo"),
    );
    fs::write(&path, configuration).unwrap();
    let mut host = Running::start(&["run", "--config", path.to_str().unwrap()]).await;
    let line = host.logged("add default/something ").await;
    assert!(line.contains("plugin=\"echo\""), "{line}");

    host.signal("TERM").await;

    host.logged("stopping: the calls in hand are finished").await;
    // The component's own `stop` is called before the last word.
    host.logged(": stop ").await;
    host.logged("informer::app: stopped").await;
    assert_eq!(host.ended(SOON).await.code(), Some(0));
}

#[tokio::test]
async fn the_api_server_alone_tells_a_program_where_it_is_and_ends_at_ctrl_c() {
    let mut server = Running::start(&["apiserver", "--output", "json"]).await;
    let told: Value = serde_json::from_str(&server.line().await).unwrap();
    let kubeconfig = fs::read_to_string(told["kubeconfig"].as_str().unwrap()).unwrap();
    assert!(kubeconfig.contains(told["url"].as_str().unwrap()), "{kubeconfig}");

    // It answers.
    let objects = ConfigMaps::at(told["url"].as_str().unwrap()).await;
    objects.create("something").await;
    assert_eq!(objects.versions().await.len(), 1);

    server.signal("INT").await;
    assert_eq!(server.ended(SOON).await.code(), Some(0));
}

#[tokio::test]
async fn dev_serves_plugins_to_an_api_server_of_its_own() {
    let directory = tempfile::tempdir().unwrap();
    let path = directory.path().join("informer.toml");
    let configuration = format!(
        "[host]\nadmin = \"off\"\n[[watch]]\ngvr = \"v1/configmaps\"\n\
         [[plugin]]\nname = \"echo\"\nsource = {:?}\n[[plugin.on]]\nwatch = \"v1/configmaps\"\n",
        guest("echo"),
    );
    fs::write(&path, configuration).unwrap();
    let mut dev = Running::start(&["dev", "--output", "json", "--config", path.to_str().unwrap()]).await;
    let told: Value = serde_json::from_str(&dev.line().await).unwrap();

    ConfigMaps::at(told["url"].as_str().unwrap()).await.create("something").await;

    dev.logged("add default/something ").await;
    dev.signal("TERM").await;
    assert_eq!(dev.ended(SOON).await.code(), Some(0));
}
