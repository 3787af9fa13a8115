//! A request gets the report of its reload, even if the host noticed the file first.

use std::fs;

use informer_devserver::DevServer;
use tempfile::TempDir;

use super::*;
use crate::app::{
    App,
    applier::tests::{config, start},
};

/// A host with a changed watch in its file, which is not read yet.
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
        let (reload, reloader) =
            Reload::new(Arc::clone(&app.applier), Some(Followed::unread(path)), Arc::new(|_| {}));
        Self { server, app, reload, reloader, directory }
    }

    async fn end(self) {
        self.app.stop().await;
        self.server.shutdown().await;
        drop(self.directory);
    }
}

fn has_the_changed_watch(report: &Report) -> bool {
    report.changes.iter().any(|change| change.name == "v1/configmaps" && change.verdict == Verdict::Changed)
}

#[tokio::test]
async fn a_request_before_a_noticed_file_is_applied_gets_the_report_of_the_file() {
    let mut stage = Stage::new().await;

    let requesting = timeout(PATIENCE, stage.reload.request(None));
    let (report, ()) = tokio::join!(biased; requesting, stage.reloader.noticed());

    assert!(has_the_changed_watch(&report.unwrap().unwrap()));
    stage.end().await;
}

#[tokio::test]
async fn a_request_while_a_noticed_file_is_applied_gets_the_report_of_the_file() {
    let mut stage = Stage::new().await;

    let requesting = timeout(PATIENCE, stage.reload.request(None));
    let ((), report) = tokio::join!(biased; stage.reloader.noticed(), requesting);

    assert!(has_the_changed_watch(&report.unwrap().unwrap()));
    stage.end().await;
}

/// `informer dev` builds the projects after it has read the file. The host follows the file only after the build.
#[tokio::test]
async fn a_file_that_changed_before_the_host_followed_it_is_applied() {
    let Stage { server, app, reload: _reload, mut reloader, directory } = Stage::new().await;
    reloader.file = Some(Followed::read_now(&directory.path().join("informer.toml")));

    let applied = async {
        while app.applier.in_force().reloads() == 0 {
            tokio::task::yield_now().await;
        }
    };
    let running = async {
        select! {
            () = reloader.run() => unreachable!("it never ends"),
            () = applied => {}
        }
    };
    timeout(PATIENCE, running).await.unwrap();

    let report = app.applier.in_force().view(None).reloads.remove(0).report;
    assert!(has_the_changed_watch(&report));
    app.stop().await;
    server.shutdown().await;
}

#[tokio::test]
async fn a_file_that_vanished_is_named_and_the_configuration_in_force_stays() {
    let mut stage = Stage::new().await;
    let path = stage.directory.path().join("informer.toml");
    fs::remove_file(&path).unwrap();

    stage.reloader.noticed().await;

    let problem = format!(
        "the file {} is missing, so the host keeps the previous configuration; put the file back",
        path.display()
    );
    assert_eq!(stage.reload.refused(), Some(vec![problem]));
    assert_eq!(stage.app.applier.plugins().all().len(), 1);
    stage.end().await;
}

#[tokio::test]
async fn a_request_for_one_plugin_gets_its_report_alone_and_leaves_the_file_unread() {
    let mut stage = Stage::new().await;

    let requesting = timeout(PATIENCE, stage.reload.request(Some("b".to_owned())));
    let (report, ()) = tokio::join!(biased; requesting, stage.reloader.noticed());

    let report = report.unwrap().unwrap();
    assert_eq!(report.changes.len(), 1, "{report:?}");
    assert!(report.changes[0].detail.starts_with("there is no plugin of this name"), "{report:?}");
    assert!(
        stage.reloader.file.as_ref().is_some_and(|file| file.changed().is_some()),
        "the file is still unread"
    );
    stage.end().await;
}
