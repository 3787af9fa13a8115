//! `informer dev` builds a project at the start, and again when its sources change.

use std::{fs, path::Path, process::Stdio};

use informer_tests::host::PATIENCE;
use serde_json::Value;
use tempfile::TempDir;
use tokio::{
    io::{AsyncBufRead, AsyncBufReadExt, BufReader, Lines},
    process::{Child, ChildStderr, ChildStdout},
    time::timeout,
};

use crate::{
    cluster::Deployments,
    projects::{command, informer},
};

/// A running `informer dev`. Dropping it kills it.
struct Dev {
    _child: Child,
    answer: Lines<BufReader<ChildStdout>>,
    /// The log of the host, the plugins and the compilers.
    log: Lines<BufReader<ChildStderr>>,
}

impl Dev {
    async fn start(folder: &Path) -> Self {
        let mut command = command(folder, &["dev", "--config", "informer.toml", "--output", "json"]).await;
        command.stdin(Stdio::null()).stdout(Stdio::piped()).stderr(Stdio::piped()).kill_on_drop(true);
        let mut child = command.env("TMPDIR", folder.parent().unwrap()).spawn().unwrap();
        let answer = BufReader::new(child.stdout.take().unwrap()).lines();
        let log = BufReader::new(child.stderr.take().unwrap()).lines();
        Self { _child: child, answer, log }
    }

    /// The URL of the API server.
    async fn url(&mut self) -> String {
        let answer: Value = serde_json::from_str(&found(&mut self.answer, "url").await).unwrap();
        answer["url"].as_str().unwrap().to_owned()
    }

    /// Waits for a line with this text.
    async fn logs(&mut self, text: &str) {
        found(&mut self.log, text).await;
    }
}

async fn found(lines: &mut Lines<impl AsyncBufRead + Unpin>, text: &str) -> String {
    let mut seen = String::new();
    let searching = async {
        while let Some(line) = lines.next_line().await.unwrap() {
            if line.contains(text) {
                return Some(line);
            }
            seen.push_str(&line);
            seen.push('\n');
        }
        None
    };
    match timeout(PATIENCE, searching).await {
        Ok(Some(line)) => line,
        Ok(None) => panic!("the command ended without {text:?}:\n{seen}"),
        Err(_) => panic!("no line with {text:?}:\n{seen}"),
    }
}

/// One stream shows the builds, the mistakes and the lines of the plugin.
#[tokio::test(flavor = "multi_thread")]
#[ignore = "needs Python with pip: run by cargo xtask test --all"]
async fn dev_builds_a_project_at_the_start_and_after_each_change() {
    let scratch = TempDir::new().unwrap();
    informer(scratch.path(), &["new", "hello", "--lang", "c"]).await;
    let folder = scratch.path().join("hello");
    let mut dev = Dev::start(&folder).await;
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
    // The component before goes on.
    dev.logs("added default/two: ").await;

    fs::write(&source, text.replace("report(\"added\"", "report(\"welcome\"")).unwrap();

    dev.logs("built ").await;
    dev.logs("reloaded").await;
    deployments.create("three").await;
    dev.logs("welcome default/three: ").await;
}
