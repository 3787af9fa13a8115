//! Files that the configuration includes are followed like the file itself.

use std::fs;

use informer_devserver::DevServer;
use informer_guests::guest;
use informer_tests::host::TestHost;
use serde_json::Value;
use tempfile::tempdir;

use super::files::replace;
use crate::configmaps::ConfigMaps;

fn fragment(name: &str, watch: &str) -> String {
    format!(
        "[[watch]]\ngvr = \"v1/configmaps\"\n{watch}\n[[plugin]]\nname = \"{name}\"\nsource = {:?}\n[[plugin.on]]\nwatch = \"v1/configmaps\"\n",
        guest("echo")
    )
}

fn names(status: &Value) -> Vec<&str> {
    status["plugins"].as_array().unwrap().iter().map(|plugin| plugin["name"].as_str().unwrap()).collect()
}

/// A plugin that appears in the directory runs, one that disappears ends, and a mistake in a file changes nothing until it is
/// mended. No reload is requested.
#[tokio::test(flavor = "multi_thread")]
async fn plugins_come_and_go_with_the_files_of_an_included_directory() {
    let server = DevServer::start(informer_devserver::Config::default()).await.unwrap();
    let objects = ConfigMaps::at(&server.url()).await;
    objects.create("one").await;
    let directory = tempdir().unwrap();
    let (main, included) = (directory.path().join("informer.toml"), directory.path().join("plugins.d"));
    fs::create_dir(&included).unwrap();
    fs::write(&main, "include = [\"plugins.d\"]\n[host]\nadmin = \"off\"\nstate-dir = \"off\"\n").unwrap();
    fs::write(included.join("a.toml"), fragment("a", "")).unwrap();
    let host = TestHost::start_file(&server.url(), &main).await.unwrap();
    host.synced().await;
    host.lines.said("a", "add default/one ", "").await;

    replace(&included.join("b.toml"), fragment("b", "index = { by-key = \"/data/key\" }").as_bytes());
    host.lines.said("b", "add default/one ", "").await;
    host.until("both plugins", |status| names(status) == ["a", "b"]).await;
    // The watch with the new index replaces the previous watch, which ends after its subscribers moved.
    host.until("one watch for both", |status| status["informers"].as_array().unwrap().len() == 1).await;

    replace(&included.join("b.toml"), b"[[plugin]]\nnome = \"b\"\n");
    host.until("the refusal", |status| status["degraded"].to_string().contains("plugins.d/b.toml:2:1")).await;
    assert_eq!(names(&host.status()), ["a", "b"], "the configuration in force stays");
    objects.create("two").await;
    host.lines.said("b", "add default/two ", "").await;

    fs::remove_file(included.join("b.toml")).unwrap();
    host.until("one plugin", |status| names(status) == ["a"]).await;
    objects.create("three").await;
    host.lines.said("a", "add default/three ", "").await;
    host.stop().await;
    server.shutdown().await;
}
