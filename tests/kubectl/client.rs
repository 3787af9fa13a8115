//! kubectl as a child process.

use std::{
    path::PathBuf,
    process::{ExitStatus, Stdio},
};

use informer_tests::{cluster::kubectl, host::PATIENCE};
use tempfile::TempDir;
use tokio::{
    io::{AsyncBufReadExt, BufReader, Lines},
    process::{Child, ChildStdout, Command},
    time::timeout,
};

/// A kubectl with its own home directory and a kubeconfig for one cluster.
pub(crate) struct Kubectl {
    program: PathBuf,
    home: TempDir,
}

/// The result of a kubectl command.
#[derive(Debug)]
pub(crate) struct Ended {
    pub(crate) status: ExitStatus,
    pub(crate) stdout: String,
    pub(crate) stderr: String,
}

/// A kubectl that keeps running and printing. Dropping this kills the process.
pub(crate) struct Watching {
    _child: Child,
    rows: Lines<BufReader<ChildStdout>>,
}

/// The path of a file in `manifests`.
pub(crate) fn manifest(name: &str) -> String {
    format!("{}/kubectl/manifests/{name}", env!("CARGO_MANIFEST_DIR"))
}

// === impl Kubectl ===

impl Kubectl {
    /// Builds kubectl first if it is not in the cache.
    pub(crate) async fn new(kubeconfig: &str) -> Self {
        let program = tokio::task::spawn_blocking(kubectl).await.unwrap().unwrap();
        let home = TempDir::new().unwrap();
        std::fs::write(home.path().join("kubeconfig"), kubeconfig).unwrap();
        Self { program, home }
    }

    /// Runs kubectl to its end, whether it succeeds or not.
    pub(crate) async fn run(&self, arguments: &[&str]) -> Ended {
        let output = self.command(arguments).output();
        let output = timeout(PATIENCE, output).await.expect("kubectl hangs").unwrap();
        let text = |bytes| String::from_utf8(bytes).unwrap();
        Ended { status: output.status, stdout: text(output.stdout), stderr: text(output.stderr) }
    }

    /// Runs kubectl, which must succeed, and returns its standard output.
    pub(crate) async fn prints(&self, arguments: &[&str]) -> String {
        let ended = self.run(arguments).await;
        assert!(ended.status.success(), "kubectl {}: {ended:?}", arguments.join(" "));
        ended.stdout
    }

    /// Runs kubectl, which must fail, and returns its standard error.
    pub(crate) async fn fails(&self, arguments: &[&str]) -> String {
        let ended = self.run(arguments).await;
        assert!(!ended.status.success(), "kubectl {} succeeded: {ended:?}", arguments.join(" "));
        ended.stderr
    }

    /// The value at a JSONPath in a deployment of the namespace `default`.
    pub(crate) async fn field(&self, deployment: &str, path: &str) -> String {
        let path = format!("-o=jsonpath={{{path}}}");
        self.prints(&["get", "deployment", deployment, &path]).await
    }

    /// Starts a kubectl that keeps printing.
    pub(crate) fn watches(&self, arguments: &[&str]) -> Watching {
        let mut child = self.command(arguments).stdout(Stdio::piped()).spawn().unwrap();
        let rows = BufReader::new(child.stdout.take().unwrap()).lines();
        Watching { _child: child, rows }
    }

    fn command(&self, arguments: &[&str]) -> Command {
        let mut command = Command::new(&self.program);
        command
            .env("KUBECONFIG", self.home.path().join("kubeconfig"))
            // Do not share caches and preferences with the user or other tests.
            .env("HOME", self.home.path())
            .args(arguments)
            .stdin(Stdio::null())
            .kill_on_drop(true);
        command
    }
}

// === impl Watching ===

impl Watching {
    /// The words of the next row.
    pub(crate) async fn row(&mut self) -> Vec<String> {
        let row = timeout(PATIENCE, self.rows.next_line()).await.expect("kubectl prints no more rows");
        let row = row.unwrap().expect("kubectl ended");
        row.split_whitespace().map(str::to_owned).collect()
    }

    /// Checks that the next row begins with these words. The age at the end of the row is ignored.
    pub(crate) async fn shows(&mut self, words: &[&str]) {
        let row = self.row().await;
        assert!(row.iter().zip(words).all(|(found, wanted)| found == wanted), "{row:?} is not {words:?}");
        assert!(row.len() >= words.len(), "{row:?} is shorter than {words:?}");
    }
}
