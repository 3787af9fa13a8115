//! Runs of the built binary.

use std::{
    collections::VecDeque,
    ffi::OsString,
    path::{Path, PathBuf},
    process::{ExitStatus, Output, Stdio},
    time::Duration,
};

use informer_tests::{binary, host::PATIENCE};
use serde_json::Value;
use tempfile::TempDir;
use tokio::{
    io::{AsyncBufReadExt, BufReader, Lines},
    process::{Child, ChildStderr, ChildStdout, Command},
    time::{Instant, sleep, timeout},
};

/// The output and the exit status of a run that ended by itself.
pub(super) struct Finished {
    pub(super) status: Option<i32>,
    pub(super) stdout: String,
    pub(super) stderr: String,
}

/// A run that ends when it gets a signal. It is killed when dropped.
pub(super) struct Running {
    child: Child,
    stdout: Lines<BufReader<ChildStdout>>,
    stderr: Lines<BufReader<ChildStderr>>,
    /// Log lines that were read while waiting for another line, and not returned yet.
    unread: VecDeque<String>,
    /// The directory of the files that the process writes.
    _temporary: TempDir,
}

/// A command without the user's environment, in an empty directory.
fn command(binary: &Path, arguments: &[&str], temporary: &TempDir) -> Command {
    let mut command = Command::new(binary);
    command
        .args(arguments)
        .env_clear()
        .env("TMPDIR", temporary.path())
        .env("HOME", temporary.path())
        .env("XDG_CACHE_HOME", std::env::temp_dir().join("informer-tests-cache"))
        .current_dir(temporary.path())
        .stdin(Stdio::null())
        .stdout(Stdio::piped())
        .stderr(Stdio::piped())
        .kill_on_drop(true);
    command
}

/// The tests have no search path.
fn prlimit() -> PathBuf {
    let path = std::env::var_os("PATH").unwrap_or_default();
    let found =
        std::env::split_paths(&path).map(|directory| directory.join("prlimit")).find(|file| file.is_file());
    found.unwrap_or_else(|| panic!("this test needs the program prlimit, of util-linux"))
}

/// Runs the binary until it ends.
pub(super) async fn informer(arguments: &[&str]) -> Finished {
    informer_with(arguments, []).await
}

/// Runs the binary with these variables in its environment until it ends.
pub(super) async fn informer_with(
    arguments: &[&str],
    environment: impl IntoIterator<Item = (&'static str, OsString)>,
) -> Finished {
    let temporary = tempfile::tempdir().unwrap();
    let mut command = command(binary::informer().await, arguments, &temporary);
    command.envs(environment);
    Finished::of(timeout(PATIENCE, command.output()).await.unwrap().unwrap())
}

/// Runs the binary with these streams until it ends. The texts of streams that are not piped are empty.
pub(super) async fn informer_into(
    arguments: &[&str],
    stdout: impl Into<Stdio>,
    stderr: impl Into<Stdio>,
) -> Finished {
    let temporary = tempfile::tempdir().unwrap();
    let mut command = command(binary::informer().await, arguments, &temporary);
    let child = command.stdout(stdout).stderr(stderr).spawn().unwrap();
    Finished::of(timeout(PATIENCE, child.wait_with_output()).await.unwrap().unwrap())
}

/// Runs a command until its answer satisfies the condition. Returns the answer.
pub(super) async fn until(what: &str, arguments: &[&str], condition: impl Fn(&Finished) -> bool) -> Finished {
    let deadline = Instant::now() + PATIENCE;
    loop {
        let answer = informer(arguments).await;
        if condition(&answer) {
            return answer;
        }
        assert!(Instant::now() < deadline, "never {what}: {}{}", answer.stdout, answer.stderr);
        sleep(Duration::from_millis(50)).await;
    }
}

/// Waits until the host at this admin address is healthy: all caches have synced, and all plugins serve.
pub(super) async fn well(admin: &str) {
    until("healthy", &["status", "--admin", admin], |answer| answer.status == Some(0)).await;
}

impl Finished {
    fn of(output: Output) -> Self {
        Self {
            status: output.status.code(),
            stdout: String::from_utf8(output.stdout).unwrap(),
            stderr: String::from_utf8(output.stderr).unwrap(),
        }
    }

    /// The answer of a command with `--output json`.
    pub(super) fn json(&self) -> Value {
        serde_json::from_str(&self.stdout).unwrap_or_else(|_| panic!("{}{}", self.stdout, self.stderr))
    }
}

impl Running {
    pub(super) async fn start(arguments: &[&str]) -> Self {
        let temporary = tempfile::tempdir().unwrap();
        Self::spawn(command(binary::informer().await, arguments, &temporary), temporary)
    }

    /// Starts a run with these variables in its environment.
    pub(super) async fn start_with(
        arguments: &[&str],
        environment: impl IntoIterator<Item = (&'static str, OsString)>,
    ) -> Self {
        let temporary = tempfile::tempdir().unwrap();
        let mut command = command(binary::informer().await, arguments, &temporary);
        command.envs(environment);
        Self::spawn(command, temporary)
    }

    /// Starts a run that may open at most this many files and connections.
    pub(super) async fn start_limited(arguments: &[&str], descriptors: u32) -> Self {
        let temporary = tempfile::tempdir().unwrap();
        let limit = format!("--nofile={descriptors}:{descriptors}");
        let binary = binary::informer().await.to_str().unwrap();
        // `prlimit`, of util-linux, becomes the program that it starts.
        let arguments = [&[limit.as_str(), binary][..], arguments].concat();
        Self::spawn(command(&prlimit(), &arguments, &temporary), temporary)
    }

    /// Starts a run as a user without a home directory.
    pub(super) async fn start_without_home(arguments: &[&str]) -> Self {
        let temporary = tempfile::tempdir().unwrap();
        let mut command = command(binary::informer().await, arguments, &temporary);
        command.env_remove("HOME");
        Self::spawn(command, temporary)
    }

    /// Starts a run of a copy of the binary.
    pub(super) async fn start_program(program: &Path, arguments: &[&str]) -> Self {
        let temporary = tempfile::tempdir().unwrap();
        Self::spawn(command(program, arguments, &temporary), temporary)
    }

    /// The process number.
    pub(super) fn id(&self) -> u32 {
        self.child.id().unwrap()
    }

    fn spawn(mut command: Command, temporary: TempDir) -> Self {
        let mut child = command.spawn().unwrap();
        let stdout = BufReader::new(child.stdout.take().unwrap()).lines();
        let stderr = BufReader::new(child.stderr.take().unwrap()).lines();
        Self { child, stdout, stderr, unread: VecDeque::new(), _temporary: temporary }
    }

    /// Reads the next line of stdout.
    pub(super) async fn line(&mut self) -> String {
        timeout(PATIENCE, self.stdout.next_line()).await.unwrap().unwrap().unwrap()
    }

    /// Reads the log up to a line that contains `words`. Returns that line.
    pub(super) async fn logged(&mut self, words: &str) -> String {
        self.log_up_to(words).await.pop().unwrap()
    }

    /// Reads the log up to a line that contains `words`. Returns all lines since the last read; the last one contains
    /// `words`.
    pub(super) async fn log_up_to(&mut self, words: &str) -> Vec<String> {
        self.log_up_to_all(&[words]).await
    }

    /// Reads the log until each of `words` was in a line, in any order. Returns all lines since the last read.
    pub(super) async fn log_up_to_all(&mut self, words: &[&str]) -> Vec<String> {
        let reading = async {
            let (mut read, mut missing) = (Vec::new(), words.to_vec());
            loop {
                let line = match self.unread.pop_front() {
                    Some(line) => Some(line),
                    None => self.stderr.next_line().await.unwrap(),
                };
                let Some(line) = line else { break };
                missing.retain(|words| !line.contains(*words));
                read.push(line);
                if missing.is_empty() {
                    return read;
                }
            }
            panic!("the log ended without {missing:?}: {read:#?}");
        };
        timeout(PATIENCE, reading).await.unwrap_or_else(|_| panic!("nothing logged with {words:?}"))
    }

    /// Reads the rest of the log of a run that ends.
    pub(super) async fn rest(&mut self) -> Vec<String> {
        let mut read: Vec<String> = self.unread.drain(..).collect();
        let reading = async {
            while let Some(line) = self.stderr.next_line().await.unwrap() {
                read.push(line);
            }
        };
        timeout(PATIENCE, reading).await.unwrap();
        read
    }

    /// Returns the address of the admin endpoint. Other lines that were logged before stay unread: plugins may
    /// already run.
    pub(super) async fn admin(&mut self) -> String {
        self.address("the admin endpoint listens").await
    }

    /// Returns the address of the health endpoint, as [`admin`](Self::admin) does.
    pub(super) async fn health(&mut self) -> String {
        self.address("the health endpoint listens").await
    }

    async fn address(&mut self, words: &str) -> String {
        let mut read = self.log_up_to(words).await;
        let line = read.pop().unwrap();
        read.extend(self.unread.drain(..));
        self.unread = read.into();
        line.rsplit_once("address=").unwrap().1.trim().to_owned()
    }

    /// Sends a signal. `name` is without `SIG`.
    pub(super) async fn signal(&self, name: &str) {
        let process = self.child.id().unwrap().to_string();
        let sent = Command::new("kill").args([&format!("-{name}"), &process]).status().await.unwrap();
        assert!(sent.success());
    }

    /// Limits the size of each file that the process writes to `bytes`. `None` removes the limit.
    pub(super) async fn limit_files(&self, bytes: Option<u32>) {
        let process = self.child.id().unwrap().to_string();
        let soft = bytes.map_or_else(|| "unlimited".to_owned(), |bytes| bytes.to_string());
        let limit = format!("--fsize={soft}:");
        let set = Command::new("prlimit").args(["--pid", &process, &limit]).status().await;
        let set =
            set.unwrap_or_else(|error| panic!("this test needs the program prlimit, of util-linux: {error}"));
        assert!(set.success());
    }

    /// Stops the run by SIGTERM and waits until it has ended without an error.
    pub(super) async fn stop(self) {
        self.signal("TERM").await;
        assert_eq!(self.ended(PATIENCE).await.code(), Some(0));
    }

    /// Waits until the run ends, at most `within`.
    pub(super) async fn ended(mut self, within: Duration) -> ExitStatus {
        timeout(within, self.child.wait()).await.unwrap().unwrap()
    }
}
