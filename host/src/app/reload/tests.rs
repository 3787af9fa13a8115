//! Who asks for a reload is told what came of it, whoever noticed the file first.

use std::fs;

use informer_devserver::DevServer;
use tempfile::TempDir;

use super::*;
use crate::app::{
    App,
    applier::tests::{config, start},
};

/// A host in which another watch is to be read from a file.
struct Stage {
    server: DevServer,
    app: App,
    reload: Reload,
    reloader: Reloader,
    directory: TempDir,
}

impl Stage {
    async fn new() -> Self {
        let server = DevServer::start(informer_devserver::Config::default()).await.unwrap();
        let app = start(&server, config("")).await;
        let directory = TempDir::new().unwrap();
        let path = directory.path().join("informer.toml");
        let text = "[host]\nadmin = \"off\"\nstate-dir = \"off\"\n[[watch]]\ngvr = \"v1/configmaps\"\n\
                    labels = \"app=web\"\n[[plugin]]\nname = \"a\"\nsource = \"/not/there.wasm\"\n\
                    [[plugin.on]]\nwatch = \"v1/configmaps\"\n";
        fs::write(&path, text).unwrap();
        let (reload, reloader) = Reload::new(Arc::clone(&app.applier), Some((path, None)), |_| {});
        Self { server, app, reload, reloader, directory }
    }

    async fn end(self) {
        self.app.stop().await;
        self.server.shutdown().await;
        drop(self.directory);
    }
}

fn says_that_the_watch_changed(report: &Report) -> bool {
    report.changes.iter().any(|change| change.name == "v1/configmaps" && change.verdict == Verdict::Changed)
}

#[tokio::test]
async fn who_asked_before_the_host_applied_what_it_noticed_is_told_what_that_did() {
    let mut stage = Stage::new().await;

    let asking = timeout(PATIENCE, stage.reload.ask(None));
    let (report, ()) = tokio::join!(biased; asking, stage.reloader.noticed());

    assert!(says_that_the_watch_changed(&report.unwrap().unwrap()));
    stage.end().await;
}

#[tokio::test]
async fn who_asks_while_the_host_applies_what_it_noticed_is_told_what_that_did() {
    let mut stage = Stage::new().await;

    let asking = timeout(PATIENCE, stage.reload.ask(None));
    let ((), report) = tokio::join!(biased; stage.reloader.noticed(), asking);

    assert!(says_that_the_watch_changed(&report.unwrap().unwrap()));
    stage.end().await;
}

#[tokio::test]
async fn who_asked_for_one_plugin_is_told_of_it_alone_and_the_file_waits_for_its_turn() {
    let mut stage = Stage::new().await;

    let asking = timeout(PATIENCE, stage.reload.ask(Some("b".to_owned())));
    let (report, ()) = tokio::join!(biased; asking, stage.reloader.noticed());

    let report = report.unwrap().unwrap();
    assert_eq!(report.changes.len(), 1, "{report:?}");
    assert!(report.changes[0].detail.starts_with("there is no plugin of this name"), "{report:?}");
    assert!(stage.reloader.file.as_ref().is_some_and(|(_, read)| read.is_none()), "it is still to be read");
    stage.end().await;
}
