//! `informer dev` builds a project at the start, and again when its sources change.

use std::{
    fs,
    path::{Path, PathBuf},
};

use informer_tests::{deployments::Deployments, dev::Dev, host::PATIENT};
use tempfile::TempDir;

use crate::{
    example::{Scripted, examples},
    projects::{command, informer},
};

/// A new project.
async fn project(scratch: &TempDir, language: &str) -> PathBuf {
    informer(scratch.path(), &["new", "hello", "--lang", language]).await;
    let folder = scratch.path().join("hello");
    let configuration = folder.join("informer.toml");
    let text = fs::read_to_string(&configuration).unwrap();
    // Several tests start at the same time, and the port 8080 is only free until one of them has it.
    fs::write(configuration, format!("[host]\nadmin = \"127.0.0.1:0\"\n{PATIENT}{text}")).unwrap();
    folder
}

/// Starts the project in this folder.
async fn start(folder: &Path) -> Dev {
    start_with(folder, "informer.toml", folder.parent().unwrap()).await
}

/// Starts a configuration in this folder.
async fn start_with(folder: &Path, configuration: &str, scratch: &Path) -> Dev {
    let mut command = command(folder, &["dev", "--config", configuration, "--output", "json"]).await;
    command.env("TMPDIR", scratch);
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

    // The host may load the component before the build is logged.
    dev.logs_all(&["built ", "plugin reloaded"]).await;
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

/// The baseline compiler ends loops, and its traps have lines of the sources.
#[tokio::test(flavor = "multi_thread")]
#[ignore = "needs Python with pip: run by cargo xtask test --all"]
async fn dev_uses_the_baseline_compiler_with_deadlines_and_lines_of_sources() {
    let scratch = TempDir::new().unwrap();
    let folder = project(&scratch, "c").await;
    fs::write(folder.join("src/plugin.c"), include_str!("mistakes/careless.c")).unwrap();
    // An earlier test may have compiled the component.
    let configuration = folder.join("informer.toml");
    let text = fs::read_to_string(&configuration).unwrap();
    fs::write(configuration, text.replace("[host]\n", "[host]\ncache-dir = \"code\"\n")).unwrap();
    let mut command = command(&folder, &["dev", "--config", "informer.toml", "--output", "json"]).await;
    command.env("TMPDIR", scratch.path()).env("INFORMER_LOG", "info,informer_runtime=debug");
    let mut dev = Dev::start(command);
    dev.logs("compiler=\"winch\"").await;
    let deployments = Deployments::at(&dev.url().await);

    deployments.create("boom").await;
    dev.logs("boom (src/plugin.c:14)").await;
    deployments.create("spin").await;
    dev.logs("the call took longer than its deadline").await;
}

/// The line `build` that makes one command of building an example and running it.
#[test]
fn every_example_runs_what_dev_builds_in_its_folder() {
    let folders = fs::read_dir(examples()).unwrap().map(|entry| entry.unwrap().path());
    let examples: Vec<PathBuf> = folders.filter(|folder| folder.join("README.md").is_file()).collect();
    assert!(examples.len() >= 14, "{examples:?}");

    for folder in examples {
        let read = |name: &str| fs::read_to_string(folder.join(name)).unwrap();
        let (configuration, manifest) = (read("informer.toml"), read("informer-plugin.toml"));
        let name =
            manifest.lines().find_map(|line| line.strip_prefix("name = \"")?.strip_suffix('"')).unwrap();
        for line in [format!("source = \"{name}.wasm\""), "build = \".\"".to_owned()] {
            assert!(configuration.lines().any(|found| found == line), "{line}: {}", folder.display());
        }
    }
}

/// An example outside of the workspace of this repository.
#[tokio::test(flavor = "multi_thread")]
#[ignore = "needs Python with pip: run by cargo xtask test --all"]
async fn one_command_builds_and_runs_an_example() {
    let scratch = TempDir::new().unwrap();
    let folder = scratch.path().join("example");
    Scripted::C.copy(&folder);
    fs::copy(examples().join("../.gitignore"), folder.join(".gitignore")).unwrap();

    one_command(&folder, scratch.path()).await;
}

/// An example in Rust is a member of the workspace, so cargo builds it with the versions of the workspace.
#[tokio::test(flavor = "multi_thread")]
#[ignore = "builds the example for a minute: run by cargo xtask test --all"]
async fn one_command_builds_and_runs_an_example_of_the_workspace() {
    let scratch = TempDir::new().unwrap();

    one_command(&examples().join("deployments-rust"), scratch.path()).await;
}

/// Runs the example with its own configuration, except that its limits suit a busy machine.
async fn one_command(folder: &Path, scratch: &Path) {
    let text = fs::read_to_string(folder.join("informer.toml")).unwrap();
    let text = text.replace("\"deployments.wasm\"", &format!("{:?}", folder.join("deployments.wasm")));
    let text = text.replace("build = \".\"", &format!("build = {folder:?}"));
    let configuration = scratch.join("informer.toml");
    fs::write(&configuration, format!("[host]\n{PATIENT}{text}")).unwrap();
    let mut dev = start_with(folder, configuration.to_str().unwrap(), scratch).await;

    dev.logs("built ").await;
    Deployments::at(&dev.url().await).create("one").await;

    dev.logs("added default/one (rv ").await;
}
