//! Controllers whose configuration changes while they run.

use std::fs;

use informer::app::Report;
use informer_devserver::DevServer;
use informer_guests::guest;
use informer_tests::host::{PATIENCE, TestHost};
use serde_json::{Value, json};
use tempfile::TempDir;

use super::{keys, server};
use crate::{configmaps::ConfigMaps, reload::replace};

/// A plugin with one key that fails and is retried in an hour.
fn stuck(enqueue: &str, capacity: usize) -> String {
    let source = guest("reconciles");
    format!(
        r#"
        [[plugin]]
        name = "controller"
        source = {source:?}
          [[plugin.on]]
          watch = "v1/configmaps"
          enqueue = "{enqueue}"
          [plugin.workqueue]
          capacity = {capacity}
          min = "1h"
          max = "1h"
          [plugin.config]
          times = 1000
          only = "stuck"
        "#,
    )
}

fn file(plugins: &str) -> String {
    format!("[host]\nadmin = \"off\"\nstate-dir = \"off\"\n[[watch]]\ngvr = \"v1/configmaps\"\n{plugins}")
}

struct Stage {
    server: DevServer,
    objects: ConfigMaps,
    host: TestHost,
    directory: TempDir,
}

impl Stage {
    /// Starts a host with one key that waits for an hour. The capacity does not keep the keys of other objects out.
    async fn stuck() -> Self {
        let server = server().await;
        let objects = ConfigMaps::at(&server.url()).await;
        let directory = tempfile::tempdir().unwrap();
        let path = directory.path().join("informer.toml");
        let text = tokio::task::block_in_place(|| file(&stuck("object", 1)));
        fs::write(&path, text).unwrap();
        let host = TestHost::start_file(&server.url(), &path).await.unwrap();
        host.synced().await;
        objects.create("stuck").await;
        host.lines.said("controller", "reconcile default/stuck attempt 1", "").await;
        objects.create("two").await;
        host.lines.said("controller", "reconcile default/two attempt 1", "").await;
        host.until("one delayed key", |_| keys(&host, "controller")["keys"] == 1).await;
        Self { server, objects, host, directory }
    }

    async fn reload(&self, text: &str) -> Report {
        replace(&self.directory.path().join("informer.toml"), text.as_bytes());
        let reload = self.host.app().reload(None);
        tokio::time::timeout(PATIENCE, reload).await.unwrap().unwrap()
    }

    async fn end(self) {
        self.host.stop().await;
        self.server.shutdown().await;
    }
}

#[tokio::test(flavor = "multi_thread")]
async fn a_changed_workqueue_keeps_its_keys_and_a_changed_subscription_adds_other_keys() {
    let stage = Stage::stuck().await;

    let report = stage.reload(&file(&stuck("object", 10))).await;
    assert_eq!(report.changes[0].detail, "workqueue");
    let status = keys(&stage.host, "controller");
    assert_eq!((&status["delayed"], &status["capacity"]), (&1.into(), &10.into()), "{status:#}");

    stage.reload(&file(&stuck("controller", 10))).await;
    stage.objects.create_owned("web-1", "web").await;
    stage.host.lines.said("controller", "reconcile default/web attempt 1", "").await;
    stage.end().await;
}

#[tokio::test(flavor = "multi_thread")]
async fn a_plugin_is_removed_while_its_key_is_delayed() {
    let stage = Stage::stuck().await;
    let source = guest("echo");
    let other = format!(
        "[[plugin]]\nname = \"other\"\nsource = {source:?}\n[[plugin.on]]\nwatch = \"v1/configmaps\"\n"
    );

    stage.reload(&file(&other)).await;

    assert_eq!(stage.host.plugin("controller"), Value::Null);
    stage.host.lines.said("other", "add default/two ", "").await;
    stage.end().await;
}

#[tokio::test(flavor = "multi_thread")]
async fn keys_are_held_while_a_handler_replaces_the_reconciler() {
    let stage = Stage::stuck().await;
    let handles = tokio::task::block_in_place(|| {
        let (keys, calls) = (guest("reconciles"), guest("echo"));
        stuck("object", 1).replace(&format!("{keys:?}"), &format!("{calls:?}"))
    });

    stage.reload(&file(&handles)).await;
    stage
        .host
        .until("the handler", |_| stage.host.plugin("controller")["exports"] == json!(["handler"]))
        .await;
    stage.objects.create("three").await;
    stage.host.lines.said("controller", "add default/three ", "").await;
    assert_eq!(keys(&stage.host, "controller")["keys"], 1);

    stage.reload(&file(&stuck("object", 1))).await;
    stage.objects.create("four").await;
    stage.host.lines.said("controller", "reconcile default/four attempt 1", "").await;
    // The call ends after its line.
    stage.host.until("the end of the call", |_| keys(&stage.host, "controller")["in-flight"] == 0).await;
    assert_eq!(keys(&stage.host, "controller")["keys"], 1, "the delayed key is still there");
    stage.end().await;
}
