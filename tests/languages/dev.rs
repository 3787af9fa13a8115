//! `informer dev` builds a project at the start, and again when its sources change.

use std::{
    fs,
    path::{Path, PathBuf},
};

use informer_tests::{deployments::Deployments, dev::Dev, host::PATIENT};
use tempfile::TempDir;

use crate::projects::{command, informer};

/// A new project.
async fn project(scratch: &TempDir, language: &str) -> PathBuf {
    informer(scratch.path(), &["new", "hello", "--lang", language]).await;
    let folder = scratch.path().join("hello");
    let configuration = folder.join("informer.toml");
    let text = fs::read_to_string(&configuration).unwrap();
    fs::write(configuration, format!("[host]\n{PATIENT}{text}")).unwrap();
    folder
}

/// Starts the project in this folder.
async fn start(folder: &Path) -> Dev {
    let mut command = command(folder, &["dev", "--config", "informer.toml", "--output", "json"]).await;
    command.env("TMPDIR", folder.parent().unwrap());
    Dev::start(command)
}

/// One stream shows the builds, the mistakes and the lines of the plugin.
#[tokio::test(flavor = "multi_thread")]
#[ignore = "needs Python with pip: run by cargo xtask test --all"]
async fn dev_builds_a_project_at_the_start_and_after_each_change() {
    let scratch = TempDir::new().unwrap();
    let folder = project(&scratch, "c").await;
    let mut dev = start(&folder).await;
    dev.logs("built ").await;
    let deployments = Deployments::at(&dev.url().await);
    deployments.create("one").await;
    dev.logs("added default/one: ").await;
    let source = folder.join("src/plugin.c");
    let text = fs::read_to_string(&source).unwrap();

    fs::write(&source, text.replace("return report(\"added\", object);", "return report(\"added\", object)"))
        .unwrap();

    dev.logs("expected ';'").await;
    dev.logs("the build failed: ").await;
    deployments.create("two").await;
    // The previous component goes on.
    dev.logs("added default/two: ").await;

    fs::write(&source, text.replace("report(\"added\"", "report(\"welcome\"")).unwrap();

    dev.logs("built ").await;
    dev.logs("reloaded").await;
    deployments.create("three").await;
    dev.logs("welcome default/three: ").await;
}

/// The toolchains of JavaScript and Python build everything each time, which takes seconds.
#[tokio::test(flavor = "multi_thread")]
#[ignore = "needs Node.js: run by cargo xtask test --all"]
async fn a_second_start_does_not_build_what_has_not_changed() {
    let scratch = TempDir::new().unwrap();
    let folder = project(&scratch, "js").await;
    let mut dev = start(&folder).await;
    dev.logs("built ").await;
    dev.url().await;
    drop(dev);

    let mut dev = start(&folder).await;

    dev.logs("the sources have not changed since the last build").await;
    Deployments::at(&dev.url().await).create("one").await;
    dev.logs("added default/one: ").await;
    let source = folder.join("src/index.js");
    let text = fs::read_to_string(&source).unwrap();
    fs::write(&source, text.replace("\"added\"", "\"welcome\"")).unwrap();
    dev.logs("built ").await;
}
