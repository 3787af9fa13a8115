//! The binary `informer dev`, started as a user starts it.

use std::process::Stdio;

use informer_guests::deployments_rust;
use informer_tests::{binary, command_line::CommandLine, host::PATIENCE};
use serde_json::Value;
use tempfile::TempDir;
use tokio::{
    io::{AsyncBufReadExt, AsyncReadExt, BufReader, Lines},
    process::{Child, ChildStderr, ChildStdout, Command},
    time::timeout,
};

use crate::stage::{PLUGIN, configuration};

/// A running `informer dev --output json --log-format json`. Dropping it kills it.
struct Dev {
    child: Child,
    answer: Lines<BufReader<ChildStdout>>,
    log: Lines<BufReader<ChildStderr>>,
}

impl Dev {
    async fn start(directory: &TempDir, configuration: &str) -> Self {
        let file = directory.path().join("informer.toml");
        std::fs::write(&file, configuration).unwrap();
        let mut child = Command::new(binary::informer().await)
            .args(["dev", "--output", "json", "--log-format", "json", "--log", "info", "--config"])
            .arg(file)
            // The binary writes its kubeconfig to this directory.
            .env("TMPDIR", directory.path())
            .stdin(Stdio::null())
            .stdout(Stdio::piped())
            .stderr(Stdio::piped())
            .kill_on_drop(true)
            .spawn()
            .unwrap();
        let answer = BufReader::new(child.stdout.take().unwrap()).lines();
        let log = BufReader::new(child.stderr.take().unwrap()).lines();
        Self { child, answer, log }
    }

    /// The line of JSON that the binary prints.
    async fn answer(&mut self) -> Value {
        let line = timeout(PATIENCE, self.answer.next_line()).await.expect("the binary prints no address");
        serde_json::from_str(&line.unwrap().expect("the binary ended")).unwrap()
    }

    /// Waits until the plugin logs this line.
    async fn logs(&mut self, wanted: &str) {
        let search = async {
            while let Some(line) = self.log.next_line().await.unwrap() {
                let line: Value = serde_json::from_str(&line).unwrap_or_else(|_| panic!("no JSON: {line}"));
                if line["message"] == wanted {
                    assert_eq!(line["plugin"], PLUGIN, "{line}");
                    return true;
                }
            }
            false
        };
        let found = timeout(PATIENCE, search).await.unwrap_or_else(|_| panic!("no log line {wanted:?}"));
        assert!(found, "the binary ended before the log line {wanted:?}");
    }

    /// Sends SIGTERM. The binary must end with status 0 and print nothing more.
    async fn stop(mut self) {
        let process = self.child.id().unwrap();
        let kill = Command::new("sh").args(["-c", &format!("kill -TERM {process}")]).status().await.unwrap();
        assert!(kill.success());
        let status = timeout(PATIENCE, self.child.wait()).await.expect("the binary does not stop").unwrap();
        let mut log = String::new();
        self.log.into_inner().read_to_string(&mut log).await.unwrap();
        assert_eq!(status.code(), Some(0), "{log}");
        assert!(!log.contains(r#""level":"ERROR""#), "{log}");
        assert_eq!(self.answer.next_line().await.unwrap(), None);
    }
}

#[tokio::test(flavor = "multi_thread")]
#[ignore = "needs kubectl, built with Go: run by cargo xtask test --all"]
async fn informer_dev_serves_kubectl_and_ends_at_sigterm() {
    let component = tokio::task::spawn_blocking(deployments_rust).await.unwrap();
    let directory = TempDir::new().unwrap();
    let host =
        format!("[host]\nadmin = \"127.0.0.1:0\"\ncache-dir = {:?}\n", directory.path().join("compiled"));
    let configuration = host + &configuration(&component);
    let mut dev = Dev::start(&directory, &configuration).await;
    let answer = dev.answer().await;
    assert!(answer["url"].as_str().unwrap().starts_with("http://127.0.0.1:"), "{answer}");
    assert!(answer["admin"].is_string(), "{answer}");
    let kubeconfig = std::fs::read_to_string(answer["kubeconfig"].as_str().unwrap()).unwrap();
    let kubectl = CommandLine::kubectl(&kubeconfig).await;

    kubectl.prints(&["create", "deployment", "hello", "--image=nginx"]).await;
    let version = kubectl.field("hello", ".metadata.resourceVersion").await;
    dev.logs(&format!("added default/hello (rv {version}, live)")).await;
    kubectl.prints(&["scale", "deployment", "hello", "--replicas=3"]).await;
    let scaled = kubectl.field("hello", ".metadata.resourceVersion").await;
    dev.logs(&format!("updated default/hello (rv {version} -> {scaled}, live)")).await;
    dev.stop().await;
}
