//! kubectl, helm and promtool as child processes.
#![expect(clippy::unwrap_used, clippy::expect_used, reason = "a program that does not run is a failed test")]

use std::{
    path::{Path, PathBuf},
    process::{ExitStatus, Stdio},
};

use tempfile::TempDir;
use tokio::{
    io::{AsyncBufReadExt, BufReader, Lines},
    process::{Child, ChildStdout, Command},
    task::spawn_blocking,
    time::timeout,
};

use crate::{cluster, host::PATIENCE};

/// A program with its own home directory and a kubeconfig for one cluster.
#[derive(Debug)]
pub struct CommandLine {
    program: PathBuf,
    home: TempDir,
}

/// The result of a command.
#[derive(Debug)]
pub struct Ended {
    /// The exit status.
    pub status: ExitStatus,
    /// What the command printed to standard output.
    pub stdout: String,
    /// What the command printed to standard error.
    pub stderr: String,
}

/// A command that keeps running and printing. Dropping this kills the process.
#[derive(Debug)]
pub struct Watching {
    _child: Child,
    rows: Lines<BufReader<ChildStdout>>,
}

// === impl CommandLine ===

impl CommandLine {
    /// The real kubectl. Builds it first if it is not in the cache. An empty kubeconfig is enough for commands that need no
    /// server.
    ///
    /// # Panics
    /// Panics if the program cannot be built.
    pub async fn kubectl(kubeconfig: &str) -> Self {
        Self::new(spawn_blocking(cluster::kubectl).await.unwrap().unwrap(), kubeconfig)
    }

    /// The real helm, like [`Self::kubectl`].
    ///
    /// # Panics
    /// Panics if the program cannot be built.
    pub async fn helm(kubeconfig: &str) -> Self {
        Self::new(spawn_blocking(cluster::helm).await.unwrap().unwrap(), kubeconfig)
    }

    /// The real promtool, like [`Self::kubectl`].
    ///
    /// # Panics
    /// Panics if the program cannot be built.
    pub async fn promtool() -> Self {
        Self::new(spawn_blocking(cluster::promtool).await.unwrap().unwrap(), "")
    }

    fn new(program: PathBuf, kubeconfig: &str) -> Self {
        let home = TempDir::new().unwrap();
        std::fs::write(home.path().join("kubeconfig"), kubeconfig).unwrap();
        Self { program, home }
    }

    /// The home directory of the program. It is removed with this.
    #[must_use]
    pub fn home(&self) -> &Path {
        self.home.path()
    }

    /// Runs a command to its end, whether it succeeds or not.
    ///
    /// # Panics
    /// Panics if the command does not end in time.
    pub async fn run(&self, arguments: &[&str]) -> Ended {
        ended(self.command(arguments)).await
    }

    /// Runs a command like [`Self::run`], with this file as its standard input.
    ///
    /// # Panics
    /// Panics if the command does not end in time, or the file cannot be read.
    pub async fn reads(&self, arguments: &[&str], file: &Path) -> Ended {
        let mut command = self.command(arguments);
        command.stdin(std::fs::File::open(file).unwrap());
        ended(command).await
    }

    /// Runs a command, which must succeed, and returns its standard output.
    ///
    /// # Panics
    /// Panics if the command fails.
    pub async fn prints(&self, arguments: &[&str]) -> String {
        let ended = self.run(arguments).await;
        assert!(ended.status.success(), "{}: {ended:?}", arguments.join(" "));
        ended.stdout
    }

    /// Runs a command, which must fail, and returns its standard error.
    ///
    /// # Panics
    /// Panics if the command succeeds.
    pub async fn fails(&self, arguments: &[&str]) -> String {
        let ended = self.run(arguments).await;
        assert!(!ended.status.success(), "{} succeeded: {ended:?}", arguments.join(" "));
        ended.stderr
    }

    /// The value at a JSONPath in a deployment of the namespace `default`, as kubectl prints it.
    pub async fn field(&self, deployment: &str, path: &str) -> String {
        let path = format!("-o=jsonpath={{{path}}}");
        self.prints(&["get", "deployment", deployment, &path]).await
    }

    /// Starts a command that keeps printing.
    ///
    /// # Panics
    /// Panics if the program cannot be started.
    pub fn watches(&self, arguments: &[&str]) -> Watching {
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

async fn ended(mut command: Command) -> Ended {
    let output = timeout(PATIENCE, command.output()).await.expect("the command hangs").unwrap();
    let text = |bytes| String::from_utf8(bytes).unwrap();
    Ended { status: output.status, stdout: text(output.stdout), stderr: text(output.stderr) }
}

// === impl Watching ===

impl Watching {
    /// The next line.
    ///
    /// # Panics
    /// Panics if there is no line in time.
    pub async fn line(&mut self) -> String {
        let row = timeout(PATIENCE, self.rows.next_line()).await.expect("no more lines are printed");
        row.unwrap().expect("the command ended")
    }

    /// The words of the next line.
    ///
    /// # Panics
    /// Panics if there is no line in time.
    pub async fn row(&mut self) -> Vec<String> {
        self.line().await.split_whitespace().map(str::to_owned).collect()
    }

    /// Checks that the next row begins with these words. The age at the end of the row is ignored.
    ///
    /// # Panics
    /// Panics if the row does not.
    pub async fn shows(&mut self, words: &[&str]) {
        let row = self.row().await;
        assert!(row.iter().zip(words).all(|(found, wanted)| found == wanted), "{row:?} is not {words:?}");
        assert!(row.len() >= words.len(), "{row:?} is shorter than {words:?}");
    }
}
