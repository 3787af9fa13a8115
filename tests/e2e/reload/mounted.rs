//! `informer.toml` in a mounted ConfigMap: the host applies a change of the symlink without a request, also for the
//! component files beside it.

use std::path::Path;

use informer_devserver::DevServer;
use informer_tests::host::TestHost;
use serde_json::json;

use super::{
    configuration::file,
    files::{Mount, digest, version},
};
use crate::configmaps::ConfigMaps;

/// A plugin whose component lies beside the configuration.
fn beside(name: &str) -> String {
    format!(
        "[[plugin]]\nname = \"{name}\"\nsource = \"echo.wasm\"\n[[plugin.on]]\nwatch = \"v1/configmaps\"\n"
    )
}

async fn serves(host: &TestHost, plugin: &str, component: &[u8]) {
    let wanted = digest(component);
    host.until(&format!("{plugin} with its component"), |_| {
        host.plugin(plugin)["version"]["digest"] == wanted
    })
    .await;
}

#[tokio::test(flavor = "multi_thread")]
async fn a_changed_configmap_applies_the_configuration_and_the_components_beside_it() {
    let server = DevServer::start(informer_devserver::Config::default()).await.unwrap();
    let objects = ConfigMaps::at(&server.url()).await;
    objects.create("one").await;
    let mount = Mount::new();
    let one = file("", &[beside("a")]);
    mount.publish("..2026_01_01", &[("informer.toml", one.as_bytes()), ("echo.wasm", &version(1))]);
    let host = TestHost::start_file(&server.url(), &mount.file("informer.toml")).await.unwrap();
    host.synced().await;
    serves(&host, "a", &version(1)).await;

    let two = file("", &[beside("a"), beside("b")]);
    mount.publish("..2026_01_02", &[("informer.toml", two.as_bytes()), ("echo.wasm", &version(1))]);
    host.lines.said("b", "add default/one ", "").await;
    serves(&host, "b", &version(1)).await;

    // Only the component changes: `..data` points to a new directory, and the old one is gone.
    mount.publish("..2026_01_03", &[("informer.toml", two.as_bytes()), ("echo.wasm", &version(2))]);
    serves(&host, "a", &version(2)).await;
    serves(&host, "b", &version(2)).await;

    let bad = two.replace("[[plugin.on]]", "[[plugin.onn]]");
    mount.publish("..2026_01_04", &[("informer.toml", bad.as_bytes()), ("echo.wasm", &version(2))]);
    host.until("the refusal", |status| {
        let refused = status["configuration"]["refused"].as_array().into_iter().flatten();
        let place = format!("{}:", mount.file("informer.toml").display());
        let mut refused = refused.filter_map(|problem| problem.as_str());
        refused.any(|problem| problem.starts_with(&place) && problem.contains("`on`"))
    })
    .await;

    // Both files change at once, after a refusal.
    mount.publish("..2026_01_05", &[("informer.toml", one.as_bytes()), ("echo.wasm", &version(3))]);
    serves(&host, "a", &version(3)).await;
    host.until("b gone", |status| {
        host.plugin("b").is_null()
            && status["configuration"]["refused"].is_null()
            && status["degraded"] == json!([])
    })
    .await;
    assert_eq!(
        host.status()["informers"][0]["counters"]["lists"],
        1,
        "nothing of it is a reason to list again"
    );
    objects.create("two").await;
    host.lines.said("a", "add default/two ", "").await;
    host.stop().await;
}

/// The Pod mounts the ConfigMap as `/etc/informer`, and that path is a link itself.
#[tokio::test(flavor = "multi_thread")]
async fn a_directory_that_is_a_link_is_followed_to_its_new_target() {
    let server = DevServer::start(informer_devserver::Config::default()).await.unwrap();
    let directory = tempfile::tempdir().unwrap();
    let publish = |release: &str, text: &str, component: &[u8]| {
        let (root, current) = (directory.path(), directory.path().join("current"));
        std::fs::create_dir(root.join(release)).unwrap();
        std::fs::write(root.join(release).join("informer.toml"), text).unwrap();
        std::fs::write(root.join(release).join("echo.wasm"), component).unwrap();
        std::os::unix::fs::symlink(release, root.join("next")).unwrap();
        std::fs::rename(root.join("next"), current).unwrap();
    };
    publish("1", &file("", &[beside("a")]), &version(1));
    let path = directory.path().join("current/informer.toml");
    let host = TestHost::start_file(&server.url(), Path::new(&path)).await.unwrap();
    host.synced().await;

    publish("2", &file("", &[beside("a"), beside("b")]), &version(2));
    serves(&host, "a", &version(2)).await;
    serves(&host, "b", &version(2)).await;
    publish("3", &file("", &[beside("a")]), &version(2));
    host.until("b gone", |_| host.plugin("b").is_null()).await;
    host.stop().await;
}
